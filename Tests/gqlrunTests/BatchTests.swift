import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@Suite("gqlrun batch", .serialized, .timeLimit(.minutes(5)))
struct BatchTests {
  static let users = """
    version: 1
    name: users
    run: { concurrency: 4 }
    sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
    report: { junit: out/j.xml, html: out/r.html, json: out/r.json }
    operations:
      - id: users
        query: "query User($id: ID!) { user(id: $id) { id login } }"
        foreach: { csv: ids.csv, key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
        emit: user
    """

  private func folder(_ count: Int = 100) throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.users, to: "m.batch.yaml")
    try folder.write("id\n" + (1...count).map { "U_\($0)\n" }.joined(), to: "ids.csv")
    return folder
  }

  @Test("runs, tells status, writes reports, and finds nothing to do the second time")
  func run() async throws {
    try await DemoServer.withServer { server in
      let folder = try folder()
      let to = ["--endpoint", server.url]
      let check = try await Program.run(["batch", "check", "m.batch.yaml"] + to, in: folder)
      #expect(check.status == 0 && check.errors.contains("ok, 1 operation, 100 tasks"), "\(check)")
      #expect(server.requestCount == 0)
      let run = try await Program.run(["batch", "run", "m.batch.yaml"] + to, in: folder)
      #expect(run.status == 0 && run.errors.contains("100 done"), "\(run)")
      #expect(run.output == "")
      #expect(try folder.text("out/users.ndjson").split(separator: "\n").count == 100)
      let status = try await Program.run(
        ["batch", "status", "m.batch.yaml", "--json"] + to, in: folder)
      #expect(try JSONValue(parsing: status.output)["done"]?.intValue == 100)
      let again = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--resume"] + to, in: folder)
      #expect(again.status == 0 && again.errors.contains("100 from before"), "\(again)")
      #expect(server.requestCount == 100)
      let report = try JSONValue(parsing: folder.text("out/r.json"))
      #expect(report["tasks"]?["done"]?.intValue == 100)
      #expect(report["latency_ms"]?["p99"]?.doubleValue ?? 0 > 0)
      let page = try folder.text("out/r.html")
      #expect(page.contains("<svg") && !page.contains("<script") && !page.contains("http://"))
      #expect(try folder.text("out/j.xml").contains("tests=\"100\" failures=\"0\""))
      let next = try await Program.run(["batch", "run", "m.batch.yaml", "-q"] + to, in: folder)
      #expect(next.status == 0 && next.errors == "", "\(next)")
      let diff = try await Program.run(["batch", "diff", "m.batch.yaml"] + to, in: folder)
      #expect(diff.status == 0 && diff.output.contains("100 as before"), "\(diff)")
    }
  }

  @Test("a dry run sends nothing, and shows requests without what looks secret")
  func dryRun() async throws {
    try await DemoServer.withServer { server in
      let folder = try folder(3)
      try folder.write(
        Self.users.replacingOccurrences(of: "($id: ID!)", with: "($id: ID!, $token: String!)")
          .replacingOccurrences(
            of: "{ id login } }", with: "{ id login } search(text: $token) { __typename } }"
          )
          .replacingOccurrences(
            of: "id: \"{{row.id}}\" }\n    emit",
            with: "id: \"{{row.id}}\", token: canary }\n    emit"),
        to: "m.batch.yaml")
      let dry = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--dry-run", "--endpoint", server.url], in: folder)
      #expect(dry.status == 0 && dry.output.contains("users: 3 tasks"), "\(dry)")
      #expect(dry.output.contains(#""id":"U_1""#) && !dry.output.contains("canary"))
      #expect(server.requestCount == 0)
      #expect(dry.output.contains("estimated cost: 3 requests, up to 6 objects"), "\(dry)")
      #expect(!folder.exists("runs"))
    }
  }

  @Test("the manifests in Examples run against the demo server")
  func examples() async throws {
    let examples = Repository.root + "/Examples/batch"
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 250
    try await DemoServer.withServer(configuration) { server in
      let folder = try Folder()
      for name in ["queries", "data"] {
        try FileManager.default.copyItem(atPath: "\(examples)/\(name)", toPath: folder.file(name))
      }
      let manifests = try FileManager.default.contentsOfDirectory(atPath: examples)
        .filter { $0.contains(".batch.") }.sorted()
      #expect(manifests.count >= 4)
      for name in manifests {
        try FileManager.default.copyItem(atPath: "\(examples)/\(name)", toPath: folder.file(name))
        let result = try await Program.run(
          ["batch", "run", name], in: folder, environment: ["GQL_URL": server.url])
        #expect(result.status == 0, "\(name): \(result)")
      }
      #expect(try folder.text("out/countries.csv").contains("PT,Portugal,Lisbon,EU"))
      #expect(try folder.text("out/feed-state.json").contains("newest"))
      #expect(try folder.text("out/countries-of.ndjson").split(separator: "\n").count > 200)
    }
  }

  @Test("mistakes end with 65 before anything is sent, refused credentials with 77, nobody with 69")
  func codes() async throws {
    let folder = try folder(5)
    try folder.write(
      Self.users.replacingOccurrences(of: "emit: user", with: "emit: usr"), to: "typo.batch.yaml")
    let typo = try await Program.run(
      ["batch", "run", "typo.batch.yaml", "--endpoint", "http://127.0.0.1:1/"], in: folder)
    #expect(typo.status == 65 && typo.errors.contains("did you mean `user`?"), "\(typo)")
    let github = try await Program.run(
      [
        "batch", "check", "typo.batch.yaml", "--endpoint", "http://127.0.0.1:1/", "--format",
        "github",
      ],
      in: folder)
    #expect(github.output.hasPrefix("::error file=typo.batch.yaml,line=11,"), "\(github)")
    try await DemoServer.withServer { server in
      let refused = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--endpoint", server.url + "?auth=secret"], in: folder)
      #expect(refused.status == 77 && refused.errors.contains("--resume continues"), "\(refused)")
    }
  }

  @Test("an interrupt writes what is in flight and ends with 130, and --resume does the rest")
  func interrupt() async throws {
    let hold = Hold(after: 40)
    var configuration = DemoServer.Configuration()
    configuration.sleep = { _ in await hold.pass() }
    try await DemoServer.withServer(configuration) { server in
      let folder = try folder(400)
      let to = ["--endpoint", server.url + "?delay=20"]
      let first = try await Program.run(["batch", "run", "m.batch.yaml"] + to, in: folder) { id in
        await server.log.requests(41)
        kill(id, SIGINT)
        try await Program.says("interrupt again", in: folder)
        await hold.open()
      }
      #expect(first.status == 130 && first.errors.contains("--resume continues"), "\(first)")
      let sent = server.requestCount
      #expect(sent < 400)
      let second = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--resume", "--endpoint", server.url], in: folder)
      #expect(second.status == 0, "\(second)")
      #expect(server.requestCount == 400)
      let records = try folder.text("out/users.ndjson").split(separator: "\n")
      #expect(records.count == 400 && Set(records).count == 400)
    }
  }

  @Test("a reader that leaves ends the run, a full disk stops it, and both can be continued")
  func outputs() async throws {
    try await DemoServer.withServer { server in
      let folder = try folder(3000)
      try folder.write(
        Self.users.replacingOccurrences(
          of: "sinks: [{ ndjson: { path: \"out/{{op}}.ndjson\" } }]", with: ""),
        to: "stdout.batch.yaml")
      let closed = try await Program.shell(
        "\"$GQLRUN\" batch run stdout.batch.yaml --endpoint \(server.url) | head -n 3; "
          + "exit ${PIPESTATUS[0]}", in: folder)
      #expect(closed.status == 141, "\(closed.status) \(closed.errors)")
      #expect(closed.output.split(separator: "\n").count == 3)
      // The journal and its lock are small; the output is not.
      try folder.write(
        Self.users.replacingOccurrences(of: "\n    emit: user", with: ""), to: "big.batch.yaml")
      let full = try await Program.shell(
        "ulimit -f 300; \"$GQLRUN\" batch run big.batch.yaml --endpoint \(server.url)", in: folder)
      #expect(full.status == 75 && full.errors.contains("--resume continues"), "\(full)")
      let rest = try await Program.run(
        ["batch", "run", "big.batch.yaml", "--resume", "--endpoint", server.url], in: folder)
      #expect(rest.status == 0, "\(rest)")
      let lines = try folder.text("out/users.ndjson").split(separator: "\n")
      #expect(lines.count == 3000)
    }
  }
}
