/// The rules of block strings: their values, and how a value is printed as one.
///
/// https://spec.graphql.org/September2025/#BlockStringValue()
enum BlockString {
  /// The value of a block string with the raw lines `lines`: without common indentation and without
  /// blank lines at both ends; with `\"""` replaced by `"""` if `unescaping`.
  static func value(ofLines lines: [Range<Int>], in bytes: [UInt8], unescaping: Bool) -> String {
    var commonIndent = Int.max
    var firstFilled: Int?
    var lastFilled = 0
    for (number, line) in lines.enumerated() {
      let indent = indentation(of: line, in: bytes)
      guard indent < line.count else { continue }
      if firstFilled == nil { firstFilled = number }
      lastFilled = number
      if number > 0 { commonIndent = min(commonIndent, indent) }
    }
    guard let firstFilled else { return "" }
    if firstFilled == lastFilled, !unescaping {
      let line = lines[firstFilled]
      let start = firstFilled == 0 ? line.lowerBound : line.lowerBound + commonIndent
      return String(decoding: bytes[start..<line.upperBound], as: UTF8.self)
    }
    var value: [UInt8] = []
    value.reserveCapacity(lines[lastFilled].upperBound - lines[firstFilled].lowerBound)
    for number in firstFilled...lastFilled {
      if number > firstFilled { value.append(UInt8(ascii: "\n")) }
      let line = lines[number]
      let dropped = number == 0 ? 0 : min(commonIndent, line.count)
      let kept = bytes[(line.lowerBound + dropped)..<line.upperBound]
      if unescaping { appendUnescaped(kept, to: &value) } else { value.append(contentsOf: kept) }
    }
    return String(decoding: value, as: UTF8.self)
  }

  /// Whether a block string can have the value `value`. True for every value parsed from one.
  static func canDenote(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    guard !bytes.isEmpty else { return true }
    guard !bytes.contains(UInt8(ascii: "\r")) else { return false }
    let lines = lines(of: bytes)
    guard let first = lines.first, indentation(of: first, in: bytes) < first.count,
      let last = lines.last, indentation(of: last, in: bytes) < last.count
    else { return false }
    if lines.count == 1 { return true }
    return lines.contains { line in
      !line.isEmpty && indentation(of: line, in: bytes) == 0
    }
  }

  /// `value` as a block string in graphql-core's layout; with as few lines as possible if
  /// `isMinimal`.
  static func printed(_ value: String, isMinimal: Bool = false) -> String {
    var escaped: [UInt8] = []
    var lineCount = 1
    var forcesLeadingNewLine = true
    let bytes = Array(value.utf8)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\""), index + 2 < bytes.count, bytes[index + 1] == byte,
        bytes[index + 2] == byte
      {
        escaped += [UInt8(ascii: "\\"), byte, byte, byte]
        index += 3
        continue
      }
      escaped.append(byte)
      index += 1
      if byte == UInt8(ascii: "\n") {
        lineCount += 1
        if index < bytes.count, !bytes[index].isIndent, bytes[index] != byte {
          forcesLeadingNewLine = false
        }
      }
    }
    forcesLeadingNewLine = forcesLeadingNewLine && lineCount > 1

    let isSingleLine = lineCount == 1
    let hasTrailingTripleQuotes = escaped.suffix(4).elementsEqual("\\\"\"\"".utf8)
    let hasTrailingQuote = bytes.last == UInt8(ascii: "\"") && !hasTrailingTripleQuotes
    let forcesTrailingNewLine = hasTrailingQuote || bytes.last == UInt8(ascii: "\\")
    let isSpread =
      !isMinimal
      && (!isSingleLine || value.unicodeScalars.count > 70 || forcesTrailingNewLine
        || forcesLeadingNewLine || hasTrailingTripleQuotes)
    let startsWithIndent = isSingleLine && bytes.first?.isIndent == true
    let before = isSpread && !startsWithIndent || forcesLeadingNewLine ? "\n" : ""
    let after = isSpread || forcesTrailingNewLine ? "\n" : ""
    return "\"\"\"" + before + String(decoding: escaped, as: UTF8.self) + after + "\"\"\""
  }

  private static func indentation(of line: Range<Int>, in bytes: [UInt8]) -> Int {
    var index = line.lowerBound
    while index < line.upperBound, bytes[index].isIndent { index += 1 }
    return index - line.lowerBound
  }

  private static func lines(of bytes: [UInt8]) -> [Range<Int>] {
    var lines: [Range<Int>] = []
    var start = 0
    for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
      lines.append(start..<index)
      start = index + 1
    }
    lines.append(start..<bytes.count)
    return lines
  }

  private static func appendUnescaped(_ line: ArraySlice<UInt8>, to value: inout [UInt8]) {
    let quotes = "\"\"\"".utf8
    var index = line.startIndex
    while index < line.endIndex {
      if line[index] == UInt8(ascii: "\\"), line[(index + 1)...].starts(with: quotes) {
        index += 1
        value.append(contentsOf: quotes)
        index += 3
      } else {
        value.append(line[index])
        index += 1
      }
    }
  }
}

extension UInt8 {
  fileprivate var isIndent: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
