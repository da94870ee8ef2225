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

  @Test("many processes that write at once all write")
  func processes() async throws {
    let folder = try Folder()
    for index in 0..<6 {
      try folder.write(
        Self.response("n").replacingOccurrences(of: "DE", with: "C\(index)"), to: "\(index).json")
    }
    let result = try await Program.shell(
      """
      ids=()
      for i in 0 1 2 3 4 5; do
        "$GQLRUN" cache import country.graphql $i.json --var code=C$i --keys Country=code \
          --store sqlite:c.db & ids+=($!)
      done
      for id in "${ids[@]}"; do wait $id || exit 1; done
      # Two that end at the same moment leave the log to the next one.
      "$GQLRUN" cache import country.graphql 0.json --var code=C0 --keys Country=code \
        --store sqlite:c.db
      """, in: folder)
    #expect(result.status == 0, "\(result)")
    let dump = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    for index in 0..<6 { #expect(dump.output.contains(#""key":"Country:C\#(index)""#)) }
    #expect(!folder.exists("c.db-wal"), "the last one cleans up")
  }

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

  @Test("a file size limit ends a write, not the answer, and leaves the cache as it was")
  func sizeLimit() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write("{ countries { code name capital } }", to: "q.graphql")
      let pipeline = Self.pipeline.replacingOccurrences(of: "${env:GQL_URL}", with: server.url)
      try folder.write(pipeline, to: "p.pipeline.yaml")
      try folder.write(
        pipeline.replacingOccurrences(of: "c.db", with: "c.db, required: true"),
        to: "r.pipeline.yaml")
      let first = try await Program.shell(
        "echo '{ country(code: \"DE\") { name } }' | \"$GQLRUN\" run - --pipeline p.pipeline.yaml",
        in: folder)
      #expect(first.status == 0, "\(first)")
      let before = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
      for (file, status) in [("p", Int32(0)), ("r", 1)] {
        let limited = try await Program.shell(
          "ulimit -f 90; \"$GQLRUN\" run q.graphql --pipeline \(file).pipeline.yaml --output o.json",
          in: folder)
        #expect(limited.status == status, "\(limited)")
        #expect(
          limited.errors.contains("not") && limited.errors.contains("size limit"), "\(limited)")
        let dump = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
        #expect(dump.output == before.output)
      }
      #expect(try folder.text("o.json").contains("Germany"))
    }
  }

  @Test("without space for a log, an intact cache is read, and what would write says why it cannot")
  func noSpaceForLog() async throws {
    let folder = try Folder()
    try folder.write(Self.response("Germany"), to: "r.json")
    try folder.write(Self.response("Allemagne"), to: "s.json")
    let imported = try await Program.shell("\"$GQLRUN\" \(Self.line) r.json", in: folder)
    #expect(imported.status == 0, "\(imported)")
    let before = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    // The index of the log has 32 KiB.
    let dump = try await Program.shell(
      "ulimit -f 10; \"$GQLRUN\" cache dump --store sqlite:c.db", in: folder)
    #expect(dump.status == 0 && dump.output == before.output, "\(dump)")
    let read = try await Program.shell(
      """
      ulimit -f 10; "$GQLRUN" cache read 'query R($code: ID!) { country(code: $code) { name } }' --var code=DE \
        --keys Country=code --store sqlite:c.db
      """, in: folder)
    #expect(read.status == 0 && read.output.contains("Germany"), "\(read)")
    let refused = try await Program.shell(
      "ulimit -f 10; \"$GQLRUN\" \(Self.line) s.json", in: folder)
    #expect(refused.status != 0 && refused.errors.contains("free space"), "\(refused)")
    let after = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    #expect(after.status == 0 && after.output == before.output && after.errors == "", "\(after)")
    // What is in the log is not in the file, which is not read without it.
    try folder.write("something", to: "c.db-wal")
    let logged = try await Program.shell(
      "ulimit -f 10; \"$GQLRUN\" cache dump --store sqlite:c.db", in: folder)
    #expect(logged.status != 0 && logged.output == "", "\(logged)")
  }

  @Test("damage is reported, counted, and repaired by the next write")
  func damage() async throws {
    let tool = "/usr/bin/sqlite3"
    guard FileManager.default.isExecutableFile(atPath: tool) else { return }
    let folder = try Folder()
    try folder.write(Self.response("Germany"), to: "r.json")
    let harmed = try await Program.shell(
      """
      "$GQLRUN" \(Self.line) r.json && \(tool) c.db \
        "UPDATE records SET data = replace(data, 'Germany', 'Bermany') WHERE key = 'Country:DE'"
      """, in: folder)
    #expect(harmed.status == 0, "\(harmed)")
    let stats = try await Program.run(["cache", "stats", "--store", "sqlite:c.db"], in: folder)
    #expect(stats.output.contains("damaged   1"), "\(stats)")
    let read = try await Program.shell(
      """
      echo '{ country(code: "DE") { name } }' | "$GQLRUN" cache read - --keys Country=code \
        --store sqlite:c.db
      """, in: folder)
    #expect(read.status == 3 && read.output == "", "\(read)")
    #expect(read.errors.contains("warning: the record Country:DE of the cache c.db"), "\(read)")
    let mended = try await Program.shell("\"$GQLRUN\" \(Self.line) r.json", in: folder)
    #expect(mended.status == 0, "\(mended)")
    let after = try await Program.run(["cache", "stats", "--store", "sqlite:c.db"], in: folder)
    #expect(!after.output.contains("damaged"), "\(after)")
  }
}
