import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// Commits outcomes to the store of the run in groups, so that one sync to disk covers many.
///
/// `submit` suspends while the buffer is full, which gives back-pressure. Otherwise it appends
/// under a lock, and one task at a time commits a group. Callers wait for this task, also if they are cancelled: an
/// outcome that is in the buffer becomes durable.
final class Recorder: Sendable {
  private struct State: Sendable {
    var pending: [Outcome] = []
    var pendingBytes = 0
    /// The bytes of the group that is committed.
    var committedBytes = 0
    var submitted = 0
    var durable = 0
    /// The task that commits a group; `nil` if there is none.
    var commit: Task<Void, Never>?
    var failure: (any Error)?
    var isTimerSet = false

    var isFull: Bool { pending.count >= maxPending || pendingBytes + committedBytes >= maxBytes }

    /// Whether the group is large enough to commit at once.
    var isLarge: Bool { pending.count >= maxPending / 2 || pendingBytes >= maxBytes / 4 }

    mutating func add(_ outcome: Outcome) throws {
      if let failure { throw failure }
      pending.append(outcome)
      pendingBytes += outcome.size
      submitted += 1
    }

    mutating func takePending() -> [Outcome] {
      defer {
        pending = []
        (pendingBytes, committedBytes) = (0, pendingBytes)
      }
      return pending
    }
  }

  /// The limits of the buffer, in outcomes and bytes; the bytes with those of the group that is committed.
  private static let maxPending = 4_096
  private static let maxBytes = 16 << 20
  /// How long an outcome waits for others to join its group.
  private static let gathering = Duration.milliseconds(150)

  private let store: any TaskStore
  private let stop: RunStop
  private let state = Locked(State())

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - store: Makes the outcomes durable.
  ///   - stop: Ends the run if outcomes cannot be written; all callers then throw the same error.
  init(_ store: any TaskStore, stop: RunStop) {
    self.store = store
    self.stop = stop
  }

  /// Submits an outcome. It becomes durable later; ``barrier()`` waits for that.
  func submit(_ outcome: Outcome) async throws {
    while let commit = state.withLock({ $0.isFull ? currentCommit(&$0) : nil }) {
      await commit.value
    }
    try state.withLock { state in
      try state.add(outcome)
      if state.isLarge { _ = currentCommit(&state) } else { startTimer(&state) }
    }
  }

  /// Submits an outcome and returns once it is durable.
  func durably(_ outcome: Outcome) async throws {
    try state.withLock { try $0.add(outcome) }
    try await barrier()
  }

  /// Returns once all outcomes submitted before are durable.
  func barrier() async throws {
    let last = state.withLock { $0.submitted }
    while let commit = state.withLock({ $0.durable < last ? currentCommit(&$0) : nil }) {
      await commit.value
    }
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  /// The task that commits a group: the one that runs, or a new one with all pending outcomes. `nil` after a failure.
  private func currentCommit(_ state: inout State) -> Task<Void, Never>? {
    guard state.failure == nil else { return nil }
    if let commit = state.commit { return commit }
    let group = state.takePending()
    let commit = Task { await self.commit(group) }
    state.commit = commit
    return commit
  }

  private func commit(_ group: [Outcome]) async {
    var failure: (any Error)?
    do { try await store.commit(group) } catch { failure = error }
    state.withLock { [failure] state in
      state.commit = nil
      state.committedBytes = 0
      if let failure { state.failure = failure } else { state.durable += group.count }
      // Other outcomes may join the next group.
      if state.isLarge {
        _ = currentCommit(&state)
      } else if !state.pending.isEmpty {
        startTimer(&state)
      }
    }
    if let failure { stop.fail(failure) }
  }

  /// Starts the timer of a group, unless it runs. It belongs to the buffered outcomes and not to the task that submitted
  /// the first of them, and ends by itself.
  private func startTimer(_ state: inout State) {
    guard !state.isTimerSet, state.commit == nil, state.failure == nil else { return }
    state.isTimerSet = true
    Task {
      try? await Task.sleep(for: Self.gathering)
      self.state.withLock { state in
        state.isTimerSet = false
        if !state.pending.isEmpty { _ = currentCommit(&state) }
      }
    }
  }
}

/// The JSON line of a result, up to its `data`, which a response may lack.
enum ResultLine {
  static func head(
    _ item: TaskItem, operation: String, page: TaskRunner.Page, update: TaskUpdate,
    records: Int, isFailure: Bool
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserveCapacity(512)
    writer.beginObject()
    writer.member("task", update.id.text)
    writer.member("op", operation)
    writer.member("key", item.key)
    if !item.rowValues.isEmpty { writer.member("row", JSONValue.object(item.rowValues)) }
    writer.member("page", isFailure ? update.page + 1 : update.page)
    writer.member("attempt", update.attempts)
    writer.member("ok", JSONValue.boolean(!isFailure))
    writer.member("http", update.http.map { JSONValue.number(JSONNumber($0)) } ?? .null)
    writer.member("ms", JSONValue.thousandths(page.milliseconds))
    let firstByte = page.response?.timing.firstByte?.milliseconds
    writer.member("ttfb_ms", firstByte.map { JSONValue.thousandths($0) } ?? .null)
    writer.member("bytes", page.response?.timing.receivedBytes ?? 0)
    writer.member("records", records)
    writer.member("cache", page.response.map { JSONValue.string($0.source.rawValue) } ?? .null)
    writer.member("errors", errors(page, update: update, isFailure: isFailure))
    return writer.takeBytes()
  }

  private static func errors(
    _ page: TaskRunner.Page, update: TaskUpdate, isFailure: Bool
  ) -> JSONValue {
    let found = page.response?.errors ?? []
    if found.isEmpty {
      return isFailure ? [["message": .string(update.error ?? "failed")]] : .null
    }
    return .array(
      found.map { error in
        var object: JSONObject = ["message": .string(error.message)]
        if let code = error.code { object["code"] = .string(code) }
        if !error.locations.isEmpty { object["locations"] = GraphQLError.json(error.locations) }
        if let path = error.path { object["path"] = GraphQLError.json(path) }
        return .object(object)
      })
  }
}
