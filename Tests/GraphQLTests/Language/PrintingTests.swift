import GQLRunLanguage
import Testing

@Suite struct PrintingTests {
  @Test(Shared.whenPresent)
  func `every recorded document is printed as by the reference`() throws {
    let vectors: [PrintVector] = try Shared.lines("print.jsonl")
    #expect(vectors.count > 400)
    for vector in vectors {
      let document = try Document(parsing: vector.source)
      #expect(document.printed() == vector.printed)
    }
  }

  @Test(Shared.whenPresent)
  func `parsing what was printed gives the same document`() throws {
    for vector: PrintVector in try Shared.lines("print.jsonl") {
      let document = try Document(parsing: vector.source)
      let again = try Document(parsing: document.printed())
      #expect(again.structure == document.structure)
      #expect(again.printed() == document.printed())
    }
  }

  @Test(Shared.whenPresent) func `a schema of a megabyte survives printing and parsing`() throws {
    let document = try Document(parsingUTF8: try Shared.real("github.graphql"))
    #expect(document.definitions.count > 1_000)
    let printed = document.printed()
    let again = try Document(parsing: printed)
    #expect(again.definitions.count == document.definitions.count)
    #expect(again.printed() == printed)
  }

  @Test func `descriptions on executable definitions print above them`() throws {
    let source = """
      "what it asks"
      query Q(
      "which one"
      $id: ID
      $n: Int = 1
      ) @d {
        a(id: $id)
      }

      \"\"\"
      two
      lines
      \"\"\"
      fragment F on T {
        b
      }

      "nameless"
      query {
        c
      }
      """
    #expect(try Document(parsing: source).printed() == source)
  }

  @Test func `arguments beyond eighty characters are printed one per line`() throws {
    let long = String(repeating: "x", count: 70)
    let source = "{ a { b(c: \"\(long)\", d: 1) } }"
    #expect(
      try Document(parsing: source).printed() == """
        {
          a {
            b(
              c: "\(long)"
              d: 1
            )
          }
        }
        """)
    let fitting = "{\n  b(c: \"\(long)\")\n}"
    #expect(try Document(parsing: fitting).printed() == fitting)
  }

  @Test func `every node prints on its own`() throws {
    let document = try Document(parsing: "query Q($a: [Int!] = [1]) @x(y: 1) { b(c: $a) }")
    let operation = try #require(document.operations.first)
    #expect(operation.variables.map { $0.printed() } == ["$a: [Int!] = [1]"])
    #expect(operation.directives.map { $0.printed() } == ["@x(y: 1)"])
    #expect(operation.selectionSet.printed() == "{\n  b(c: $a)\n}")
    #expect(operation.selectionSet.selections.map { $0.printed() } == ["b(c: $a)"])
    #expect(document.definitions.map { $0.printed() } == [document.printed()])
  }
}
