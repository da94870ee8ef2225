import Foundation
import GQLRunDemoServer
import Testing

@Suite("gqlrun run", .timeLimit(.minutes(10)))
struct RunTests {
  static let germany = #"{"data":{"country":{"name":"Germany","capital":"Berlin"}}}"# + "\n"

  @Test("a deadline above max-retry bounds all attempts")
  func deadlineWithRetries() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(
        """
        version: 1
        endpoint: { url: "${env:GQL_URL}" }
        chain:
          - timeout: { total: 30m }
          - max-retry: { backoff: { base: 1h, max: 1h, jitter: none } }
          - fetch
          - response-code
          - parse
        """, to: "p.pipeline.yaml")
      let result = try await Program.run(
        ["run", "germany.graphql", "-p", "p.pipeline.yaml", "-e", server.url + "?status=503"],
        in: folder)
      // A retry that could not begin in time is not waited for: the failure itself is reported.
      #expect(result.status == 1, "\(result)")
      #expect(result.errors.contains("503"), "\(result)")
      #expect(server.requestCount == 1)
    }
  }
}
