import Foundation
import Testing

@testable import GQLRunCache

@Suite("Versions of the database file", .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
struct MigrationTests {
  private static let records = [
    ("QUERY_ROOT.me", #"{"me":{"$ref":"User:1"}}"#),
    ("User:1", #"{"__typename":"User","id":"1","name":"Ada \"é\""}"#),
  ]
  private static let expected = lines(
    #"{"key":"QUERY_ROOT","fields":{"me":{"$ref":"User:1"}}}"#,
    #"{"key":"User:1","fields":{"__typename":"User","id":"1","name":"Ada \"é\""}}"#)

  /// What version 1 of this program made, as SQL.
  private static func makeFirstVersion(_ path: String, mode: String = "WAL") throws {
    let rows = records.map { key, data in
      let checksum = Array(key.utf8).withUnsafeBufferPointer { key in
        Array(data.utf8).withUnsafeBufferPointer {
          SQLiteText.checksum(key: Bytes(key), text: Bytes($0))
        }
      }
      return "('\(key)', 1700000000, '\(data)', \(checksum))"
    }
    try SQLiteTool.run(
      """
      PRAGMA page_size = 16384;
      CREATE TABLE records (
        key TEXT NOT NULL PRIMARY KEY,
        received INTEGER NOT NULL,
        data TEXT NOT NULL,
        checksum INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
      INSERT INTO meta VALUES ('segment_seed', -77);
      INSERT INTO records VALUES \(rows.joined(separator: ", "));
      PRAGMA application_id = 0x47514c52;
      PRAGMA user_version = 1;
      PRAGMA journal_mode = \(mode);
      """, on: path)
  }

  @Test("a file of version 1 is migrated in place", arguments: ["WAL", "DELETE"])
  func firstVersion(mode: String) async throws {
    let file = try StoreFile()
    try Self.makeFirstVersion(file.path, mode: mode)
    let store = try file.open()
    #expect(store.segmentSeed == UInt64(bitPattern: -77))
    #expect(try await dump(store) == Self.expected)
    let cache = CacheUnderTest(store: store)
    try await cache.write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Grace"}}}"#, "{me{id name}}")
    #expect(try await cache.read("{me{name}}") == #"{"me":{"name":"Grace"}}"#)
    try store.close()
    #expect(try SQLiteTool.run("PRAGMA user_version", on: file.path) == "2")
    #expect(
      try SQLiteTool.run("SELECT count(*) FROM records WHERE ages IS NULL", on: file.path) == "2")
    // What came again unchanged was received now.
    #expect(
      try SQLiteTool.run("SELECT count(*) FROM records WHERE received > 1700000000", on: file.path)
        == "2")
  }

  @Test("a file of an earlier version takes errors, and has none before")
  func errors() async throws {
    let file = try StoreFile()
    try Self.makeFirstVersion(file.path)
    let operation = try prepare("{me{id name}}")
    let old = #"{"me":{"id":"1","name":"Ada \"é\""}}"#
    var store = CacheStore(try file.open { $0.access = .readOnly })
    #expect(try await store.found(operation, .replay) == FoundErrors(old))
    try store.close()
    store = try CacheStore.sqlite(path: file.path)
    let written = try await CacheUnderTest(store: store).write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":null}},"errors":[{"message":"no","path":["me","name"]}]}"#,
      operation)
    try store.close()
    store = CacheStore(try file.open { $0.access = .readOnly })
    #expect(
      try await store.found(operation, .replay)
        == FoundErrors(
          #"{"me":{"id":"1","name":null}}"#, errors: written.response.errors))
    #expect(try await store.found(operation, .refuse) == FoundErrors(old))
    #expect(try await dump(store.records) == Self.expected)
    try store.close()
    // The tables are those of before, so that an earlier program reads the file.
    #expect(try SQLiteTool.run("PRAGMA user_version", on: file.path) == "2")
    #expect(
      try SQLiteTool.run("SELECT key FROM records ORDER BY key", on: file.path)
        == "$errors:User:1\nQUERY_ROOT.me\nUser:1")
    #expect(try SQLiteTool.run(#"SELECT count(*) FROM "User""#, on: file.path) == "1")
  }

  @Test("a migrated file and a new one have the same tables")
  func sameTables() throws {
    let directory = try TemporaryDirectory()
    let (old, new) = (directory.path("old.db"), directory.path("new.db"))
    try Self.makeFirstVersion(old)
    for path in [old, new] { try SQLiteStore(path: path).close() }
    let columns = """
      SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_schema m
      JOIN pragma_table_info(m.name) c ORDER BY 1, c.cid
      """
    let found = try SQLiteTool.run(columns, on: new)
    #expect(found.contains("records|ages|TEXT|0|0"))
    #expect(try SQLiteTool.run(columns, on: old) == found)
    let header = "PRAGMA page_size; PRAGMA user_version; PRAGMA application_id; PRAGMA journal_mode"
    #expect(try SQLiteTool.run(header, on: new) == "16384\n2\n1196510290\nwal")
    #expect(try SQLiteTool.run(header, on: old) == "16384\n2\n1196510290\nwal")
  }

  @Test("a migration that fails leaves the file unchanged")
  func failure() async throws {
    let file = try StoreFile()
    try Self.makeFirstVersion(file.path)
    let broken = SQLiteSchema.steps + ["CREATE TABLE more (a); CREATE TABLE records (a)"]
    #expect(throws: (any Error).self) { try SQLiteSchema.migrate(file.path, steps: broken) }
    let tables = "PRAGMA user_version; SELECT name FROM sqlite_schema ORDER BY name"
    #expect(try SQLiteTool.run(tables, on: file.path) == "1\nmeta\nrecords")
    #expect(
      try SQLiteTool.run("SELECT name FROM pragma_table_info('records')", on: file.path)
        == "key\nreceived\ndata\nchecksum")
    let store = try file.open()
    #expect(try await dump(store) == Self.expected)
    try store.close()
  }

  @Test("many stores that open an old file at the same time find a migrated one")
  func together() async throws {
    let file = try StoreFile()
    try Self.makeFirstVersion(file.path)
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let store = try file.open()
          let text = try await dump(store)
          try store.close()
          return text
        }
      }
      for try await text in group { #expect(text == Self.expected) }
    }
    #expect(try SQLiteTool.run("PRAGMA user_version; PRAGMA quick_check", on: file.path) == "2\nok")
  }

  @Test("a file of a newer version is an error and unchanged")
  func newer() async throws {
    let file = try StoreFile()
    try file.open().close()
    try SQLiteTool.run("PRAGMA user_version = 99", on: file.path)
    let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
    let found = try await code { try file.open().close() }
    #expect(found == .foreignDatabase)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
  }

  @Test("a newer version that only the write-ahead log knows of is refused as well")
  func newerInTheLog() async throws {
    let file = try StoreFile()
    let store = try file.open()
    try SQLiteTool.run("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99", on: file.path)
    #expect(try Self.versionInHeader(file.path) == 2)
    // The header alone says nothing wrong; SQLite knows better.
    let found = try await code { try SQLiteSchema.migrate(file.path, steps: SQLiteSchema.steps) }
    #expect(found == .foreignDatabase)
    let opened = try await code { try file.open().close() }
    #expect(opened == .foreignDatabase)
    try store.close()
  }

  private static func versionInHeader(_ path: String) throws -> UInt8 {
    try Data(contentsOf: URL(fileURLWithPath: path))[63]
  }
}
