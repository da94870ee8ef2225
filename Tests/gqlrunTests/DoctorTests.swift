import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@testable import gqlrun

@Suite("gqlrun doctor", .timeLimit(.minutes(10)))
struct DoctorTests {
  private func report(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

  @Test("the demo server: a table, the same as JSON, and a pipeline file that works")
  func demoServer() async throws {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let url = "http://127.0.0.1:\(server.port)/graphql"
      let table = try await Program.run(["doctor", url, "--timeout", "2m"], in: folder)
      #expect(table.status == 0 && table.errors == "", "\(table)")
      let lines = table.output.split(separator: "\n").map(String.init)
      #expect(lines.first?.hasPrefix("graphql ") == true, "\(table)")
      #expect(lines.last?.hasSuffix(" requests to \(url)") == true, "\(table)")
      #expect(server.requestCount <= 30)

      let result = try await Program.run(
        ["doctor", url, "--json", "--write", "own.yaml", "--timeout", "2m"], in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.errors == "wrote own.yaml\n", "\(result)")
      let report = try report(result.output)
      #expect(report["endpoint"]?.stringValue == url)
      let features = try #require(report["features"]?.objectValue)
      #expect(features.count == DoctorFinding.Feature.allCases.count, "\(features.keys)")
      for (feature, supported) in [
        ("graphql", true), ("introspection", true), ("empty-selection-sets", true),
        ("uploads", true), ("tls", false),
        ("subscriptions-sse", true), ("subscriptions-multipart", true),
      ] {
        #expect(features[feature]?["supported"]?.boolValue == supported, "\(feature): \(result)")
      }
      #expect(lines.count == features.count + 1)

      let run = try await Program.run(
        ["run", "{ countries { code } }", "-p", "own.yaml", "--jq", ".data.countries[0].code"],
        in: folder)
      #expect(run.status == 0, "\(run)")
      let again = try await Program.run(["doctor", url, "--write", "own.yaml"], in: folder)
      #expect(again.status == 1 && again.errors.contains("already exists"), "\(again)")
      #expect(again.output == "", "\(again)")
    }
  }

  @Test("credentials that are sent and refused are to be corrected", .needsPython)
  func refusedCredentials() async throws {
    let result = try await LyingServer.run(
      "refused", "doctor", "-H", "'Authorization: Bearer hunter4'", in: Folder())
    #expect(result.status == 77, "\(result)")
    #expect(result.errors.contains("rejects the credentials; correct them"), "\(result)")
    #expect(!"\(result)".contains("hunter4"))
  }

  @Test(
    "subscriptions that an endpoint has only over WebSocket are in the written file", .needsPython)
  func onlyWebSocket() async throws {
    let folder = try Folder()
    let result = try await LyingServer.run(
      "web-socket", "doctor", "--write", "own.yaml", in: folder)
    #expect(result.output.contains(/subscriptions-websocket +yes/), "\(result)")
    #expect(
      try folder.text("own.yaml").contains(
        "  subscriptions: { transport: graphql-transport-ws }\n"),
      "\(result)")
  }

  @Test(
    "an endpoint that is none, or lies, is reported as such",
    .needsPython,
    arguments: [
      ("html", 1, "200 text/html: <!doctype html>"), ("html-as-json", 1, "200 application/json"),
      ("endless", 1, "200 application/json"), ("not-found", 1, "404 text/plain: nothing here"),
      ("html", 1, "is no GraphQL endpoint\n"),
      ("refused", 77, "401 application/json: log in first"),
      ("refused", 77, "needs credentials; send them with --header, --token-env or --netrc"),
      ("login-page", 77, "403 text/html: <h1>log in</h1>"),
      ("unauthenticated", 77, "needs credentials"),
      ("hang-up", 69, "closed the connection"),
      ("no-http", 1, "did not answer with HTTP"),
      ("limited", 69, "is incomplete: the server limits requests: the status is 429"),
    ] as [(String, Int32, String)])
  func liars(_ kind: String, _ status: Int32, _ text: String) async throws {
    let result = try await LyingServer.run(kind, "doctor", in: Folder())
    #expect(result.status == status, "\(result)")
    #expect((result.output + result.errors).contains(text), "\(result)")
    #expect(!result.output.contains("\u{1B}"), "\(result)")
  }

  @Test("--timeout is the time of each request", .needsPython)
  func timeout() async throws {
    // Connecting is a part of that time.
    let (limit, result) = try await Program.withGrowingLimit(until: { $0.status != 69 }) {
      try await LyingServer.run("silent", "doctor", "--timeout", $0, in: Folder())
    }
    #expect(
      result.status == 75 && result.errors.contains("did not answer within \(limit)"), "\(result)")
  }

  @Test("an endpoint that only answers the first query is not asked 30 times", .needsPython)
  func onlyOnce() async throws {
    let result = try await LyingServer.run("once", "doctor", "--json", in: Folder())
    #expect(
      result.status == 69 && result.errors.contains("the examination is incomplete"), "\(result)")
    let report = try report(result.output)
    #expect((report["requests"]?.intValue ?? 99) <= 5, "\(result)")
    #expect(report["features"]?["get"]?["supported"]?.isNull == true, "\(result)")
    #expect(
      report["features"]?["depth"]?["detail"]?.stringValue?.contains("not asked") == true,
      "\(result)")
  }

  @Test("a server that limits requests is asked no more, and no feature is missing", .needsPython)
  func limited() async throws {
    let folder = try Folder()
    let result = try await LyingServer.run(
      "limits", "doctor", "--json", "--write", "own.yaml", in: folder)
    #expect(
      result.status == 69
        && result.errors.contains("is incomplete: the server limits requests: the status is 429"),
      "\(result)")
    #expect(!folder.exists("own.yaml"))
    let report = try report(result.output)
    #expect(report["requests"]?.intValue == 4, "\(result)")
    for feature in [
      "get", "introspection", "arrays", "subscriptions-sse", "compression", "depth",
    ] {
      #expect(report["features"]?[feature]?["supported"]?.isNull == true, "\(feature): \(result)")
    }
  }

  @Test("an endpoint that agrees with everything is not believed", .needsPython)
  func yesMan() async throws {
    let result = try await LyingServer.run("agrees", "doctor", "--json", in: Folder())
    let features = try #require(try report(result.output)["features"])
    for feature in [
      "graphql-response+json", "error-status", "introspection", "empty-selection-sets",
      "persisted-queries", "arrays", "uploads", "incremental", "subscriptions-sse",
      "subscriptions-multipart",
      "subscriptions-websocket", "compression", "http/2", "tls",
    ] {
      #expect(features[feature]?["supported"]?.boolValue == false, "\(feature): \(result)")
    }
    #expect((try report(result.output)["requests"]?.intValue ?? 99) <= 30)
  }
}

@Suite("gqlrun doctor --audit", .timeLimit(.minutes(10)))
struct DoctorAuditTests {
  @Test("the demo server keeps every MUST and SHOULD")
  func demoServer() async throws {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["doctor", server.url, "--audit", "--json", "--junit", "audit.xml", "--timeout", "2m"],
        in: folder)
      #expect(result.status == 0 && result.errors == "", "\(result)")
      let report = try JSONValue(parsing: result.output)
      #expect(report["url"]?.stringValue == server.url)
      #expect(report["edition"] == "GraphQL over HTTP, September 2026")
      #expect(report["requests"]?.intValue == server.requestCount)
      #expect(server.requestCount <= 60)
      let rules = try #require(report["rules"]?.arrayValue)
      #expect(rules.count == AuditRule.all.count)
      for rule in rules where rule["outcome"] == "not kept" { Issue.record("\(rule)") }
      #expect(rules.count { $0["outcome"] == "kept" } > 30, "\(report)")
    }
  }

  @Test("a JUnit report has a case for each rule", .needsPython)
  func junit() async throws {
    let folder = try Folder()
    let result = try await LyingServer.run(
      "agrees", "doctor", "--audit", "--json", "--junit", "audit.xml", in: folder)
    #expect(result.status == 1, "\(result)")
    let count = """
      import xml.etree.ElementTree as xml
      suites = xml.parse("audit.xml").getroot()
      for suite in suites: print(suite.get("name"), *(
          int(suite.get(name)) == count for name, count in [
              ("tests", len(suite)), ("failures", len(suite.findall("testcase/failure"))),
              ("skipped", len(suite.findall("testcase/skipped")))]))
      print(len(suites.findall("*/testcase")))
      print(len(suites.findall("*/testcase/failure")))
      """
    try folder.write(count, to: "count.py")
    let counted = try await Program.shell("python3 count.py", in: folder)
    let rules = try #require(try JSONValue(parsing: result.output)["rules"]?.arrayValue)
    let failed = rules.count { $0["outcome"] == "not kept" }
    #expect(
      counted.output
        == "MUST True True True\nSHOULD True True True\n\(rules.count)\n\(failed)\n",
      "\(counted)")
    #expect(failed > 10)
    // The report is replaced, another file is not.
    let again = try await LyingServer.run(
      "agrees", "doctor", "--audit", "--junit", "audit.xml", in: folder)
    #expect(again.status == 1 && again.errors.contains("does not keep every MUST"), "\(again)")
    let other = try await LyingServer.run(
      "agrees", "doctor", "--audit", "--junit", "count.py", in: folder)
    #expect(other.status == 1 && other.errors.contains("is not a JUnit report"), "\(other)")
    #expect(try folder.text("count.py") == count)
  }

  @Test(
    "a hostile server ends the audit, or breaks rules",
    .needsPython,
    arguments: [
      ("html", 1, "is no GraphQL endpoint\n"), ("endless", 1, "is no GraphQL endpoint"),
      ("refused", 77, "needs credentials; send them"), ("hang-up", 69, "closed the connection"),
      ("no-http", 1, "did not answer with HTTP"),
      ("once", 69, "is incomplete: several requests were not answered"),
      ("redirects", 1, "is no GraphQL endpoint"),
      ("agrees", 1, "does not keep every MUST of GraphQL over HTTP, September 2026"),
      ("later-endless", 1, "found     the body does not end within the limits"),
      ("later-nested", 1, "found     the body is "),
      ("later-redirects", 1, "received  307 "), ("later-fields", 1, "does not keep every MUST"),
    ] as [(String, Int32, String)])
  func hostile(kind: String, status: Int32, text: String) async throws {
    let result = try await LyingServer.run(kind, "doctor", "--audit", in: Folder())
    #expect(result.status == status, "\(result)")
    #expect((result.output + result.errors).contains(text), "\(result)")
    #expect(!result.output.contains("\u{1B}"), "\(result)")
  }

  @Test(
    "secrets that a server repeats are not shown",
    .needsPython, arguments: ["--audit", "--json"])
  func secrets(_ option: String) async throws {
    let folder = try Folder()
    // Longer than any text of the server that is shown: its beginning is not shown, either.
    let token = "hunter4" + String(repeating: "x", count: 700)
    let result = try await LyingServer.run(
      "echo", "doctor", option, "-H", "'Authorization: Bearer \(token)'", in: folder)
    #expect(result.output.contains("•••"), "\(result)")
    #expect(!"\(result)".contains("hunter4"), "\(result)")
  }
}

/// Against a server that is not ours; see ``RealServerTests``.
@Suite("gqlrun doctor and a real server", .timeLimit(.minutes(10)), .needsRealServer)
struct RealServerDoctorTests {
  @Test("what Strawberry supports")
  func strawberry() async throws {
    let result = try await Program.run(
      ["doctor", "\(RealServer.origin ?? "")/graphql", "--json", "--timeout", "2m"], in: Folder())
    let report = try #require(try? JSONValue(parsing: result.output), "\(result)")
    for (feature, supported) in [
      ("get", true), ("introspection", true), ("persisted-queries", false), ("arrays", true),
      ("uploads", true), ("incremental", true), ("subscriptions-sse", true),
      ("subscriptions-multipart", true), ("graphql-response+json", false), ("depth", true),
      ("size", true), ("subscriptions-websocket", true),
    ] {
      #expect(
        report["features"]?[feature]?["supported"]?.boolValue == supported, "\(feature): \(result)")
    }
    #expect(
      report["features"]?["incremental"]?["detail"]?.stringValue?.contains("incrementalSpec=v0.2")
        == true, "\(result)")
  }
}

/// Servers that do not do what they say.
private enum LyingServer {
  private static let script = #"""
    import base64, hashlib, http.server, sys, threading
    kind, asked = sys.argv[1], []
    class Liar(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *_): pass
        def reply(self, status, type, body, length=None):
            self.send_response(status)
            self.send_header("Content-Type", type)
            self.send_header("Content-Length", str(length if length is not None else len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_GET(self):
            if kind == "web-socket" and "Upgrade" in self.headers: return self.upgrade()
            self.do_POST()
        def upgrade(self):
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
            self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
            self.end_headers()
            self.close_connection = True
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(1)
            if kind == "html": self.reply(200, "text/html", b"<!doctype html>\x1b[31m")
            elif kind == "html-as-json": self.reply(200, "application/json", b"<!doctype html>")
            elif kind == "not-found": self.reply(404, "text/plain", b"\nnothing here\n")
            elif kind == "refused": self.reply(401, "application/json", b'{"errors":[{"message":"log in first"}]}')
            elif kind == "login-page": self.reply(403, "text/html", b"<h1>log in</h1>")
            elif kind == "unauthenticated": self.reply(200, "application/json", b'{"data":null,"errors":[{"message":"who?","extensions":{"code":"UNAUTHENTICATED"}}]}')
            elif kind == "web-socket" and b"subscription {" in body: self.reply(200, "application/json", b'{"data":null,"errors":[{"message":"no"}]}')
            elif kind == "web-socket": self.reply(200, "application/json", b'{"data":{"__typename":"Query"}}')
            elif kind == "limited" or kind == "limits" and len(asked) > 3: self.reply(429, "text/plain", b"slow down")
            elif kind in ("agrees", "limits"): self.reply(200, "application/json", b'{"data":{"__typename":"Query"}}')
            elif kind == "silent": self.rfile.read(1)
            elif kind == "endless" or kind == "later-endless" and len(asked) > 1:
                self.reply(200, "application/json", b'{"data":"', 1 << 40)
                try:
                    while True: self.wfile.write(b"x" * 65536)
                except OSError: pass
                self.close_connection = True
            elif kind == "echo": self.reply(200, "application/json", b'{"data":{"__typename":"Query"},"errors":[{"message":"%s"}]}' % self.headers["Authorization"].encode())
            elif kind == "redirects" or kind == "later-redirects" and len(asked) > 1:
                self.send_response(307)
                self.send_header("Location", self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif kind.startswith("later-") and len(asked) == 1: self.reply(200, "application/json", b'{"data":{"__typename":"Query"}}')
            elif kind == "later-nested": self.reply(200, "application/json", b'{"data":' + b"[" * 1000000)
            elif kind == "later-fields":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/\xff; charset=\xfe\r\nContent-Length: 3\r\n\r\n\x1b[1")
            elif kind == "once" and len(asked) == 1: self.reply(200, "application/json", b'{"data":{"a":1}}')
            else: self.close_connection = True
    class Garbage(Liar):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(b"SSH-2.0-OpenSSH_9.7\r\n\r\n")
    handler = Garbage if kind == "no-http" else Liar
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_port, flush=True)
    server.serve_forever()
    """#

  /// Runs a command with the URL of the server as its first argument, and with time enough for a busy machine if the
  /// options have no time limit.
  static func run(
    _ kind: String, _ command: String, _ options: String..., in folder: Folder
  ) async throws -> RunResult {
    let limit = options.contains("--timeout") ? [] : ["--timeout", "2m"]
    let options = (options + limit).joined(separator: " ")
    return try await Program.shell(
      beside: script, arguments: kind,
      lines: "\"$GQLRUN\" \(command) http://127.0.0.1:$PORT/graphql \(options)", in: folder)
  }
}
