import GQLRunLanguage
import Testing

@testable import GQLRunCache

@Suite struct PlanTableTests {
  @Test(arguments: [1, 10_000])
  func `the table of an operation of any size is compiled once`(fields: Int) throws {
    let document = "{ " + (0..<fields).map { "f\($0) o\($0) { a }" }.joined(separator: " ") + " }"
    let plan = try PreparedOperation(document: try Document(parsing: document)).plan
    for use in UInt64(2)...4 {
      let table = plan.tables.take(for: plan)
      let found = table.use
      #expect(found == use)
      plan.tables.give(table)
    }
  }

  @Test func `a table that the types of responses have made too large is not kept`() throws {
    let plan = try PreparedOperation(document: try Document(parsing: "{ o { a } }")).plan
    var table = plan.tables.take(for: plan)
    let object = table.root
    for index in 0..<20_000 {
      let name = Array("T\(index)".utf8)
      name.withUnsafeBufferPointer { _ = table.keyEntry(of: object, typename: Bytes($0)) }
    }
    plan.tables.give(table)
    let next = plan.tables.take(for: plan)
    let use = next.use
    #expect(use == 1)
  }
}
