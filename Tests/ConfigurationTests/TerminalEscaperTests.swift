import Testing

@testable import GQLRunConfiguration

@Suite struct TerminalEscaperTests {
  private func escaped(_ pieces: [[UInt8]]) -> String {
    var escaper = TerminalEscaper()
    var result: [UInt8] = []
    for piece in pieces { result += piece.withUnsafeBytes { escaper.escape($0) } }
    return String(decoding: result, as: UTF8.self)
  }

  @Test(arguments: [
    ("a\u{1b}[31m\u{7}", #"a\u001b[31m\u0007"#),
    ("\u{7f}\u{80}\u{9b}\u{9f}\u{a0}", "\\u007f\\u0080\\u009b\\u009f\u{a0}"),
    ("\u{202a}\u{202e}\u{2066}\u{2069}", #"\u202a\u202e\u2066\u2069"#),
    ("\u{2028}\u{2029}\u{200e}\u{200f}\u{61c}\u{feff}", #"\u2028\u2029\u200e\u200f\u061c\ufeff"#),
    ("a\tb\nc\r\nd\re", "a\tb\nc\r\nd\\u000de"), ("é–日🔑\u{200d}", "é–日🔑\u{200d}"),
  ]) func `what a terminal obeys is escaped, wherever the text is cut`(
    _ text: String, _ expected: String
  ) {
    let bytes = Array(text.utf8)
    #expect(escaped([bytes]) == expected)
    #expect(escaped(bytes.map { [$0] }) == expected)
    for cut in 0...bytes.count {
      #expect(escaped([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
    }
  }

  @Test func `bytes that are not UTF-8 are not sent`() {
    #expect(escaped([[0x61, 0x9B, 0x62, 0xFF, 0xC3, 0x28]]) == #"a\ufffdb\ufffd\ufffd("#)
  }
}
