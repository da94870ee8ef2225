import GQLRunLanguage
import Testing

struct StrippingTests {
  @Test(
    arguments: [
      "query  A ( $a : Int = 1 , $b : [ID!] ) { a ( b : $a ) , c # d\n }":
        "query A($a:Int=1$b:[ID!]){a(b:$a)c}",
      "{ a ...B ... on C { d } }": "{a ...B ...on C{d}}",
      "{ a(b: \"x  y\", c: \"\"\"\n    block\n      two\n  \"\"\") }":
        "{a(b:\"x  y\" c:\"\"\"\nblock\n  two\"\"\")}",
      "{ a(b: 1, c: -2.5) }": "{a(b:1 c:-2.5)}",
      "  # nothing\n,,": "",
    ] as [String: String])
  func `ignored characters are removed`(source: String, expected: String) throws {
    #expect(try strippingIgnoredCharacters(of: source) == expected)
  }

  @Test func `a stripped text parses to the same document`() throws {
    for vector in try Shared.isPresent ? Shared.lines("print.jsonl", as: PrintVector.self) : [] {
      let stripped = try strippingIgnoredCharacters(of: vector.source)
      #expect(
        try Document(parsing: stripped).printed() == Document(parsing: vector.source).printed())
      #expect(try strippingIgnoredCharacters(of: stripped) == stripped)
    }
  }
}
