import GQLRunLive
import GQLRunPipeline
import GQLRunSupport

/// An event stream for any number of subscriptions.
///
/// One task reads it; requests beside it start and stop subscriptions.
final class EventStreamConnection: OperationConnection {
  private enum Phase {
    case waiting, starting, started
  }

  private struct Entry {
    /// `nil` if its results are not wanted any more, and it has to be stopped once it has started.
    var operation: SharedOperation?
    var request: HTTPRequestMessage?
    var phase = Phase.waiting
  }

  private enum Command: Sendable {
    case start(Int)
    case stop(Int)
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastID = 0
    var isOver = false
    /// Why the stream was not opened; an operation may arrive after that.
    var openingFailure: (any Error)?
    var isOpen = false
    /// The task that reads, while it waits for the readers of results.
    var paused: CheckedContinuation<Void, Never>?
    var task: Task<Void, Never>?
    var onEnd: @Sendable () -> Void = {}
  }

  /// What ends a connection.
  private enum End {
    case failed(any Error)
    case idle, shutDown
  }

  private let opening: EventStreamOpening
  let flow = ConnectionFlow()
  private let alarm: ConnectionAlarm
  private let state = Locked(State())
  private let commands = AsyncStream.makeStream(of: Command.self)

  private var clock: ServiceClock { opening.sender.clock }
  private var failures: TransportFailures { opening.failures }

  /// - Parameter alarm: Ends the stream when it has had no operation for a time.
  init(_ opening: EventStreamOpening, alarm: ConnectionAlarm) {
    self.opening = opening
    self.alarm = alarm
  }

  var version: String { "HTTP/1.1" }

  func open(onEnd: @escaping @Sendable () -> Void) {
    alarm.start { [weak self] in self?.end(.idle) }
    let isOver = state.withLock { state in
      state.onEnd = onEnd
      if !state.isOver { state.task = Task { await run() } }
      return state.isOver
    }
    if isOver { onEnd() }
  }

  func shutDown() async {
    end(.shutDown)
    await state.withLock { $0.task }?.value
  }
}

// MARK: Operations

extension EventStreamConnection {
  func begin(_ operation: SharedOperation, _ request: HTTPRequestMessage) {
    let begun = state.withLock { state -> Result<Int, any Error> in
      // Another stream could not be opened either.
      if let failure = state.openingFailure { return .failure(failure) }
      guard !state.isOver else { return .failure(OperationNotBegun()) }
      state.lastID += 1
      state.entries[state.lastID] = Entry(operation: operation, request: request)
      return .success(state.lastID)
    }
    switch begun {
    case .success(let id):
      operation.setID(id)
      alarm.set(nil)
      commands.continuation.yield(.start(id))
    case .failure(let failure): operation.finish(.failure(failure))
    }
  }

  func end(_ operation: SharedOperation) {
    guard let id = operation.id else { return }
    let phase = state.withLock { state -> Phase? in
      guard let phase = state.entries[id]?.phase else { return nil }
      if phase == .starting { state.entries[id]?.operation = nil } else { state.entries[id] = nil }
      return phase
    }
    if phase == .started { commands.continuation.yield(.stop(id)) }
    noteCount()
    resume()
  }

  private func start(_ id: Int, _ token: String) async {
    let request = state.withLock { state in
      state.entries[id]?.phase = .starting
      return state.entries[id]?.request.take()
    }
    guard let request else { return }
    do {
      if let answer = try await opening.start(id, request: request, token: token) {
        finish(id, .failure(OperationAnswered(response: answer)))
      } else if began(id) {
        await opening.stop(id, token)
      }
    } catch {
      finish(id, .failure(error))
      // The server may have started it.
      if (error as? ChainError)?.delivery != .notSent { await opening.stop(id, token) }
    }
  }

  /// The server has accepted an operation. Returns whether it has to be stopped again.
  private func began(_ id: Int) -> Bool {
    let (operation, stops) = state.withLock { state -> (SharedOperation?, Bool) in
      // It may be complete already.
      guard let entry = state.entries[id] else { return (nil, false) }
      guard let operation = entry.operation else {
        state.entries[id] = nil
        return (nil, true)
      }
      state.entries[id]?.phase = .started
      return (operation, false)
    }
    operation?.noteBegun()
    if stops { noteCount() }
    return stops
  }

  private func finish(_ id: Int, _ end: Result<Void, any Error>) {
    let entry = state.withLock { $0.entries.removeValue(forKey: id) }
    entry?.operation?.finish(end)
    noteCount()
  }
}

// MARK: The stream

extension EventStreamConnection {
  private func run() async {
    do {
      let (stream, token) = try await opening.open()
      state.withLock { $0.isOpen = true }
      opening.observer?(.eventStreamOpened(failures.origin))
      await serve(stream, token)
    } catch {
      end(.failed(error))
    }
  }

  private func serve(_ stream: HTTPResponseMessage, _ token: String) async {
    await withDiscardingTaskGroup { group in
      group.addTask { [self] in
        do {
          try await read(stream.body)
          end(.failed(failures.failure(.eventStreamEnded)))
        } catch {
          end(.failed(failures.inEventStream(error)))
        }
      }
      for await command in commands.stream {
        group.addTask { [self] in
          switch command {
          case .start(let id): await start(id, token)
          case .stop(let id): await opening.stop(id, token)
          }
        }
      }
      group.cancelAll()
    }
  }

  private func read(_ body: HTTPBody) async throws {
    var events = SharedEventStream(maxBytes: opening.limits.messageBytes.bytes)
    var traffic = EmptyTraffic()
    for try await chunk in body {
      var offset = 0
      var receivers: [SharedOperation] = []
      try chunk.withUnsafeBytes { bytes in
        while let event = try events.next(bytes, from: &offset) {
          guard let receiver = receive(event) else { continue }
          if receivers.last !== receiver { receivers.append(receiver) }
        }
      }
      if !receivers.isEmpty {
        traffic.reset()
      } else if !events.isInEvent {
        try traffic.add(chunk.count, at: clock.now())
      }
      for receiver in receivers { receiver.wake() }
      await waitForReaders()
    }
  }

  /// Returns the operation that has received a result and is to be woken.
  private func receive(_ event: SharedEventStream.Event) -> SharedOperation? {
    switch event {
    case .next(let id, let payload):
      let operation = state.withLock { $0.entries[id]?.operation }
      _ = operation?.receive(payload)
      return operation
    case .complete(let id):
      finish(id, .success(()))
      return nil
    }
  }
}

// MARK: Time

extension EventStreamConnection {
  /// Sets the time at which a stream without operations is closed.
  private func noteCount() {
    let isIdle = state.withLock { $0.entries.isEmpty && !$0.isOver }
    // An operation that begins just now is found at that time.
    if isIdle { alarm.set(clock.now() + opening.limits.connection.keepAlive) }
  }
}

// MARK: Back-pressure

extension EventStreamConnection {
  func resume() { state.withLock { $0.paused.take() }?.resume() }

  /// Waits while results wait for their readers.
  private func waitForReaders() async {
    guard isFull else { return }
    flow.isPaused = true
    while isFull {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          state.withLock { $0.paused = continuation }
          // A reader may have begun to wait in between.
          if !isFull { resume() }
        }
      } onCancel: {
        resume()
      }
    }
    flow.isPaused = false
  }

  private var isFull: Bool {
    guard flow.mayPause, !Task.isCancelled else { return false }
    return state.withLock { $0.entries.values.compactMap(\.operation) }.contains { $0.isFull }
  }
}

// MARK: The end

extension EventStreamConnection {
  private func end(_ end: End) {
    let ended = state.withLock {
      state -> (operations: [SharedOperation], onEnd: @Sendable () -> Void)? in
      guard !state.isOver else { return nil }
      // An operation may have come in between.
      if case .idle = end, !state.entries.isEmpty { return nil }
      state.isOver = true
      if case .failed(let error) = end, !state.isOpen { state.openingFailure = error }
      defer { state.entries = [:] }
      return (state.entries.values.compactMap(\.operation), state.onEnd)
    }
    guard let ended else { return }
    // Before operations fail: those that begin again find another connection.
    ended.onEnd()
    alarm.stop()
    opening.observer?(.eventStreamClosed(failures.origin, reason(end)))
    for operation in ended.operations { operation.finish(.failure(error(end))) }
    commands.continuation.finish()
    state.withLock { $0.task }?.cancel()
    resume()
  }

  private func error(_ end: End) -> any Error {
    if case .failed(let error) = end { error } else { failures.failure(.shutDown) }
  }

  private func reason(_ end: End) -> String {
    switch end {
    case .failed(let error as ChainError): error.message
    case .failed(let error): ErrorWords.text(error)
    case .idle, .shutDown: "closed"
    }
  }
}

extension TransportFailures {
  /// The error of subscriptions whose event stream cannot be read further.
  func inEventStream(_ error: any Error) -> any Error {
    guard let error = error as? StreamError else { return error }
    return switch error.code {
    case .tooLarge:
      answered(
        .limitExceeded, "\(origin) sent too much on the event stream: \(error.message)",
        remedy: "raise the option max_message of fetch if it may be")
    case .malformed, .truncated:
      answered(
        .malformedResponse, "\(origin) violated graphql-sse on the event stream: \(error.message)")
    }
  }
}
