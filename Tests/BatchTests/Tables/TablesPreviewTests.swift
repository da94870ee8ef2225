import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Previews of tables")
struct TablesPreviewTests {
  private static let document = """
    query Q($n: Int!, $x: Boolean!, $id: ID!, $unused: DateTime) {
      ...F
      node(id: $id) {
        ... on Repository @include(if: $x) {
          issues(first: $n, filterBy: { since: $unused }) { nodes { title } }
          labels(first: $n) { totalCount nodes { name } }
        }
      }
    }
    fragment F on Query { all: customers(first: 10) { n: totalCount nodes { name } } }
    """

  private static func preview(
    _ text: String, _ variables: JSONObject = [:]
  ) throws -> TablesPreview {
    let schema = try Schema(sdl: Document(parsing: DemoExecutor.schemaText))
    let operation = try PreparedOperation(
      document: Document(parsing: text), variables: variables, facts: TypeFacts(schema))
    var extraction = Extraction(
      operation, documentName: "q.graphql", pipeline: Pipeline(entries: []))
    extraction.place(at: "tables.db", isFile: true, option: "--to")
    return try #require(try TablesPreview(extraction.load().manifest))
  }

  private static let variables: JSONObject = ["n": 3, "x": true, "id": "R_0"]

  @Test("totals are requested without anything else, with the variables that are left")
  func totals() throws {
    let operation = try #require(
      try Self.preview(Self.document, Self.variables).totalsOperation())
    #expect(
      operation.callerDocument == """
        query Q($n: Int!, $x: Boolean!, $id: ID!) {
          all: customers(first: 10) {
            n: totalCount
          }
          node(id: $id) {
            ... on Repository @include(if: $x) {
              labels(first: $n) {
                totalCount
              }
            }
          }
        }
        """)
    #expect(operation.variables == Self.variables)
  }

  @Test("the least number of requests follows from the totals and the sizes of pages")
  func least() throws {
    var preview = try Self.preview(Self.document, Self.variables)
    #expect(preview.text.hasSuffix("\nat least 1 request\n"))
    preview.read(["all": ["n": 120], "node": ["labels": ["totalCount": 6]]])
    #expect(
      preview.text.hasSuffix("\nat least 13 requests: all has 120 rows, labels has 6 rows\n"))
  }

  @Test("a total that no list has does not overflow")
  func largest() throws {
    var preview = try Self.preview(Self.document, Self.variables)
    preview.read(["all": ["n": .number(JSONNumber(Int.max))]])
    #expect(preview.text.contains("\nat least 429496730 requests: all has 4294967296 rows\n"))
  }

  @Test("a document without totals asks for none")
  func none() throws {
    let preview = try Self.preview("{ customers { nodes { orders { totalCount } } } }")
    #expect(try preview.totalsOperation() == nil)
  }
}
