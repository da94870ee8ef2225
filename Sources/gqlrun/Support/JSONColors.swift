import GQLRunJSON

/// Colors JSON text that arrives in chunks, with the colors of jq: keys, strings, null and brackets.
///
/// Needs no tree and no memory but one bit for each open container. Only inserts escape sequences; the
/// input must be valid JSON.
struct JSONColors {
  /// SGR parameters: https://jqlang.org/manual/#colors
  private enum Color: String {
    case key = "34;1"
    case string = "0;32"
    case null = "1;30"
    case bracket = "1;39"
  }

  private var scanner = JSONScanner()
  /// Whether each open container is an object.
  private var containers: [Bool] = []
  /// Whether the next string is a key.
  private var expectsKey = false
  /// The number of bytes of `null` that are still to come.
  private var nullRest = 0

  /// Appends the colored form of the next chunk, which may be split at any byte.
  mutating func append(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var offset = 0
    while let token = scanner.next(text, from: &offset) {
      switch token {
      case .mark(let mark): append(mark, to: &output)
      case .string(let range, let isStart, let isEnd):
        if isStart { Self.begin(expectsKey ? .key : .string, &output) }
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[range]))
        if isEnd { Self.end(&output) }
      case .scalar(let range, let isStart):
        if isStart, text[range.lowerBound] == UInt8(ascii: "n") {
          nullRest = 4
          Self.begin(.null, &output)
        }
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[range]))
        guard nullRest > 0 else { break }
        nullRest -= range.count
        if nullRest <= 0 { Self.end(&output) }
      case .whiteSpace(let range):
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[range]))
      }
    }
  }

  private mutating func append(_ mark: UInt8, to output: inout [UInt8]) {
    switch mark {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      containers.append(mark == UInt8(ascii: "{"))
      expectsKey = containers.last == true
      Self.bracket(mark, &output)
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      containers.removeLast(containers.isEmpty ? 0 : 1)
      expectsKey = false
      Self.bracket(mark, &output)
    default:
      expectsKey = mark == UInt8(ascii: ",") && containers.last == true
      output.append(mark)
    }
  }

  private static func bracket(_ byte: UInt8, _ output: inout [UInt8]) {
    begin(.bracket, &output)
    output.append(byte)
    end(&output)
  }

  private static func begin(_ color: Color, _ output: inout [UInt8]) {
    output += Array("\u{1b}[\(color.rawValue)m".utf8)
  }

  private static func end(_ output: inout [UInt8]) { output += Array("\u{1b}[0m".utf8) }
}
