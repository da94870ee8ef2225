import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Tests of the memory tier only; the contract tests cover the rest.
@Suite("Memory tier", .enabled(if: SQLiteTool.isThere))
struct MemoryTierTests {
  private let file: StoreFile
  private let document = "{ user { id name } }"

  init() throws { file = try StoreFile() }

  private func store(memory: Int? = 1 << 20) throws -> SQLiteStore {
    try file.open { $0.memory = memory }
  }

  /// Changes the file behind the back of all stores: what memory holds is still the old.
  private func tamper(_ sql: String) throws {
    try SQLiteTool.run(sql, on: file.path)
  }

  private func user(_ name: String) -> String {
    #"{"data":{"user":{"__typename":"User","id":1,"name":"\#(name)"}}}"#
  }

  private func shown(_ name: String) -> String { #"{"user":{"id":1,"name":"\#(name)"}}"# }

  @Test("a written record is read from memory")
  func written() async throws {
    let store = try store()
    let cache = CacheUnderTest(store: store)
    try await cache.write(user("ada"), document)
    try tamper("DELETE FROM records")
    #expect(try await cache.read(document) == shown("ada"))
    #expect(try await store.refresh())
    #expect(try await cache.read(document) == "miss at user")
    #expect(try await !store.refresh())
    try store.close()
  }

  @Test("a read record is read from memory the next time")
  func read() async throws {
    do {
      let store = try store()
      try await CacheUnderTest(store: store).write(user("ada"), document)
      try store.close()
    }
    let store = try store()
    let cache = CacheUnderTest(store: store)
    #expect(try await cache.read(document) == shown("ada"))
    try tamper("DELETE FROM records")
    #expect(try await cache.read(document) == shown("ada"))
    try store.close()
  }

  @Test("a result with a record that is not in the memory tier is read from the file")
  func parts() async throws {
    do {
      let store = try store()
      let cache = CacheUnderTest(store: store)
      try await cache.write(user("ada"), document)
      try await cache.write(#"{"data":{"x":1}}"#, "{ x }")
      try store.close()
    }
    let store = try store()
    let cache = CacheUnderTest(store: store)
    #expect(try await cache.read("{ x }") == #"{"x":1}"#)
    #expect(try await cache.read("{ x user { name } }") == #"{"x":1,"user":{"name":"ada"}}"#)
    try tamper("DELETE FROM records")
    #expect(try await cache.read("{ x user { name } }") == #"{"x":1,"user":{"name":"ada"}}"#)
    try store.close()
  }

  @Test("a received field is merged once, in the file, and the memory tier has the result")
  func merged() async throws {
    let store = try store()
    let cache = CacheUnderTest(store: store)
    try await cache.write(user("ada"), document)
    try await cache.write(
      #"{"data":{"user":{"__typename":"User","id":1,"age":36}}}"#, "{ user { id age } }")
    try tamper("DELETE FROM records")
    #expect(try await cache.read("{ user { name age } }") == #"{"user":{"name":"ada","age":36}}"#)
    try store.close()
  }

  @Test("the memory tier keeps its size limit, and evicted records are read from the file")
  func size() async throws {
    let store = try store(memory: 64 << 10)
    let cache = CacheUnderTest(store: store)
    for n in 0..<200 {
      let text = String(repeating: "x", count: 1000)
      try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":\#(n),"text":"\#(text)"}}}"#, "{ v { id text } }")
    }
    let items = (0..<200).map { #"{"__typename":"V","id":\#($0)}"# }.joined(separator: ",")
    try await cache.write(#"{"data":{"all":[\#(items)]}}"#, "{ all { id } }")
    let all = try await cache.read("{ all { id text } }")
    #expect(all.count > 200_000)
    #expect(try await cache.read("{ all { id text } }") == all)
    try store.close()
  }

  @Test("a write that fails leaves memory as the file is")
  func failure() async throws {
    let store = try store()
    let cache = CacheUnderTest(store: store)
    try await cache.write(user("ada"), document)
    try tamper("CREATE TRIGGER no BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'no'); END")
    await #expect(throws: CacheError.self) { try await cache.write(user("bob"), document) }
    #expect(try await cache.read(document) == shown("ada"))
    try tamper("DROP TRIGGER no")
    try await cache.write(user("bob"), document)
    #expect(try await cache.read(document) == shown("bob"))
    try store.close()
  }

  @Test("stores on one file share the memory tier, even with stores without the option")
  func shared() async throws {
    let (one, other) = (try store(), try store(memory: nil))
    try await CacheUnderTest(store: one).write(user("ada"), document)
    try await CacheUnderTest(store: other).write(user("bob"), document)
    #expect(try await CacheUnderTest(store: one).read(document) == shown("bob"))
    try await other.clear()
    #expect(try await CacheUnderTest(store: one).read(document) == "miss at user")
    try one.close()
    try other.close()
  }

  @Test("readers see one commit or the other, never a mixture")
  func concurrentReads() async throws {
    let store = try store(memory: 2000)
    let cache = CacheUnderTest(store: store)
    let document = "{ a { id n } b { id n } c { id n } }"
    let body = { (n: Int) in
      let members = ["a", "b", "c"].enumerated().map {
        #""\#($1)":{"__typename":"T","id":\#($0),"n":\#(n)}"#
      }
      return #"{"data":{\#(members.joined(separator: ","))}}"#
    }
    try await cache.write(body(0), document)
    let operation = try prepare(document)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<3 {
        group.addTask {
          var isWhole = true
          for _ in 0..<200 {
            let data = try await JSONValue(parsing: Array(cache.read(operation).utf8))
            let numbers = ["a", "b", "c"].compactMap { data[$0]?["n"]?.intValue }
            if numbers.count != 3 || Set(numbers).count != 1 { isWhole = false }
          }
          return isWhole
        }
      }
      for n in 1...100 { try await cache.write(body(n), operation) }
      for try await isWhole in group { #expect(isWhole) }
    }
    try store.close()
  }

  @Test("refresh notifies watchers of writes by another process")
  func otherProcess() async throws {
    let store = try store(memory: nil)
    try await CacheUnderTest(store: store).write(user("ada"), document)
    var watcher = Watcher(CacheStore(store), try prepare(document))
    _ = try await watcher.next()
    try await store.refresh()
    #expect(try await watcher.look() == nil)
    try tamper("DELETE FROM records")
    #expect(!watcher.isPending)
    #expect(try await store.refresh())
    #expect(try await watcher.next() == "miss at user")
    try store.close()
  }
}
