import Cache
import Foundation
import GraphQL
import JSONStream

/// One measured piece of work, run in a process of its own: `gqlrun-bench --stage NAME FILE DOCUMENT`.
enum Stage: String, CaseIterable {
  /// yajl with callbacks that only count, and the guard: what strict parsing costs.
  case parse
  /// Parse and normalize into the memory store, committed.
  case memory
  /// The same into a new SQLite file.
  case sqlite
  /// The same response again, into the file of `sqlite`.
  case unchanged
  /// The operation read back from that file, written nowhere.
  case readSQLite = "read-sqlite"

  var title: String {
    switch self {
    case .parse: "strict parse, counting events"
    case .memory: "parse + normalize -> memory"
    case .sqlite: "parse + normalize -> SQLite, committed"
    case .unchanged: "the same response again -> SQLite"
    case .readSQLite: "read back from SQLite"
    }
  }

  func run(file: String, document: String, database: String) async throws {
    let operation = try PreparedOperation(
      document: Document(parsing: String(contentsOfFile: document, encoding: .utf8)),
      variables: JSONObject(uniqueMembers: [.init(key: "first", value: .number(JSONNumber(1)))])
        ?? JSONObject())
    switch self {
    case .parse: try parse(file)
    case .memory: try await normalize(file, operation, MemoryStore())
    case .sqlite, .unchanged:
      try await normalize(file, operation, SQLiteStore(path: database))
    case .readSQLite:
      let store = try SQLiteStore(path: database)
      guard case .hit(let body) = try await store.read(operation) else {
        throw CacheError(.storage, "the response is not in the cache")
      }
      print(body.count)
    }
  }

  private func normalize(
    _ file: String, _ operation: PreparedOperation, _ store: any RecordStore
  ) async throws {
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    let input = try InputFile(file)
    while let chunk = try input.next() {
      try normalizer.feed(chunk)
      if normalizer.needsFlush { try await normalizer.flush() }
    }
    let response = try await normalizer.finish()
    let summary = try await response.write?.commit()
    print(summary?.newRecords ?? 0, response.statistics.fields)
  }

  private func parse(_ file: String) throws {
    let scope = UnsafeMutablePointer<JSONEventScope>.allocate(capacity: 1)
    scope.initialize(to: JSONEventScope())
    defer { scope.deallocate() }
    var parser = try JSONParser(handlers: countingHandlers, context: scope)
    let input = try InputFile(file)
    while let chunk = try input.next() { try parser.feed(chunk) }
    try parser.finish()
    print(scope.pointee.events)
  }
}

private let countingHandlers = JSONEventHandlers(
  null: { scope($0)?.pointee.count() == nil ? 0 : 1 },
  boolean: { context, _ in scope(context)?.pointee.count() == nil ? 0 : 1 },
  number: { context, _, count in scope(context)?.pointee.checkNumber(count) == true ? 1 : 0 },
  string: { context, _, count in scope(context)?.pointee.checkString(count) == true ? 1 : 0 },
  startObject: { scope($0)?.pointee.enter() == true ? 1 : 0 },
  key: { context, _, count in scope(context)?.pointee.checkKey(count) == true ? 1 : 0 },
  endObject: { scope($0)?.pointee.leave() == nil ? 0 : 1 },
  startArray: { scope($0)?.pointee.enter() == true ? 1 : 0 },
  endArray: { scope($0)?.pointee.leave() == nil ? 0 : 1 })

private func scope(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<JSONEventScope>? {
  context?.assumingMemoryBound(to: JSONEventScope.self)
}

/// A file read in pieces of 256 KiB.
private final class InputFile {
  private let descriptor: Int32
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { throw CacheError(.storage, "cannot open \(path)") }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  func next() throws -> UnsafeRawBufferPointer? {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    guard count >= 0 else { throw CacheError(.storage, "cannot read the response") }
    return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }
}
