import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

/// The example of a plugin of one's own, run as docs/guide-own-plugins.md says.
@Suite("Examples/OwnPlugin", .timeLimit(.minutes(10)))
struct ExampleTests {
  private func run(
    _ arguments: [String], _ server: LiveDemoServer, _ folder: Folder
  ) async throws -> RunResult {
    let program = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path
    let process = ChildProcess(
      "\(program)/my-gqlrun", arguments, in: folder.path, environment: ["GQL_URL": server.url])
    return try await Program.run(process, in: folder)
  }

  @Test("its plugin sends the tenant, refuses others, and its options are checked")
  func tenant() async throws {
    let example = Repository.root + "/Examples/OwnPlugin"
    let pipeline = "\(example)/tenant.pipeline.yaml"
    let document = "\(example)/country.graphql"
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let right = try await run([pipeline, document, "acme"], server, folder)
      #expect(right.status == 0, "\(right)")
      #expect(
        right.output == #"{"data":{"country":{"name":"Portugal","capital":"Lisbon"}}}"# + "\n")
      #expect(server.log.last?.header("X-Tenant") == "acme")
      let wrong = try await run([pipeline, document, "evil"], server, folder)
      #expect(wrong.status == 1 && wrong.errors.contains("tenants acme, globex"), "\(wrong)")
      #expect(server.requestCount == 1)
      let text = try folder.text(pipeline).replacing("allowed", with: "allowd")
      let typo = try await run(
        [try folder.write(text, to: "typo.pipeline.yaml"), document, "acme"], server, folder)
      #expect(
        typo.status == 1 && typo.errors.contains("typo.pipeline.yaml:8:15")
          && typo.errors.contains("did you mean `allowed`?"), "\(typo)")
      let checked = try await run(["check", pipeline], server, folder)
      #expect(checked.status == 0 && checked.output == "\(pipeline): ok\n", "\(checked)")
      let refused = try await run(["check", "\(folder.path)/typo.pipeline.yaml"], server, folder)
      #expect(
        refused.status == 78 && refused.output.contains("did you mean `allowed`?"), "\(refused)")
      #expect(server.requestCount == 1)
    }
  }
}
