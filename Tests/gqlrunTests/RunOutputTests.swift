import ArgumentParser
import Foundation
import GQLRunDemoServer
import Testing

@testable import gqlrun

@Suite("What gqlrun run prints", .timeLimit(.minutes(10)))
struct RunOutputTests {
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

  @Test(
    "the command that runs jq refuses limits that no process has",
    arguments: [("-1", "1"), ("\(Int.max)", "1"), ("1", "-1")])
  func jqLimits(seconds: String, bytes: String) {
    #expect(throws: (any Error).self) {
      try JQRunCommand.parse(["--max-seconds=\(seconds)", "--max-bytes=\(bytes)", "."])
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
}

enum JQ {
  static let isThere = (try? JQFilter(".", isRaw: false, program: Program.path)) != nil
}

@Suite("--jq", .enabled(if: JQ.isThere, "there is no libjq"), .timeLimit(.minutes(10)))
struct JQTests {
  /// The outputs of an expression, one per line.
  private func outputs(
    _ expression: String, raw: Bool, _ chunks: [ArraySlice<UInt8>]
  ) throws -> [String] {
    let filter = try JQFilter(expression, isRaw: raw, program: Program.path)
    for chunk in chunks { try chunk.withUnsafeBytes { try filter.add($0) } }
    var lines: [String] = []
    try filter.forEachOutput { output in
      switch output {
      case .json(let text), .text(let text): lines.append(text)
      }
    }
    return lines
  }

  private static let bytes = Array(#"{"a":[1,"x",null,{"b":"é"}],"c":1.5}"#.utf8)

  @Test(
    "prints what jq prints",
    arguments: [
      (".", false, [#"{"a":[1,"x",null,{"b":"é"}],"c":1.5}"#]), (".a[1]", false, [#""x""#]),
      (".a[1]", true, ["x"]), (".a[]", false, ["1", #""x""#, "null", #"{"b":"é"}"#]),
      (".a[3].b", true, ["é"]), ("empty", false, []), (".a | length", true, ["4"]),
    ])
  func outputs(expression: String, raw: Bool, lines: [String]) throws {
    #expect(try outputs(expression, raw: raw, [Self.bytes[...]]) == lines)
  }

  @Test("the input may come in chunks cut at any byte")
  func chunks() throws {
    for cut in 0...Self.bytes.count {
      let chunks = [Self.bytes[..<cut], Self.bytes[cut...]]
      #expect(try outputs(".a[3].b", raw: true, chunks) == ["é"])
    }
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
