import Foundation
import GQLRunDemoServer
import Testing

/// The database file under a real program: other processes, full disks, missing permissions, damage.
@Suite("The cache's file")
struct CacheFileTests {
  private static let line =
    "cache import country.graphql --var code=DE --keys Country=code --store sqlite:c.db"

  private static func response(_ name: String) -> String {
    #"{"data":{"country":{"__typename":"Country","code":"DE","name":"\#(name)"}}}"#
  }

  /// Runs the program as a user without write permission: root may write everywhere.
  private static func reading(_ line: String, in folder: Folder) async throws -> RunResult {
    let asOther = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
    return try await Program.shell(
      "chmod 555 . && chmod 444 c.db* 2>/dev/null; \(asOther)\"$GQLRUN\" \(line); code=$?; chmod 755 .; exit $code",
      in: folder)
  }

  /// Whether another user than root can read the program and the folder.
  private static func canRead(_ folder: Folder) async throws -> Bool {
    let result = try await reading("plugins", in: folder)
    if result.status != 0 { print("skipped: others may not run the program here\n\(result)") }
    return result.status == 0
  }

  private static let pipeline = """
    version: 1
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: c.db }
    keys: { types: { Country: [code] } }
    chain: [cache-read, fetch, response-code, parse, cache-write]
    """

  @Test("a file in a directory that can only be read is read")
  func readOnly() async throws {
    let folder = try Folder()
    guard try await Self.canRead(folder) else { return }
    try folder.write(Self.response("Germany"), to: "r.json")
    let imported = try await Program.shell("\"$GQLRUN\" \(Self.line) r.json", in: folder)
    #expect(imported.status == 0, "\(imported)")
    let expected = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    try folder.write("query R($code: ID!) { country(code: $code) { code name } }", to: "r.graphql")
    let operation = "r.graphql --var code=DE --keys Country=code"
    let reading = [
      "dump": ("dump", expected.output), "get": ("get Country:DE", #""name":"Germany""#),
      "stats": ("stats", "Country"), "read": ("read \(operation)", "Germany"),
      "explain": ("explain \(operation)", "3 hit"),
      "sql": ("sql 'SELECT key FROM records'", "Country:DE"),
    ]
    // Each command of the group is in one of the lists, so that a new one is tried here, too.
    let writing = ["import", "write", "update", "export", "evict", "gc", "trim", "clear"]
    let commands = HelpTextTests.commands.compactMap { command -> String? in
      let words = command.name.split(separator: " ")
      return words.count == 3 && words[1] == "cache" ? String(words[2]) : nil
    }
    #expect(commands.sorted() == (reading.keys + writing).sorted())
    for (line, says) in reading.values {
      let result = try await Self.reading("cache \(line) --store sqlite:c.db", in: folder)
      #expect(
        result.status == 0 && result.output.contains(says) && result.errors == "", "\(result)")
    }
    let cleared = try await Self.reading("cache clear --store sqlite:c.db", in: folder)
    #expect(cleared.status == 1 && cleared.errors.contains("is read-only"), "\(cleared)")
  }

  @Test("a pipeline whose file cannot be written answers, and warns; one that requires it fails")
  func readOnlyPipeline() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      guard try await Self.canRead(folder) else { return }
      try folder.write("{ country(code: \"DE\") { name } }", to: "q.graphql")
      let pipeline = Self.pipeline.replacingOccurrences(of: "${env:GQL_URL}", with: server.url)
      try folder.write(pipeline, to: "p.pipeline.yaml")
      try folder.write(
        pipeline.replacingOccurrences(of: "c.db", with: "c.db, required: true"),
        to: "r.pipeline.yaml")
      let answered = try await Self.reading("run q.graphql --pipeline p.pipeline.yaml", in: folder)
      #expect(answered.status == 0 && answered.output.contains("Germany"), "\(answered)")
      #expect(answered.errors.contains("warning: running without the cache"), "\(answered)")
      let refused = try await Self.reading("run q.graphql --pipeline r.pipeline.yaml", in: folder)
      #expect(refused.status == 1 && refused.output == "", "\(refused)")
      #expect(refused.errors.contains("c.db: Permission denied"), "\(refused)")
    }
  }
}
