import GQLRunJSON
import GQLRunTestSupport
import GQLRunTyped
import Testing

@Suite("Strings of responses")
struct StringTextTests {
  private static let pieces = [
    "a", "plain text of some length", "é", "東京", "🚀", "'", "\u{7F}", #"\""#, #"\\"#, #"\/"#, #"\b"#,
    #"\f"#, #"\n"#, #"\r"#, #"\t"#, #"\u0000"#, #"\u00e9"#, #"\u00E9"#, #"\u6771"#, #"\uFFFF"#,
    #"\ud83d\ude80"#, #"\uD800\uDC00"#, #"\uDBFF\uDFFF"#,
  ]

  @Test("a string is what the parser reads, with every escape at every position")
  func escapes() throws {
    for first in Self.pieces {
      for second in Self.pieces {
        // Eight bytes are searched at once.
        for filler in 0..<9 {
          let filled = String(repeating: "x", count: filler)
          let text = Array("\"\(filled)\(first)\(second)\(filled)\"".utf8)
          let expected = try #require(try JSONValue(parsing: text).stringValue)
          let found: String = try TokenIndex(checked: text).root(as: String.self)
          #expect(Array(found.utf8) == Array(expected.utf8), "\(first) \(second) \(filler)")
        }
      }
    }
  }

  @Test("bytes that are not UTF-8 become the replacement characters of Swift, wherever they are")
  func bytesThatAreNotUTF8() throws {
    let pieces: [[UInt8]] = [
      [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xE6, 0x9D], [0xED, 0xA0, 0x80],
      [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x9A], [0xF4, 0x90, 0x80, 0x80], [0xF5], [0xFF],
      Array("é".utf8), Array("東".utf8), Array("🚀".utf8), Array("a".utf8),
    ]
    for first in pieces {
      for second in pieces {
        for filler in 0..<9 {
          let filled = [UInt8](repeating: 0x78, count: filler)
          let content = filled + first + second + filled
          let expected = String(decoding: content, as: UTF8.self)
          let found = try TokenIndex(checked: [0x22] + content + [0x22]).root(as: String.self)
          #expect(Array(found.utf8) == Array(expected.utf8), "\(content)")
          // The same bytes beside an escape sequence.
          let escaped = [0x22] + content + Array(#"\n"#.utf8) + content + [0x22]
          let both = try TokenIndex(checked: escaped).root(as: String.self)
          #expect(Array(both.utf8) == Array("\(expected)\n\(expected)".utf8), "\(content)")
        }
      }
    }
  }

  @Test(
    "escapes that no parser accepts, as of a damaged record, become characters wherever they are",
    arguments: [
      (#"\é"#, "é"), (#"\🚀"#, "🚀"), (#"\q"#, "q"), ("\\\0", "\0"), (#"\u12zz"#, "\u{FFFD}"),
      (#"\ud83d"#, "\u{FFFD}"), (#"\ude80"#, "\u{FFFD}"),
      (#"\ud83d\n"#, "\u{FFFD}\n"), (#"\ud83d\u0041"#, "\u{FFFD}A"),
    ])
  func invalidEscapes(text: String, expected: String) throws {
    for filler in 0..<17 {
      let filled = String(repeating: "x", count: filler)
      for end in ["", #"\u12"#] {
        let content = filled + text + text + filled + end
        let found = try TokenIndex(checked: Array("\"\(content)\"".utf8)).root(as: String.self)
        #expect(Array(found.utf8) == Array((filled + expected + expected + filled).utf8))
      }
    }
  }

  @Test(
    "text that is no complete string is an error", arguments: ["\"", "\"\\", "\"abc\\\"", "[\"a"])
  func incomplete(text: String) {
    #expect(throws: JSONError.self) { try TokenIndex(checked: Array(text.utf8)) }
  }

  @Test(
    "numbers are read as the nearest floating-point number",
    arguments: [
      "0", "-0", "-0.5", "1e2", "69.85548234856975", "12345678901234567890", "1E-400", "0.1",
      "123.456",
      "0.4839619428386972", "9007199254740991", "9007199254740992", "9007199254740993",
      "900719925474099.3",
      "0.00000000000000001", "-0.0", "99999999999999999.9", "1.7976931348623157e308", "4.35",
      "5e-324",
    ])
  func numbers(text: String) throws {
    let found: Double = try TokenIndex(checked: Array(text.utf8)).root(as: Double.self)
    let expected = try #require(Double(text))
    #expect(found.bitPattern == expected.bitPattern)
  }

  @Test("random numbers with a fraction are read as the nearest floating-point number")
  func randomNumbers() throws {
    var random = SeededRandom(1)
    for _ in 0..<5000 {
      let digits = String(
        Int.random(in: 0..<(1 << Int.random(in: 1...60, using: &random)), using: &random))
      let point = Int.random(in: 1...digits.count, using: &random)
      let fraction = digits.dropFirst(point)
      let text = digits.prefix(point) + (fraction.isEmpty ? "" : "." + fraction)
      let found: Double = try TokenIndex(checked: Array(text.utf8)).root(as: Double.self)
      #expect(found == Double(text), "\(text)")
    }
  }

  @Test("other values are no number", arguments: ["1e999", "\"1\"", "null", "[1]", "{}", "true"])
  func noNumber(text: String) {
    #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(text.utf8)).root(as: Double.self)
    }
  }
}
