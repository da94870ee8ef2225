import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// Random histories of a batch, stopped and resumed, and of workers of a queue that are lost, against sequential models.
@Suite("Histories of a batch", .timeLimit(.minutes(600)))
struct BatchHistoryTests {
  @Test("a batch that is stopped, torn and resumed has the results of one that ran once")
  func runs() async {
    let report = await Histories.run(
      "batch", filter: "BatchHistoryTests", seeds: Histories.seeds(12)
    ) { seed in
      var random = SeededRandom(seed)
      let count = 2 + random.upTo(8)
      return (0..<count).map { _ in BatchStep(&random) }
    } simpler: { step in
      if case .run(let stop?) = step { stop > 1 ? [.run(stopAt: stop / 2)] : [] } else { [] }
    } failure: { steps, seed in
      var history = try BatchHistory(seed: seed)
      try await history.run(steps)
      return nil
    }
    if let report { Issue.record("\(report)") }
  }

  @Test("each task of a queue is recorded once, whichever workers are lost with it", .needsPostgres)
  func queues() async {
    let report = await Histories.run(
      "queue", filter: "BatchHistoryTests", seeds: Histories.seeds(6)
    ) { seed in
      var random = SeededRandom(seed)
      let count = 5 + random.upTo(15)
      return (0..<count).map { _ in QueueStep(&random) }
    } simpler: { step in
      if case .claim(let worker, let count) = step, count > 1 {
        [.claim(worker, count: count / 2)]
      } else {
        []
      }
    } failure: { steps, _ in
      try await QueueHistory().run(steps)
      return nil
    }
    if let report { Issue.record("\(report)") }
  }
}

// MARK: - Runs

private enum BatchStep: Sendable, CustomStringConvertible {
  /// Resumes the run, which is stopped when the request with this number arrives; `nil` for a run to its end.
  case run(stopAt: Int?)
  /// Runs the tasks that failed.
  case retry
  /// The first page of a row fails from now on.
  case fail(row: Int)
  /// No row fails any more.
  case repair
  /// Bytes that were written, and not recorded, as a kill leaves them.
  case tear

  init(_ random: inout SeededRandom) {
    self =
      switch random.upTo(10) {
      case ..<6: .run(stopAt: random.chance(85) ? 1 + random.upTo(12) : nil)
      case 6: .retry
      case 7: .fail(row: 1 + random.upTo(BatchHistory.rows))
      case 8: .repair
      default: .tear
      }
  }

  var description: String {
    switch self {
    case .run(let stop?): "run, stopped at request \(stop)"
    case .run(nil): "run"
    case .retry: "run what failed"
    case .fail(let row): "row \(row) fails"
    case .repair: "no row fails"
    case .tear: "bytes behind the last record"
    }
  }
}

/// What the server does, and what it was asked.
private final class HistoryServer: HTTPTransport {
  struct State {
    var failing: Set<Int> = []
    /// How often each page was answered with data.
    var answered: [String: Int] = [:]
    var requests = 0
    var stopAt: Int?
    var control = RunControl()
  }

  let state = Locked(State())
  /// The number of pages of a row.
  let pages: @Sendable (Int) -> Int

  init(pages: @escaping @Sendable (Int) -> Int) { self.pages = pages }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let variables = try JSONValue(parsing: request.body ?? [])["variables"]
    let row = Int(variables?["id"]?.stringValue?.dropFirst(2) ?? "") ?? 0
    let page = (variables?["after"]?.stringValue).flatMap { Int($0) }.map { $0 + 1 } ?? 1
    let (fails, stopped) = state.withLock { state -> (Bool, RunControl?) in
      state.requests += 1
      let fails = page == 1 && state.failing.contains(row)
      if !fails { state.answered["\(row).\(page)", default: 0] += 1 }
      return (fails, state.requests == state.stopAt ? state.control : nil)
    }
    await stopped?.stop()
    if fails { return .errors("no") }
    return .page(
      of: "posts", #"{"id":"\#(row).\#(page)"}"#, hasNextPage: page < pages(row),
      endCursor: "\(page)")
  }
}

/// A batch of rows with pages whose history is run.
private struct BatchHistory {
  static let rows = 12

  private let location: Place
  private let manifest: Manifest
  private let isOrdered: Bool
  private let server: HistoryServer
  /// The rows that may have failed: their records follow the others.
  private var suspects: Set<Int> = []

  init(seed: UInt64) throws {
    var random = SeededRandom(seed &+ 1)
    let location = try Place(ids: Self.rows)
    let concurrency = 1 + random.upTo(4)
    isOrdered = random.chance(70)
    manifest = try Bench.posts(
      run: "concurrency: \(concurrency), order: \(isOrdered ? "output" : "declared")", in: location)
    self.location = location
    let most = 1 + random.upTo(3)
    server = HistoryServer { 1 + $0 % most }
  }

  private static func records(of rows: some Sequence<Int>, _ pages: (Int) -> Int) -> [String] {
    rows.flatMap { row in (1...pages(row)).map { "\(row).\($0)" } }
  }

  /// Throws the first difference from a batch that ran once, in the order of the rows.
  mutating func run(_ steps: [BatchStep]) async throws {
    try await Histories.take(steps) { try await take($0) }
    try await finish()
  }

  private mutating func take(_ step: BatchStep) async throws {
    switch step {
    case .run(let stop):
      _ = try await run(Bench.resuming, stopAt: stop)
    case .retry:
      guard try failed() > 0 else { return }
      _ = try await run(Bench.repeating, stopAt: nil)
    case .fail(let row):
      suspects.insert(row)
      server.state.withLock { _ = $0.failing.insert(row) }
    case .repair: server.state.withLock { $0.failing = [] }
    case .tear:
      guard location.exists("o.ndjson.part") else { return }
      let handle = try #require(FileHandle(forWritingAtPath: location.file("o.ndjson.part")))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("half of a rec".utf8))
      try handle.close()
    }
  }

  private func run(_ options: RunOptions, stopAt: Int?) async throws -> RunSummary {
    let control = RunControl()
    server.state.withLock {
      $0.requests = 0
      $0.stopAt = stopAt
      $0.control = control
    }
    let summary = try await Bench.run(manifest, options, control: control, transport: server)
    if stopAt == nil, let stop = summary.stop {
      throw Difference(description: "the run stopped: \(stop)")
    }
    try check()
    return summary
  }

  /// The number of tasks that failed, as the journal has it.
  private func failed() throws -> Int {
    guard location.exists("runs") else { return 0 }
    return try JSONValue(parsing: RunInspection(manifest).report())["tasks"]?["failed"]?.intValue
      ?? 0
  }

  /// Every record that a run has written is there once, and none was requested a second time.
  private func check() throws {
    let name = location.exists("o.ndjson") ? "o.ndjson" : "o.ndjson.part"
    let found =
      location.exists(name)
      ? try location.lines(name).map { try JSONValue(parsing: $0)["id"]?.stringValue ?? $0 } : []
    guard Set(found).count == found.count else {
      throw Difference(description: "records are there twice: \(found)")
    }
    let answered = server.state.withLock { $0.answered }
    guard Set(found).isSubset(of: answered.keys) else {
      throw Difference(description: "records \(found), of answers with \(answered.keys.sorted())")
    }
    guard isOrdered else {
      // Results of rows after one that was not completed are discarded if they are in the order of the rows. Otherwise
      // every answer is written, and requested once.
      let repeated = answered.filter { $0.value > 1 }.keys.sorted()
      guard found.count == answered.count, repeated.isEmpty else {
        throw Difference(
          description: "records \(found) of \(answered.keys.sorted()), requested again: \(repeated)"
        )
      }
      return
    }
    let rows = (1...Self.rows).filter { !suspects.contains($0) }
    let order = Self.records(of: rows, server.pages)
    let kept = found.filter { order.contains($0) }
    guard order.starts(with: kept) else {
      throw Difference(description: "the order is \(kept)")
    }
  }

  /// After a run to the end without failures, everything is there.
  private mutating func finish() async throws {
    try await take(.repair)
    _ = try await run(Bench.resuming, stopAt: nil)
    if try failed() > 0 { _ = try await run(Bench.repeating, stopAt: nil) }
    let found = try location.lines("o.ndjson").map {
      try JSONValue(parsing: $0)["id"]?.stringValue ?? $0
    }
    let expected = Self.records(of: 1...Self.rows, server.pages)
    guard found.sorted() == expected.sorted() else {
      throw Difference(description: "records \(found) for \(expected)")
    }
  }
}

// MARK: - Queues

/// A step of some workers. A worker that was lost is replaced by a new one for its next claim.
private enum QueueStep: Sendable, CustomStringConvertible {
  case claim(Int, count: Int)
  /// A worker ends the oldest tasks that it claimed, also those that it has lost.
  case commit(Int, count: Int)
  /// The heartbeat of a worker becomes too old.
  case lose(Int)
  case reap

  init(_ random: inout SeededRandom) {
    let worker = random.upTo(3)
    self =
      switch random.upTo(10) {
      case ..<4: .claim(worker, count: 1 + random.upTo(4))
      case ..<7: .commit(worker, count: 1 + random.upTo(4))
      case ..<9: .lose(worker)
      default: .reap
      }
  }

  var description: String {
    switch self {
    case .claim(let worker, let count): "worker \(worker) claims \(count)"
    case .commit(let worker, let count): "worker \(worker) ends \(count)"
    case .lose(let worker): "worker \(worker) is lost"
    case .reap: "lost workers are searched"
    }
  }
}

/// A queue with three workers, and what the model knows of it.
private final class QueueHistory {
  private struct Worker {
    var worker: QueueWorker
    var stage: QueueStage
    var leases: LeaseTable
    var isLost = false
    /// The claims that it has not ended.
    var open: [TaskItem] = []
  }

  private static let tasks = 10

  private let bench: QueueBench
  private let manifest: Manifest
  private var workers: [Worker] = []
  /// The current lease of each task that a worker has, with the worker's id.
  private var leased: [TaskID: (lease: Int, worker: String)] = [:]
  private var lost: Set<String> = []
  private var done: Set<TaskID> = []

  init() throws { (bench, manifest) = try QueueBench.begun(Self.tasks) }

  func run(_ steps: [QueueStep]) async throws {
    do {
      for _ in 0..<3 { workers.append(try await newWorker()) }
      try await Histories.take(steps) {
        try await take($0)
        try checkCounts()
      }
      try await finish()
    } catch {
      for worker in workers { await worker.stage.close() }
      throw error
    }
  }

  private func newWorker() async throws -> Worker {
    let worker = try bench.worker(manifest)
    let (stage, leases) = try await bench.stage(manifest, worker, [])
    return Worker(worker: worker, stage: stage, leases: leases)
  }

  private func take(_ step: QueueStep) async throws {
    switch step {
    case .claim(let index, let count):
      if workers[index].isLost {
        await workers[index].stage.close()
        workers[index] = try await newWorker()
      }
      let worker = workers[index].worker
      let claims = try bench.claim(count, worker)
      let free = Self.tasks - done.count - leased.count
      guard claims.count == min(count, free),
        claims.allSatisfy({ leased[$0.id] == nil && !done.contains($0.id) })
      else { throw Difference(description: "\(claims.count) claims, of \(free) free tasks") }
      for claim in claims {
        leased[claim.id] = (claim.lease, worker.id)
        workers[index].leases.add(claim.id, claim.lease)
      }
      workers[index].open += claims
    case .commit(let index, let count):
      let claims = workers[index].open.prefix(count)
      workers[index].open.removeFirst(claims.count)
      if claims.isEmpty { return }
      try await workers[index].stage.commit(claims.map { bench.outcome($0) })
      for claim in claims where leased[claim.id]?.lease == claim.lease {
        leased[claim.id] = nil
        done.insert(claim.id)
      }
    case .lose(let index):
      try bench.lose(workers[index].worker)
      workers[index].isLost = true
      lost.insert(workers[index].worker.id)
    case .reap:
      let expected = leased.filter { lost.contains($0.value.worker) }
      // However long the history takes, only the lost workers have been silent.
      for worker in workers where !worker.isLost { try bench.beat(worker.worker) }
      let found = try bench.reap(manifest)
      guard found == expected.count else {
        throw Difference(description: "\(found) tasks were taken back for \(expected.count)")
      }
      for id in expected.keys { leased[id] = nil }
    }
  }

  private func checkCounts() throws {
    let found = try bench.counts()
    let counts = [
      "queued": Self.tasks - done.count - leased.count, "leased": leased.count, "done": done.count,
    ].filter { $0.value > 0 }
    if found != counts { throw Difference(description: "tasks \(found) for \(counts)") }
  }

  /// After all tasks have ended, each is in the merged output once.
  private func finish() async throws {
    for index in workers.indices { try await take(.lose(index)) }
    try await take(.reap)
    try await take(.claim(0, count: Self.tasks))
    try await take(.commit(0, count: Self.tasks))
    try checkCounts()
    for worker in workers { await worker.stage.close() }
    _ = try BatchQueue(manifest).merge()
    let keys = try bench.location.lines("out/users.ndjson").sorted()
    let expected = (1...Self.tasks).map { "\"U_\($0)\"" }.sorted()
    if keys != expected { throw Difference(description: "results \(keys)") }
  }
}
