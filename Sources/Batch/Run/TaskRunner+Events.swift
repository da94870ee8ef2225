import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes
import Logging

/// Runs the tasks of subscriptions: each event is a page of its task.
///
/// The journal counts the pages of a task, so a resumed task continues at its number of events.
/// Events that the server sends while nothing is connected are missed, and the journal records each
/// such gap.
extension TaskRunner {
  /// Submits the events of a subscription until its task has ended. Returns `false` if the run
  /// stops before.
  ///
  /// Not inlined, as ``fill(_:operation:tables:update:results:)``: every task would have its frame.
  @inline(never)
  func follow(
    _ item: TaskItem, operation: BatchOperation, update: TaskUpdate,
    results: inout TaskResults
  ) async throws -> Bool {
    let clock = runner.services.clock
    let start = clock.now()
    // Within limits: that of a damaged journal may be longer than any duration.
    let listened = Duration.milliseconds(min(max(update.milliseconds, 0), 1e15))
    var listener = EventListener(
      runner: self, item: item, operation: operation, update: update, results: results,
      start: start - listened)
    var isOver = update.page >= operation.until?.events ?? .max
    if let time = operation.until?.for, listened >= time { isOver = true }
    if !isOver {
      (listener, isOver) = try await listen(listener, until: start - listened)
      // A task that ends while nothing is connected, or before the next event, has missed events, too.
      if listener.last == nil, isOver || listener.isCompleted {
        guard try await listener.submitGap() else { return false }
      }
    }
    results = listener.results
    if let last = listener.last { return try await results.end(last) }
    guard isOver || listener.isCompleted else { return false }
    var done = listener.update
    done.state = .done
    done.error = nil
    done.milliseconds = (clock.now() - start + listened).milliseconds
    done.ended = feed.progress.now()
    return try await results.end(Outcome(update: done, operation: item.operation))
  }

  /// Listens until the subscription or its time ends, or the run stops. Returns whether the time
  /// is up.
  ///
  /// - Parameter start: When the time began.
  private func listen(
    _ listener: EventListener, until start: Duration
  ) async throws -> (EventListener, Bool) {
    let clock = runner.services.clock
    let end = listener.operation.until?.for.map { start + $0 }
    // What a child found, and whether it is that the time is up.
    let result = try await withThrowingTaskGroup(of: (EventListener?, Bool).self) { group in
      group.addTask {
        var listener = listener
        try await listener.listen()
        return (listener, false)
      }
      group.addTask {
        await stop.wait()
        return (nil, false)
      }
      if let end {
        group.addTask { (nil, (try? await clock.sleep(for: end - clock.now())) != nil) }
      }
      var (found, isOver) = (listener, false)
      while let (listener, isTimeUp) = try await group.next() {
        if let listener { found = listener }
        if isTimeUp { isOver = true }
        // The listener ends with what it has received.
        group.cancelAll()
      }
      return (found, isOver)
    }
    try Task.checkCancellation()
    return result
  }
}

/// Receives the events of one task.
struct EventListener: Sendable {
  let runner: TaskRunner
  let item: TaskItem
  let operation: BatchOperation
  private(set) var update: TaskUpdate
  private(set) var results: TaskResults
  /// When the first event could have arrived, on the clock of the services, if the task had been
  /// listening without interruption.
  private let start: Duration
  /// The time of the previous event, on the clock of the services.
  private var previous: Duration
  /// The last outcome of the task; `nil` while it may have further events.
  private(set) var last: Outcome?
  /// Whether the server completed the subscription.
  private(set) var isCompleted = false
  /// Since when events may have been missed, in seconds since 1970, and why.
  private var gap: (since: Double, cause: String?)?
  /// When the last event was received, or else the connection was begun, in seconds since 1970.
  private var lastSeen = 0.0
  /// When the connection was begun, on the clock of the services.
  private var connected = Duration.zero
  /// The number of connections since one that lasted.
  private var shortConnections = 0

  private var services: Services { runner.runner.services }

  init(
    runner: TaskRunner, item: TaskItem, operation: BatchOperation, update: TaskUpdate,
    results: TaskResults, start: Duration
  ) {
    self.runner = runner
    self.item = item
    self.operation = operation
    self.update = update
    self.results = results
    self.start = start
    previous = runner.runner.services.clock.now()
    // An earlier run was connected until its last event or later.
    if let record = item.record, record.state == .running || update.page > 0 {
      gap = (record.ended, nil)
    }
  }

  /// Listens until the task ends, the run stops or the task is cancelled.
  mutating func listen() async throws {
    do {
      while runner.stop.reason == nil, try await connect() {}
    } catch {
      guard Task.isCancelled else { throw error }
    }
  }

  /// Listens on one connection, and those that the chain opens after it. Returns whether to connect
  /// again.
  private mutating func connect() async throws -> Bool {
    let request: GraphQLRequest
    do throws(TaskProblem) {
      request = try runner.request(item, variables: item.variables)
    } catch {
      fail(error.message)
      return false
    }
    var pass: Governor.Pass? = try await runner.governor.enter(operation.id)
    do {
      guard runner.stop.reason == nil else {
        leave(&pass, signal: nil)
        return false
      }
      lastSeen = services.secondsSince1970()
      connected = services.clock.now()
      for try await response in runner.runner.execute(request) {
        let isFirst = pass != nil
        leave(&pass, signal: .answered, response: response)
        guard try await take(response, isFirst: isFirst) else { return false }
      }
      leave(&pass, signal: .answered)
      isCompleted = true
      return false
    } catch {
      if Task.isCancelled || error is CancellationError || error is StoppedByStorage {
        leave(&pass, signal: nil)
        throw error
      }
      return try await connectsAgain(after: error, &pass)
    }
  }

  @discardableResult
  private func leave(
    _ pass: inout Governor.Pass?, signal: Governor.Signal?, response: GraphQLResponse? = nil
  ) -> Outage? {
    guard let open = pass.take() else { return nil }
    return runner.governor.leave(open, signal: signal, response: response)
  }

  /// Whether to connect again after an error; ends the task or the run otherwise.
  private mutating func connectsAgain(
    after error: any Error, _ pass: inout Governor.Pass?
  ) async throws -> Bool {
    // The connection was open; it may have been lost long before the last retry failed.
    let hadEvents = pass == nil
    if gap == nil, hadEvents || FailureKind.isLostConnection(error) {
      gap = (lastSeen, text(error))
    }
    let kind = FailureKind(subscription: error, now: services.secondsSince1970())
    guard runner.isRetried(kind, error, leave: { leave(&pass, signal: $0) }) else {
      update.http = (error as? ChainError)?.http?.status ?? update.http
      update.attempts += 1
      fail("\(error)")
      return false
    }
    // Otherwise the governor pauses.
    guard hadEvents else { return true }
    if services.clock.now() - connected >= Reconnection.lasting { shortConnections = 0 }
    // A server that closes each connection after an event is not flooded.
    try await services.clock.sleep(
      for: Backoff.ofShortConnections.delay(
        beforeRetry: shortConnections, random: services.random()))
    shortConnections += 1
    return true
  }

  /// Submits an event. Returns `false` if the task ends with it, or its results are discarded.
  private mutating func take(_ response: GraphQLResponse, isFirst: Bool) async throws -> Bool {
    if let announced = response.gap {
      var cause = announced.cause.map { text($0) }
      if announced.dropped > 0 {
        cause =
          "\(Quantity.count(announced.dropped, "event")) arrived faster than the sinks could write"
      }
      gap = (min(gap?.since ?? .infinity, announced.since), cause)
      return try await submitGap()
    }
    // The result of the query `catch_up` is no event.
    if response.isCatchUp { return true }
    if gap != nil { guard try await submitGap() else { return false } }
    lastSeen = services.secondsSince1970()
    let now = services.clock.now()
    let page = TaskRunner.Page(
      response: response, milliseconds: (now - previous).milliseconds)
    previous = now
    if isFirst { update.attempts += response.attempt }
    update.ended = runner.feed.progress.now()
    update.milliseconds = (now - start).milliseconds
    update.http = response.http?.status.code ?? update.http
    update.bytes += response.timing.receivedBytes
    let hasMore = update.page + 1 < operation.until?.events ?? .max
    do {
      let (outcome, isLast) = try runner.finish(
        item, operation: operation, page: page, data: response.data, update: &update,
        advance: { (hasMore, nil) })
      guard let outcome else { return false }
      if isLast { last = outcome } else if try await results.submit(outcome) { return true }
      return false
    } catch let problem as TaskProblem {
      fail(problem.message, page)
      return false
    }
  }

  /// Records and reports the gap, if there is one, before the next event or the end of the task. Returns
  /// `false` if the results of the task are discarded.
  mutating func submitGap() async throws -> Bool {
    guard let missed = gap.take() else { return true }
    let found = EventGap(
      operation: update.operation, key: item.key, events: update.page, since: missed.since,
      until: max(services.secondsSince1970(), missed.since), cause: missed.cause)
    services.logger.warning("\(found.task(of: operation.id)): \(found.text)")
    update.state = .running
    update.ended = runner.feed.progress.now()
    var outcome = Outcome(update: update, operation: item.operation)
    outcome.gap = found
    let uses = runner.plan.formats[item.operation]
    if uses.contains(where: \.format.writesGaps) {
      let line = SinkPiece.bytes(found.gapLine(of: operation.id), records: 0)
      outcome.pieces = uses.map { $0.format.writesGaps ? [line] : [] }
    }
    runner.feed.progress.change { $0.gaps += 1 }
    return try await results.submit(outcome)
  }

  private mutating func fail(_ message: String, _ page: TaskRunner.Page = TaskRunner.Page()) {
    update.fail(message, at: runner.feed.progress.now())
    last = runner.outcome(item, page: page, given: update)
  }

  private func text(_ error: any Error) -> String { services.secrets.hide(in: "\(error)") }
}

extension FailureKind {
  /// What an error means for a subscription, which may always be sent again: a lost connection is no
  /// failure, however far the response was.
  init(subscription error: any Error, now: Double) {
    self.init(error, mayRepeat: true, now: now)
    switch self {
    case .tooCostly:
      let status = (error as? ChainError)?.http?.status ?? 0
      self = (400..<500).contains(status) ? .failed : .unreachable
    case .failed where Self.isLostConnection(error): self = .unreachable
    default: break
    }
  }

  /// Whether a connection was lost after the response had begun.
  static func isLostConnection(_ error: any Error) -> Bool {
    guard let error = error as? ChainError else { return false }
    return error.code == .truncatedResponse
      || error.delivery == .answered && [.connectionClosed, .timedOut].contains(error.code)
  }
}
