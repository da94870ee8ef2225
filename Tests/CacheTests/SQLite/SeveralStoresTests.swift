import Foundation
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Stores and processes that share a file. Other processes are played by `DatabaseLock`s of their own, which
/// are as foreign to a store as those of another process, and by real ones in `gqlrunTests`.
@Suite("Several stores on one file")
struct SeveralStoresTests {
  private static let operation = "query($id:ID!){user(id:$id){id name}}"

  private static func write(_ id: Int, _ name: String, to store: SQLiteStore) async throws {
    try await CacheUnderTest(store: store).write(
      #"{"data":{"user":{"__typename":"User","id":"\#(id)","name":"\#(name)"}}}"#, operation,
      variables: #"{"id":"\#(id)"}"#)
  }

  private static func name(_ id: Int, in store: SQLiteStore) async throws -> String {
    try await CacheUnderTest(store: store).read(operation, variables: #"{"id":"\#(id)"}"#)
  }

  @Test("two stores of one process write and read at once, and nothing is lost")
  func twoStores() async throws {
    let file = try StoreFile()
    // Twenty writes of one may come before one of the other, on a machine that is slow.
    let stores = try (0..<2).map { _ in try file.open { $0.maxWait = .seconds(600) } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        for turn in 0..<20 {
          group.addTask {
            let id = turn * 2 + index
            try await Self.write(id, "n\(id)", to: store)
            #expect(
              try await Self.name(id, in: stores[1 - index])
                == #"{"user":{"id":"\#(id)","name":"n\#(id)"}}"#)
            if turn % 5 == 0 { try await store.checkpoint() }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await stores[0].statistics().types["User"]?.records == 40)
    #expect(try await dump(stores[0]) == dump(stores[1]))
    for store in stores { try store.close() }
    if SQLiteTool.isThere {
      #expect(try SQLiteTool.run("PRAGMA integrity_check", on: file.path) == "ok")
    }
  }

  @Test("opening a file again leaves the locks that SQLite holds on it")
  func keepsLocks() async throws {
    let file = try StoreFile()
    let first = try file.open()
    try await Self.write(1, "Ada", to: first)
    let before = try Self.locks(on: file.path)
    #expect(!before.isEmpty)
    let second = try file.open()
    try second.close()
    #expect(try Self.locks(on: file.path) == before)
    try first.close()
  }

  /// The locks of this process on a file, from the kernel's table (`proc_locks(5)`).
  private static func locks(on path: String) throws -> [String] {
    var status = stat()
    guard stat(path, &status) == 0 else { return [] }
    // A file that says to be empty is read to its end by a handle only.
    // The table is read in pieces, and what other tests lock and unlock in between moves its lines.
    var found: Set<String> = []
    for _ in 0..<10 {
      let handle = try #require(FileHandle(forReadingAtPath: "/proc/locks"))
      let table = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
      let lines = table.split(separator: "\n").filter {
        $0.contains(" POSIX ") && $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ")
      }
      found.formUnion(lines.map { $0.split(separator: " ").dropFirst().joined(separator: " ") })
    }
    return found.sorted()
  }

  @Test("a writer waits a limited time for another one, and names it in the error")
  func bounded() async throws {
    let file = try StoreFile()
    let clock = TestClock.jumping()
    let store = try file.open { $0.clock = clock }
    try await Self.write(1, "Ada", to: store)
    let other = try exclusiveLock(.writing, ofStoreAt: file.path)
    other.noteHolder()
    let error = try await #require(throws: CacheError.self) {
      try await Self.write(1, "Grace", to: store)
    }
    #expect(error.code == .busy)
    #expect(error.message.contains("another store of this process has been writing"), "\(error)")
    #expect(error.message.contains("for 10 seconds"), "\(error)")
    #expect(clock.now.offset >= .seconds(10) && clock.now.offset < .seconds(11))
    // Readers do not wait.
    let slept = clock.now.offset
    #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    #expect(clock.now.offset == slept)
    other.unlock(.writing)
    try await Self.write(1, "Grace", to: store)
    #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Grace"}}"#)
    try store.close()
  }

  @Test("a cache whose lock fails is an error, and not a cache that can only be read")
  func failingLock() throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: directory.path("cache.db-lock"), withIntermediateDirectories: true)
    let error = #expect(throws: CacheError.self) {
      _ = try SQLiteStore(path: directory.path("cache.db"), options: SQLiteStore.Options())
    }
    #expect(error?.code == .storage)
    #expect(error?.message.hasSuffix("cache.db-lock: Is a directory") == true, "\(error as Any)")
  }

  @Test("the lock file names the writing process")
  func holder() throws {
    let directory = try TemporaryDirectory()
    let lock = try #require(try DatabaseLock(of: directory.path("cache.db")))
    #expect(lock.holder == "another program")
    lock.noteHolder()
    #expect(lock.holder == "another store of this process")
    let text = "pid 1" + String(repeating: " ", count: 20)
    let handle = try #require(FileHandle(forUpdatingAtPath: lock.path))
    try handle.seek(toOffset: 16)
    try handle.write(contentsOf: Data(text.utf8))
    #expect(lock.holder.hasPrefix("process 1"))
    lock.forgetHolder()
    #expect(lock.holder == "another program")
  }

  @Test("a cancelled task stops waiting, for another process and for other tasks")
  func cancellation() async throws {
    let file = try StoreFile()
    let clock = TestClock()
    let store = try file.open { $0.clock = clock }
    let other = try exclusiveLock(.writing, ofStoreAt: file.path)
    // The first waits for the other process, the second for the first.
    let tasks = (0..<2).map { _ in Task { try await store.begin() } }
    await clock.sleepers(1)
    for task in tasks.reversed() {
      task.cancel()
      let found = try await code { await (try task.value).rollback() }
      #expect(found == .cancelled)
    }
    other.unlock(.writing)
    try await Self.write(1, "Ada", to: store)
    try store.close()
  }

  @Test("a reader during a long write sees the state before it")
  func isolation() async throws {
    let file = try StoreFile()
    let (writer, reader) = (try file.open(), try file.open())
    try await Self.write(1, "Ada", to: writer)
    let operation = try prepare(Self.operation, variables: #"{"id":"1"}"#)
    let response = #"{"data":{"user":{"__typename":"User","id":"1","name":"Grace"}}}"#
    let normalizer = try await feed(
      response.utf8, operation, into: CacheStore(writer), arrival: .byteByByte)
    for store in [writer, reader] {
      #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    }
    let result = try await normalizer.finish()
    for store in [writer, reader] {
      #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Ada"}}"#)
    }
    _ = try await result.write?.commit()
    for store in [writer, reader] {
      #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Grace"}}"#)
    }
    try writer.close()
    try reader.close()
  }

  @Test("a long reader does not block commits, and the log is moved when it is done")
  func longReader() async throws {
    let file = try StoreFile()
    let store = try file.open()
    try await Self.write(1, "Ada", to: store)
    try await store.checkpoint()
    #expect(try await store.statistics().logBytes == 0)
    let (started, startedHere) = AsyncStream.makeStream(of: Void.self)
    let done = DispatchSemaphore(value: 0)
    let reading = Task {
      try await store.scan(reportsDamage: false) { records -> String in
        var seen = ""
        for turn in 0..<2 {
          try records.forEachRecord { seen += $1.string }
          if turn > 0 { break }
          startedHere.yield()
          done.wait()
        }
        return seen
      }
    }
    for await _ in started { break }
    for turn in 0..<3 {
      try await Self.write(1, "Grace \(turn)", to: store)
      try await store.checkpoint()
    }
    #expect(try await store.statistics().logBytes ?? 0 > 0)
    done.signal()
    let seen = try await reading.value
    #expect(!seen.contains("Grace"))
    try await store.checkpoint()
    #expect(try await store.statistics().logBytes == 0)
    #expect(try await Self.name(1, in: store) == #"{"user":{"id":"1","name":"Grace 2"}}"#)
    try store.close()
  }
}
