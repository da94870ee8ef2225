/// Indents JSON text that arrives in chunks: two spaces per level, like `jq`; empty containers stay
/// on one line.
///
/// Use it for results that are too large for memory. White space between tokens is replaced; tokens
/// are unchanged. The input must be valid JSON; the output for other input is unspecified, and no
/// error is thrown.
public struct JSONPrettyPrinter: Sendable {
  private var scanner = JSONScanner()
  private var depth = 0
  /// Whether the last token opened a container, whose end may follow on the same line.
  private var opened = false

  /// Creates a printer for one text.
  public init() {}

  /// Appends the indented form of the next chunk.
  ///
  /// - Parameters:
  ///   - text: The next chunk of the text; may be split at any byte.
  ///   - output: The buffer to append to.
  public mutating func append(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var offset = 0
    while let token = scanner.next(text, from: &offset) {
      switch token {
      case .mark(let mark): append(mark, to: &output)
      case .string(let range, let isStart, _), .scalar(let range, let isStart):
        if isStart { beginToken(&output) }
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[range]))
      case .whiteSpace: break
      }
    }
  }

  private mutating func append(_ mark: UInt8, to output: inout [UInt8]) {
    switch mark {
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth = max(depth - 1, 0)
      if !opened { appendLine(to: &output) }
      opened = false
      output.append(mark)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      beginToken(&output)
      output.append(mark)
      depth += 1
      opened = true
    case UInt8(ascii: ","):
      output.append(mark)
      appendLine(to: &output)
    default:
      output.append(mark)
      output.append(UInt8(ascii: " "))
    }
  }

  /// Begins a line after an opening bracket.
  private mutating func beginToken(_ output: inout [UInt8]) {
    if opened { appendLine(to: &output) }
    opened = false
  }

  private func appendLine(to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\n"))
    for _ in 0..<depth {
      output.append(UInt8(ascii: " "))
      output.append(UInt8(ascii: " "))
    }
  }
}
