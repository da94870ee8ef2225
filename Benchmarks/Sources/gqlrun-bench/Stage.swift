import CBaselines
import CBenchAllocations
import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The files of one workload.
struct Files {
  let folder: String

  var response: String { folder + "/response.json" }
  /// The same response with a few fields of many records changed.
  var changed: String { folder + "/changed.json" }
  var document: String { folder + "/document.graphql" }
  var database: String { folder + "/cache.db" }
  /// What the baseline writes.
  var plainDatabase: String { folder + "/plain.db" }

  /// The response in parts, if the shape has them.
  var parts: String { Self.parts(of: response) }

  static func parts(of response: String) -> String { response + ".parts" }

  func removeDatabases() {
    for path in [database, plainDatabase] {
      for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }
  }
}

/// What a stage says of itself when it is done.
struct StageReport: Codable {
  /// The time of the work alone, without the start of the process and what came before.
  var seconds: Double
  /// User and system time of the work, of all its threads.
  var cpuSeconds = 0.0
  /// Calls of the allocator during the work.
  var allocations: Int
  /// Records, events or rows, so that a person sees that work was done.
  var count: Int
  /// The largest resident size of the process, in MiB.
  ///
  /// Of the program alone: what `wait4` tells includes the parent's size at the start.
  var peakMiB = 0.0
  var latency: Latency?

  struct Latency: Codable {
    var operationsPerSecond: Double
    /// In microseconds.
    var p50: Double
    var p90: Double
    var p99: Double
    var p999: Double
    /// User and system time of all threads per operation, those of tasks beside the measured ones included.
    var cpu: Double
  }
}

/// One measured piece of work, done in a process of its own. The order is that of a round: later ones
/// use the database that earlier ones made.
enum Stage: String, CaseIterable {
  case yajl
  case parse
  case memory
  case memoryUnchanged = "memory-unchanged"
  case memoryChanged = "memory-changed"
  case readMemory = "read-memory"
  case sqlite
  case insertRows = "insert-rows"
  case sqliteUnchanged = "sqlite-unchanged"
  case readSQLite = "read-sqlite"
  case sqliteChanged = "sqlite-changed"
  case partsMemory = "parts-memory"
  case partsSQLite = "parts-sqlite"
  case dictionary
  case foundation
  case smallWriteMemory = "small-write-memory"
  case smallReadMemory = "small-read-memory"
  case smallWriteSQLite = "small-write-sqlite"
  case smallReadSQLite = "small-read-sqlite"
  case smallWriteSQLite8 = "small-write-sqlite-8"
  case smallWriteSQLite64 = "small-write-sqlite-64"
  case smallWriteBeside = "small-write-sqlite-64-beside"
  case smallReadBeside = "small-read-sqlite-64-beside"

  var title: String {
    switch self {
    case .yajl: "baseline: bare yajl in process"
    case .parse: "strict parse, counting events"
    case .memory: "parse + normalize -> memory"
    case .memoryUnchanged: "unchanged again -> memory (work)"
    case .memoryChanged: "changed -> memory (work)"
    case .readMemory: "read back from memory (work)"
    case .sqlite: "parse + normalize -> SQLite, committed"
    case .insertRows: "baseline: C loop, the same rows (work)"
    case .sqliteUnchanged: "unchanged again -> SQLite"
    case .readSQLite: "read back from SQLite"
    case .sqliteChanged: "changed -> SQLite"
    case .partsMemory: "the same in parts -> memory"
    case .partsSQLite: "the same in parts -> SQLite, committed"
    case .dictionary: "baseline: dictionaries, path keys"
    case .foundation: "baseline: Foundation JSONSerialization"
    case .smallWriteMemory: "20 objects -> memory"
    case .smallReadMemory: "20 objects from memory"
    case .smallWriteSQLite: "20 objects -> SQLite"
    case .smallReadSQLite: "20 objects from SQLite"
    case .smallWriteSQLite8: "-> SQLite, 8 writers"
    case .smallWriteSQLite64: "-> SQLite, 64 writers"
    case .smallWriteBeside: "-> SQLite, 64 writers beside 64 readers"
    case .smallReadBeside: "from SQLite, 64 readers beside 64 writers"
    }
  }

  /// Whether the time of the work counts, because the process has to do other things first.
  var countsWorkOnly: Bool {
    switch self {
    case .yajl, .memoryUnchanged, .memoryChanged, .readMemory, .insertRows: true
    default: false
    }
  }

  /// Whether the write-ahead log of the stage before is moved into the database first, unmeasured.
  var wantsCheckpoint: Bool {
    switch self {
    case .insertRows, .sqliteUnchanged, .readSQLite, .sqliteChanged: true
    default: false
    }
  }

  func run(_ files: Files) async throws -> StageReport {
    gqlrun_count_allocations()
    let text = try String(contentsOfFile: files.document, encoding: .utf8)
    var variables = JSONObject()
    if text.contains("$first") { variables = ["first": .number(JSONNumber(1))] }
    let operation = try PreparedOperation(document: Document(parsing: text), variables: variables)
    let work = Work(files: files, operation: operation)
    switch self {
    case .yajl: return try work.bareYajl()
    case .parse: return try work.parse()
    case .memory: return try await work.memory()
    case .memoryUnchanged: return try await work.memory(again: files.response)
    case .memoryChanged: return try await work.memory(again: files.changed)
    case .readMemory: return try await work.readMemory()
    case .sqlite, .sqliteUnchanged: return try await work.sqlite(files.response)
    case .sqliteChanged: return try await work.sqlite(files.changed)
    case .insertRows: return try await work.insertRows()
    case .readSQLite: return try await work.readSQLite()
    case .partsMemory: return try await work.parts(.memory())
    case .partsSQLite: return try await work.parts(work.newStore())
    case .dictionary: return try work.dictionary()
    case .foundation: return try work.foundation()
    case .smallWriteMemory: return try await SmallWork(operation).write(.memory())
    case .smallReadMemory: return try await SmallWork(operation).readAlone(.memory())
    case .smallWriteSQLite: return try await SmallWork(operation).write(work.newStore())
    case .smallReadSQLite: return try await SmallWork(operation).readAlone(work.newStore())
    case .smallWriteSQLite8:
      return try await SmallWork(operation, writers: 8).write(work.newStore())
    case .smallWriteSQLite64:
      return try await SmallWork(operation, writers: 64).write(work.newStore())
    case .smallWriteBeside:
      return try await SmallWork(operation, writers: 64, readers: 64).write(work.newStore())
    case .smallReadBeside:
      return try await SmallWork(operation, writers: 64, readers: 64).read(work.newStore())
    }
  }
}

/// Takes the times and counts the allocations of a piece of work.
struct Stopwatch {
  private let allocations = gqlrun_allocation_count()
  private let cpuSeconds = Measurement.ownCPUSeconds()
  private let start = ContinuousClock.now

  /// What it was until now, when the work is done.
  func report(count: Int) -> StageReport {
    let seconds = (ContinuousClock.now - start).seconds
    return StageReport(
      seconds: seconds, cpuSeconds: Measurement.ownCPUSeconds() - cpuSeconds,
      allocations: gqlrun_allocation_count() - allocations, count: count)
  }

  static func measure(_ work: () async throws -> Int) async rethrows -> StageReport {
    let stopwatch = Stopwatch()
    return stopwatch.report(count: try await work())
  }
}

extension Duration {
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
