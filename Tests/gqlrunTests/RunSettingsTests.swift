import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

@Suite("What gqlrun run does with its settings", .timeLimit(.minutes(10)))
struct RunSettingsTests {
  private static func pipeline(_ chain: String, store: String = "store: { kind: none }") -> String {
    """
    version: 1
    name: x
    endpoint: { url: "${env:GQL_URL:-http://127.0.0.1:1/}" }
    \(store)
    chain: [\(chain)]
    """
  }

  private static let plain = "fetch, response-code, parse"

  private static func lines(_ text: String, with part: String) -> [Substring] {
    text.split(separator: "\n").filter { $0.contains(part) }
  }

  @Test("a store that the chain does not use is warned about and not created")
  func unusedStore() async throws {
    let folder = try Folder()
    try folder.write(Self.pipeline(Self.plain), to: "plain.pipeline.yaml")
    try folder.write(
      Self.pipeline("cache-read, \(Self.plain)", store: "store: { kind: memory }"),
      to: "read.pipeline.yaml")
    try await DemoServer.withServer { server in
      let line = ["run", "germany.graphql", "-e", server.url, "--store", "sqlite:x.db"]
      let plain = try await Program.run(line + ["-p", "plain.pipeline.yaml"], in: folder)
      #expect(plain.status == 0, "\(plain)")
      #expect(plain.errors.contains("has neither `cache-read` nor `cache-write`"), "\(plain)")
      #expect(!folder.exists("x.db") && !folder.exists("x.db-lock"))
      let reads = try await Program.run(line + ["-p", "read.pipeline.yaml"], in: folder)
      #expect(reads.status == 0, "\(reads)")
      #expect(reads.errors.contains("nothing is stored in x.db"), "\(reads)")
      let quiet = try await Program.run(line + ["-p", "plain.pipeline.yaml", "-s"], in: folder)
      #expect(quiet.status == 0 && quiet.errors == "", "\(quiet)")
      // The default pipeline stores, and has nothing to say about that.
      let stores = try await Program.run(line, in: folder)
      #expect(stores.status == 0 && stores.errors == "" && folder.exists("x.db"), "\(stores)")
    }
  }

  @Test("error-tap prints its lines at every level that is shown", arguments: ["error", "warning"])
  func errorTap(level: String) async throws {
    let folder = try Folder()
    try folder.write(
      Self.pipeline("error-tap: { level: \(level) }, \(Self.plain)")
        .replacing(
          "[error-tap: { level: \(level) },", with: "[{ error-tap: { level: \(level) } },"),
      to: "tap.pipeline.yaml")
    let line = ["run", "germany.graphql", "-p", "tap.pipeline.yaml", "-e", "http://127.0.0.1:1/"]
    let result = try await Program.run(line, in: folder)
    #expect(result.status == 69, "\(result)")
    #expect(Self.lines(result.errors, with: "transport_error operation=anonymous").count == 1)
    #expect(Self.lines(result.errors, with: "error: ").count == 1, "\(result)")
    let quiet = try await Program.run(line + ["-s"], in: folder)
    #expect(Self.lines(quiet.errors, with: "transport_error").isEmpty, "\(quiet)")
  }

  @Test("with -v a failure that ends the run is printed once", arguments: ["-v", "-vv"])
  func failureOnce(flag: String) async throws {
    let folder = try Folder()
    let result = try await Program.run(
      ["run", "germany.graphql", "-e", "http://127.0.0.1:1/", flag], in: folder)
    #expect(result.status == 69, "\(result)")
    #expect(Self.lines(result.errors, with: "→ ").count >= 1, "\(result)")
    #expect(
      Self.lines(result.errors, with: "cannot connect to").count(where: { !$0.hasPrefix("↻") })
        == 1, "\(result)")
    #expect(result.errors.contains("\nerror: "), "\(result)")
  }

  @Test("run and explain use the endpoint of the project file, with its headers")
  func projectEndpoint() async throws {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      try folder.write(
        """
        schema: schema.graphql
        extensions:
          endpoints:
            default: { url: "\(server.url)", headers: { X-Project: yes-it-is } }
        """, to: "graphql.config.yml")
      let result = try await Program.run(["run", "germany.graphql"], in: folder)
      #expect(result.output == RunTests.germany, "\(result)")
      #expect(server.log.last?.header("X-Project") == "yes-it-is")
      let explained = try await Program.run(
        ["pipeline", "explain", "germany.graphql"], in: folder)
      #expect(explained.output.contains("POST \(server.url)"), "\(explained)")
      // What is said on the command line or in the environment counts more.
      let elsewhere = try await Program.run(
        ["run", "germany.graphql", "-e", "http://127.0.0.1:1/", "-s"], in: folder)
      #expect(elsewhere.status == 69, "\(elsewhere)")
      let variable = try await Program.run(
        ["run", "germany.graphql", "-s"], in: folder,
        environment: ["GQL_URL": "http://127.0.0.1:1/"])
      #expect(variable.status == 69, "\(variable)")
    }
    try FileManager.default.removeItem(atPath: folder.file("graphql.config.yml"))
    let none = try await Program.run(["run", "germany.graphql"], in: folder)
    #expect(none.status == 64 && none.errors.contains("the project file"), "\(none)")
  }

  @Test("explain and graph show the default of GQL_URL that a file gives")
  func defaultEndpoint() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "${env:GQL_URL:-http://default.example/graphql}" }
      chain: [fetch, response-code, parse]

      """, to: "p.pipeline.yaml")
    for command in [
      ["pipeline", "explain", "germany.graphql", "-p", "p.pipeline.yaml"],
      ["pipeline", "graph", "p.pipeline.yaml"],
    ] {
      let unset = try await Program.run(command, in: folder, environment: ["GQL_URL": ""])
      #expect(unset.output.contains("default.example"), "\(unset)")
      let given = try await Program.run(
        command, in: folder, environment: ["GQL_URL": "http://given.example/"])
      #expect(given.output.contains("given.example"), "\(given)")
    }
  }

  @Test("a path from a variable is relative to the working directory, and a default to the file")
  func pathFromVariable() async throws {
    let folder = try Folder()
    try folder.write(
      Self.pipeline(
        "cache-read, \(Self.plain), cache-write",
        store: "store: { kind: sqlite, path: \"${env:GQL_CACHE:-default.db}\" }"),
      to: "folder/p.pipeline.yaml")
    try await DemoServer.withServer { server in
      let line = ["run", "germany.graphql", "-p", "folder/p.pipeline.yaml", "-e", server.url]
      let given = try await Program.run(line, in: folder, environment: ["GQL_CACHE": "here.db"])
      #expect(given.status == 0, "\(given)")
      #expect(folder.exists("here.db") && !folder.exists("folder/here.db"))
      let empty = try await Program.run(line, in: folder, environment: ["GQL_CACHE": ""])
      #expect(empty.status == 0, "\(empty)")
      #expect(folder.exists("folder/default.db") && !folder.exists("default.db"))
    }
  }

  @Test("a replayed answer is from the recording, in the summary and in the log")
  func replayed() async throws {
    let folder = try Folder()
    try folder.write(
      Self.pipeline(
        "logging, { record-replay: { mode: auto, file: calls.ndjson } }, \(Self.plain)"),
      to: "r.pipeline.yaml")
    try await DemoServer.withServer { server in
      let line = ["run", "germany.graphql", "-p", "r.pipeline.yaml", "-e", server.url, "-v"]
      let first = try await Program.run(line, in: folder)
      #expect(first.errors.contains("= from the server"), "\(first)")
      let second = try await Program.run(line, in: folder)
      #expect(second.output == first.output)
      #expect(second.errors.contains("= from the recording"), "\(second)")
      #expect(second.errors.contains("[recording]"), "\(second)")
      #expect(server.log.requestCount == 1)
    }
  }

  @Test("explain shows the request as apq sends it")
  func explainedGET() async throws {
    let folder = try Folder()
    let chains = [
      ("apq", "POST", "a body of"), ("{ apq: { query_method: GET } }", "GET", "in the URL: "),
    ]
    for (apq, method, body) in chains {
      try folder.write(Self.pipeline("max-retry, \(apq), \(Self.plain)"), to: "a.pipeline.yaml")
      try await DemoServer.withServer { server in
        let line = ["germany.graphql", "-p", "a.pipeline.yaml", "-e", server.url]
        let explained = try await Program.run(["pipeline", "explain"] + line, in: folder)
        #expect(explained.output.contains("\(method) \(server.url)"), "\(explained)")
        #expect(explained.output.contains(body), "\(explained)")
        #expect(explained.output.contains("extensions"), "\(explained)")
        let sent = try await Program.run(["run"] + line, in: folder)
        #expect(sent.status == 0, "\(sent)")
        #expect(server.log.requests.first?.method == method)
      }
    }
  }

  @Test("the hint of an import names types, or says what the response lacks")
  func importHint() async throws {
    let folder = try Folder()
    let line = ["cache", "import", "germany.graphql", "r.json", "--store", "sqlite:c.db"]
    try folder.write(#"{"data":{"country":{"name":"Germany","capital":"Berlin"}}}"#, to: "r.json")
    let nameless = try await Program.run(line, in: folder)
    #expect(nameless.errors.contains("the response lacks __typename"), "\(nameless)")
    #expect(!nameless.errors.contains(": ;"), "\(nameless)")
    try folder.write(
      #"{"data":{"country":{"__typename":"Country","name":"Germany","capital":"Berlin"}}}"#,
      to: "r.json")
    let named = try await Program.run(line, in: folder)
    #expect(named.errors.contains(": Country; --keys"), "\(named)")
  }

  @Test(
    "ages on the command line are whole seconds",
    arguments: [
      "cache gc --older-than 500ms", "cache read germany.graphql --max-age 100ms",
      "cache explain germany.graphql --max-stale 1.5s",
      "cache import germany.graphql r.json --age 1ms",
    ])
  func ages(line: String) async throws {
    let folder = try Folder()
    let arguments = line.split(separator: " ").map(String.init) + ["--store", "sqlite:c.db"]
    let result = try await Program.run(arguments, in: folder)
    #expect(result.status == 64, "\(result)")
    #expect(result.errors.contains("this is counted in whole seconds: write `1s`"), "\(result)")
    #expect(!folder.exists("c.db"))
  }
}
