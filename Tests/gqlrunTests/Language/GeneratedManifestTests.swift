import Foundation
import GQLRun
import GQLRunLanguage
import GQLRunPlugins
import GQLRunTestSupport
import Testing

/// The ids of `gqlrun generate --manifest`, compared with what a client sends for the generated operations.
@Suite("Operation manifests of generated operations", .timeLimit(.minutes(10)))
struct GeneratedManifestTests {
  /// A server that knows no operation: it requests the document of each one, and answers with an error.
  private actor Server: HTTPTransport {
    struct Request: Hashable {
      var id: String
      var document: String?
    }

    private(set) var requests: [Request] = []

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      let body = try JSONValue(parsing: request.body ?? [])
      let id = body["extensions"]?["persistedQuery"]?["sha256Hash"]?.stringValue ?? ""
      let document = body["query"]?.stringValue
      requests.append(Request(id: id, document: document))
      let message = document == nil ? "PersistedQueryNotFound" : "no data"
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "application/json"
      let answer = JSONValue.object(["errors": [["message": .string(message)]]])
      return HTTPResponseMessage(head: head, body: HTTPBody([Array(answer.jsonText().utf8)]))
    }
  }

  /// An operation of a generated file.
  private struct Generated {
    var name: String
    var document: String

    /// - Parameter text: The generated Swift; `nil` is returned for files without an operation.
    init?(_ text: String) throws {
      guard let name = text.firstMatch(of: /static let operationName = "(\w+)"/)?.output.1,
        let literal = text.firstMatch(of: /static let document = (#*)"(.*)"#*\n/)
      else { return nil }
      self.name = String(name)
      // A literal between `#` has no escapes; the others have those of JSON.
      document =
        literal.output.1.isEmpty
        ? try JSONValue(parsing: "\"\(literal.output.2)\"").stringValue ?? ""
        : String(literal.output.2)
    }

    /// Values for the variables that are required.
    var variables: JSONObject {
      GeneratedManifestTests.required(document).reduce(into: [:]) { variables, variable in
        variables[variable.name] = variable.type == "Boolean!" ? true : "1"
      }
    }
  }

  /// The variables that have no default value and must not be null, with their types.
  private static func required(_ document: String) -> [(name: String, type: String)] {
    let operation = try? Document(parsing: document).operation(named: nil)
    return (operation?.variables ?? []).filter { $0.type.isNonNull && $0.defaultValue == nil }
      .map { ($0.name.value, $0.type.printed()) }
  }

  /// Whether a test can send the operation: its required variables are of simple types. Subscriptions are sent
  /// with their documents.
  private static func isSendable(_ document: String) -> Bool {
    !document.hasPrefix("subscription")
      && required(document).allSatisfy { ["ID!", "String!", "Boolean!"].contains($0.type) }
  }

  @Test(
    "ids and texts are those that a client sends with automatic persisted queries",
    arguments: [
      "", "schema: schema.graphql\n", "keys: { types: { User: [name], Planet: [name] } }\n",
    ])
  func sent(settings: String) async throws {
    let fixtures = "Tests/GeneratorTests/Fixtures"
    let folder = try Folder()
    try folder.write(
      #require(Repository.text("\(fixtures)/schema.graphql")), to: "schema.graphql")
    try FileManager.default.copyItem(
      atPath: "\(Repository.root)/\(fixtures)/Documents", toPath: folder.file("Documents"))
    let pipeline = try folder.write(
      """
      version: 1
      endpoint: { url: "http://recorded.test/graphql" }
      store: { kind: memory }
      \(settings)chain: [max-retry, cache-read, apq, fetch, response-code, parse, cache-write]

      """, to: "apq.pipeline.yaml")
    let result = try await Program.run(
      [
        "generate", "--schema", "schema.graphql", "--output", "Generated",
        "--documents", "Documents/*.graphql", "--manifest", "operations.json",
        "--pipeline", "apq.pipeline.yaml",
      ], in: folder)
    #expect(result.status == 0, "\(result)")
    let manifest = try OperationManifest(JSONValue(parsing: folder.bytes("operations.json")))
    let expected = manifest.operations.filter { Self.isSendable($0.body) }
    #expect(expected.count >= 130)

    let server = Server()
    var configuration = PipelineClient.Configuration()
    configuration.transport = server
    let client = try await PipelineClient(file: pipeline, configuration: configuration)
    let names = try FileManager.default.contentsOfDirectory(
      atPath: folder.file("Generated/Operations"))
    for name in names {
      let operation = try #require(
        try Generated(folder.text("Generated/Operations/\(name)")), "\(name)")
      guard Self.isSendable(operation.document) else { continue }
      // The answer is an error.
      _ = try? await client.fetch(
        operation.document, variables: operation.variables, operationName: operation.name,
        cachePolicy: .networkOnly)
    }
    try await client.shutdown()
    let requests = await Set(server.requests)
    for operation in expected {
      let hash = Server.Request(id: operation.id, document: nil)
      let both = Server.Request(id: operation.id, document: operation.body)
      let isSent = requests.contains(hash) && requests.contains(both)
      #expect(isSent, "\(operation.name)")
    }
    #expect(requests.count == 2 * expected.count)
  }
}
