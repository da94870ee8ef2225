import GQLRunJSON

/// Colors JSON text that arrives in chunks, with the colors of jq: keys, strings, null and brackets.
///
/// Needs no tree and no memory but one bit for each open container. Only inserts escape sequences; the
/// input must be valid JSON.
struct JSONColors {
  private enum State {
    case between, key, string, escapeInKey, escapeInString, null
  }

  /// SGR parameters: https://jqlang.org/manual/#colors
  private enum Color: String {
    case key = "34;1"
    case string = "0;32"
    case null = "1;30"
    case bracket = "1;39"
  }

  private var state = State.between
  /// Whether each open container is an object.
  private var containers: [Bool] = []
  /// Whether the next string is a key.
  private var expectsKey = false
  /// The number of bytes of `null` so far.
  private var nullBytes = 0

  /// Appends the colored form of the next chunk, which may be split at any byte.
  mutating func append(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var rest = text
    while let byte = rest.first {
      switch state {
      case .key, .string:
        let clean = JSONWriter.firstToEscape(in: rest)
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<clean]))
        rest = UnsafeRawBufferPointer(rebasing: rest[clean...])
        guard let special = rest.first else { return }
        output.append(special)
        if special == UInt8(ascii: "\"") {
          state = .between
          Self.end(&output)
        } else if special == UInt8(ascii: "\\") {
          state = state == .key ? .escapeInKey : .escapeInString
        }
      case .escapeInKey, .escapeInString:
        output.append(byte)
        state = state == .escapeInKey ? .key : .string
      case .null:
        output.append(byte)
        nullBytes += 1
        guard nullBytes == 4 else { break }
        state = .between
        Self.end(&output)
      case .between:
        appendToken(byte, to: &output)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
  }

  private mutating func appendToken(_ byte: UInt8, to output: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      containers.append(byte == UInt8(ascii: "{"))
      expectsKey = containers.last == true
      Self.bracket(byte, &output)
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      containers.removeLast(containers.isEmpty ? 0 : 1)
      expectsKey = false
      Self.bracket(byte, &output)
    case UInt8(ascii: "\""):
      state = expectsKey ? .key : .string
      Self.begin(expectsKey ? .key : .string, &output)
      output.append(byte)
    case UInt8(ascii: "n"):
      state = .null
      nullBytes = 1
      Self.begin(.null, &output)
      output.append(byte)
    default:
      if byte == UInt8(ascii: ",") { expectsKey = containers.last == true }
      if byte == UInt8(ascii: ":") { expectsKey = false }
      output.append(byte)
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
