import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun run", .timeLimit(.minutes(10)))
struct RunTests {
  static let germany = #"{"data":{"country":{"name":"Germany","capital":"Berlin"}}}"# + "\n"

  @Test("prints exactly the fields asked for, whichever way the document and variables come")
  func result() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let endpoint = ["--endpoint", server.url]
      let ways: [([String], String)] = [
        (["run", "germany.graphql"], ""),
        (["run", "-"], "{ country(code: \"DE\") { name capital } }"),
        (["run", "-"], "\u{feff}{\r\n  country(code: \"DE\") {\r\n name capital } }\r\n"),
      ]
      for (arguments, input) in ways {
        let result = try await Program.run(arguments + endpoint, in: folder, input: input)
        #expect(result.status == 0, "\(result)")
        #expect(result.output == Self.germany)
        #expect(result.errors == "")
      }
      let variables: [([String], String, String)] = [
        (["--var", "code=JP"], "", "Japan"), (["--var", "$code:=\"JP\""], "", "Japan"),
        (["--var", "code=\"JP\""], "", "Japan"), (["--var", "$code=\"JP\""], "", "Japan"),
        (["--variables", "variables.json"], "", "France"),
        (["--variables", "-"], "{\"code\":\"PT\"}", "Portugal"),
        (["--variables", "variables.json", "--var", "code:=\"JP\""], "", "Japan"),
      ]
      for (arguments, input, name) in variables {
        let result = try await Program.run(
          ["run", "country.graphql"] + endpoint + arguments, in: folder, input: input)
        #expect(result.output.contains("\"name\":\"\(name)\""), "\(result)")
      }
      let chosen = try await Program.run(
        ["run", "two.graphql", "--operation", "B"] + endpoint, in: folder)
      #expect(chosen.output == #"{"data":{"country":{"name":"France"}}}"# + "\n")
      let viaVariable = try await Program.run(
        ["run", "germany.graphql"], in: folder, environment: ["GQL_URL": server.url])
      #expect(viaVariable.output == Self.germany)
    }
  }

  @Test("the second run is answered from the file with the server stopped, byte for byte the same")
  func offline() async throws {
    let folder = try Folder()
    let arguments = [
      "run", "feed.graphql", "--var", "first=40", "--store", "sqlite:cache.db", "-v",
    ]
    let (url, first) = try await DemoServer.withServer { server in
      (
        server.url,
        try await Program.run(arguments + ["--endpoint", server.url], in: folder)
      )
    }
    #expect(first.status == 0, "\(first)")
    #expect(first.errors.contains("= from the server"), "\(first.errors)")
    #expect(first.errors.contains("records: "), "\(first.errors)")
    let second = try await Program.run(arguments + ["--endpoint", url], in: folder)
    #expect(second.status == 0, "\(second)")
    #expect(second.output == first.output)
    #expect(second.errors.contains("= from the cache"), "\(second.errors)")
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("cache.db"))
    #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test("an error of the server is located in the user's own file")
  func errorLocations() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(
        """
        # a comment
        query Other { country(code: "FR") { name } }
        query Q { country(code: "DE") { name
            nope }
        }
        """, to: "wrong.graphql")
      let result = try await Program.run(
        ["run", "wrong.graphql", "--operation", "Q", "-e", server.url], in: folder)
      #expect(result.status == 4, "\(result)")
      #expect(result.output.contains(#""locations":[{"line":4,"column":5}]"#), "\(result)")
      #expect(result.errors.contains(" (wrong.graphql:4:5)\n"), "\(result)")
    }
  }

  @Test("cache-and-network prints one line per result")
  func severalResults() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let arguments = [
        "run", "germany.graphql", "-e", server.url, "--store", "sqlite:c.db", "--policy",
        "cache-and-network",
      ]
      #expect(try await Program.run(arguments, in: folder).output == Self.germany)
      #expect(try await Program.run(arguments, in: folder).output == Self.germany + Self.germany)
    }
  }

  @Test("cache-only sends nothing: exit code 3 names the field that is missing")
  func cacheOnly() async throws {
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "germany.graphql", "-e", server.url, "--policy", "cache-only"], in: Folder())
      #expect(result.status == 3)
      #expect(result.output == "")
      #expect(result.errors.contains("`country`"), "\(result)")
      #expect(server.requestCount == 0)
    }
  }

  @Test("network-first warns when it answers from the cache")
  func networkFirst() async throws {
    let folder = try Folder()
    let pipeline = """
      version: 1
      endpoint: { url: "${env:GQL_URL}" }
      store: { kind: sqlite, path: c.db }
      chain: [cache-read: { policy: network-first }, fetch, response-code, parse, cache-write]
      """
    try folder.write(pipeline, to: "first.pipeline.yaml")
    let run = ["run", "germany.graphql", "-p", "first.pipeline.yaml"]
    try await HeldPort.with { port in
      let url = try await DemoServer.withServer(.init(port: port)) { server in
        let result = try await Program.run(run + ["-e", server.url], in: folder)
        #expect(result.output == Self.germany, "\(result)")
        return server.url
      }
      let result = try await Program.run(run + ["-e", url], in: folder)
      #expect(result.status == 0)
      #expect(result.output == Self.germany)
      #expect(result.errors.contains("warning: the network did not answer"), "\(result)")
    }
  }

  @Test("--pretty indents, --compact does not")
  func layout() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-e", server.url]
      #expect(try await Program.run(run + ["--compact"], in: folder).output == Self.germany)
      let pretty = try await Program.run(run + ["--pretty"], in: folder).output
      #expect(
        pretty == """
          {
            "data": {
              "country": {
                "name": "Germany",
                "capital": "Berlin"
              }
            }
          }

          """)
    }
  }

  @Test("-v tells the chain's steps and a summary, --quiet only why there is no result")
  func verbosity() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-e"]
      let verbose = try await Program.run(run + [server.url, "-v"], in: folder).errors
      for text in ["→ ", "← ", "= from the server, ", " bytes", "records: 1 new, 0 changed"] {
        #expect(verbose.contains(text), "\(verbose)")
      }
      let quiet = try await Program.run(run + [server.url + "?errors", "-s"], in: folder)
      #expect(quiet.status == 4)
      #expect(quiet.errors == "")
      let failed = try await Program.run(run + [server.url + "?status=500", "-s"], in: folder)
      #expect(failed.status == 1)
      #expect(failed.errors.split(separator: "\n").count == 1, "\(failed)")
    }
  }

  @Test("sends the fields of --header")
  func header() async throws {
    try await DemoServer.withServer { server in
      let run = ["run", "germany.graphql", "-e", server.url + "?auth=open-sesame"]
      let folder = try Folder()
      #expect(try await Program.run(run, in: folder).status == 77)
      let allowed = try await Program.run(
        run + ["-H", "Authorization: Bearer open-sesame"], in: folder)
      #expect(allowed.output == Self.germany, "\(allowed)")
    }
  }

  /// What the server does, the exit code, and what standard error says.
  static let failures: [(String, Int32, String)] = [
    ("status=401", 77, "401 Unauthorized"), ("status=403", 77, "403 Forbidden"),
    ("status=404", 1, "404 Not Found"), ("status=429", 75, "429 Too Many Requests"),
    ("status=500", 1, "500 Internal Server Error"), ("status=503", 1, "503"),
    ("retry-after=1", 75, "503"), ("html", 1, "502 Bad Gateway (text/html): <!DOCTYPE html>"),
    ("garbage", 1, "not valid JSON at byte"), ("empty", 1, "the response is empty"),
    ("truncate=20", 1, "after 20 bytes"), ("status=204", 1, "the response is empty"),
  ]

  @Test("a failing server is reported once, and does not change the cache", arguments: failures)
  func failure(_ wish: String, _ status: Int32, _ says: String) async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(
        """
        version: 1
        endpoint: { url: "${env:GQL_URL}" }
        store: { kind: sqlite, path: c.db }
        chain: [logging, cache-read, fetch, response-code, parse, cache-write]
        """, to: "once.pipeline.yaml")
      let run = ["run", "germany.graphql", "-p", "once.pipeline.yaml", "-e"]
      let result = try await Program.run(run + ["\(server.url)?\(wish)"], in: folder)
      #expect(result.status == status, "\(result)")
      #expect(result.output == "")
      #expect(result.errors.contains(says), "\(result)")
      #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
      let dump = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
      #expect(dump.output == "" && dump.status == 0, "\(dump)")
    }
  }

  @Test("GraphQL errors: the result is printed, the errors are reported, exit code 4")
  func graphQLErrors() async throws {
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "germany.graphql", "-e", server.url + "?errors"], in: Folder())
      #expect(result.status == 4)
      #expect(result.output.contains(#""capital":null"#))
      #expect(result.output.contains(#""errors":["#))
      #expect(result.errors.contains("graphql error: country.capital: "), "\(result)")
    }
  }

  @Test("an endpoint that cannot be reached is exit code 69")
  func unreachable() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "${env:GQL_URL}" }
      chain: [logging, fetch, response-code, parse]
      """, to: "bare.pipeline.yaml")
    for url in ["http://127.0.0.1:1/", "http://no-such-host.invalid/"] {
      let result = try await Program.run(
        ["run", "germany.graphql", "-p", "bare.pipeline.yaml", "-e", url], in: folder)
      #expect(result.status == 69, "\(result)")
      #expect(result.output == "")
      #expect(result.errors.split(separator: "\n").count == 1, "\(result)")
    }
  }

  @Test("a deadline is exit code 75")
  func deadline() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write(
        """
        version: 1
        endpoint: { url: "${env:GQL_URL}" }
        chain: [timeout: { total: 100ms }, fetch, response-code, parse]
        """, to: "short.pipeline.yaml")
      let result = try await Program.run(
        ["run", "germany.graphql", "-p", "short.pipeline.yaml", "-e", server.url + "?delay=60000"],
        in: folder)
      #expect(result.status == 75, "\(result)")
    }
  }

  @Test(
    "the ready-made pipelines run by their names, in the working directory, and fall back as they say",
    arguments: ["default", "offline", "fresh", "plain"])
  func readyMade(_ name: String) async throws {
    let folder = try Folder()
    // A folder with the name of a pipeline is not a file.
    try FileManager.default.createDirectory(
      atPath: folder.file("offline"), withIntermediateDirectories: true)
    let run = ["run", "germany.graphql", "-p", name, "-e"]
    try await DemoServer.withServer { server in
      let first = try await Program.run(run + [server.url], in: folder)
      #expect(first.output == Self.germany && first.errors == "", "\(first)")
      let again = try await Program.run(run + [server.url + "?status=500"], in: folder)
      switch name {
      case "offline": #expect(again.output == Self.germany && again.errors == "", "\(again)")
      case "fresh":
        #expect(again.output == Self.germany, "\(again)")
        #expect(again.errors.contains("warning: the network did not answer"), "\(again)")
      default: #expect(again.status == 1 && again.output == "", "\(again)")
      }
      #expect(folder.exists("gqlrun-cache.db") == ["offline", "fresh"].contains(name))
      // A file with the name of a ready-made pipeline is used instead.
      if name == "plain" {
        try folder.write("version: 2\n", to: name)
        let own = try await Program.run(run + [server.url], in: folder)
        #expect(own.status == 78 && own.errors.contains("plain:1:"), "\(own)")
      }
    }
  }

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
