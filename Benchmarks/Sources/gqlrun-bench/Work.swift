import CBaselines
import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLive

/// The stages that treat one large response.
struct Work {
  let files: Files
  let operation: PreparedOperation

  /// Parses and normalizes a response into a store; the number of its records.
  private func write(_ path: String, _ store: CacheStore) async throws -> Int {
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    let input = try InputFile(path)
    while let chunk = try input.next() {
      try normalizer.feed(chunk)
      if normalizer.needsFlush { try await normalizer.flush() }
    }
    let response = try await normalizer.finish()
    guard let write = response.write, response.statistics.unknownFields == 0 else {
      throw BenchError("\(path) is not a response of its document")
    }
    let summary = try await write.commit()
    return summary.newRecords + summary.changedRecords + summary.unchangedRecords
  }

  /// A store in a new file.
  func newStore() throws -> CacheStore {
    files.removeDatabases()
    return try CacheStore.sqlite(path: files.database)
  }

  func memory() async throws -> StageReport {
    let store = CacheStore.memory()
    return try await Stopwatch.measure { try await write(files.response, store) }
  }

  func memory(again path: String) async throws -> StageReport {
    let store = CacheStore.memory()
    _ = try await write(files.response, store)
    return try await Stopwatch.measure { try await write(path, store) }
  }

  func readMemory() async throws -> StageReport {
    let store = CacheStore.memory()
    _ = try await write(files.response, store)
    return try await Stopwatch.measure { try await read(store) }
  }

  private func read(_ store: CacheStore) async throws -> Int {
    guard case .hit(let body) = try await store.read(operation) else {
      throw BenchError("the response is not in the cache")
    }
    return body.count
  }

  func sqlite(_ path: String) async throws -> StageReport {
    let store = try CacheStore.sqlite(path: files.database)
    return try await Stopwatch.measure { try await write(path, store) }
  }

  /// Reads a response in parts into a store, as a chain does that receives 64 KiB at a time; the number of its results.
  func parts(_ store: CacheStore) async throws -> StageReport {
    let response = IncrementalResponse(operation, store: store, mergesData: false)
    let stopwatch = Stopwatch()
    let count = try await readParts(of: response)
    return stopwatch.report(count: count)
  }

  private func readParts(of response: IncrementalResponse) async throws -> Int {
    let reader = IncrementalReader(response, limit: 1 << 26)
    var splitter = MultipartSplitter(boundary: "-")
    var count = 0
    let input = try InputFile(files.parts, size: 64 << 10)
    while let chunk = try input.next() {
      var writes: [PendingWrite] = []
      var offset = 0
      while let piece = try splitter.next(chunk, from: &offset) {
        switch piece {
        case .begin: reader.begin()
        case .bytes(let range):
          let bytes = UnsafeRawBufferPointer(rebasing: chunk[range])
          let results = try await results(in: bytes, reader)
          count += results.count
          writes += results.compactMap(\.write)
        case .held(let bytes):
          var position = 0
          _ = try bytes.withUnsafeBytes { try reader.read($0, from: &position) }
        case .end: try reader.end()
        case .complete: try response.finish()
        }
      }
      try await commit(writes)
    }
    return count
  }

  /// Reads bytes of a part; the results, if it ends.
  private func results(
    in bytes: UnsafeRawBufferPointer, _ reader: IncrementalReader
  ) async throws -> [IncrementalResult] {
    var position = 0
    var found: [IncrementalResult] = []
    while let step = try reader.read(bytes, from: &position) {
      if case .message = step {
        let results = try await reader.results()
        found.append(contentsOf: results)
      } else {
        try await flush(reader)
      }
    }
    return found
  }

  private func flush(_ reader: IncrementalReader) async throws { try await reader.flush() }

  @inline(never)
  private func commit(_ writes: [PendingWrite]) async throws {
    _ = try await PendingWrite.commit(writes)
  }

  func readSQLite() async throws -> StageReport {
    let store = try CacheStore.sqlite(path: files.database)
    return try await Stopwatch.measure { try await read(store) }
  }

  /// Moves the write-ahead log into the database, between two stages.
  static func checkpoint(_ files: Files) async throws {
    let store = try CacheStore.sqlite(path: files.database)
    try await store.checkpoint()
    try store.close()
  }

  func parse() throws -> StageReport {
    let scope = UnsafeMutablePointer<JSONEventScope>.allocate(capacity: 1)
    scope.initialize(to: JSONEventScope())
    defer { scope.deallocate() }
    let stopwatch = Stopwatch()
    var parser = try JSONParser(handlers: countingHandlers, context: scope)
    let input = try InputFile(files.response)
    while let chunk = try input.next() { try parser.feed(chunk) }
    try parser.finish()
    return stopwatch.report(count: scope.pointee.events)
  }

  // MARK: Baselines

  func bareYajl() throws -> StageReport {
    let stopwatch = Stopwatch()
    let seconds = gqlrun_bare_yajl(files.response)
    guard seconds > 0 else { throw BenchError("yajl cannot parse \(files.response)") }
    var report = stopwatch.report(count: 1)
    report.seconds = seconds
    return report
  }

  func insertRows() async throws -> StageReport {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(files.plainDatabase + suffix) }
    var rows = 0
    let seconds = gqlrun_insert_rows(files.database, files.plainDatabase, &rows)
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(files.plainDatabase + suffix) }
    guard seconds > 0 else { throw BenchError("the rows could not be inserted") }
    // Reading the rows cannot be told from writing them in the other figures.
    return StageReport(seconds: seconds, allocations: 0, count: rows)
  }

  func foundation() throws -> StageReport {
    let stopwatch = Stopwatch()
    let data = try Data(contentsOf: URL(fileURLWithPath: files.response))
    let object = try JSONSerialization.jsonObject(with: data)
    guard let members = object as? [String: Any] else { throw BenchError("not an object") }
    return stopwatch.report(count: members.count)
  }

  func dictionary() throws -> StageReport {
    let stopwatch = Stopwatch()
    let data = try Data(contentsOf: URL(fileURLWithPath: files.response))
    let value = try data.withUnsafeBytes { try JSONValue(parsing: $0) }
    var normalizer = DictionaryNormalizer()
    normalizer.add(response: value)
    return stopwatch.report(count: normalizer.records.count)
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
