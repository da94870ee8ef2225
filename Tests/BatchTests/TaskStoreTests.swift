import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("Claims and ends of tasks")
struct TaskStoreTests {
  private let location: Place
  private let journal: Journal

  init() throws {
    location = try Place()
    journal = try Journal(path: location.file("a.journal"))
  }

  private func store(_ stop: RunStop = RunStop()) throws -> JournalStore {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - { id: first, document: u.graphql, variables: { id: U_1 } }
        - { id: second, document: u.graphql, variables: { id: U_2 }, needs: [first] }
      """, in: location, url: "http://127.0.0.1:1/graphql")
    let plan = try SinkPlan(manifest)
    return try JournalStore(
      manifest, state: [:], journal: journal,
      stage: SinkStage(manifest, journal: journal, plan: plan, ledger: OutputLedger(manifest)),
      plan: plan, options: RunOptions(), services: Services(), stop: stop)
  }

  private func task(_ claim: TaskClaim) -> TaskItem? {
    if case .task(let item) = claim { item } else { nil }
  }

  private func update(_ item: TaskItem, _ state: TaskState, in store: JournalStore) -> TaskUpdate {
    var update = TaskUpdate(
      id: item.id, operation: store.numbers[item.operation], key: item.key, state: state)
    update.ended = store.progress.now()
    return update
  }

  private func end(_ item: TaskItem, _ state: TaskState, in store: JournalStore) async throws {
    try await store.commit([
      Outcome(update: update(item, state, in: store), operation: item.operation)
    ])
  }

  @Test("an operation that needs another one starts when its outcomes are durable")
  func needs() async throws {
    let store = try store()
    let first = try #require(task(try await store.claim()))
    guard case .later(let ticket) = try await store.claim() else {
      Issue.record("the second operation started before the first one ended")
      return
    }
    try await end(first, .done, in: store)
    try await store.wait(ticket)
    let second = try #require(task(try await store.claim()))
    #expect(second.operation == 1 && second.problem == nil)
    try await end(second, .done, in: store)
    #expect(task(try await store.claim()) == nil)
    journal.close()
  }

  @Test("no caller waits for tasks after the run has stopped, also with a ticket of after the stop")
  func stopBetweenClaimAndWait() async throws {
    let stop = RunStop()
    let store = try store(stop)
    _ = try await store.claim()
    guard case .later(let ticket) = try await store.claim() else {
      Issue.record("the second operation started before the first one ended")
      return
    }
    stop.stop(.interrupted)
    try await store.wait(ticket)
    // The run may stop while a claim is between its check of that and the ticket.
    try await store.wait(ticket + 1)
    journal.close()
  }

  @Test("an operation that needs a failed one is skipped")
  func failedNeed() async throws {
    let store = try store()
    try await end(try #require(task(try await store.claim())), .failed, in: store)
    let second = try #require(task(try await store.claim()))
    #expect(second.isSkipped)
    journal.close()
  }

  @Test("results that a withdrawn task before them discards are released")
  func discarded() async throws {
    weak let store = try await discardResults()
    #expect(store == nil)
    journal.close()
  }

  /// Ends a task before its turn, and withdraws the one that has the turn. Returns the store, which the results of a task
  /// refer to.
  private func discardResults() async throws -> JournalStore {
    let store = try store()
    var settings = RunSettings()
    settings.order = .output
    let feed = TaskFeed(store, recorder: Recorder(store, stop: RunStop()), settings: settings)
    let first = try #require(try await feed.next())
    var second = first
    second.position = 1
    var results = feed.results(of: second)
    #expect(try await results.end(Outcome(update: update(second, .done, in: store), operation: 0)))
    feed.results(of: first).withdraw()
    return store
  }

  @Test("outcomes that wait and those that are written are bounded together")
  func boundedOutcomes() async throws {
    let store = HeldStore(try store())
    let recorder = Recorder(store, stop: RunStop())
    var outcome = Outcome(
      update: TaskUpdate(id: TaskID(1...16), operation: 0, key: "", state: .running), operation: 0)
    outcome.line = [UInt8](repeating: 0x20, count: 1 << 20)
    for _ in 0..<40 {
      try await recorder.submit(outcome)
      store.submitted.update { $0 += 1 }
    }
    try await recorder.barrier()
    #expect(store.duringFirst.withLock { $0 } == HeldStore.most)
    journal.close()
  }

  @Test("a failure ends the run, and only callers that wait for failures throw it")
  func failures() async throws {
    let stop = RunStop()
    stop.stop(.deadline)
    await stop.wait()
    let failure = Task { try await stop.waitForFailure() }
    stop.fail(JournalError("the disk is full"))
    await #expect(throws: JournalError.self) { try await failure.value }
    #expect(stop.reason == .deadline, "the first reason remains")
    let other = RunStop()
    other.fail(JournalError("the disk is full"))
    #expect(other.reason == .interrupted)
  }
}

/// A store whose first commit lasts until no more outcomes are taken.
private final class HeldStore: TaskStore {
  /// The number of outcomes of 1 MiB that are taken until the first is durable.
  static let most = 16

  let submitted = Monitor(0)
  /// The number of outcomes that were submitted when the first commit ended.
  let duringFirst = Locked<Int?>(nil)
  private let base: JournalStore

  init(_ base: JournalStore) { self.base = base }

  var progress: RunProgress { base.progress }
  var numbers: [Int] { base.numbers }
  var plan: SinkPlan { base.plan }

  func open() async throws {}
  func claim() async throws -> TaskClaim { .none }
  func giveBack(_ item: TaskItem) {}
  func finish(_ end: RunEnd) async throws {}
  func abandon() async {}

  func commit(_ outcomes: [Outcome]) async throws {
    guard duringFirst.withLock({ $0 == nil }) else { return }
    try await submitted.wait { $0 >= Self.most }
    // Others would be submitted now.
    for _ in 0..<1_000 { await Task.yield() }
    duringFirst.withLock { $0 = submitted.withLock { $0 } }
  }
}
