import GQLRunLanguage
import Testing

@Suite struct OperationTests {
  private func selectionError(_ source: String, _ name: String?) throws -> String? {
    let document = try Document(parsing: source)
    return #expect(throws: OperationSelectionError.self) {
      try document.operation(named: name)
    }?.description
  }

  @Test func `the only operation needs no name`() throws {
    #expect(try Document(parsing: "{ a }").operation(named: nil).isShorthand)
    let document = try Document(parsing: "mutation M { a } fragment F on T { b }")
    #expect(try document.operation(named: nil).name?.value == "M")
    #expect(try document.operation(named: "M").type == .mutation)
  }

  @Test func `one of several is chosen by name`() throws {
    let document = try Document(parsing: "query A { a } { b } query B { c }")
    #expect(try document.operation(named: "B").name?.value == "B")
  }

  @Test func `an unknown operation name is an error that lists the operations`() throws {
    #expect(
      try selectionError("query A { a } mutation B { b }", nil)
        == "the document has 2 operations (\"A\", \"B\"); name the one to run")
    #expect(
      try selectionError("query A { a }\n{ b }", nil)
        == "2:1: the document has 2 operations (\"A\", an anonymous query); an operation without "
        + "a name must be the only one; name the one to run")
    #expect(
      try selectionError("query GetUser { a } query Other { b }", "GetUsr")
        == "the document has no operation \"GetUsr\"; it has the operations \"GetUser\", "
        + "\"Other\"; did you mean \"GetUser\"?")
    #expect(
      try selectionError("{ a }", "A")
        == "the document has no operation \"A\"; it has an anonymous query")
    #expect(
      try selectionError("query A { a }\nquery A { b }", "A")
        == "2:7: the document has 2 operations named \"A\"; names must be unique")
    #expect(
      try selectionError("fragment F on T { a }", nil)
        == "the document has no operation, only fragments; add a query to run")
    #expect(
      try selectionError("type T { a: A } fragment F on T { a }", "A")
        == "the document has no operation, only fragments and type definitions; "
        + "add a query to run")
  }
}
