import Foundation
import GraphQL
import JSONStream
import Testing

@testable import Cache

/// A store of each kind, made for one test and gone after it.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory, sqlite

  var testDescription: String { rawValue }

  func withStore<R>(_ body: (any RecordStore) async throws -> R) async throws -> R {
    switch self {
    case .memory: return try await body(MemoryStore(collectsChanges: true))
    case .sqlite:
      let directory = try TemporaryDirectory()
      let store = try SQLiteStore(path: directory.path("cache.db"), collectsChanges: true)
      let result = try await body(store)
      try store.close()
      return result
    }
  }
}

/// A directory that goes with its last user.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "gqlrun-tests-\(UUID().uuidString)")
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

/// How a response is cut on its way into the normalizer.
enum Cut: Sendable, CustomTestStringConvertible {
  case whole
  case bytes(Int)

  var testDescription: String {
    switch self {
    case .whole: "whole"
    case .bytes(let count): "\(count) bytes"
    }
  }
}

@discardableResult
func normalize(
  _ response: String, _ operation: PreparedOperation, into store: (any RecordStore)?,
  cut: Cut = .whole, policy: ErrorPolicy = .skipErrored, flushThreshold: Int = 1 << 20
) async throws -> (response: NormalizedResponse, summary: WriteSummary?) {
  var options = ResponseNormalizer.Options()
  options.errorPolicy = policy
  options.flushThreshold = flushThreshold
  let normalizer = try ResponseNormalizer(operation, store: store, options: options)
  let bytes = Array(response.utf8)
  let step: Int
  switch cut {
  case .whole: step = max(bytes.count, 1)
  case .bytes(let count): step = count
  }
  do {
    for start in stride(from: 0, to: bytes.count, by: step) {
      try bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { try normalizer.feed($0) }
      if normalizer.needsFlush { try await normalizer.flush() }
    }
  } catch {
    await normalizer.abandon()
    throw error
  }
  let result = try await normalizer.finish()
  let summary = try await result.write?.commit()
  return (result, summary)
}

func dump(_ store: any RecordStore) async throws -> String {
  let lines = Collected()
  try await store.dump { lines.append(Array($0)) }
  return lines.text
}

/// Collects what a store writes from its own queue; read only after the dump has ended.
final class Collected: @unchecked Sendable {
  private let lock = NSLock()
  private var bytes: [UInt8] = []

  func append(_ more: [UInt8]) { lock.withLock { bytes += more } }
  var text: String { lock.withLock { String(decoding: bytes, as: UTF8.self) } }
}

func read(_ store: any RecordStore, _ operation: PreparedOperation) async throws -> String {
  switch try await store.read(operation) {
  case .hit(let body): return String(decoding: try body.bytes(), as: UTF8.self)
  case .miss(let miss): return "miss at \(miss.path)"
  }
}
