import Foundation
import GQLRunSupport
import GRDB
import Testing

@testable import GQLRunCache

@Suite("Housekeeping")
struct HousekeepingTests {
  private static let document = """
    query Q($first: Int, $after: Int) {
      feed(first: $first, after: $after) { __typename id title author { __typename id name } }
      viewer { __typename id name }
    }
    """

  /// A feed with two posts of two authors, and a viewer of its own.
  private static func fill(_ store: CacheStore, received: Int = 5000) async throws {
    try await write(
      store, first: 2, posts: [("1", "10"), ("2", "11")], viewer: "12", received: received)
  }

  /// A feed with so many posts of the viewer.
  private static func fill(_ store: CacheStore, posts count: Int) async throws {
    let posts = (0..<count).map { (id: "\($0)", author: "1") }
    try await write(store, first: count, posts: posts, viewer: "1", received: 5000)
  }

  /// A feed with one post and its author, and a viewer, which all such feeds have.
  private static func writeFeed(_ number: Int, to store: CacheStore, received: Int = 5000)
    async throws
  {
    try await write(
      store, first: number, posts: [("\(number)", "1\(number)")], viewer: "1", received: received)
  }

  private static func write(
    _ store: CacheStore, first: Int, posts: [(id: String, author: String)], viewer: String,
    received: Int
  ) async throws {
    let items = posts.map {
      #"{"__typename":"Post","id":"\#($0.id)","title":"Post \#($0.id)","author":"#
        + #"{"__typename":"User","id":"\#($0.author)","name":"N"}}"#
    }
    try await normalize(
      #"{"data":{"feed":[\#(items.joined(separator: ","))],"viewer":{"__typename":"User","id":"\#(viewer)","name":"V"}}}"#
        .utf8, prepare(document, variables: #"{"first":\#(first)}"#), into: store,
      received: received)
  }

  private static func keys(_ store: CacheStore) async throws -> [String] {
    try await dump(store).split(separator: "\n").map {
      String($0.dropFirst(8).prefix { $0 != "\"" })
    }
  }

  // MARK: Selected records

  /// A pattern, a pattern for fields, and what goes.
  static let selections: [(String, String?, Set<String>)] = [
    ("Post:1", nil, ["Post:1.__typename", "Post:1.id", "Post:1.title", "Post:1.author"]),
    ("Post:*", "title", ["Post:1.title", "Post:2.title"]),
    ("*", "name", ["User:10.name", "User:11.name", "User:12.name"]),
    ("User:1?", "na*", ["User:10.name", "User:11.name", "User:12.name"]),
    ("User:1", nil, []),
    ("Query.viewer", nil, ["QUERY_ROOT.viewer"]),
    ("QUERY_ROOT.feed", nil, [#"QUERY_ROOT.feed({"first":2})"#]),
    (#"Query.feed({"first":2})"#, nil, [#"QUERY_ROOT.feed({"first":2})"#]),
    (#"Query.feed({"first":*"#, nil, [#"QUERY_ROOT.feed({"first":2})"#]),
    (#"Query.feed({"first":3*"#, nil, []),
    ("Query.fee", nil, []),
    ("Query", nil, [#"QUERY_ROOT.feed({"first":2})"#, "QUERY_ROOT.viewer"]),
    ("Query", "feed", [#"QUERY_ROOT.feed({"first":2})"#]),
    (#"Post\:1"#, "id", ["Post:1.id"]),
    (#"Post:\*"#, nil, []),
  ]

  @Test(
    "removes the records that match a pattern, and reports them", arguments: StoreKind.allCases,
    selections)
  func removes(kind: StoreKind, selection: (String, String?, Set<String>)) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      let before = try await times(of: store)
      let summary = try await store.remove(RecordSelection(selection.0, fields: selection.1))
      #expect(Set(summary.changes.map { "\($0.recordKey).\($0.field)" }) == selection.2)
      #expect(summary.isEmpty == selection.2.isEmpty)
      let after = try await times(of: store)
      for (key, fields) in before {
        for (field, time) in fields {
          let isGone = selection.2.contains("\(key.string).\(field)")
          #expect(after[key]?[field] == (isGone ? nil : time), "\(key.string).\(field)")
        }
      }
      // What is left is sound.
      _ = try await dump(store)
    }
  }

  @Test("removed data is a miss, and can be written again", arguments: StoreKind.allCases)
  func missing(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      let operation = try prepare(Self.document, variables: #"{"first":2}"#)
      _ = try await store.remove(RecordSelection("Post:2", fields: "title"))
      let miss = try #require(try await store.read(operation).miss, "there should be a miss")
      #expect(miss.path == "feed[1].title")
      _ = try await store.remove(RecordSelection("Post:1"))
      let gone = try #require(try await store.read(operation).miss, "there should be a miss")
      #expect(gone.path == "feed[0]" && gone.recordKey == "Post:1" && gone.field == nil)
      try await Self.fill(store)
      try #require(try await store.read(operation).hit != nil, "there should be an answer")
    }
  }

  @Test("more records than are read at a time are all removed", arguments: StoreKind.allCases)
  func manyRecords(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 2500)
      let summary = try await store.remove(RecordSelection("Post:*"))
      #expect(summary.records == 2500)
      #expect(try await Self.keys(store) == ["QUERY_ROOT", "User:1"])
    }
  }

  @Test(
    "more records than are read at a time are all reached, and all garbage without their root",
    arguments: StoreKind.allCases)
  func muchGarbage(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 2500)
      #expect(try await store.collectGarbage(rootsBefore: nil).isEmpty)
      _ = try await store.remove(RecordSelection("Query.feed"))
      #expect(try await store.collectGarbage(rootsBefore: nil).records == 2500)
      #expect(try await Self.keys(store) == ["QUERY_ROOT", "User:1"])
    }
  }

  @Test(
    "a pattern that can name nothing is refused",
    arguments: [("", nil), ("Post", nil), ("a:b", "")]
  )
  func refused(pattern: String, fields: String?) throws {
    #expect(throws: CacheError.self) { try RecordSelection(pattern, fields: fields) }
  }

  // MARK: Garbage

  @Test("garbage is what no root field reaches", arguments: StoreKind.allCases)
  func garbage(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      #expect(try await store.collectGarbage(rootsBefore: nil).isEmpty)
      let before = try await dump(store)
      _ = try await store.remove(RecordSelection("Query.feed"))
      let summary = try await store.collectGarbage(rootsBefore: nil)
      #expect(try await Self.keys(store) == ["QUERY_ROOT", "User:12"])
      #expect(summary.records == 4)
      #expect(
        summary.changes.map(\.recordKey).filter { $0 == "Post:1" }.count == 4)
      try await Self.fill(store)
      #expect(try await dump(store) == before)
    }
  }

  @Test(
    "records that refer to each other are garbage if no root reaches them",
    arguments: StoreKind.allCases)
  func cycles(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ a { __typename id b { __typename id a { __typename id } } } }")
      try await normalize(
        #"{"data":{"a":{"__typename":"A","id":"1","b":{"__typename":"B","id":"1","a":{"__typename":"A","id":"1"}}}}}"#
          .utf8, operation, into: store)
      #expect(try await store.collectGarbage(rootsBefore: nil).isEmpty)
      _ = try await store.remove(RecordSelection("Query"))
      #expect(try await store.collectGarbage(rootsBefore: nil).records == 2)
      #expect(try await dump(store) == "")
    }
  }

  @Test(
    "records that only old root fields reach are garbage on request", arguments: StoreKind.allCases)
  func oldRoots(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.write(store, first: 1, posts: [("1", "10")], viewer: "1", received: 5000)
      try await Self.write(store, first: 2, posts: [("2", "10")], viewer: "1", received: 6000)
      let summary = try await store.collectGarbage(rootsBefore: 6000)
      #expect(try await Self.keys(store) == ["Post:2", "QUERY_ROOT", "User:1", "User:10"])
      #expect(summary.changes.contains(FieldChange(recordKey: "Post:1", field: "title")))
      #expect(
        summary.changes.contains(
          FieldChange(recordKey: "QUERY_ROOT", field: #"feed({"first":1})"#)))
    }
  }

  /// A list so long that it is cut into segments, with entities and a list of leaf values in it.
  @discardableResult
  private static func writeLongList(
    _ store: CacheStore, _ field: String = "page", count: Int, received: Int
  ) async throws -> PreparedOperation {
    let operation = try prepare(
      "{ \(field) { __typename edges { __typename cursor node { __typename id } } tags } }")
    let edges = (0..<count).map {
      #"{"__typename":"Edge","cursor":"c\#($0)\#(String(repeating: "x", count: 60))","node":{"__typename":"Node","id":"\#($0)"}}"#
    }
    let tags = (0..<count).map { "\"tag \($0) \(String(repeating: "y", count: 60))\"" }
    try await normalize(
      #"{"data":{"\#(field)":{"__typename":"Page","edges":[\#(edges.joined(separator: ","))],"tags":[\#(tags.joined(separator: ","))]}}}"#
        .utf8, operation, into: store, received: received)
    return operation
  }

  @Test("segments of long lists live as long as their lists", arguments: StoreKind.allCases)
  func segments(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try await Self.writeLongList(store, count: 3000, received: 5000)
      let segments = try await store.statistics().segments
      #expect(segments > 4)
      #expect(try await store.collectGarbage(rootsBefore: nil).isEmpty)
      try #require(try await store.read(operation).hit != nil, "there should be an answer")
      // A shorter list replaces the long one, whose segments and nodes nothing reaches any more.
      _ = try await Self.writeLongList(store, count: 3, received: 5000)
      let summary = try await store.collectGarbage(rootsBefore: nil)
      #expect(summary.segments == segments && summary.records == 2997)
      #expect(try await store.statistics().segments == 0)
    }
  }

  @Test("gives space back to the file system")
  func vacuum() async throws {
    try await StoreKind.sqlite.withStore { store in
      _ = try await Self.writeLongList(store, count: 3000, received: 5000)
      let before = try await store.statistics().fileBytes ?? 0
      _ = try await Self.writeLongList(store, count: 3, received: 5000)
      _ = try await store.collectGarbage(rootsBefore: nil)
      let after = try await store.statistics().fileBytes ?? 0
      #expect(after < before / 4, "\(before) bytes, then \(after)")
    }
  }

  @Test("other connections see the previous state until the commit")
  func isolation() async throws {
    let directory = try TemporaryDirectory()
    let store = try CacheStore.sqlite(path: directory.path("c.db"))
    let other = try CacheStore.sqlite(path: directory.path("c.db"))
    try await Self.fill(store)
    let before = try await dump(other)
    let transaction = try await store.records.begin()
    _ = try await transaction.merge(RecordBatch(RecordTable()))
    #expect(try await dump(other) == before)
    await transaction.rollback()
    _ = try await store.remove(RecordSelection("Post:*"))
    #expect(try await Self.keys(other) == ["QUERY_ROOT", "User:10", "User:11", "User:12"])
    try store.close()
    try other.close()
  }

  // MARK: Size

  @Test("trims the least recently received records")
  func trimsOldest() async throws {
    try await StoreKind.sqlite.withStore { store in
      for number in 1...9 {
        try await Self.writeFeed(number, to: store, received: 5000 + number * 100)
      }
      let size = try await store.statistics().bytes
      #expect(try await store.trim(to: size).isEmpty)
      let summary = try await store.trim(to: size / 2)
      let left = try await store.statistics().bytes
      #expect(left <= size / 2 && left > size / 3)
      #expect(summary.bytes == size - left)
      let keys = try await Self.keys(store)
      #expect(keys.contains("Post:9") && keys.contains("User:19") && keys.contains("User:1"))
      #expect(!keys.contains("Post:1") && !keys.contains("User:11"))
      _ = try await store.trim(to: 0)
      #expect(try await dump(store) == "")
      #expect(try await store.statistics().bytes == 0)
    }
  }

  @Test("trims among records of one second, too", arguments: StoreKind.allCases)
  func trimsWithinASecond(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let posts = (0..<100).map { (id: "\($0)", author: "\($0)") }
      try await Self.write(store, first: 100, posts: posts, viewer: "1", received: 5000)
      let size = try await store.statistics().bytes
      let summary = try await store.trim(to: size / 2)
      let left = try await store.statistics().bytes
      #expect(left <= size / 2 && left > size / 2 - 5000)
      #expect(summary.bytes == size - left)
    }
  }

  @Test("a list is removed with its segments, and never without", arguments: StoreKind.allCases)
  func trimsLists(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let old = try await Self.writeLongList(store, count: 3000, received: 5000)
      try await Self.fill(store, received: 6000)
      let size = try await store.statistics().bytes
      // Less than the segments of the list.
      _ = try await store.trim(to: size - 200_000)
      if case .hit = try await store.read(old) { Issue.record("the list should be gone") }
      #expect(try await store.statistics().segments == 0)
      #expect(try await store.statistics().bytes <= size - 200_000)
      let new = try prepare(Self.document, variables: #"{"first":2}"#)
      try #require(try await store.read(new).hit != nil, "what is newer should be there")
    }
  }

  @Test("segments that lists share are removed with the last one", arguments: StoreKind.allCases)
  func sharedSegments(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let old = try await Self.writeLongList(store, count: 3000, received: 5000)
      let new = try await Self.writeLongList(store, "other", count: 3000, received: 6000)
      _ = try await store.remove(RecordSelection("Node:*"))
      let before = try await store.statistics()
      _ = try await store.trim(to: before.bytes - 10)
      #expect(try await store.read(old).miss?.path == "page")
      #expect(try await store.read(new).miss?.path == "other.edges[0].node")
      #expect(try await store.statistics().segments == before.segments)
      _ = try await store.trim(to: before.bytes / 2)
      #expect(try await store.statistics().bytes == 0)
    }
  }

  // MARK: Transactions

  private struct Crash: Error {}

  /// Two lists and their records, of which half are garbage, in a new file.
  private static func fill(_ path: String) async throws -> SQLiteStore {
    let store = try SQLiteStore(path: path)
    let cache = CacheStore(store)
    let posts = (0..<2500).map { (id: "\($0)", author: "\($0)") }
    try await write(cache, first: 2500, posts: posts, viewer: "1", received: 5000)
    _ = try await cache.remove(RecordSelection("Query.feed"))
    try await write(
      cache, first: 1250, posts: Array(posts.prefix(1250)), viewer: "1", received: 5000)
    try await writeLongList(cache, count: 3000, received: 5000)
    return store
  }

  @Test(
    "after a crash between two transactions results are complete or missing, and the rest can be removed",
    arguments: ["evict", "fields", "gc", "trim"])
  func crash(_ name: String) async throws {
    let task: HousekeepingTask =
      switch name {
      case "evict": .remove(try RecordSelection("Post:*"))
      case "fields": .remove(try RecordSelection("*", fields: "name"))
      case "gc": .collectGarbage(rootsBefore: nil, keeping: [])
      default: .trim(to: 100_000)
      }
    let directory = try TemporaryDirectory()
    let store = try await Self.fill(directory.path("a.db"))
    let whole = try await Self.fill(directory.path("b.db"))
    _ = try await whole.run(task, RemovalProgress())
    let operations = [
      try prepare(Self.document, variables: #"{"first":1250}"#),
      try await Self.writeLongList(CacheStore(store), count: 3000, received: 5000),
    ]
    let cache = CacheUnderTest(store: store)
    var before: [String] = []
    for operation in operations { before.append(try await cache.read(operation)) }
    let size = try await CacheStore(store).statistics().bytes
    await #expect(throws: Crash.self) {
      try await store.pool.writeWithoutTransaction { db in
        try db.beginTransaction(.immediate)
        try SQLiteSchema.recordRemovals(in: db)
        let records = try SQLiteHousekeeping(db) {
          try db.commit()
          throw Crash()
        }
        try task.run(on: records, RemovalLog(.none, RemovalProgress()))
      }
    }
    #expect(try await CacheStore(store).statistics().bytes < size)
    for (operation, old) in zip(operations, before) {
      let result = try await cache.read(operation)
      #expect(result == old || result.hasPrefix("miss at "))
    }
    _ = try await store.run(task, RemovalProgress())
    #expect(try await dump(store) == dump(whole))
    try store.close()
    try whole.close()
  }

  @Test("a cancelled removal leaves what its transactions have removed, and reports it")
  func cancelled() async throws {
    let directory = try TemporaryDirectory()
    let store = try await Self.fill(directory.path("c.db"))
    let progress = RemovalProgress()
    let selection = try RecordSelection("Post:*")
    await #expect(throws: CancellationError.self) {
      try await store.pool.writeWithoutTransaction { db in
        let log = RemovalLog(.none, progress)
        try db.beginTransaction(.immediate)
        let records = try SQLiteHousekeeping(db) {
          try db.commit()
          _ = log.endStep()
          progress.cancel()
          try db.beginTransaction(.immediate)
        }
        defer { if db.isInsideTransaction { try? db.rollback() } }
        try HousekeepingTask.remove(selection).run(on: records, log)
      }
    }
    #expect(progress.removed.records == 1000)
    // A statement that runs meanwhile ends with an error of SQLite.
    let interrupted = DatabaseError(resultCode: .SQLITE_INTERRUPT)
    #expect(SQLiteFile.describe(interrupted, action: "remove", path: "").code == .cancelled)
    #expect(try await CacheStore(store).statistics().types["Post"]?.records == 1500)
    try store.close()
  }

  @Test(
    "a removal that is cancelled before its first commit removes nothing",
    arguments: StoreKind.allCases)
  func cancelledAtOnce(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 2500)
      let progress = RemovalProgress()
      progress.cancel()
      let found = try await code { _ = try await store.trim(to: 0, progress: progress) }
      #expect(found == .cancelled)
      #expect(progress.removed.isEmpty)
      #expect(try await store.statistics().types["Post"]?.records == 2500)
    }
  }

  @Test("a removal in memory that is cancelled meanwhile reports what it has removed")
  func cancelledInMemory() async throws {
    let store = CacheStore.memory()
    try await Self.fill(store, posts: 2500)
    // It notices a cancellation after each 1000 records.
    let progress = RemovalProgress()
    progress.cancel()
    let found = try await code {
      _ = try await store.remove(RecordSelection("Post:*"), progress: progress)
    }
    #expect(found == .cancelled)
    let removed = progress.removed.records
    #expect(removed > 900)
    #expect(try await store.statistics().types["Post"]?.records == 2500 - removed)
  }

  @Test("a file is rewritten without its free space, unless another store has it open")
  func compaction() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("c.db")
    let store = try await Self.fill(path)
    let cache = CacheStore(store)
    let other = try SQLiteStore(path: path)
    _ = try await cache.remove(RecordSelection("Post:*"))
    _ = try await cache.remove(RecordSelection("Query.page"))
    let kept = try await dump(store)
    _ = try await cache.trim(to: .max)
    try await cache.checkpoint()
    let size = FilePath.size(of: path)
    #expect(size > 500_000)
    #expect(try await dump(other) == kept)
    try other.close()
    _ = try await cache.trim(to: .max)
    #expect(FilePath.size(of: path) < size / 4 * 3)
    #expect(!FileManager.default.fileExists(atPath: path + "-incomplete"))
    #expect(try await dump(store) == kept)
    // The store and new ones use the new file.
    _ = try await cache.remove(RecordSelection("Node:*"))
    let again = try SQLiteStore(path: path)
    #expect(try await dump(again) == dump(store))
    try again.close()
    try store.close()
  }

  @Test("a memory store keeps recently read records")
  func leastRecentlyUsed() async throws {
    let store = CacheStore.memory()
    for number in 1...20 { try await Self.writeFeed(number, to: store) }
    let oldest = try prepare(Self.document, variables: #"{"first":1}"#)
    try #require(try await store.read(oldest).hit != nil, "there should be an answer")
    let size = try await store.statistics().bytes
    _ = try await store.trim(to: size / 4)
    #expect(try await store.statistics().bytes <= size / 4)
    try #require(try await store.read(oldest).hit != nil, "what was read last is gone")
    let second = try prepare(Self.document, variables: #"{"first":2}"#)
    if case .hit = try await store.read(second) { Issue.record("the oldest should be gone") }
  }

  @Test("in memory, the limit holds after every write, and statistics agree")
  func memoryLimit() async throws {
    let limit = 20_000
    let store = CacheStore.memory(maxSize: limit)
    for number in 1...200 {
      try await Self.writeFeed(number, to: store)
      let statistics = try await store.statistics()
      #expect(statistics.bytes <= limit)
      #expect(statistics.types.values.reduce(0) { $0 + $1.bytes } == statistics.bytes)
      // The last response is there as a whole.
      let operation = try prepare(Self.document, variables: #"{"first":\#(number)}"#)
      try #require(try await store.read(operation).hit != nil, "response \(number) is gone")
    }
  }

  /// A filled store whose file another program has changed.
  private static func changed(_ path: String, by sql: String) async throws -> CacheStore {
    let store = try CacheStore.sqlite(path: path)
    try await fill(store)
    try store.close()
    try SQLiteTool.run(sql, on: path)
    return try CacheStore.sqlite(path: path)
  }

  @Test(
    "a damaged record is treated as missing, and records that only it reached are garbage",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
  func damaged() async throws {
    let directory = try TemporaryDirectory()
    let store = try await Self.changed(
      directory.path("c.db"),
      by: "UPDATE records SET data = replace(data, 'Post 1', 'Post X') WHERE key = 'Post:1'")
    let summary = try await store.collectGarbage(rootsBefore: nil)
    #expect(summary.records == 1)
    #expect(try await Self.keys(store) == ["Post:2", "QUERY_ROOT", "User:11", "User:12"])
    try store.close()
  }

  @Test(
    "keys of another type than text are damage, which a removal reports",
    .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
  func foreignKeys() async throws {
    let directory = try TemporaryDirectory()
    // As many as are removed at a time.
    let store = try await Self.changed(
      directory.path("c.db"),
      by: """
        WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 1000)
        INSERT INTO records (key, received, data, checksum)
          SELECT CAST('User:' || i AS BLOB), 1, '{}', 0 FROM numbers
        """)
    let found = try await code { _ = try await store.remove(RecordSelection("*")) }
    #expect(found == .damagedDatabase)
    #expect(try await store.statistics().types["User"] != nil)
    try store.close()
  }
}
