import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

/// What a user sees of tasks that failed or whose outcome is unknown, and does about them.
@Suite("gqlrun batch resolve and retry", .timeLimit(.minutes(10)))
struct BatchResolveTests {
  private static let likes = """
    version: 1
    name: likes
    run: { concurrency: 4 }
    sinks: [{ ndjson: { path: out/likes.ndjson } }]
    report: { html: out/r.html, json: out/r.json }
    operations:
      - id: likes
        query: "mutation Like($id: ID!) { likePost(id: $id) { id } }"
        foreach: { csv: ids.csv, key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
        emit: likePost
    """

  private func folder(_ count: Int) throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.likes, to: "a b.batch.yaml")
    try folder.write("id\n" + (1...count).map { "P_\($0)\n" }.joined(), to: "ids.csv")
    return folder
  }

  @Test(
    "after a kill during mutations, every command says which are unknown, and resolve ends that")
  func killed() async throws {
    try await Hold.withServer(after: 20) { hold, server in
      let folder = try folder(60)
      let first = try await Program.run(
        ["batch", "run", "a b.batch.yaml", "--endpoint", server.url + "?delay=20"], in: folder
      ) { id in
        await server.log.requests(24)
        kill(id, SIGKILL)
        await hold.open()
      }
      #expect(first.status == 128 + SIGKILL, "\(first)")
      func batch(_ arguments: String...) async throws -> RunResult {
        try await Program.run(
          ["batch", arguments[0], "a b.batch.yaml"] + arguments.dropFirst()
            + ["--endpoint", server.url], in: folder)
      }
      let resumed = try await batch("run", "--resume")
      let json = try JSONValue(parsing: try await batch("errors", "--json").output)
      let keys = (json[0]?["keys"]?.arrayValue ?? []).compactMap(\.stringValue)
      let count = keys.count
      #expect(count >= 4 && json.arrayValue?.count == 1, "\(json)")
      let reason = "error: \(count) mutations have an unknown outcome"
      #expect(resumed.status == 1 && resumed.errors.contains("\(count) unknown), "), "\(resumed)")
      #expect(resumed.errors.contains(reason), "\(resumed)")
      let quiet = try await batch("run", "--resume", "-q")
      #expect(quiet.status == 1 && quiet.errors.hasPrefix(reason), "\(quiet)")
      #expect(quiet.errors.split(separator: "\n").count == 1, "\(quiet)")
      let errors = try await batch("errors")
      for key in keys { #expect(errors.output.contains("likes      \(key) "), "\(errors)") }
      #expect(errors.errors.contains("batch resolve 'a b.batch.yaml' --done KEY…"), "\(errors)")
      let status = try await batch("status")
      #expect(status.errors.contains("\(count) mutations have an unknown outcome"), "\(status)")
      let page = try folder.text("out/r.html")
      #expect(page.contains("<dt>Failed</dt><dd class=\"\">0</dd>"), "\(page)")
      #expect(
        page.contains("<td class=\"n\">0</td><td class=\"n\">\(count)</td><td class=\"n\">0</td>"))
      let done = try await batch("resolve", "--done", keys[0])
      #expect(
        done.status == 0 && done.errors == "recorded 1 task as done, without output\n", "\(done)")
      let retry = try await batch("resolve", "--retry", "--only", "unknown")
      #expect(retry.status == 0 && retry.errors.contains("--resume runs them"), "\(retry)")
      let last = try await batch("run", "--resume")
      #expect(last.status == 0 && last.messages.hasPrefix("\(count - 1) done, "), "\(last)")
      #expect(try folder.text("out/likes.ndjson").split(separator: "\n").count == 59)
    }
  }
}

/// The same for a queue.
@Suite("gqlrun batch retry with a queue", .needsPostgres)
struct BatchQueueRetryTests {
  @Test("failed tasks are repeated by retry and a worker, and every command names the next one")
  func retry() async throws {
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    try server.execute("CREATE SCHEMA \(name)")
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      name: users
      run: { journal: "${env:QUEUE}" }
      sinks: [{ ndjson: { path: out/users.ndjson } }]
      operations:
        - id: users
          query: "query User($id: ID!) { user(id: $id) { id } }"
          foreach: { inline: [{ id: U_1 }, { id: U_2 }], key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
      """, to: "a b.batch.yaml")
    try await DemoServer.withServer { demo in
      func batch(_ arguments: String..., faults: String = "") async throws -> RunResult {
        try await Program.run(
          ["batch", arguments[0], "a b.batch.yaml"] + arguments.dropFirst()
            + ["--endpoint", demo.url + faults], in: folder, environment: ["QUEUE": url])
      }
      for command in ["init", "enqueue"] {
        let result = try await batch(command)
        #expect(result.status == 0, "\(result)")
      }
      let advice = "gqlrun batch errors 'a b.batch.yaml' lists the reasons and what to do"
      let first = try await batch("worker", faults: "?errors")
      #expect(first.status == 0 && first.errors.contains("2 tasks failed; \(advice)"), "\(first)")
      let status = try await batch("status")
      #expect(status.errors.contains("2 tasks failed; \(advice)"), "\(status)")
      let errors = try await batch("errors")
      #expect(errors.errors.contains("gqlrun batch retry 'a b.batch.yaml' --failed"), "\(errors)")
      let refused = try await batch("run", "--only", "failed")
      #expect(refused.status == 65, "\(refused)")
      #expect(refused.errors.contains("gqlrun batch retry 'a b.batch.yaml' --failed"), "\(refused)")
      let retry = try await batch("retry", "--failed", "--operation", "users")
      #expect(
        retry.errors == "queued 2 tasks again; gqlrun batch worker 'a b.batch.yaml' runs them\n",
        "\(retry)")
      let second = try await batch("worker")
      #expect(second.messages.hasPrefix("2 done, "), "\(second)")
      let merge = try await batch("merge")
      #expect(merge.status == 0, "\(merge)")
    }
  }
}
