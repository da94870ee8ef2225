import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

@testable import gqlrun

/// The options for header fields, credentials and connections, of every command that connects to an endpoint.
@Suite("The options of commands that connect", .timeLimit(.minutes(10)))
struct RequestOptionsTests {
  /// A command that sends requests to an endpoint.
  struct Sender: Sendable, CustomTestStringConvertible {
    var name: String
    /// The arguments; `URL` is the endpoint.
    var arguments: [String]

    var testDescription: String { name }

    func arguments(to url: String) -> [String] {
      arguments.map { $0.replacing("URL", with: url) }
    }

    /// The command as a shell line.
    func line(to url: String) -> String {
      (["\"$GQLRUN\""] + arguments(to: url).map { "'\($0)'" }).joined(separator: " ")
        .replacing("$FRONT", with: "'$FRONT'")
    }
  }

  static let senders = [
    Sender(name: "run", arguments: ["run", "germany.graphql", "-e", "URL"]),
    Sender(name: "batch run", arguments: ["batch", "run", "m.batch.yaml", "-e", "URL"]),
    Sender(
      name: "extract",
      arguments: [
        "extract", "--query", "{ countries { name } }", "-e", "URL", "--to", "sqlite:o.db",
      ]),
    Sender(name: "schema fetch", arguments: ["schema", "fetch", "-e", "URL"]),
    Sender(name: "schema diff", arguments: ["schema", "diff", "s.graphql", "URL"]),
    Sender(name: "doctor", arguments: ["doctor", "URL"]),
    Sender(
      name: "profile",
      arguments: [
        "profile", "-d", "germany.graphql", "-e", "URL", "--runs", "1", "--warmup", "0",
        "--no-baselines",
      ]),
  ]
  /// The senders, and the commands that take the same command line and send nothing.
  private static let connecting =
    senders.map(\.name) + ["batch worker", "batch check", "inspect", "pipeline explain"]

  private static let options = [
    "--endpoint", "--header", "--token-env", "--netrc", "--timeout", "--cacert", "--cert", "--key",
    "--insecure", "--proxy", "--unix-socket", "--allow-exec",
  ]

  private static func folder(_ endpoint: String = "http://127.0.0.1:1/") throws -> Folder {
    let folder = try Folder()
    try folder.write("type Query { a: Int }\n", to: "s.graphql")
    try folder.write(
      """
      version: 1
      endpoint: "\(endpoint)"
      operations: [{ id: one, query: "{ country(code: \\"DE\\") { name } }" }]
      """, to: "m.batch.yaml")
    return folder
  }

  private static let token = "token-of-nineteen-bytes"

  @Test("every command that connects has all of the options, with the same help")
  func table() throws {
    let commands = HelpTextTests.commands
    var helps: [String: Set<String>] = [:]
    var found: [String] = []
    for command in commands where command.info.shownCommands.isEmpty {
      let name = String(command.name.dropFirst("gqlrun ".count))
      let given = Self.options.filter { command.info.option($0) != nil }
      guard given.contains(where: { !["--endpoint", "--allow-exec"].contains($0) }) else {
        // The other commands of manifests only need to load one; `new` writes one.
        if given.contains("--endpoint") { #expect(name.hasPrefix("batch "), "\(name)") }
        continue
      }
      found.append(name)
      #expect(given == Self.options, "\(name)")
      for option in given.dropFirst() {
        helps[option, default: []].insert(command.info.option(option)?.abstract ?? "")
      }
    }
    #expect(Set(found) == Set(Self.connecting))
    #expect(helps.allSatisfy { $0.value.count == 1 }, "\(helps)")
  }

  @Test(
    "header fields, tokens and passwords arrive, whichever command sends them", arguments: senders)
  func credentials(_ sender: Sender) async throws {
    let cases: [(options: [String], environment: [String: String], field: String)] = [
      (["-H", "Authorization: Basic YTpi"], [:], "Basic YTpi"),
      (["-H", "@fields"], [:], "Digest x"),
      (["--token-env", "MINE"], ["MINE": Self.token], "Bearer \(Self.token)"),
      ([], ["GQL_TOKEN": Self.token], "Bearer \(Self.token)"),
      (["-n"], ["NETRC": "passwords"], "Basic dTpw"),
    ]
    for (options, environment, field) in cases {
      let folder = try Self.folder()
      try folder.write("Authorization: Digest x\n", to: "fields")
      try folder.write("machine 127.0.0.1 login u password p\n", to: "passwords")
      try await DemoServer.withServer { server in
        let result = try await Program.run(
          sender.arguments(to: server.url) + options + ["--timeout", "2m"], in: folder,
          environment: environment)
        let sent = server.log.requests.map { $0.header("Authorization") }
        #expect(!sent.isEmpty && sent.allSatisfy { $0 == field }, "\(options): \(sent)\n\(result)")
        #expect(!result.errors.contains(Self.token), "\(result)")
      }
    }
  }

  @Test("--timeout and --proxy are followed, whichever command connects", arguments: senders)
  func limits(_ sender: Sender) async throws {
    // No limit is too long for a server that never answers.
    var silent = DemoServer.Configuration()
    silent.sleep = { _ in
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      defer { continuation.finish() }
      for await _ in stream {}
      throw CancellationError()
    }
    try await DemoServer.withServer(silent) { server in
      // For `doctor`, connecting has the same limit.
      let (limit, late) = try await Program.withGrowingLimit(
        until: { !$0.errors.contains("no connection to ") }
      ) {
        try await Program.run(
          sender.arguments(to: server.url + "?delay=20") + ["--timeout", $0], in: Self.folder())
      }
      #expect(late.status != 0 && late.errors.contains("--timeout"), "\(limit) \(late)")
    }
    // A server of its own for each: a request that was given up may be counted late.
    try await DemoServer.withServer { server in
      let other = ["http_proxy": "http://127.0.0.1:1"]
      let direct = try await Program.run(
        sender.arguments(to: server.url) + ["-x", "", "--timeout", "2m"], in: Self.folder(),
        environment: other)
      #expect(server.requestCount > 0, "\(direct)")
    }
    try await DemoServer.withServer { server in
      let tunnelled = try await Program.run(
        sender.arguments(to: server.url) + ["-x", "http://127.0.0.1:1", "--timeout", "20"],
        in: Self.folder())
      #expect(tunnelled.status != 0 && server.requestCount == 0, "\(tunnelled)")
    }
  }

  @Test(
    "certificates and sockets are used, whichever command connects",
    .needsPython, arguments: senders)
  func connections(_ sender: Sender) async throws {
    let folder = try Self.folder()
    guard try await Front.certificates(in: folder) else { return }
    let (secure, plain) = (
      sender.line(to: "https://127.0.0.1:$FRONT/graphql"),
      sender.line(to: "http://api.example/graphql")
    )
    for (kind, line) in [
      ("tls-client", "\(secure) --cacert server.pem --cert client.pem --key client.key"),
      ("tls-client", "\(secure) -k -E both.pem"), ("unix", "\(plain) --unix-socket $FRONT"),
    ] {
      try await DemoServer.withServer { server in
        try? FileManager.default.removeItem(atPath: folder.file("server.sock"))
        let result = try await Front.shell(kind, port: server.port, line, in: folder)
        #expect(server.requestCount > 0, "\(line): \(result)")
      }
    }
  }

  @Test("a worker has the options, too", .needsPostgres)
  func worker() async throws {
    let postgres = try PostgresServer.shared.get()
    let (schema, database) = postgres.newSchema()
    try postgres.execute("CREATE SCHEMA \(schema)")
    try await DemoServer.withServer { server in
      let folder = try Self.folder(server.url)
      let text = try folder.text("m.batch.yaml")
      try folder.replace(
        "m.batch.yaml",
        with: text
          + "\nsinks: [{ ndjson: { path: out.ndjson } }]\nrun: { journal: \"\(database)\" }\n")
      for command in ["init", "enqueue"] {
        let result = try await Program.run(["batch", command, "m.batch.yaml"], in: folder)
        #expect(result.status == 0, "\(result)")
      }
      let result = try await Program.run(
        ["batch", "worker", "m.batch.yaml", "--token-env", "MINE", "-H", "X-Client: b"], in: folder,
        environment: ["MINE": Self.token])
      #expect(result.status == 0, "\(result)")
      #expect(server.log.last?.header("Authorization") == "Bearer \(Self.token)")
      #expect(server.log.last?.header("X-Client") == "b")
    }
  }

  @Test("a pipeline of a manifest that does not send GQL_TOKEN is named when it is missed")
  func unsentToken() async throws {
    try await DemoServer.withServer { server in
      let folder = try Self.folder(server.url + "?status=401")
      let text = try folder.text("m.batch.yaml")
      let hint = "does not send the token in GQL_TOKEN; --token-env GQL_TOKEN does"
      let sent = try await Program.run(
        ["batch", "run", "m.batch.yaml"], in: folder, environment: ["GQL_TOKEN": Self.token])
      #expect(sent.status == 77 && !sent.errors.contains(hint), "\(sent)")
      #expect(server.log.last?.header("Authorization") == "Bearer \(Self.token)")
      try folder.replace("m.batch.yaml", with: text + "\npipeline: plain\n")
      let unsent = try await Program.run(
        ["batch", "run", "m.batch.yaml"], in: folder, environment: ["GQL_TOKEN": Self.token])
      #expect(unsent.status == 77 && unsent.errors.contains("plain \(hint)"), "\(unsent)")
      #expect(server.log.last?.header("Authorization") == nil)
    }
  }
}
