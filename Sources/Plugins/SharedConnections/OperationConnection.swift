import GQLRunPipeline
import GQLRunSupport
import NIOCore
import Synchronization

/// A connection for any number of operations, from any thread.
///
/// Calls go in one direction: ``OperationReader``, ``OperationConnection``, ``SharedOperation``.
protocol OperationConnection: AnyObject, Sendable {
  /// The protocol of the connection, as HTTP archives name it.
  var version: String { get }
  var flow: ConnectionFlow { get }

  /// Connects.
  ///
  /// - Parameter onEnd: Called once no further operation can begin.
  func open(onEnd: @escaping @Sendable () -> Void)
  /// Sends an operation. It begins or ends later.
  func begin(_ operation: SharedOperation, _ request: HTTPRequestMessage)
  /// Ends an operation whose results are not wanted any more.
  func end(_ operation: SharedOperation)
  /// Reads on, if ``flow`` and the operations allow it.
  func resume()
  /// Ends all operations, and returns when the connection is closed.
  func shutDown() async
}

extension OperationConnection {
  /// Ends an operation, here and at the server, because its time is over.
  func expire(_ operation: SharedOperation, _ error: any Error) {
    operation.finish(.failure(error))
    end(operation)
  }
}

/// An operation whose connection was over before it was sent.
struct OperationNotBegun: Error {}

/// The response with which a server answered an operation instead of beginning it.
struct OperationAnswered: Error {
  var response: HTTPResponseMessage
}

/// The reader of an operation. Releasing it before the operation's end ends the operation.
final class OperationReader: Sendable {
  private let connection: any OperationConnection
  private let operation: SharedOperation
  private let onEnd: @Sendable () -> Void

  /// - Parameter onEnd: Called when the reader is released.
  init(
    of operation: SharedOperation, on connection: any OperationConnection,
    onEnd: @escaping @Sendable () -> Void
  ) {
    self.operation = operation
    self.connection = connection
    self.onEnd = onEnd
  }

  deinit {
    abandon()
    onEnd()
  }

  /// Sends the operation, and suspends until it was sent.
  ///
  /// - Throws: ``OperationNotBegun``, ``OperationAnswered``, or the error of the connection.
  func begin(_ request: HTTPRequestMessage) async throws {
    connection.begin(operation, request)
    while try !operation.hasBegun() { await wait(for: .begin) }
  }

  /// The next result, or `nil` at the end.
  func next() async throws -> (any BodyChunk)? {
    while true {
      switch try take() {
      case .result(let result, _): return result
      case .end: return nil
      case .nothing: await wait(for: .result)
      }
    }
  }

  /// The next result if it has arrived. An error is thrown by ``next()``.
  func ready() -> (any BodyChunk)? {
    guard case .result(let result, _) = try? take() else { return nil }
    return result
  }

  private func take() throws -> SharedOperation.Found {
    let found = try operation.take()
    if case .result(_, isDrained: true) = found { resume() }
    return found
  }

  private func wait(for event: SharedOperation.Event) async {
    operation.flow.noteWaiting(1)
    // It may need what is not read because of other operations.
    resume()
    await withTaskCancellationHandler {
      await withCheckedContinuation { operation.resume($0, at: event) }
    } onCancel: {
      abandon()
    }
    operation.flow.noteWaiting(-1)
  }

  private func abandon() {
    if operation.abandon() { connection.end(operation) } else { resume() }
  }

  private func resume() { if operation.flow.isPaused { connection.resume() } }
}

/// The unread results of all operations on a connection, and the readers that wait: whether the connection is read.
final class ConnectionFlow: Sendable {
  /// The most bytes of unread results while any reader waits for another result.
  ///
  /// One that waits may keep the others from reading, such as a query within a loop over events. So the connection
  /// reads on for it, up to this limit.
  static let maxBytes = 16 << 20

  private let waiting = Atomic(0)
  private let unread = Atomic(0)
  private let paused = Atomic(false)

  /// Notes that a reader waits, or does not wait any more.
  func noteWaiting(_ change: Int) {
    waiting.wrappingAdd(change, ordering: .sequentiallyConsistent)
  }

  /// Notes the bytes of a result that is not read yet.
  func noteUnread(_ bytes: Int) { unread.wrappingAdd(bytes, ordering: .relaxed) }

  /// Notes bytes that were read, or are not wanted any more.
  func noteRead(_ bytes: Int) { unread.wrappingSubtract(bytes, ordering: .relaxed) }

  /// Whether unread results may stop the connection now.
  var mayPause: Bool {
    waiting.load(ordering: .sequentiallyConsistent) <= 0
      || unread.load(ordering: .relaxed) >= Self.maxBytes
  }

  /// Whether the connection has stopped reading. After it was set, ``mayPause`` may have changed.
  var isPaused: Bool {
    get { paused.load(ordering: .sequentiallyConsistent) }
    set { paused.store(newValue, ordering: .sequentiallyConsistent) }
  }
}

/// The next time at which a connection has something to do.
final class ConnectionAlarm: Sendable {
  private struct State {
    var due: Duration?
    var number: Int?
    var isStopped = false
  }

  /// The longest time between two checks of a connection for which nothing is due.
  private static let rest = Duration.seconds(3600)

  private let timer: DeadlineTimer
  private let clock: ServiceClock
  private let state = Locked(State())

  /// - Parameter timer: Checks the times of all connections.
  init(_ timer: DeadlineTimer, clock: ServiceClock) {
    self.timer = timer
    self.clock = clock
  }

  /// Begins to call `onDue` at the times that are set.
  func start(_ onDue: @escaping @Sendable () -> Void) {
    let number = timer.add { [weak self] in self?.check(onDue) }
    let isStopped = state.withLock { state in
      state.number = state.isStopped ? nil : number
      return state.isStopped
    }
    // A connection may end before it is opened.
    if isStopped { timer.remove(number) }
  }

  /// Sets the time, in place of the one before; `nil` if nothing is due.
  func set(_ time: Duration?) {
    let isChanged = state.withLock { state in
      defer { state.due = time }
      return state.due != time
    }
    guard isChanged, let time else { return }
    timer.check(within: max(time - clock.now(), .zero))
  }

  func stop() {
    let number = state.withLock { state in
      state.isStopped = true
      return state.number.take()
    }
    if let number { timer.remove(number) }
  }

  private func check(_ onDue: @Sendable () -> Void) -> Duration? {
    let now = clock.now()
    let rest = state.withLock { state -> Duration? in
      guard let due = state.due else { return Self.rest }
      guard due <= now else { return due - now }
      state.due = nil
      return nil
    }
    if let rest { return rest }
    onDue()
    return state.withLock { $0.isStopped } ? nil : Self.rest
  }
}
