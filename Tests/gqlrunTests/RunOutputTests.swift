import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

@testable import gqlrun

@Suite("What gqlrun run prints", .timeLimit(.minutes(10)))
struct RunOutputTests {
  @Test("a document on the command line is run like one in a file, and named in errors")
  func inline() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let text = "{ country(code: \"DE\") { name capital } }"
      for arguments in [[text], ["-q", text], ["--query", text], ["# note\nquery Q \(text)"]] {
        let result = try await Program.run(["run", "-e", server.url] + arguments, in: folder)
        #expect(result.output == RunTests.germany && result.errors == "", "\(result)")
      }
      let wrong = try await Program.run(["run", "{ nope }", "-e", server.url], in: folder)
      #expect(wrong.status == 4 && wrong.errors.contains("(query:1:3)"), "\(wrong)")
      try folder.write(text, to: "{a}")
      let ambiguous = try await Program.run(["run", "{a}", "-e", server.url], in: folder)
      #expect(ambiguous.status == 64, "\(ambiguous)")
      #expect(ambiguous.errors.contains("write ./{a} for the file, or --query '{a}'"))
      let file = try await Program.run(["run", "./{a}", "-e", server.url], in: folder)
      #expect(file.output == RunTests.germany, "\(file)")
    }
  }

  @Test(
    "only what begins like a document is one",
    arguments: [
      ("{ a }", true), ("query{a}", true), ("query Q($a: Int) { a }", true),
      ("fragment F on T {a}", true),
      ("  # c\n, { a }", true), ("mutation @d { a }", true), ("query.graphql", false),
      ("query", false), ("query a.graphql", false), ("queries/{a}.graphql", false),
      ("a {b}", false),
      ("", false),
    ])
  func documents(text: String, isDocument: Bool) throws {
    let source = try DocumentSource(text)
    #expect((source.path == nil) == isDocument)
  }

  @Test("-i prints status and header fields before the result, with secrets hidden")
  func include() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-i", "-e"]
      let result = try await Program.run(run + [server.url], in: folder)
      #expect(result.output.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/graphql-resp"))
      #expect(result.output.hasSuffix("\r\n\r\n" + RunTests.germany), "\(result)")
      let refused = try await Program.run(run + [server.url + "?status=400"], in: folder)
      #expect(refused.status == 1, "\(refused)")
      #expect(refused.output.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(refused)")
      #expect(refused.output.hasSuffix("\r\n\r\n"), "\(refused)")
      let cached = run + [server.url, "--store", "cache.db"]
      #expect(try await Program.run(cached, in: folder).output.hasPrefix("HTTP/1.1 200"))
      // Nothing was received.
      #expect(try await Program.run(cached, in: folder).output == RunTests.germany)
    }
  }

  @Test("-vv shows connection, request, response and retries; -v does not")
  func verbose() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-H", "Authorization: Bearer hunter22", "-e"]
      let result = try await Program.run(
        run + [server.url + "?status=503&times=1", "-vv"], in: folder)
      #expect(result.output == RunTests.germany, "\(result)")
      let parts = [
        "* Connected to 127.0.0.1 port \(server.port), HTTP/1.1\n", "> POST /graphql?… HTTP/1.1\n",
        "> Content-Type: application/json\n", "> Authorization: •••\n", "> Content-Length: ", ">\n",
        "< HTTP/1.1 503 Service Unavailable\n", "<\n", ": retry 1 of 3 in ",
        "cause=http_status status=503", "> POST", "< HTTP/1.1 200 OK\n", "< Content-Type: ",
      ]
      var rest = result.errors[...]
      for part in parts {
        let range = try #require(rest.firstRange(of: part), "no \(part) in \(result)")
        rest = rest[range.upperBound...]
      }
      #expect(!result.errors.contains("hunter22"))
      let less = try await Program.run(run + [server.url, "-v"], in: folder)
      #expect(!less.errors.contains("> POST") && !less.errors.contains("* Connected"), "\(less)")
    }
  }

  @Test("-v tells the URL of an endpoint that was given without a scheme")
  func completedEndpoint() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let short = "127.0.0.1:\(server.port)/graphql"
      let result = try await Program.run(["run", "germany.graphql", "-e", short, "-v"], in: folder)
      #expect(result.output == RunTests.germany, "\(result)")
      #expect(result.errors.contains("the endpoint is \(server.url)\n"), "\(result)")
      let variable = try await Program.run(
        ["run", "germany.graphql"], in: folder, environment: ["GQL_URL": short])
      #expect(variable.output == RunTests.germany, "\(variable)")
    }
  }

  @Test("--store takes the path of a file without sqlite:")
  func store() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-e", server.url, "--store"]
      for name in ["cache.db", "folder/cache"] {
        #expect(try await Program.run(run + [name], in: folder).output == RunTests.germany)
        #expect(folder.exists(name))
      }
      try FileManager.default.moveItem(
        atPath: folder.file("cache.db"), toPath: folder.file("kept"))
      #expect(try await Program.run(run + ["kept"], in: folder).output == RunTests.germany)
      #expect(server.requestCount == 2)
    }
  }

  @Test("a ready-made pipeline is named like a file, and keeps its files in the working directory")
  func readyMade() async throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(
      atPath: folder.file("share"), withIntermediateDirectories: true)
    for name in ["offline", "ci"] {
      try FileManager.default.copyItem(
        atPath: Repository.root + "/pipelines/\(name).pipeline.yaml",
        toPath: folder.file("share/\(name).pipeline.yaml"))
    }
    try await DemoServer.withServer { server in
      let run = ["run", "germany.graphql", "-e", server.url, "-p"]
      #expect(
        try await Program.run(run + ["share/offline.pipeline.yaml"], in: folder).output
          == RunTests.germany)
      #expect(folder.exists("gqlrun-cache.db") && !folder.exists("share/gqlrun-cache.db"))
      // The same store under its name.
      #expect(try await Program.run(run + ["offline"], in: folder).output == RunTests.germany)
      #expect(server.requestCount == 1)
      let recorded = try await Program.run(
        run + ["share/ci.pipeline.yaml"], in: folder, environment: ["GQL_RECORD": "record"])
      #expect(recorded.output == RunTests.germany, "\(recorded)")
      #expect(folder.exists("gqlrun.recording.ndjson"))
      #expect(try await Program.run(run + ["ci"], in: folder).output == RunTests.germany)
      #expect(server.requestCount == 2)
    }
    let shown = try await Program.run(["pipeline", "show", "auth"], in: folder)
    #expect(shown.status == 0 && shown.output.contains("token-refresh"), "\(shown)")
    let removed = try await Program.run(
      ["logout", "-p", "share/offline.pipeline.yaml"], in: folder)
    #expect(removed.status == 0 && !folder.exists("gqlrun-cache.db"), "\(removed)")
    // A file of that name is the file.
    try folder.write("version: 2\n", to: "offline")
    #expect(try await Program.run(["pipeline", "show", "offline"], in: folder).status == 78)
  }
}

enum JQ {
  static let isThere = (try? JQFilter(".", isRaw: false, program: Program.path)) != nil
}

@Suite("--jq", .enabled(if: JQ.isThere, "there is no libjq"), .timeLimit(.minutes(10)))
struct JQTests {
  /// The outputs of an expression, one per line.
  private func outputs(
    _ expression: String, raw: Bool = false, _ chunks: [String]
  ) throws -> [String] {
    let filter = try JQFilter(expression, isRaw: raw, program: Program.path)
    for chunk in chunks { try Array(chunk.utf8).withUnsafeBytes { try filter.add($0) } }
    var lines: [String] = []
    try filter.forEachOutput { output in
      switch output {
      case .json(let text), .text(let text): lines.append(text)
      }
    }
    return lines
  }

  private static let text = #"{"a":[1,"x",null,{"b":"é"}],"c":1.5}"#

  @Test(
    "prints what jq prints",
    arguments: [
      (".", false, [#"{"a":[1,"x",null,{"b":"é"}],"c":1.5}"#]), (".a[1]", false, [#""x""#]),
      (".a[1]", true, ["x"]), (".a[]", false, ["1", #""x""#, "null", #"{"b":"é"}"#]),
      (".a[3].b", true, ["é"]), ("empty", false, []), (".a | length", true, ["4"]),
    ])
  func outputs(expression: String, raw: Bool, lines: [String]) throws {
    #expect(try outputs(expression, raw: raw, [Self.text]) == lines)
  }

  @Test("the input may come in chunks cut at any byte")
  func chunks() throws {
    let bytes = Array(Self.text.utf8)
    for cut in 0...bytes.count {
      let filter = try JQFilter(".a[3].b", isRaw: true, program: Program.path)
      try bytes[..<cut].withUnsafeBytes { try filter.add($0) }
      try bytes[cut...].withUnsafeBytes { try filter.add($0) }
      var lines: [String] = []
      try filter.forEachOutput { if case .text(let text) = $0 { lines.append(text) } }
      #expect(lines == ["é"])
    }
  }

  @Test("an expression with errors is refused before anything is sent; one that fails exits with 5")
  func failures() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let run = ["run", "germany.graphql", "-e", server.url, "--jq"]
      for (expression, message) in [
        (".[", "cannot read --jq: syntax error, unexpected"),
        ("nothing", "cannot read --jq: nothing/0 is not defined at"),
      ] {
        let result = try await Program.run(run + [expression], in: folder)
        #expect(result.status == 64 && result.output == "", "\(result)")
        #expect(result.errors.contains(message), "\(result)")
        #expect(server.requestCount == 0)
      }
      let failed = try await Program.run(run + [".data.country[0]"], in: folder)
      #expect(failed.status == 5 && failed.output == "", "\(failed)")
      #expect(
        failed.errors == "error: --jq failed on the result: Cannot index object with number\n")
      let good = try await Program.run(run + [".data.country.name", "-r"], in: folder)
      #expect(good.output == "Germany\n", "\(good)")
      let pretty = try await Program.run(run + [".data", "--pretty", "-o", "out"], in: folder)
      #expect(pretty.status == 0)
      #expect(
        try folder.text("out")
          == "{\n  \"country\": {\n    \"name\": \"Germany\",\n    \"capital\": \"Berlin\"\n  }\n}\n"
      )
      let partial = try await Program.run(
        ["run", "{ nope }", "-e", server.url, "--jq", ".errors | length"], in: folder)
      #expect(partial.output == "1\n" && partial.status == 4, "\(partial)")
    }
  }

  @Test(
    "halt ends the expression, and halt_error the program, with its message and exit code",
    arguments: [
      ("1, halt, 2", "1\n", "", Int32(0)), (#""no\n" | halt_error"#, "", "no\n", 5),
      (#"1, ({a: 1} | halt_error(3))"#, "1\n", "{\"a\":1}\n", 3),
    ])
  func halts(expression: String, output: String, errors: String, status: Int32) async throws {
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "germany.graphql", "-e", server.url, "--jq", expression], in: Folder())
      #expect(result.status == status && result.output == output, "\(result)")
      #expect(result.errors == errors, "\(result)")
    }
  }

  @Test(
    "modules are not found, and do not end the program",
    arguments: [#"include "x"; ."#, #"import "x" as x; ."#, #"import "x" as $x; ."#])
  func modules(expression: String) async throws {
    let result = try await Program.run(
      ["run", "{ a }", "-e", "127.0.0.1:1/graphql", "--jq", expression], in: Folder())
    #expect(result.status == 64 && result.output == "", "\(result)")
    #expect(result.errors.contains("cannot read --jq: module not found: x"), "\(result)")
  }

  @Test("one signal ends an expression without end", arguments: [SIGTERM, SIGINT])
  func endless(signal: Int32) async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let arguments = [
        "run", "germany.graphql", "-e", server.url, "--jq", #""begun", (def f: f; f)"#,
      ]
      let result = try await Program.run(arguments, in: folder) { process in
        // The first output shows that the expression runs.
        try await Program.prints("begun", in: folder)
        kill(process, signal)
      }
      #expect(result.status == 130 && result.output == "\"begun\"\n", "\(result)")
    }
  }

  @Test("a filter that is released ends its process")
  func release() throws {
    var filter: JQFilter? = try JQFilter("def f: f; f", isRaw: false, program: Program.path)
    let pid = try #require(filter?.pid)
    #expect(kill(pid, 0) == 0)
    filter = nil
    #expect(kill(pid, 0) != 0)
  }

  @Test("what is lost with the process is an error of the expression")
  func lost() throws {
    let filter = try JQFilter(".", isRaw: false, program: Program.path)
    kill(filter.pid, SIGABRT)
    let failure = #expect(throws: Failure.self) {
      // The process may receive the signal after the first result.
      while true { try filter.forEachOutput { _ in } }
    }
    #expect(failure?.status == .filterFailed)
    #expect(failure?.message.contains("libjq ended by itself") == true, "\(failure?.message ?? "")")
  }

  @Test(
    "an expression that needs too much time or memory is ended",
    arguments: [
      ("def f: f; f", 1, "it ran for 1 s, which is the limit for a result"),
      ("[range(1e9)]", 60, "libjq ended by itself; it may have needed more than 300.0 MB"),
    ])
  func limits(expression: String, maxSeconds: Int, message: String) throws {
    let limits = JQFilter.Limits(maxSeconds: maxSeconds, maxBytes: 300_000_000)
    let filter = try JQFilter(expression, isRaw: false, limits: limits, program: Program.path)
    let failure = #expect(throws: Failure.self) { try filter.forEachOutput { _ in } }
    #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
  }

  @Test("a result that is not JSON is an error, and the next one is filtered")
  func unreadable() throws {
    let filter = try JQFilter(".a", isRaw: false, program: Program.path)
    for piece in [#"{"a":"#, "]", "1}"] {
      try Array(piece.utf8).withUnsafeBytes { try filter.add($0) }
    }
    #expect(throws: Failure.self) { try filter.forEachOutput { _ in } }
    var outputs: [String] = []
    try Array(#"{"a":7}"#.utf8).withUnsafeBytes { try filter.add($0) }
    try filter.forEachOutput { if case .json(let text) = $0 { outputs.append(text) } }
    #expect(outputs == ["7"])
  }
}
