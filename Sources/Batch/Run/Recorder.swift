import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// Commits outcomes to the store of the run in groups, so that one sync to disk covers many.
///
/// `submit` suspends while the buffer is full, which gives back-pressure. Otherwise it appends
/// under a lock, and a single task commits the buffered outcomes.
final class Recorder: Sendable {
  private typealias Waiter = CheckedContinuation<Void, Never>

  private struct State: Sendable {
    var pending: [Outcome] = []
    var pendingBytes = 0
    var submitted = 0
    var durable = 0
    var isFlushing = false
    var failure: (any Error)?
    var spaceWaiters: [Waiter] = []
    var durableWaiters: [(ticket: Int, continuation: Waiter)] = []
    var isTimerSet = false

    /// Whether submitting callers must wait.
    var isFull: Bool {
      failure == nil && (pending.count >= maxPending || pendingBytes >= maxBytes)
    }

    /// Whether the group is large enough to commit at once.
    var isLarge: Bool { pending.count >= maxPending / 2 || pendingBytes >= maxBytes / 4 }

    mutating func add(_ outcome: Outcome) {
      pending.append(outcome)
      pendingBytes += outcome.size
      submitted += 1
    }

    /// Whether to start a task that commits the group.
    mutating func beginsFlush() -> Bool {
      guard !isFlushing, !pending.isEmpty, failure == nil else { return false }
      isFlushing = true
      return true
    }

    /// Whether to start the timer.
    mutating func beginsTimer() -> Bool {
      guard !isTimerSet, !isFlushing else { return false }
      isTimerSet = true
      return true
    }

    mutating func takeSpaceWaiters() -> [Waiter] {
      defer { spaceWaiters = [] }
      return spaceWaiters
    }
  }

  /// The limits of the buffer, in outcomes and bytes.
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
    while state.withLock({ $0.isFull }) {
      await withCheckedContinuation { continuation in
        let isFull = state.withLock { state in
          if state.isFull { state.spaceWaiters.append(continuation) }
          return state.isFull
        }
        if !isFull { continuation.resume() }
      }
    }
    let begins = try state.withLock { state -> (flush: Bool, timer: Bool) in
      if let failure = state.failure { throw failure }
      state.add(outcome)
      return state.isLarge ? (state.beginsFlush(), false) : (false, state.beginsTimer())
    }
    start(begins)
  }

  /// Submits an outcome and returns once it is durable.
  func durably(_ outcome: Outcome) async throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      state.add(outcome)
    }
    try await barrier()
  }

  /// Returns once all outcomes submitted before are durable.
  func barrier() async throws {
    let (ticket, begins) = state.withLock { ($0.submitted, $0.beginsFlush()) }
    start((begins, false))
    while state.withLock({ $0.failure == nil && $0.durable < ticket }) {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.failure == nil, state.durable < ticket else { return false }
          state.durableWaiters.append((ticket, continuation))
          return true
        }
        if !mustWait { continuation.resume() }
      }
    }
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  private func start(_ begins: (flush: Bool, timer: Bool)) {
    if begins.flush { Task { await flush() } }
    guard begins.timer else { return }
    // One timer per group, started by its first outcome. It belongs to the buffered outcomes and
    // not to the task that submitted them, and ends by itself.
    Task {
      try? await Task.sleep(for: Self.gathering)
      let begins = state.withLock { state in
        state.isTimerSet = false
        return state.beginsFlush()
      }
      start((begins, false))
    }
  }

  private func flush() async {
    while true {
      let (batch, waiting) = state.withLock { state in
        defer {
          state.pending = []
          state.pendingBytes = 0
        }
        return (state.pending, state.takeSpaceWaiters())
      }
      for continuation in waiting { continuation.resume() }
      do {
        try await store.commit(batch)
      } catch {
        return fail(error)
      }
      let (ready, goesOn, begins) = state.withLock { state -> ([Waiter], Bool, Bool) in
        state.durable += batch.count
        let durable = state.durable
        let ready = state.durableWaiters.filter { $0.ticket <= durable }.map(\.continuation)
        state.durableWaiters.removeAll { $0.ticket <= durable }
        // Other outcomes may join the next group, unless a caller waits for it.
        let goesOn =
          !state.pending.isEmpty
          && (!state.durableWaiters.isEmpty || state.pending.count >= Self.maxPending / 2)
        if !goesOn { state.isFlushing = false }
        return (ready, goesOn, !goesOn && !state.pending.isEmpty && state.beginsTimer())
      }
      for continuation in ready { continuation.resume() }
      start((false, begins))
      if !goesOn { return }
    }
  }

  private func fail(_ error: any Error) {
    let waiting = state.withLock { state in
      state.failure = error
      state.isFlushing = false
      defer { state.durableWaiters = [] }
      return state.durableWaiters.map(\.continuation) + state.takeSpaceWaiters()
    }
    stop.fail(error)
    for continuation in waiting { continuation.resume() }
  }
}

/// The JSON line of a result, up to its data.
enum ResultLine {
  static func head(
    _ item: TaskItem, operation: String, page: TaskRunner.Page, update: TaskUpdate,
    records: Int, isFailure: Bool
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserveCapacity(512)
    writer.beginObject()
    writer.key("task")
    writer.writeString(update.id.text)
    writer.key("op")
    writer.writeString(operation)
    writer.key("key")
    writer.writeString(item.key)
    writer.key("page")
    writer.writeNumber(isFailure ? update.page + 1 : update.page)
    writer.key("attempt")
    writer.writeNumber(update.attempts)
    writer.key("ok")
    writer.writeBool(!isFailure)
    writer.key("http")
    if let http = update.http { writer.writeNumber(http) } else { writer.writeNull() }
    number("ms", value: page.milliseconds, writer: &writer)
    number("ttfb_ms", value: page.response?.timing.firstByte?.milliseconds, writer: &writer)
    writer.key("bytes")
    writer.writeNumber(page.response?.timing.receivedBytes ?? 0)
    writer.key("records")
    writer.writeNumber(records)
    writer.key("cache")
    if let source = page.response?.source {
      writer.writeString(source.rawValue)
    } else {
      writer.writeNull()
    }
    writer.key("errors")
    errors(page, update: update, isFailure: isFailure, writer: &writer)
    var bytes = writer.takeBytes()
    bytes += #","data":"#.utf8
    return bytes
  }

  private static func errors(
    _ page: TaskRunner.Page, update: TaskUpdate, isFailure: Bool, writer: inout JSONWriter
  ) {
    let found = page.response?.errors ?? []
    if found.isEmpty, !isFailure { return writer.writeNull() }
    var list = found.map { error -> JSONValue in
      var object: JSONObject = ["message": .string(error.message)]
      if let code = error.code { object["code"] = .string(code) }
      if !error.locations.isEmpty { object["locations"] = GraphQLError.json(error.locations) }
      if let path = error.path {
        object["path"] = .array(
          path.map {
            switch $0 {
            case .key(let key): .string(key)
            case .index(let index): .number(JSONNumber(index))
            }
          })
      }
      return .object(object)
    }
    if list.isEmpty { list = [.object(["message": .string(update.error ?? "failed")])] }
    JSONValue.array(list).write(to: &writer)
  }

  private static func number(_ name: String, value: Double?, writer: inout JSONWriter) {
    writer.key(name)
    let rounded = value.map { ($0 * 1000).rounded() / 1000 }
    if let number = rounded.flatMap({ JSONNumber($0) }) {
      writer.writeNumber(number)
    } else {
      writer.writeNull()
    }
  }
}
