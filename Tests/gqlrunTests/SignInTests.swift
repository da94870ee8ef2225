import Foundation
import GQLRunDemoServer
import Testing

/// Tokens, context values and signing out on the command line.
@Suite("Tokens on the command line", .timeLimit(.minutes(10)))
struct SignInTests {
  private static func pipeline(_ entry: String) -> String {
    """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: cache.db }
    chain:
      - max-retry
      - cache-read: { policy: network-only }
      - \(entry)
      - fetch
      - response-code
      - parse
      - cache-write

    """
  }

  @Test("without a token nothing is sent, and the exit code is 77; with one it is sent")
  func token() async throws {
    let folder = try Folder()
    try folder.write(Self.pipeline("token-refresh: { credential: gql }"), to: "t.pipeline.yaml")
    try await DemoServer.withServer { server in
      var wish = Misbehaviour()
      wish.auth = "canary-1"
      server.misbehave(wish)
      let arguments = ["run", "germany.graphql", "-p", "t.pipeline.yaml", "-e", server.url, "-vv"]
      let without = try await Program.run(arguments, in: folder)
      #expect(without.status == 77 && without.errors.contains("GQL_TOKEN is not set"), "\(without)")
      #expect(server.requestCount == 0)
      let wrong = try await Program.run(
        arguments, in: folder, environment: ["GQL_TOKEN": "canary-2"])
      #expect(wrong.status == 77 && wrong.errors.contains("has no other token"), "\(wrong)")
      #expect(!wrong.errors.contains("canary-2"), "\(wrong)")
      let right = try await Program.run(
        arguments, in: folder, environment: ["GQL_TOKEN": "canary-1"])
      #expect(right.status == 0 && right.output == RunTests.germany, "\(right)")
      #expect(!right.errors.contains("canary-1"), "\(right)")
    }
  }

  @Test("--context gives the values that plugins ask for")
  func context() async throws {
    let folder = try Folder()
    try folder.write(
      Self.pipeline("require-context: { headers: { X-Tenant: tenant } }"), to: "c.pipeline.yaml")
    try await DemoServer.withServer { server in
      let arguments = ["run", "germany.graphql", "-p", "c.pipeline.yaml", "-e", server.url]
      let without = try await Program.run(arguments, in: folder)
      #expect(without.status == 65 && without.errors.contains("--context tenant=…"), "\(without)")
      #expect(server.requestCount == 0)
      let with = try await Program.run(arguments + ["--context", "tenant=a=b"], in: folder)
      #expect(with.status == 0, "\(with)")
      #expect(server.log.last?.header("X-Tenant") == "a=b")
      let wrong = try await Program.run(arguments + ["--context", "secret"], in: folder)
      #expect(wrong.status == 64 && !wrong.errors.contains("--context secret"), "\(wrong)")
    }
  }

  @Test("logout removes the kept tokens, the records and the files, and what others keep stays")
  func logout() async throws {
    let folder = try Folder()
    try folder.write(
      Self.pipeline(
        "token-refresh: { oauth2: { token_url: \"http://127.0.0.1:1/\", client_id: c, grant: refresh-token, store: keys/token.json } }"
      ), to: "o.pipeline.yaml")
    try FileManager.default.createDirectory(
      atPath: folder.file("keys"), withIntermediateDirectories: true)
    try folder.write(
      #"{"version":1,"access_token":"kept-token","refresh_token":"r","issued_at":32503680000,"lifetime":3600}"#,
      to: "keys/token.json")
    try await DemoServer.withServer { server in
      let run = ["run", "germany.graphql", "-p", "o.pipeline.yaml", "-e", server.url]
      let result = try await Program.run(run, in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(server.log.last?.header("Authorization") == "Bearer kept-token")
    }
    #expect(folder.exists("cache.db"))
    let result = try await Program.run(["logout", "-p", "o.pipeline.yaml"], in: folder)
    #expect(result.status == 0 && result.output == "", "\(result)")
    #expect(result.errors.contains("removed the tokens of api"), "\(result)")
    let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix("cache.db") || $0 == "keys/token.json" }
    #expect(left == [])
    let again = try await Program.run(["logout", "-p", "o.pipeline.yaml"], in: folder)
    #expect(again.status == 0 && !folder.exists("cache.db"), "\(again)")
    try folder.write(Self.pipeline("token-refresh: { file: note.txt }"), to: "f.pipeline.yaml")
    let others = try await Program.run(["logout", "-p", "f.pipeline.yaml"], in: folder)
    #expect(others.status == 0 && others.errors.contains("gqlrun does not own"), "\(others)")
    #expect(folder.exists("note.txt"))
  }
}
