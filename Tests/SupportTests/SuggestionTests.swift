import GQLRunSupport
import Testing

@Suite struct SuggestionTests {
  private static let cases: [(String, [String], String?)] = [
    ("max_retires", ["max_retries", "min_retries"], "max_retries"),
    ("GetUsr", ["ListUsers", "GetUser"], "GetUser"),
    ("getuser", ["GetUser"], "GetUser"),
    ("ab", ["ba"], "ba"),
    ("a", ["a10", "a2"], "a2"),
    ("verb", ["completely"], nil),
    ("", ["a", "abc"], "a"),
    ("x", [], nil),
    ("same", ["some", "same"], "same"), ("b", ["A", "B"], "B"), ("b", ["B", "b"], "b"),
  ]

  @Test(arguments: cases)
  func `the closest option is suggested`(input: String, options: [String], expected: String?) {
    #expect(suggestion(for: input, in: options) == expected)
  }

  @Test func `a very long name has no suggestions`() {
    let name = String(repeating: "x", count: 1_000_000)
    #expect(suggestion(for: name, in: [name + "y"]) == nil)
  }
}
