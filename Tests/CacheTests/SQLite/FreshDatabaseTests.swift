import Foundation
import GQLRunTestSupport
import GRDB
import Testing

@testable import GQLRunCache

/// A store in a new file, and a response that is large for it.
private struct FreshFile {
  let directory: TemporaryDirectory
  let path: String
  let store: SQLiteStore
  let notices = Notices()

  init(prepare: (String) throws -> Void = { _ in }) throws {
    directory = try TemporaryDirectory()
    path = directory.path("cache.db")
    try prepare(path)
    store = try Self.open(path, notices)
  }

  static func open(_ path: String, _ notices: Notices = Notices()) throws -> SQLiteStore {
    var options = notices.options()
    options.minFreshBytes = 1000
    return try SQLiteStore(path: path, options: options)
  }

  var replacement: String { path + "-incomplete" }
  var isBeingReplaced: Bool { FileManager.default.fileExists(atPath: replacement) }
  var identity: FileIdentity? { FileIdentity(of: path) }

  /// Feeds a response in pieces, each of which is written.
  func feed(_ operation: PreparedOperation? = nil) async throws -> ResponseNormalizer {
    try await CacheTests.feed(
      DamagedFile.response("new", users: 500).utf8, operation ?? prepare(DamagedFile.document),
      into: CacheStore(store),
      arrival: .pieces(of: 4096))
  }

  func write() async throws {
    _ = try await feed().finish().write?.commit()
  }

  func read(_ store: SQLiteStore? = nil) async throws -> String {
    try await CacheUnderTest(store: store ?? self.store).read(DamagedFile.document)
  }

  /// Checks that the file has the response and nothing is left beside it.
  func expectComplete(sourceLocation: Testing.SourceLocation = #_sourceLocation) async throws {
    let memory = MemoryStore()
    try await CacheUnderTest(store: memory).write(
      DamagedFile.response("new", users: 500), DamagedFile.document)
    #expect(try await dump(store) == dump(memory), sourceLocation: sourceLocation)
    #expect(!isBeingReplaced, sourceLocation: sourceLocation)
    #expect(notices.text == "", sourceLocation: sourceLocation)
    if SQLiteTool.isThere {
      #expect(
        try SQLiteTool.run("PRAGMA integrity_check", on: path) == "ok",
        sourceLocation: sourceLocation)
      #expect(
        try SQLiteTool.run(#"SELECT name FROM "User" WHERE id = '7'"#, on: path) == "new 7",
        sourceLocation: sourceLocation)
    }
  }
}

@Suite("Large first responses in SQLite")
struct FreshDatabaseTests {
  @Test("a large first response replaces the empty file, and its log stays small")
  func replaced() async throws {
    let file = try FreshFile()
    let before = file.identity
    let normalizer = try await file.feed()
    #expect(file.isBeingReplaced)
    #expect(try await file.read() == "miss at users")
    let log = try #require(try await file.store.statistics().logBytes)
    #expect(log < 16 * (16384 + 24) + 32)
    let result = try await normalizer.finish()
    #expect(try await file.read() == "miss at users")
    _ = try await result.write?.commit()
    #expect(file.identity != before)
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let header = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file.path)).prefix(20))
    #expect(header[16...19] == [0x40, 0x00, 2, 2])
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("a replaced file is written, cleared and opened again like any other")
  func afterwards() async throws {
    let file = try FreshFile()
    try await file.write()
    let identity = file.identity
    let other = try FreshFile.open(file.path)
    #expect(other.activity === file.store.activity)
    #expect(other.segmentSeed == file.store.segmentSeed)
    try await CacheUnderTest(store: other).write(
      DamagedFile.response("newer"), DamagedFile.document)
    #expect(try await file.store.refresh())
    #expect(try await file.read() == DamagedFile.data("newer"))
    try await file.store.sync()
    try await file.store.checkpoint()
    try await file.store.clear()
    #expect(try await file.read(other) == "miss at users")
    #expect(file.identity == identity)
    try other.close()
    try file.store.close()
  }

  @Test("a store with content, or with another user from the start, is written through its log")
  func kept() async throws {
    let full = try FreshFile()
    try await CacheUnderTest(store: full.store).write(#"{"data":{"me":null}}"#, "{me{id}}")
    let shared = try FreshFile()
    let other = try FreshFile.open(shared.path)
    for file in [full, shared] {
      let before = file.identity
      let normalizer = try await file.feed()
      #expect(!file.isBeingReplaced)
      _ = try await normalizer.finish().write?.commit()
      #expect(file.identity == before)
    }
    #expect(try await shared.read(other) == shared.read())
    try other.close()
    try await shared.expectComplete()
    for file in [full, shared] { try file.store.close() }
  }

  @Test(
    "a user that opens the empty file meanwhile keeps it, and sees the response after the commit")
  func copied() async throws {
    let file = try FreshFile()
    let before = file.identity
    let result = try await file.feed().finish()
    #expect(file.isBeingReplaced)
    let other = try FreshFile.open(file.path)
    #expect(file.isBeingReplaced)
    #expect(try await file.read(other) == "miss at users")
    _ = try await result.write?.commit()
    #expect(file.identity == before)
    #expect(try await file.read(other) == file.read())
    try other.close()
    try await file.expectComplete()
    // A type that the views know is not added again.
    try await file.write()
    try file.store.close()
  }

  @Test("a program without our locks that has the empty file open keeps it")
  func foreign() async throws {
    let file = try FreshFile()
    let before = file.identity
    let result = try await file.feed().finish()
    let other = try DatabaseQueue(path: file.path)
    let sql = "SELECT count(*) FROM records"
    #expect(try await other.read { try Int.fetchOne($0, sql: sql) } == 0)
    _ = try await result.write?.commit()
    #expect(file.identity == before)
    #expect(try await other.read { try Int.fetchOne($0, sql: sql) } ?? 0 > 500)
    try other.close()
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("a file that was removed meanwhile does not come back")
  func removed() async throws {
    let file = try FreshFile()
    let result = try await file.feed().finish()
    #expect(file.isBeingReplaced)
    for suffix in ["-wal", "-shm", ""] { unlink(file.path + suffix) }
    // As before the commit, the store uses the file that has no name any more.
    _ = try await result.write?.commit()
    #expect(file.identity == nil)
    #expect(!file.isBeingReplaced)
    try file.store.close()
  }

  @Test("a file that another program has put under the name is not touched")
  func namedOtherwise() async throws {
    let (file, other) = (try FreshFile(), try FreshFile())
    try await file.write()
    try await file.expectComplete()
    try await other.write()
    try other.store.close()
    #expect(rename(other.path, file.path) == 0)
    let (placed, bytes) = (file.identity, try Data(contentsOf: URL(fileURLWithPath: file.path)))
    let error = await #expect(throws: CacheError.self) {
      _ = try await file.feed().finish().write?.commit()
    }
    #expect(error?.message.contains("another file has replaced the cache") == true)
    // The idle connection reads the old file; a new one would read the new file.
    try await file.expectComplete()
    #expect(throws: CacheError.self) { try Self.readTwice(file.store.pool) }
    try file.store.close()
    #expect(file.identity == placed)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == bytes)
    #expect(!FileManager.default.fileExists(atPath: file.path + "-wal"))
  }

  /// Reads during a read, which needs another connection.
  private static func readTwice(_ pool: SQLiteConnections) throws {
    try pool.read { _ in try pool.read { _ in } }
  }

  @Test("an abandoned response leaves the empty file, and nothing beside it")
  func abandoned() async throws {
    let file = try FreshFile()
    let before = file.identity
    let normalizer = try await file.feed()
    #expect(file.isBeingReplaced)
    await normalizer.abandon()
    #expect(!file.isBeingReplaced)
    #expect(file.identity == before)
    #expect(try await file.read() == "miss at users")
    // The next response may be large, too.
    try await file.write()
    #expect(file.identity != before)
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("a response that could not be committed can be written again, with its views")
  func repeated() async throws {
    let file = try FreshFile()
    let operation = try prepare(DamagedFile.document)
    let result = try await file.feed(operation).finish()
    unlink(file.replacement)
    await #expect(throws: CacheError.self) { _ = try await result.write?.commit() }
    #expect(try await file.read() == "miss at users")
    _ = try await file.feed(operation).finish().write?.commit()
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("a transaction whose write failed is not committed", arguments: [0, Int.max])
  func failedWrite(minFreshBytes: Int) async throws {
    let file = try StoreFile()
    let store = try file.open { $0.minFreshBytes = minFreshBytes }
    let operation = try prepare("{me{id}}")
    let found = try await code {
      try await CacheStore(store).transaction { transaction in
        try await transaction.write(
          json: Array(#"{"me":{"__typename":"User","id":"1"}}"#.utf8), for: operation)
        let removal = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          try await transaction.remove(RecordRemoval(record: "User:1"))
        }
        _ = await removal.result
      }
    }
    #expect(found == .cancelled)
    #expect(try await CacheUnderTest(store: store).read("{me{id}}") == "miss at me")
    try store.close()
  }

  @Test("a store that was closed before the commit stays closed")
  func closedBefore() async throws {
    let file = try FreshFile()
    let before = file.identity
    let result = try await file.feed().finish()
    try file.store.close()
    await #expect(throws: CacheError.self) { _ = try await result.write?.commit() }
    #expect(file.identity == before)
    #expect(!file.isBeingReplaced)
    // The closed store does not exclude others.
    _ = try exclusiveLock(.presence, ofStoreAt: file.path)
  }

  @Test("connections that could not be opened again are opened by the next access")
  func reopened() async throws {
    let file = try FreshFile()
    try await file.write()
    let (files, aside) = (FileManager.default, file.directory.path("aside.db"))
    let result = try await file.store.pool.reconnect {
      try files.moveItem(atPath: file.path, toPath: aside)
      try files.createDirectory(atPath: file.path, withIntermediateDirectories: false)
      return true
    }
    #expect(result == true)
    await #expect(throws: CacheError.self) { try await file.read() }
    try files.removeItem(atPath: file.path)
    try files.moveItem(atPath: aside, toPath: file.path)
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("the file is like one that was written through its log")
  func equal() async throws {
    var found: [[String]] = []
    for minFreshBytes in [0, Int.max] {
      let file = try StoreFile()
      let store = try file.open { $0.minFreshBytes = minFreshBytes }
      let before = FileIdentity(of: file.path)
      try await CacheUnderTest(store: CacheStore(store), arrival: .pieces(of: 4096)).write(
        DamagedFile.response("new"), DamagedFile.document)
      #expect((FileIdentity(of: file.path) != before) == (minFreshBytes == 0))
      try store.close()
      let queue = try DatabaseQueue(path: file.path)
      // Segments have other keys, because the seed is random.
      found.append(
        try await queue.read { db in
          try [
            "PRAGMA page_size", "PRAGMA auto_vacuum", "PRAGMA encoding", "PRAGMA application_id",
            "PRAGMA user_version", "PRAGMA journal_mode", "PRAGMA integrity_check",
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name",
            "SELECT name FROM meta ORDER BY name", "SELECT * FROM views ORDER BY type",
            "SELECT * FROM view_columns ORDER BY type, position",
            "SELECT count(*) FROM records",
            "SELECT key, data, checksum, ages FROM records WHERE key LIKE 'User:%' ORDER BY key",
          ].flatMap { sql in try Row.fetchAll(db, sql: sql).map { "\(sql): \($0)" } }
        })
      try queue.close()
    }
    #expect(found[0].contains("PRAGMA journal_mode: [journal_mode:\"wal\"]"))
    #expect(found[0] == found[1])
  }

  @Test("a new file that a killed process has left is removed by the next one")
  func leftover() async throws {
    let file = try FreshFile()
    try file.store.close()
    try Data(repeating: 1, count: 100_000).write(to: URL(fileURLWithPath: file.replacement))
    let store = try FreshFile.open(file.path)
    #expect(!file.isBeingReplaced)
    try store.close()
  }

  @Test(
    "files with other permissions, hard links, other tables, or without room for another file are written through their log",
    arguments: ["mode", "link", "name", "table"])
  func notReplaceable(reason: String) async throws {
    let file = try FreshFile { path in
      if reason == "mode" {
        #expect(
          FileManager.default.createFile(
            atPath: path, contents: nil, attributes: [.posixPermissions: 0o640]))
      }
    }
    switch reason {
    case "link":
      try FileManager.default.linkItem(atPath: file.path, toPath: file.directory.path("second.db"))
    case "name":
      try FileManager.default.createDirectory(
        atPath: file.replacement, withIntermediateDirectories: false)
    case "table":
      let other = try DatabaseQueue(path: file.path)
      try await other.write { try $0.execute(sql: "CREATE TABLE mine (a)") }
      try other.close()
    default: break
    }
    let before = file.identity
    try await file.write()
    #expect(file.identity == before)
    if reason == "name" { try FileManager.default.removeItem(atPath: file.replacement) }
    try await file.expectComplete()
    try file.store.close()
  }

  @Test("a symbolic link to the file stays one")
  func symbolicLink() async throws {
    let directory = try TemporaryDirectory()
    let (path, link) = (directory.path("cache.db"), directory.path("link.db"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    var options = SQLiteStore.Options()
    options.minFreshBytes = 1000
    let store = try SQLiteStore(path: link, options: options)
    let before = FileIdentity(of: path)
    try await CacheUnderTest(store: CacheStore(store), arrival: .pieces(of: 4096)).write(
      DamagedFile.response("new"), DamagedFile.document)
    #expect(FileIdentity(of: path) != before)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    try store.close()
  }

  @Test("reads during the commit see the empty cache or the whole response")
  func readsMeanwhile() async throws {
    let file = try FreshFile()
    let expected = DamagedFile.data("new")
    let normalizer = try await CacheTests.feed(
      DamagedFile.response("new").utf8, prepare(DamagedFile.document), into: CacheStore(file.store),
      arrival: .pieces(of: 4096))
    let result = try await normalizer.finish()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          while true {
            let found = try await file.read()
            if found == expected { return }
            #expect(found == "miss at users")
            _ = try await file.store.refresh()
          }
        }
      }
      _ = try await result.write?.commit()
      try await group.waitForAll()
    }
    try file.store.close()
  }
}
