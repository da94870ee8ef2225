import GQLRunLanguage
import GQLRunTestSupport
import Testing

@Suite struct StringValueTests {
  private func value(of literal: String) throws -> String? {
    guard case .string(let string) = try Value(parsing: literal) else { return nil }
    return string.value
  }

  @Test(arguments: [
    ("\"\"", ""),
    (#""plain é 😀""#, "plain é 😀"),
    (#""\" \\ \/ \b \f \n \r \t""#, "\" \\ / \u{8} \u{C} \n \r \t"),
    (#""\u00e9\u00E9""#, "éé"),
    (#""\u{1F600} \u{000041}""#, "😀 A"),
    (#""\uD83D\uDE00!""#, "😀!"),
    ("\"# no comment\"", "# no comment"),
  ])
  func `a quoted string has the value`(literal: String, expected: String) throws {
    #expect(try value(of: literal) == expected)
  }

  @Test(arguments: [
    ("\"\"\"\"\"\"", ""),
    ("\"\"\"  first\"\"\"", "  first"),
    ("\"\"\"\n    a\n      b\n    c\n  \"\"\"", "a\n  b\nc"),
    ("\"\"\"a\r\n    b\r    c\"\"\"", "a\nb\nc"),
    ("\"\"\"\n\n  \n  a\n\n  b\n \n\"\"\"", "a\n\nb"),
    ("\"\"\"a \\\"\"\" b \\\" \\n\"\"\"", "a \"\"\" b \\\" \\n"),
    ("\"\"\"\n  \\\"\"\"\n  x\"\"\"", "\"\"\"\nx"),
    ("\"\"\"\n\t\tx\n\t y\n\tz\"\"\"", "\tx\n y\nz"),
    ("\"\"\"  \n \n\"\"\"", ""),
  ])
  func `a block string has the value`(literal: String, expected: String) throws {
    #expect(try value(of: literal) == expected)
  }

  @Test func `a lone or misplaced surrogate is an error`() {
    for literal in [#""\uD83D""#, #""\uDE00\uD83D""#, #""\uD83D\n""#, #""\uD83D\u0041""#] {
      #expect(throws: GraphQLSyntaxError.self, "\(literal)") { try Value(parsing: literal) }
    }
  }

  @Test func `every string is printed as a literal with its value`() throws {
    let pieces = ["\"", "\"\"\"", "\\", "\n", " ", "\t", "a", "é", "\u{0}", "\r", "\u{7F}", "😀"]
    var random = SeededRandom(7)
    for _ in 0..<5_000 {
      let count = Int.random(in: 0...8, using: &random)
      let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      for isBlock in [false, true] {
        let location = SourceLocation(line: 1, column: 1, offset: 0)
        let string = StringValue(text, isBlock: isBlock, at: location)
        let literal = Value.string(string).printed()
        #expect(try value(of: literal) == text, "\(literal.debugDescription)")
        let field = ObjectField(
          name: Name("a", at: location), value: .string(string), location: location)
        let nested = Value.list([.object([field], location)], location)
        #expect(try Value(parsing: nested.printed()).printed() == nested.printed())
      }
    }
  }
}
