import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun batch", .timeLimit(.minutes(10)))
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

  /// A folder with the manifest and its rows.
  static func folder(_ count: Int) throws -> Folder {
    let folder = try Folder()
    try folder.write(users, to: "m.batch.yaml")
    try folder.write("id\n" + (1...count).map { "U_\($0)\n" }.joined(), to: "ids.csv")
    return folder
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

  @Test("an ordered run that is killed has written a prefix of the rows, and is resumed after it")
  func killed() async throws {
    try await Hold.withServer(after: 150) { hold, server in
      let folder = try Self.folder(400)
      try folder.write(
        Self.users.replacing("concurrency: 4", with: "concurrency: 8, order: output"),
        to: "m.batch.yaml")
      let ids = (1...400).map { "U_\($0)" }
      func written(_ name: String) throws -> [String] {
        try folder.text(name).split(separator: "\n").compactMap {
          // The last line may be incomplete.
          (try? JSONValue(parsing: String($0)))?["id"]?.stringValue
        }
      }
      let first = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--endpoint", server.url + "?delay=20"], in: folder
      ) { id in
        // Some results are recorded by then, and others wait for their turn.
        await server.log.requests(151)
        kill(id, SIGKILL)
        await hold.open()
      }
      #expect(first.status == 128 + SIGKILL, "\(first)")
      let status = try await Program.run(
        ["batch", "status", "m.batch.yaml", "--json", "--endpoint", server.url], in: folder)
      let done = try #require(try JSONValue(parsing: status.output)["done"]?.intValue)
      #expect(try written("out/users.ndjson.part").starts(with: ids.prefix(done)))
      let second = try await Program.run(
        ["batch", "run", "m.batch.yaml", "--resume", "--endpoint", server.url], in: folder)
      #expect(second.status == 0 && second.errors.contains("\(400 - done) done"), "\(second)")
      #expect(try written("out/users.ndjson") == ids)
    }
  }

  @Test("an interrupt writes what is in flight and ends with 130, and --resume does the rest")
  func interrupt() async throws {
    try await Hold.withServer(after: 40) { hold, server in
      let folder = try Self.folder(400)
      // Requests that are held are not given up, however late they are released.
      let to = ["--endpoint", server.url + "?delay=20", "--timeout", "5m"]
      let first = try await Program.run(["batch", "run", "m.batch.yaml"] + to, in: folder) { id in
        await server.log.requests(41)
        kill(id, SIGINT)
        try await Program.says("interrupt again", in: folder)
        await hold.open()
      }
      #expect(first.status == 130 && first.errors.contains("--resume continues"), "\(first)")
      let sent = server.requestCount
      #expect(sent < 400)
      let written = try folder.text("out/users.ndjson.part").split(separator: "\n").count
      #expect(first.errors.contains("out/users.ndjson.part has \(written) records\n"), "\(first)")
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
      let folder = try Self.folder(3000)
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
