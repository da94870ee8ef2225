import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// A store of each kind, made for one test and gone after it.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// In memory, in a file, in a file that the first response replaces, in a file with memory in front, and in
  /// PostgreSQL.
  case memory, sqlite, fresh, chain, postgres

  static let allCases: [StoreKind] =
    [.memory, .sqlite, .fresh, .chain] + (PostgresServer.isInstalled ? [.postgres] : [])

  var testDescription: String { rawValue }

  @discardableResult
  func withStore<R>(
    collectsChanges: Bool = true, _ body: (CacheStore) async throws -> R
  ) async throws -> R {
    switch self {
    case .memory: return try await body(CacheStore(MemoryStore(collectsChanges: collectsChanges)))
    case .sqlite, .fresh, .chain:
      let file = try StoreFile()
      let store = try file.open {
        $0.collectsChanges = collectsChanges
        // So little that it is too little now and then.
        if self == .chain { $0.memory = 3000 }
        if self == .fresh {
          $0.minFreshBytes = 0
          // A transaction for each 1000 changes.
          $0.maxHousekeepingLog = 0
        }
      }
      let result = try await body(CacheStore(store))
      try store.close()
      return result
    case .postgres:
      var options = CacheStore.PostgresOptions(url: try PostgresSchema.newForTest())
      options.collectsChanges = collectsChanges
      let store = try await PostgresStore(options)
      let result = try await body(CacheStore(store))
      try store.close()
      return result
    }
  }
}

extension StoreKind {
  /// A store to which responses come whole.
  func withCache<R>(
    collectsChanges: Bool = true, _ body: (CacheUnderTest, CacheStore) async throws -> R
  ) async throws -> R {
    try await withStore(collectsChanges: collectsChanges) {
      try await body(CacheUnderTest(store: $0), $0)
    }
  }
}

extension PostgresSchema {
  /// The URL of an empty schema of the test server.
  static func newForTest() throws -> String {
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    try PostgresConnection(server.url).run("CREATE SCHEMA \(name)")
    return url
  }
}

/// A way in which a response reaches a store: whole or byte by byte, at its end or while it arrives, with one thread or
/// two.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case memoryByteByByte
  case sqlite
  /// Every byte is parsed when it comes, and every record is written as soon as it is staged.
  case sqliteAsItArrives
  /// Into a file with memory in front.
  case chain
  case postgres

  static let allCases: [Way] =
    [.memory, .memoryByteByByte, .sqlite, .sqliteAsItArrives, .chain]
    + (PostgresServer.isInstalled ? [.postgres] : [])

  var testDescription: String { rawValue }

  var kind: StoreKind {
    switch self {
    case .memory, .memoryByteByByte: .memory
    case .sqlite: .sqlite
    case .sqliteAsItArrives: .fresh
    case .chain: .chain
    case .postgres: .postgres
    }
  }

  var arrival: Arrival {
    switch self {
    case .memory, .postgres: Arrival(isTaped: true)
    case .sqlite, .chain: Arrival()
    case .memoryByteByByte, .sqliteAsItArrives: .byteByByte
    }
  }

  func withCache<R>(_ body: (CacheUnderTest) async throws -> R) async throws -> R {
    try await kind.withStore { try await body(CacheUnderTest(store: $0, arrival: arrival)) }
  }
}

extension Arrival: CustomTestStringConvertible {
  var testDescription: String {
    (pieces == [Int.max] ? "whole" : "pieces of \(pieces.map(String.init).joined(separator: ", "))")
      + (isTaped ? ", two threads" : "")
  }
}

/// A directory that goes with its last user.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    // Memory is faster than a disk that is asked to sync, where there is a file system in memory.
    let base =
      FileManager.default.isWritableFile(atPath: "/dev/shm")
      ? URL(fileURLWithPath: "/dev/shm") : FileManager.default.temporaryDirectory
    url = base.appendingPathComponent("gqlrun-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// The SQLite file of a store, which goes with its last user.
struct StoreFile: Sendable {
  let directory: TemporaryDirectory
  var path: String { directory.path("cache.db") }

  init() throws { directory = try TemporaryDirectory() }

  /// Opens the file, which the first store makes.
  func open(_ change: (inout SQLiteStore.Options) -> Void = { _ in }) throws -> SQLiteStore {
    var options = SQLiteStore.Options()
    change(&options)
    return try SQLiteStore(path: path, options: options)
  }
}

/// A store together with the way responses reach it.
struct CacheUnderTest {
  let store: CacheStore
  var arrival = Arrival()

  init(store: CacheStore, arrival: Arrival = Arrival()) {
    self.store = store
    self.arrival = arrival
  }

  init(store: any RecordStore) { self.init(store: CacheStore(store)) }

  @discardableResult
  func write(
    _ response: String, _ document: String, variables: String = "{}",
    keys: KeyRules = KeyRules(), facts: TypeFacts? = nil, policy: ErrorPolicy = .skipErrored
  ) async throws -> Written {
    try await write(
      response, prepare(document, variables: variables, keys: keys, facts: facts), policy: policy)
  }

  @discardableResult
  func write(
    _ response: String, _ operation: PreparedOperation, policy: ErrorPolicy = .skipErrored
  ) async throws -> Written {
    try await normalize(response.utf8, operation, into: store, arrival: arrival, policy: policy)
  }

  func read(
    _ document: String, variables: String = "{}", keys: KeyRules = KeyRules(),
    facts: TypeFacts? = nil
  ) async throws -> String {
    try await read(prepare(document, variables: variables, keys: keys, facts: facts))
  }

  /// The JSON text of a hit, or `miss at <path>`.
  func read(_ operation: PreparedOperation) async throws -> String {
    switch try await store.read(operation) {
    case .hit(let data):
      return String(decoding: try data.bytes(), as: UTF8.self)
    case .miss(let miss): return "miss at \(miss.path)"
    }
  }

  func dump() async throws -> String { try await CacheTests.dump(store) }

  /// Holds the dump against the lines it should have, and shows those that differ.
  func expectDump(
    _ expected: String..., comment: String = "",
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) async throws {
    let actual = try await dump()
    let wanted = expected.map { $0 + "\n" }.joined()
    guard !actual.utf8.elementsEqual(wanted.utf8) else { return }
    let found = actual.split(separator: "\n").map(String.init)
    let extra = found.filter { !expected.contains($0) }.map { "  found:    \($0)\n" }
    let missing = expected.filter { !found.contains($0) }.map { "  expected: \($0)\n" }
    Issue.record(
      "the dump differs \(comment)\n\(missing.joined())\(extra.joined())",
      sourceLocation: sourceLocation)
  }
}

extension CacheReadResult {
  var hit: ResultBody? { if case .hit(let body) = self { body } else { nil } }
  var miss: CacheMiss? { if case .miss(let miss) = self { miss } else { nil } }
}

extension RecordTable {
  /// Inserts a record as it is.
  func insert(_ key: String, _ text: String, received: UInt32 = 0) {
    Array(key.utf8).withBytes { key in
      Array(text.utf8).withBytes { text in
        _ = insert(key, hash: Self.hash(key), text: text, received: received)
      }
    }
  }
}

/// The dump that has these lines: each the key and the fields of a record.
func lines(_ records: String...) -> String { records.map { $0 + "\n" }.joined() }

/// The code of the cache error that `body` throws; `nil` when it throws none.
func code(_ body: () async throws -> Void) async throws -> CacheError.Code? {
  do {
    try await body()
    return nil
  } catch let error as CacheError {
    return error.code
  }
}
