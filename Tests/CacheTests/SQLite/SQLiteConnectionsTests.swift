import Foundation
import GRDB
import Testing

@testable import GQLRunCache

@Suite("Connections of a store in SQLite")
struct SQLiteConnectionsTests {
  /// The number of descriptors with which this process has a file open. Each connection has one.
  private static func descriptors(of path: String) throws -> Int {
    let files = FileManager.default
    let name = OpenDatabases.canonical(path)
    return try files.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
      (try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == name
    }
  }

  @Test("a store that only writes has one connection, and reads one after the other need one more")
  func readersAreLazy() async throws {
    let file = try StoreFile()
    let cache = CacheUnderTest(store: try file.open())
    try await cache.write(#"{"data":{"me":null}}"#, "{me{id}}")
    #expect(try Self.descriptors(of: file.path) == 1)
    for _ in 0..<3 { #expect(try await cache.read("{me{id}}") == #"{"me":null}"#) }
    #expect(try Self.descriptors(of: file.path) == 2)
    try cache.store.close()
    #expect(try Self.descriptors(of: file.path) == 0)
    await #expect(throws: CacheError.self) { try await cache.read("{me{id}}") }
  }

  @Test("a store without reads that was closed opens no connection for one")
  func closedBeforeReading() async throws {
    let file = try StoreFile()
    let cache = CacheUnderTest(store: try file.open())
    try cache.store.close()
    await #expect(throws: CacheError.self) { try await cache.read("{me{id}}") }
    #expect(try Self.descriptors(of: file.path) == 0)
  }

  @Test("after a large first response, connections are opened by the next access")
  func reopenedLazily() async throws {
    let file = try StoreFile()
    let cache = CacheUnderTest(store: try file.open { $0.minFreshBytes = 0 })
    try await cache.write(#"{"data":{"me":null}}"#, "{me{id}}")
    #expect(try Self.descriptors(of: file.path) == 0)
    try await cache.write(#"{"data":{"me":{"__typename":"User","id":"1"}}}"#, "{me{id}}")
    #expect(try Self.descriptors(of: file.path) == 1)
    #expect(try await cache.read("{me{id}}") == #"{"me":{"id":"1"}}"#)
    try cache.store.close()
    #expect(try Self.descriptors(of: file.path) == 0)
  }

  @Test("a connection that writes is refused if SQLite can only read the file")
  func readOnlyWriter() throws {
    let file = try StoreFile()
    try file.open().close()
    let error = #expect(throws: DatabaseError.self) {
      try SQLiteConnections.writer("file:\(file.path)?mode=ro")
    }
    #expect(error?.resultCode == .SQLITE_READONLY)
  }

  /// Whether a file has a write-ahead log: https://www.sqlite.org/fileformat2.html#file_format_version_numbers
  private static func hasLog(_ path: String) throws -> Bool {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))[18] == 2
  }

  @Test("a copy, which has no log, gets one when it is opened for writing")
  func copyGetsLog() async throws {
    let directory = try TemporaryDirectory()
    let copy = directory.path("copy.db")
    let store = try SQLiteStore(path: directory.path("cache.db"))
    try await store.copy(to: copy)
    try store.close()
    #expect(try !Self.hasLog(copy))
    var options = SQLiteStore.Options()
    options.access = .readOnly
    try SQLiteStore(path: copy, options: options).close()
    #expect(try !Self.hasLog(copy))
    try SQLiteStore(path: copy).close()
    #expect(try Self.hasLog(copy))
  }
}
