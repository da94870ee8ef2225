import GQLRunLanguage
import Testing

@Suite struct FragmentTests {
  private let document = """
    fragment C on T { c }
    query Q { a { ...A } ... on T { ...C } }
    fragment Unused on T { ...A }
    fragment A on T { b { ... { ...B ...C } } }
    query Other { ...Unused }
    fragment B on T { d }
    type T { a: T }
    """

  private func fragmentError(_ source: String) throws -> FragmentError? {
    let document = try Document(parsing: source)
    let operation = try document.operation(named: nil)
    return #expect(throws: FragmentError.self) { try document.fragments(usedBy: operation) }
  }

  @Test func `fragments are found through fragments, in source order`() throws {
    let document = try Document(parsing: document)
    let operation = try document.operation(named: "Q")
    #expect(try document.fragments(usedBy: operation).map(\.name.value) == ["C", "A", "B"])
    #expect(try document.fragmentsByName().keys.sorted() == ["A", "B", "C", "Unused"])
  }

  @Test func `a reduced document holds one operation and what it uses`() throws {
    let document = try Document(parsing: document)
    let operation = try document.operation(named: "Q")
    let reduced = try document.reduced(to: operation)
    #expect(reduced.definitions.map(\.name?.value) == ["C", "Q", "A", "B"])
    #expect(reduced.definitions.map(\.location).sorted() == reduced.definitions.map(\.location))
    #expect(try reduced.reduced(to: operation) == reduced)

    var changed = operation
    changed.name = nil
    #expect(
      try document.reduced(to: changed).definitions.map(\.name?.value) == [nil, "C", "A", "B"])
  }

  @Test func `reducing to each operation is reducing to one after the other`() throws {
    let document = try Document(parsing: document + " query R { b ...Unused } { anonymous }")
    let operations = document.operations
    #expect(operations.map(\.name?.value) == ["Q", "Other", "R", nil])
    #expect(
      try document.reducedToEachOperation() == operations.map { try document.reduced(to: $0) })
    #expect(throws: FragmentError.self) {
      try Document(parsing: "query A { a } query B { ...Z }").reducedToEachOperation()
    }
  }

  @Test func `undefined fragments, duplicates and cycles are errors with a location`() throws {
    #expect(
      try fragmentError("{ a { ...Usr } }\nfragment User on T { b }")?.description
        == "1:7: Unknown fragment 'Usr'. Did you mean 'User'?")
    #expect(
      try fragmentError("{ ...A }\nfragment A on T { ...Z }")?.description
        == "2:19: Unknown fragment 'Z'. Did you mean 'A'?")
    #expect(
      try fragmentError("{ a }\nfragment A on T { b }\nfragment A on T { c }")?.description
        == "3:10: There can be only one fragment named 'A'.")
    #expect(
      try fragmentError("{ ...A }\nfragment A on T { ...A }")?.description
        == "2:19: Cannot spread fragment 'A' within itself.")
    let cycle = try fragmentError(
      "{ ...X }\nfragment X on T { ...A }\nfragment A on T { ...B }\nfragment B on T { ...A }")
    #expect(cycle?.description == "4:19: Cannot spread fragment 'A' within itself via 'B'.")
    #expect(cycle?.code == .cycle)
  }

  @Test func `a fragment reached twice is no cycle`() throws {
    let source = "{ ...A ...B ...A } fragment A on T { ...C } fragment B on T { ...C } "
    let document = try Document(parsing: source + "fragment C on T { c }")
    #expect(try document.fragments(usedBy: try document.operation(named: nil)).count == 3)
  }

  @Test func `cycles that an operation does not reach do not stop it`() throws {
    let document = try Document(parsing: "{ a } fragment A on T { ...A }")
    #expect(try document.reduced(to: try document.operation(named: nil)).printed() == "{\n  a\n}")
  }

  @Test func `a chain of fragments may be as long as a document`() throws {
    var source = "{ ...F0 }"
    for index in 0..<50_000 { source += " fragment F\(index) on T { ...F\(index + 1) }" }
    source += " fragment F50000 on T { a }"
    let document = try Document(parsing: source)
    let used = try document.fragments(usedBy: try document.operation(named: nil))
    #expect(used.count == 50_001)
  }
}
