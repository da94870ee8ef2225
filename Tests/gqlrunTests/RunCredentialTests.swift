import Foundation
import GQLRunDemoServer
import Testing

@testable import gqlrun

@Suite("The credentials of gqlrun run", .timeLimit(.minutes(10)))
struct RunCredentialTests {
  private static let token = "token-of-nineteen-bytes"

  /// The field Authorization that the server got, and what the run printed.
  private func sent(
    _ arguments: [String], in folder: Folder, _ environment: [String: String] = [:],
    input: String = ""
  ) async throws -> (field: String?, result: RunResult) {
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "germany.graphql", "-e", server.url] + arguments, in: folder, input: input,
        environment: environment)
      #expect(!result.errors.contains(Self.token), "\(result)")
      return (server.log.last?.header("Authorization"), result)
    }
  }

  @Test("--token-env sends a variable as bearer token, instead of the token of the file")
  func tokenEnvironment() async throws {
    let folder = try Folder()
    let environment = ["MINE": Self.token, "GQL_TOKEN": "another-token-here"]
    for pipeline in ["default", "auth"] {
      let (field, result) = try await sent(
        ["--token-env", "MINE", "-p", pipeline, "-vv"], in: folder, environment)
      #expect(field == "Bearer \(Self.token)", "\(result)")
      #expect(result.errors.contains("> Authorization: •••"), "\(result)")
    }
    let both = try await sent(
      ["--token-env", "MINE", "-H", "Authorization: x"], in: folder, environment)
    #expect(both.result.status == 64 && both.field == nil, "\(both.result)")
    let broken = try await sent(["--token-env", "MINE"], in: folder, ["MINE": "a\nb"])
    #expect(broken.result.status == 77 && broken.field == nil, "\(broken.result)")
  }

  @Test(
    "GQL_TOKEN is sent without a pipeline, and one that is not sent is reported when it is missed")
  func tokenByDefault() async throws {
    let folder = try Folder()
    let environment = ["GQL_TOKEN": Self.token]
    let (field, result) = try await sent([], in: folder, environment)
    #expect(field == "Bearer \(Self.token)" && result.errors == "", "\(result)")
    let header = try await sent(["-H", "authorization: Basic YTpi"], in: folder, environment)
    #expect(header.field == "Basic YTpi")
    let unused = try await sent(["-p", "plain"], in: folder, environment)
    #expect(unused.field == nil && unused.result.errors == "", "\(unused.result)")
    try await DemoServer.withServer { server in
      let refused = try await Program.run(
        ["run", "germany.graphql", "-e", server.url + "?status=401", "-p", "plain"], in: folder,
        environment: environment)
      #expect(refused.status == 77, "\(refused)")
      #expect(
        refused.errors.contains(
          "plain does not send the token in GQL_TOKEN; --token-env GQL_TOKEN does"), "\(refused)")
    }
    let used = try await sent(["-p", "auth"], in: folder, environment)
    #expect(used.field == "Bearer \(Self.token)" && used.result.errors == "", "\(used.result)")
  }

  @Test("-H @FILE reads a field from each line, - is standard input")
  func headerFile() async throws {
    let folder = try Folder()
    let fields = "Authorization: Bearer \(Self.token)\r\n\nX-One: 1\n"
    try folder.write(fields, to: "fields")
    for (argument, input) in [("@fields", ""), ("@-", fields)] {
      let (field, result) = try await sent(["-H", argument], in: folder, input: input)
      #expect(field == "Bearer \(Self.token)", "\(result)")
    }
  }

  @Test("--netrc sends the password of exactly the endpoint's host")
  func netrc() async throws {
    let folder = try Folder()
    try folder.write(
      "machine 127.0.0.1 login me password \(Self.token)\n", to: ".netrc")
    try folder.write("machine other.example login me password \(Self.token)\n", to: "other")
    try folder.write("default login me password \(Self.token)\n", to: "default")
    let basic = "Basic " + Data("me:\(Self.token)".utf8).base64EncodedString()
    let home = ["HOME": folder.path]
    #expect(try await sent(["-n"], in: folder, home).field == basic)
    #expect(try await sent([], in: folder, home).field == nil)
    let variable = ["HOME": "/nowhere", "NETRC": folder.file(".netrc")]
    #expect(try await sent(["--netrc"], in: folder, variable).field == basic)
    #expect(
      try await sent(["-n", "-H", "Authorization: Bearer x"], in: folder, home).field == "Bearer x")
    for name in ["other", "default"] {
      let (field, result) = try await sent(["-n"], in: folder, ["NETRC": folder.file(name)])
      #expect(field == nil && result.status == 0)
      #expect(result.errors.contains("has no password for 127.0.0.1: none is sent"), "\(result)")
    }
    let missing = try await sent(["-n"], in: folder, ["NETRC": "/nowhere/netrc"])
    #expect(missing.result.status == 65 && missing.field == nil, "\(missing.result)")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: folder.file(".netrc"))
    let shared = try await sent(["-n"], in: folder, home)
    #expect(shared.result.errors.contains("every user of this machine can read"), "\(shared)")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: folder.file(".netrc"))
    #expect(try await sent(["-n"], in: folder, home).result.errors == "")
  }

  @Test("a password of .netrc is not sent to another host after a redirect", .needsPython)
  func netrcAfterRedirect() async throws {
    let folder = try Folder()
    try folder.write("machine localhost login me password \(Self.token)\n", to: ".netrc")
    try folder.write(
      """
      version: 1
      endpoint: { url: "${env:GQL_URL}" }
      chain: [{ fetch: { redirects: any-origin } }, response-code, parse]

      """, to: "r.pipeline.yaml")
    let redirecting = #"""
      import http.server, sys
      class H(http.server.BaseHTTPRequestHandler):
          def do_POST(self):
              self.rfile.read(int(self.headers["Content-Length"]))
              open("first", "w").write(str(self.headers["Authorization"]))
              self.send_response(307)
              self.send_header("Location", sys.argv[1])
              self.send_header("Content-Length", "0")
              self.end_headers()
          def log_message(self, *a): pass
      s = http.server.HTTPServer(("127.0.0.1", 0), H)
      print(s.server_port, flush=True)
      s.serve_forever()
      """#
    try await DemoServer.withServer { server in
      let result = try await Program.shell(
        beside: redirecting, arguments: "'\(server.url)'",
        lines: #"HOME=. "$GQLRUN" run germany.graphql -n -p r.pipeline.yaml -e localhost:$PORT/"#,
        in: folder)
      #expect(result.output == RunTests.germany, "\(result)")
      #expect(try folder.text("first").hasPrefix("Basic "))
      #expect(server.requestCount == 1 && server.log.last?.header("Authorization") == nil)
    }
  }
}

@Suite("Netrc")
struct NetrcTests {
  @Test(
    "entries are read as curl reads them",
    arguments: [
      ("machine a login x password y", "a", Netrc.Entry(login: "x", password: "y")),
      (
        "machine A.example\n\tlogin x\n\tpassword y\n", "a.EXAMPLE",
        .init(login: "x", password: "y")
      ),
      ("machine b password no\nmachine a password y", "a", .init(password: "y")),
      ("# machine a password no\nmachine a password y # z", "a", .init(password: "y")),
      (#"machine a login "x y" password "q\"\n""#, "a", .init(login: "x y", password: "q\"\n")),
      ("macdef m\nmachine a password no\n\nmachine a password y", "a", .init(password: "y")),
      ("machine a account machine password y", "a", .init(password: "y")),
      ("machine a password y machine a password no", "a", .init(password: "y")),
      ("machine b password no", "a", nil), ("default password no", "a", nil), ("", "a", nil),
      ("machine", "a", nil), ("machine a login", "a", .init()),
      ("machine example.com password no", "www.example.com", nil),
    ])
  func entries(text: String, host: String, entry: Netrc.Entry?) {
    #expect(Netrc(text).entry(for: host) == entry)
  }
}
