import Foundation

/// Reads generated code roughly: comments, literals and brackets.
enum SwiftBrackets {
  /// What is wrong with the brackets of a file.
  static func problem(in text: String) -> String? {
    var open: [UInt8] = []
    var bytes = Array(text.utf8)[...]
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "/") where bytes.first == byte:
        while let next = bytes.first, next != 0x0A, next != 0x0D { bytes.removeFirst() }
      case UInt8(ascii: "#"), UInt8(ascii: "\""):
        guard skipLiteral(&bytes, first: byte) else { return "a literal without an end" }
      case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["): open.append(byte)
      case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "]"):
        let expected: [UInt8: UInt8] = [
          UInt8(ascii: "}"): UInt8(ascii: "{"), UInt8(ascii: ")"): UInt8(ascii: "("),
          UInt8(ascii: "]"): UInt8(ascii: "["),
        ]
        guard open.popLast() == expected[byte] else {
          return "an unexpected \(Character(Unicode.Scalar(byte)))"
        }
      default: break
      }
    }
    return open.isEmpty ? nil : "\(open.count) brackets without an end"
  }

  /// Skips a string with any number of `#`, and of one or three quotation marks.
  private static func skipLiteral(_ bytes: inout ArraySlice<UInt8>, first: UInt8) -> Bool {
    var marks = 0
    if first == UInt8(ascii: "#") {
      marks = 1
      while bytes.first == UInt8(ascii: "#") {
        marks += 1
        bytes.removeFirst()
      }
      guard bytes.popFirst() == UInt8(ascii: "\"") else { return false }
    }
    let isLong = bytes.starts(with: [0x22, 0x22])
    if isLong { bytes = bytes.dropFirst(2) }
    let end =
      [UInt8](repeating: 0x22, count: isLong ? 3 : 1) + [UInt8](repeating: 0x23, count: marks)
    while let byte = bytes.first {
      if bytes.starts(with: end) {
        bytes = bytes.dropFirst(end.count)
        return true
      }
      if !isLong, byte == 0x0A || byte == 0x0D { return false }
      bytes = bytes.dropFirst(byte == UInt8(ascii: "\\") && marks == 0 ? 2 : 1)
    }
    return false
  }

  /// A folder in which some of the generated files are kept, so that a compiler can read them.
  private static let folder = ProcessInfo.processInfo.environment["GQLRUN_FUZZ_GENERATED"]

  static func keep(_ text: String) {
    guard let folder else { return }
    let number = text.utf8.reduce(5381 as UInt32) { $0 &* 33 &+ UInt32($1) } % 997
    try? text.write(toFile: "\(folder)/\(number).swift", atomically: false, encoding: .utf8)
  }
}
