import Testing

@testable import GQLRunDemoServer

@Suite struct StringPatternTests {
  @Test(arguments: [
    ("^A", "Austria", true), ("^A", "Bahamas", false), ("land$", "Poland", true),
    ("land$", "Iceland ", false), ("i.t", "Vietnam", true), ("(Ice|Fin)land", "Finland", true),
    ("^(A|B)", "Canada", false), ("ss", "Russia", true), ("^.{4}$", "Peru", true),
    ("^.{5,}$", "Peru", false), ("^[A-C]", "Brazil", true), ("^[^A-C]", "Brazil", false),
    ("\\d", "B2", true), ("\\s", "North Korea", true), ("^\\w+$", "North Korea", false),
    ("a*b", "b", true), ("a+b", "b", false), ("colou?r", "color", true), ("", "x", true),
    ("é", "Réunion", true), ("^$", "", true), ("a|", "zzz", true), ("[]x]", "]", true),
    ("[a\\-z]", "-", true), ("\\.", "a.b", true), ("\\.", "ab", false), ("(?:ab){2}", "abab", true),
    ("^(a{2}){2}$", "aaaa", true), ("x{0}y", "y", true),
  ])
  func `regular expressions match`(_ pattern: String, text: String, expected: Bool) throws {
    #expect(try StringPattern(regex: pattern).matches(text) == expected)
  }

  @Test(arguments: [
    ("A*", "Austria", true), ("A*", "Bahamas", false), ("*land", "Poland", true),
    ("P?ru", "Peru", true),
    ("P?ru", "Pru", false), ("*", "", true), ("a.c", "abc", false), ("[a]", "[a]", true),
    ("", "", true),
  ])
  func `globs match the whole text`(_ pattern: String, text: String, expected: Bool) throws {
    #expect(try StringPattern(glob: pattern).matches(text) == expected)
  }

  @Test(arguments: [
    "(", ")", "a)", "[", "[z-a]", "*", "a|*", "+a", "a{", "a{2,1}", "a{x}", "\\", "(?<n",
    String(repeating: "(", count: 100), String(repeating: "a", count: 1001),
    String(repeating: "a+", count: 20) + String(repeating: "+", count: 40),
  ])
  func `what is wrong or too large is refused`(_ pattern: String) {
    #expect(throws: StringPattern.Failure.self) { try StringPattern(regex: pattern) }
  }

  @Test func `no pattern is slow`() throws {
    // Each of these takes a backtracking matcher without a bound longer than the age of the universe.
    let text = String(repeating: "a", count: 200)
    for pattern in ["(a+)+$b", "(a|a)*b", "(a*)*b", "(.*){20}b"] {
      let pattern = try StringPattern(regex: pattern)
      #expect((try? pattern.matches(text)) != true)
    }
    for pattern in ["((((((a{10}){10}){10}){10}){10}){10})", "(){4097}", "((){4000}){4000}b"] {
      _ = try? StringPattern(regex: pattern).matches(text)
    }
    #expect(try !StringPattern(glob: String(repeating: "*a", count: 100) + "b").matches(text))
  }

  @Test func `a pattern that takes too many steps on one text fails, and matches others`() throws {
    let pattern = try StringPattern(regex: "(a+)+$")
    #expect(try pattern.matches("aa"))
    #expect(throws: StringPattern.Failure.self) {
      try pattern.matches(String(repeating: "a", count: 200) + "!")
    }
    #expect(try pattern.matches("aa"))
  }

  @Test func `a long text is searched to its end`() throws {
    let text = String(repeating: "xy", count: 10_000) + "z"
    #expect(try StringPattern(regex: "z$").matches(text))
    #expect(try !StringPattern(regex: "q").matches(text))
  }
}
