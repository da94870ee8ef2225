import GQLRunJSON
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

  @Test(
    "text that is no complete string is an error", arguments: ["\"", "\"\\", "\"abc\\\"", "[\"a"])
  func incomplete(text: String) {
    #expect(throws: JSONError.self) { try TokenIndex(checked: Array(text.utf8)) }
  }

  @Test(
    "numbers are read as the nearest floating-point number",
    arguments: ["0", "-0.5", "1e2", "69.85548234856975", "12345678901234567890", "1E-400"])
  func numbers(text: String) throws {
    let found: Double = try TokenIndex(checked: Array(text.utf8)).root(as: Double.self)
    #expect(found == Double(text))
  }

  @Test("other values are no number", arguments: ["1e999", "\"1\"", "null", "[1]", "{}", "true"])
  func noNumber(text: String) {
    #expect(throws: TypeMismatch.self) {
      try TokenIndex(checked: Array(text.utf8)).root(as: Double.self)
    }
  }
}
