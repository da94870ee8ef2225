/// Indents JSON text that arrives in chunks: two spaces per level, like `jq`; empty containers stay
/// on one line.
///
/// Use it for results that are too large for memory. White space between tokens is replaced; tokens
/// are unchanged. The input must be valid JSON; the output for other input is unspecified, and no
/// error is thrown.
public struct JSONPrettyPrinter: Sendable {
  private enum State: Sendable {
    case between
    case string
    case stringEscape
  }

  private var state = State.between
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
    var rest = text
    while let byte = rest.first {
      switch state {
      case .string:
        let clean = JSONWriter.firstToEscape(in: rest)
        output.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<clean]))
        rest = UnsafeRawBufferPointer(rebasing: rest[clean...])
        guard let special = rest.first else { return }
        output.append(special)
        if special == UInt8(ascii: "\"") { state = .between }
        if special == UInt8(ascii: "\\") { state = .stringEscape }
      case .stringEscape:
        output.append(byte)
        state = .string
      case .between:
        appendToken(byte, to: &output)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
  }

  private mutating func appendToken(_ byte: UInt8, to output: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
      return
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth = max(depth - 1, 0)
      if !opened { appendLine(to: &output) }
      opened = false
      output.append(byte)
      return
    default:
      if opened { appendLine(to: &output) }
      opened = false
      output.append(byte)
    }
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      depth += 1
      opened = true
    case UInt8(ascii: ","):
      appendLine(to: &output)
    case UInt8(ascii: ":"):
      output.append(UInt8(ascii: " "))
    case UInt8(ascii: "\""):
      state = .string
    default:
      break
    }
  }

  private func appendLine(to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\n"))
    for _ in 0..<depth {
      output.append(UInt8(ascii: " "))
      output.append(UInt8(ascii: " "))
    }
  }
}
