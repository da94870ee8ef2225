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
      let directory = try TemporaryDirectory()
      var options = SQLiteStore.Options()
      options.collectsChanges = collectsChanges
      // So little that it is too little now and then.
      if self == .chain { options.memory = 3000 }
      if self == .fresh { options.minFreshBytes = 0 }
      let store = try SQLiteStore(path: directory.path("cache.db"), options: options)
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

/// A way in which a response reaches a store: whole or byte by byte, at its end or while it arrives.
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
    case .memory, .sqlite, .chain, .postgres: Arrival()
    case .memoryByteByByte, .sqliteAsItArrives: .byteByByte
    }
  }

  func withCache<R>(_ body: (CacheUnderTest) async throws -> R) async throws -> R {
    try await kind.withStore { try await body(CacheUnderTest(store: $0, arrival: arrival)) }
  }
}

/// How the bytes of a response arrive, and when they are written.
struct Arrival: Sendable, CustomTestStringConvertible {
  /// The sizes of the pieces, in turn; then always the last one.
  var pieces: [Int] = [Int.max]
  /// Pieces smaller than this are collected by the parser.
  var minimumPiece = 4 << 10
  var flushThreshold = 1 << 20

  static let byteByByte = Arrival(pieces: [1], minimumPiece: 1, flushThreshold: 1)

  static func pieces(of size: Int) -> Arrival {
    Arrival(pieces: [size], minimumPiece: 1, flushThreshold: 1)
  }

  var testDescription: String {
    pieces == [Int.max] ? "whole" : "pieces of \(pieces.map(String.init).joined(separator: ", "))"
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

func prepare(
  _ document: String, operation: String? = nil, variables: String = "{}",
  keys: KeyRules = KeyRules(), facts: TypeFacts? = nil
) throws -> PreparedOperation {
  try PreparedOperation(
    document: Document(parsing: document), operationName: operation,
    variables: JSONValue(parsing: variables).objectValue ?? JSONObject(), keys: keys, facts: facts)
}

func facts(_ schema: String) throws -> TypeFacts {
  TypeFacts(try Schema(sdl: Document(parsing: schema)))
}

/// What one response did.
struct Written {
  var response: NormalizedResponse
  var summary: WriteSummary?
  /// The `data` delivered to the caller.
  var data: String?
  /// `record.field` of everything that changed, sorted.
  var changes: [String]
}

/// Feeds a response to a normalizer, and commits what it wants to write.
@discardableResult
func normalize(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: CacheStore?,
  arrival: Arrival = Arrival(), policy: ErrorPolicy = .skipErrored,
  limits: ResponseLimits = ResponseLimits(), writesRoots: Bool = true, received: Int? = nil
) async throws -> Written {
  let normalizer = try await feed(
    response, operation, into: store, arrival: arrival, policy: policy, limits: limits,
    writesRoots: writesRoots, received: received)
  let result = try await normalizer.finish()
  let summary = try await result.write?.commit()
  return Written(
    response: result, summary: summary,
    data: try result.data.map { String(decoding: try $0.bytes(), as: UTF8.self) },
    changes: summary.map { $0.changes.map { "\($0.recordKey).\($0.field)" }.sorted() } ?? [])
}

@discardableResult
func normalize(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: any RecordStore,
  received: Int? = nil
) async throws -> Written {
  try await normalize(response, operation, into: CacheStore(store), received: received)
}

/// Feeds a response to a normalizer that is given up when it throws.
func feed(
  _ response: some Sequence<UInt8>, _ operation: PreparedOperation, into store: CacheStore?,
  arrival: Arrival = Arrival(), policy: ErrorPolicy = .skipErrored,
  limits: ResponseLimits = ResponseLimits(), writesRoots: Bool = true, received: Int? = nil
) async throws -> ResponseNormalizer {
  var options = ResponseNormalizer.Options()
  if let received { options.received = received }
  options.errorPolicy = policy
  options.limits = limits
  options.flushThreshold = arrival.flushThreshold
  options.parsing.minimumPiece = arrival.minimumPiece
  options.writesRoots = writesRoots
  let normalizer = try ResponseNormalizer(operation, store: store, options: options)
  let bytes = Array(response)
  do {
    var start = 0
    var turn = 0
    while start < bytes.count {
      let size = arrival.pieces[min(turn, arrival.pieces.count - 1)]
      let end = size < bytes.count - start ? start + size : bytes.count
      // A copy of its own, so that the sanitizer sees a pointer that outlives its chunk.
      try Array(bytes[start..<end]).withUnsafeBytes { try normalizer.feed($0) }
      if normalizer.needsFlush { try await normalizer.flush() }
      start = end
      turn += 1
    }
  } catch {
    await normalizer.abandon()
    throw error
  }
  return normalizer
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

func dump(_ store: any RecordStore) async throws -> String { try await dump(CacheStore(store)) }

func dump(_ store: CacheStore) async throws -> String {
  let lines = Collected()
  try await store.dump { lines.append(Array($0)) }
  return lines.text
}

extension CacheReadResult {
  var hit: ResultBody? { if case .hit(let body) = self { body } else { nil } }
  var miss: CacheMiss? { if case .miss(let miss) = self { miss } else { nil } }
}

/// Collects what a store writes from its own queue; read only after the dump has ended.
final class Collected: @unchecked Sendable {
  private let lock = NSLock()
  private var bytes: [UInt8] = []

  func append(_ more: [UInt8]) { lock.withLock { bytes += more } }
  var text: String { lock.withLock { String(decoding: bytes, as: UTF8.self) } }
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

/// JSON text for expectations, written independently of the engine.
enum JSONText {
  /// `text` as a JSON string in the dump's form.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{8}": result += "\\b"
      case "\u{c}": result += "\\f"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<"\u{20}":
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
