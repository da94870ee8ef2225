import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Responses that wait for the writer of a file at the same time.
@Suite("Group commits", .timeLimit(.minutes(10)))
struct GroupCommitTests {
  private static let document = "query($id:ID!){user(id:$id){id name}}"

  private static func response(_ id: Int, _ name: String) -> String {
    #"{"data":{"user":{"__typename":"User","id":"\#(id)","name":\#(name)}}}"#
  }

  /// A store in a new file.
  private struct File {
    private let file: StoreFile
    let store: SQLiteStore
    var path: String { file.path }
    var cache: CacheUnderTest { CacheUnderTest(store: store) }

    init(_ change: (inout SQLiteStore.Options) -> Void = { _ in }) throws {
      file = try StoreFile()
      store = try file.open {
        $0.collectsChanges = true
        change(&$0)
      }
    }

    /// What is read of a user.
    func read(_ id: Int) async throws -> String {
      try await cache.read(GroupCommitTests.document, variables: #"{"id":"\#(id)"}"#)
    }
  }

  /// What ``File/read(_:)`` finds of a user with a name.
  private static func user(_ id: Int, _ name: String) -> String {
    #"{"user":{"id":"\#(id)","name":"\#(name)"}}"#
  }

  /// Starts to write a response, and returns when it waits for the writer, behind `before` others.
  private static func waiting(
    _ id: Int, _ text: String, in store: SQLiteStore, behind before: Int
  ) async -> Task<Written, any Error> {
    let task = Task {
      try await CacheUnderTest(store: store).write(
        text, document, variables: #"{"id":"\#(id)"}"#)
    }
    while store.group.waitingCount <= before { await Task.yield() }
    return task
  }

  /// Starts to write responses with names of `n0`, `n1` and so on, and returns when they wait in this order.
  private static func waiting(
    for ids: [Int], in store: SQLiteStore
  ) async -> [Task<Written, any Error>] {
    var tasks: [Task<Written, any Error>] = []
    for (turn, id) in ids.enumerated() {
      tasks.append(await waiting(id, response(id, #""n\#(turn)""#), in: store, behind: turn))
    }
    return tasks
  }

  @Test("responses that wait together are one transaction, and each learns its own changes")
  func together() async throws {
    let file = try File()
    try await file.cache.write(
      Self.response(0, #""before""#), Self.document, variables: #"{"id":"0"}"#)
    let before = try commits(inLogOf: file.path)
    let open = try await file.store.begin()
    let tasks = await Self.waiting(for: Array(0..<5), in: file.store)
    #expect(try await file.read(1) == "miss at user")
    await open.rollback()
    for (id, task) in tasks.enumerated() {
      let written = try await task.value
      #expect(
        written.changes
          == (id == 0
            ? ["User:0.name"]
            : [
              #"QUERY_ROOT.user({"id":"\#(id)"})"#, "User:\(id).__typename", "User:\(id).id",
              "User:\(id).name",
            ]))
      #expect(try await file.read(id) == Self.user(id, "n\(id)"))
    }
    #expect(try commits(inLogOf: file.path) == before + 1)
    let dump = try await file.cache.dump()
    try file.store.close()
    let again = try SQLiteStore(path: file.path)
    #expect(try await CacheTests.dump(again) == dump)
    try again.close()
  }

  @Test("of responses with the same record, the one that came last is the result")
  func order() async throws {
    let file = try File()
    let open = try await file.store.begin()
    let tasks = await Self.waiting(for: [1, 1, 1, 1, 1], in: file.store)
    await open.rollback()
    for (turn, task) in tasks.enumerated() {
      let summary = try await task.value.summary
      #expect(summary?.newRecords == (turn == 0 ? 2 : 0))
      #expect(summary?.changedRecords == (turn == 0 ? 0 : 1))
    }
    #expect(try await file.read(1) == Self.user(1, "n4"))
    try file.store.close()
  }

  @Test(
    "a response that cannot be written is alone with its error",
    .enabled(if: SQLiteTool.isThere), arguments: [[2], [0], [4], [1, 2], [0, 1, 2, 3, 4]])
  func failure(refused: [Int]) async throws {
    let file = try File { $0.memory = 1 << 20 }
    try SQLiteTool.run(
      """
      CREATE TRIGGER refusal BEFORE INSERT ON records
      WHEN NEW.key IN (\(refused.map { "'User:\($0)'" }.joined(separator: ", ")))
      BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END
      """, on: file.path)
    let open = try await file.store.begin()
    let tasks = await Self.waiting(for: Array(0..<5), in: file.store)
    await open.rollback()
    for (id, task) in tasks.enumerated() {
      let result = await task.result
      let text = try await file.read(id)
      if refused.contains(id) {
        let error = #expect(throws: CacheError.self) { try result.get() }
        #expect(error?.message.contains("refused by a trigger") == true)
        #expect(text == "miss at user")
      } else {
        // Root fields with arguments have a record of their own.
        #expect(try result.get().summary?.newRecords == 2)
        #expect(text == Self.user(id, "n\(id)"))
      }
    }
    #expect(
      try await file.store.statistics().types["User"]?.records ?? 0 == 5 - refused.count)
    try file.store.close()
  }

  @Test("a cancelled response is not written, and those that wait with it are", arguments: 0..<3)
  func cancellation(cancelled: Int) async throws {
    let file = try File()
    let open = try await file.store.begin()
    let tasks = await Self.waiting(for: Array(0..<3), in: file.store)
    tasks[cancelled].cancel()
    #expect(try await code { _ = try await tasks[cancelled].value } == .cancelled)
    await open.rollback()
    for id in 0..<3 where id != cancelled { _ = try await tasks[id].value }
    for id in 0..<3 {
      let expected = id == cancelled ? "miss at user" : Self.user(id, "n\(id)")
      #expect(try await file.read(id) == expected)
    }
    try file.store.close()
  }

  @Test("another process that writes for too long fails each response after a wait of its own")
  func busy() async throws {
    let clock = TestClock.jumping()
    let file = try File { $0.clock = clock }
    let other = try exclusiveLock(.writing, ofStoreAt: file.path)
    let store = file.store
    let tasks = (0..<3).map { id in
      Task {
        try await CacheUnderTest(store: store).write(
          Self.response(id, "null"), Self.document, variables: #"{"id":"\#(id)"}"#)
      }
    }
    for task in tasks { #expect(try await code { _ = try await task.value } == .busy) }
    #expect(clock.now.offset >= .seconds(30))
    other.unlock(.writing)
    try file.store.close()
  }

  @Test("a response that was requested before a clearing is not written with those after it")
  func cleared() async throws {
    let file = try File()
    let operation = try prepare(Self.document, variables: #"{"id":"1"}"#)
    let old = try await feed(
      Self.response(1, #""old""#).utf8, operation, into: CacheStore(file.store), arrival: Arrival())
    let pending = try await old.finish().write
    try await file.store.clear()
    let open = try await file.store.begin()
    let layer = try CacheStore(file.store).addOptimistic(
      ["user": ["__typename": "User", "id": "1", "name": "guess"]], for: operation)
    let writing = Task { try await pending?.commit(settling: layer) }
    while file.store.group.waitingCount < 1 { await Task.yield() }
    let new = await Self.waiting(2, Self.response(2, #""new""#), in: file.store, behind: 1)
    await open.rollback()
    #expect(try await writing.value == WriteSummary())
    _ = try await new.value
    #expect(!file.store.activity.hasLayers)
    try await file.cache.expectDump(
      #"{"key":"QUERY_ROOT","fields":{"user({\"id\":\"2\"})":{"$ref":"User:2"}}}"#,
      #"{"key":"User:2","fields":{"__typename":"User","id":"2","name":"new"}}"#)
    try file.store.close()
  }

  @Test("layers go when the group is committed")
  func layers() async throws {
    let file = try File()
    let open = try await file.store.begin()
    var tasks: [Task<WriteSummary?, any Error>] = []
    for id in 0..<3 {
      let operation = try prepare(Self.document, variables: #"{"id":"\#(id)"}"#)
      let layer = try CacheStore(file.store).addOptimistic(
        ["user": ["__typename": "User", "id": .string("\(id)"), "name": "guess"]], for: operation)
      let normalizer = try await feed(
        Self.response(id, #""n\#(id)""#).utf8, operation, into: CacheStore(file.store),
        arrival: Arrival())
      let pending = try await normalizer.finish().write
      tasks.append(Task { try await pending?.commit(settling: layer) })
      while file.store.group.waitingCount <= id { await Task.yield() }
    }
    #expect(try await file.read(1) == Self.user(1, "guess"))
    await open.rollback()
    for task in tasks { #expect(try await task.value?.newRecords == 2) }
    #expect(!file.store.activity.hasLayers)
    #expect(try await file.read(1) == Self.user(1, "n1"))
    try file.store.close()
  }

  /// A null with an error, and the same field later, in any order with other responses.
  @Test("responses with errors among others have the result of one after the other")
  func errors() async throws {
    let failed =
      #"{"data":{"user":{"__typename":"User","id":"1","name":null}},"errors":[{"message":"no","path":["user","name"]}]}"#
    let responses = [
      Self.response(1, #""a""#), Self.response(1, #""b""#), failed, Self.response(1, #""c""#),
      Self.response(1, "null"), failed,
    ]
    let together = try File()
    let after = try File()
    let open = try await together.store.begin()
    var tasks: [Task<Written, any Error>] = []
    for (turn, text) in responses.enumerated() {
      tasks.append(await Self.waiting(1, text, in: together.store, behind: turn))
    }
    await open.rollback()
    for (text, task) in zip(responses, tasks) {
      let expected = try await after.cache.write(text, Self.document, variables: #"{"id":"1"}"#)
      let written = try await task.value
      #expect(written.summary == expected.summary)
    }
    #expect(try await together.cache.dump() == after.cache.dump())
    try together.store.close()
    try after.store.close()
  }

  @Test("a reader beside many writers sees the numbers of each grow, also after reopening")
  func manyWritersAndReaders() async throws {
    let file = try File()
    let store = file.store
    @Sendable func number(_ id: Int) async throws -> Int {
      let text = try await CacheUnderTest(store: store).read(
        Self.document, variables: #"{"id":"\#(id)"}"#)
      return Int(text.split(separator: ":").last?.prefix { $0.isNumber } ?? "") ?? -1
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in 0..<16 {
        group.addTask {
          for turn in 0..<20 {
            try await CacheUnderTest(store: store).write(
              Self.response(id, "\(turn)"), Self.document, variables: #"{"id":"\#(id)"}"#)
            #expect(try await number(id) == turn)
          }
        }
        group.addTask {
          var last = -1
          while last < 19 {
            let now = try await number(id)
            #expect(now >= last)
            last = now
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    let dump = try await file.cache.dump()
    try file.store.close()
    let again = try SQLiteStore(path: file.path)
    #expect(try await CacheTests.dump(again) == dump)
    try again.close()
  }
}
