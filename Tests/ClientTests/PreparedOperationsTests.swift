import Testing

@testable import GQLRun

@Suite("Prepared operations")
struct PreparedOperationsTests {
  @Test("documents are kept parsed, up to a bound")
  func preparedOperations() throws {
    let prepared = PreparedOperations(keys: KeyRules())
    for index in 0..<(PreparedOperations.capacity + 10) {
      _ = try prepared.operation("query Q\(index) { a }", name: nil, variables: [:])
      // The first stays, because it is used.
      _ = try prepared.operation("query Q0 { a }", name: nil, variables: [:])
    }
    #expect(prepared.count == PreparedOperations.capacity)
    #expect(try prepared.operation("query Q0 { a }", name: nil, variables: [:]).name == "Q0")
    #expect(prepared.count == PreparedOperations.capacity)
  }
}
