import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import NIOCore
import NIOHTTP1

/// Passes one response from its event loop to the task that reads it.
///
/// No task is started: the network appends data and wakes the reader. Up to ``bufferedBytes`` of
/// the body are buffered, and at least two pieces; then the connection stops reading.
final class ResponseReader: HTTPClientResponseDelegate {
  typealias Response = Void

  /// The bytes after which the connection stops reading.
  ///
  /// Each event of a subscription may be a piece.
  static let bufferedBytes = 64 << 10
  private static let bufferedPieces = 1024

  /// The time limit that ended an exchange.
  enum Expiry {
    case total, idle
  }

  /// An item for the reader.
  enum Item {
    case head(HTTPResponseHead)
    case piece(ByteBuffer)
    case end
    case failed(any Error)
    case expired(Expiry)
  }

  private struct State: Sendable {
    var isSent = false
    var head: HTTPResponseHead?
    var hasHead = false
    var pieces: [ByteBuffer] = []
    var bytes = 0
    /// Fulfilled when there is space for the next piece.
    var space: EventLoopPromise<Void>?
    var end: Result<Void, any Error>?
    /// Whether the next piece says why the body is not whole, and what it said.
    var announcesLoss = false
    var loss: BodyLoss?
    var expiry: Expiry?
    var isCancelled = false
    var reader: CheckedContinuation<Void, Never>?
    /// Whether the reader waits on another thread, which is costly to wake.
    var readsElsewhere = false
    /// Whether the reader is about to be woken.
    var isWaking = false
    /// The time at which the reader started to wait, and the total time it waited for the body.
    var waitingSince: Duration?
    var waited = Duration.zero
    var task: HTTPClient.Task<Void>?

    /// Whether the request has a connection, so that only the server is waited for.
    var hasConnection: Bool { isSent || hasHead }

    var isFull: Bool {
      pieces.count > 1
        && (bytes > ResponseReader.bufferedBytes || pieces.count > ResponseReader.bufferedPieces)
    }

    mutating func removeFirst() -> ByteBuffer {
      let piece = pieces.removeFirst()
      bytes -= piece.readableBytes
      return piece
    }
  }

  private let state = Locked(State())
  private let clock: ServiceClock
  private let limits: HTTPLimits
  private let deadline: Duration
  let observer: (@Sendable (NetworkEvent) -> Void)?

  init(
    limits: HTTPLimits, clock: ServiceClock, observer: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    self.limits = limits
    self.observer = observer
    self.clock = clock
    deadline = clock.now() + limits.total
  }

  /// Whether the request has a connection, and its head was sent.
  var isSent: Bool { state.withLock { $0.isSent } }

  /// Restarts an idle timeout that is shorter than the time to connect: it counts from now on.
  func noteHeadSent() {
    let now = sendingShortensIdleLimit ? clock.now() : nil
    state.withLock { state in
      state.isSent = true
      if let now, state.waitingSince != nil { state.waitingSince = now }
    }
  }

  /// The total time that the reader waited for the body.
  var waited: Duration { state.withLock { $0.waited } }

  var isOverdue: Bool { clock.now() >= deadline }
}

// MARK: Reading

extension ResponseReader {
  /// Sends the request. Call it once, before the first read.
  func begin(
    _ client: HTTPClient, _ request: HTTPClient.Request, on ticket: ExchangeRegister.Ticket
  ) {
    let now = clock.now()
    state.withLock {
      $0.waitingSince = now
      $0.readsElsewhere = !ticket.isOwn
    }
    let task = client.execute(
      request: request, delegate: self, eventLoop: .delegate(on: ticket.loop))
    // A client that was shut down only reports this failure.
    task.futureResult.whenFailure { self.fail($0) }
    let isTooLate = state.withLock { state in
      guard !state.isCancelled else { return true }
      state.task = task
      return false
    }
    if isTooLate { task.cancel() }
  }

  /// Restarts the idle timeout: the connection has taken a piece of the request's body.
  func noteSent() {
    let now = clock.now()
    state.withLock { if $0.waitingSince != nil { $0.waitingSince = now } }
  }

  /// The next item, as soon as it arrives.
  func next() async throws -> Item {
    while true {
      if let item = try take() { return item }
      await withTaskCancellationHandler {
        await withCheckedContinuation { wait(with: $0) }
      } onCancel: {
        abandon()
      }
    }
  }

  private func take() throws -> Item? {
    let (item, space) = try state.withLock { state -> (Item?, EventLoopPromise<Void>?) in
      if state.isCancelled { throw CancellationError() }
      if let expiry = state.expiry { return (.expired(expiry), nil) }
      if let head = state.head {
        state.head = nil
        state.hasHead = true
        return (.head(head), nil)
      }
      if !state.pieces.isEmpty {
        let piece = state.removeFirst()
        return (.piece(piece), state.isFull ? nil : state.space.take())
      }
      switch state.end {
      case .success: return (.end, nil)
      case .failure(let error): return (.failed(error), nil)
      case nil: return (nil, nil)
      }
    }
    space?.succeed(())
    return item
  }

  private func wait(with continuation: CheckedContinuation<Void, Never>) {
    let now = clock.now()
    let isAvailable = state.withLock { state in
      guard !state.isCancelled, state.expiry == nil, state.head == nil, state.pieces.isEmpty,
        state.end == nil
      else { return true }
      state.reader = continuation
      if state.waitingSince == nil { state.waitingSince = now }
      return false
    }
    if isAvailable { continuation.resume() }
  }

  /// Abandons the response. Has no effect after its end.
  func abandon() {
    let (task, reader, space) = state.withLock { state in
      state.isCancelled = true
      state.pieces = []
      let isOver = state.end != nil
      return (isOver ? nil : state.task.take(), woken(&state), state.space.take())
    }
    task?.cancel()
    space?.succeed(())
    reader?.resume()
  }

  private func woken(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    if let since = state.waitingSince.take(), state.hasHead { state.waited += clock.now() - since }
    return state.reader.take()
  }
}

// MARK: Receiving

extension ResponseReader {
  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    wake(on: task.eventLoop) { $0.head = head }
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    var space: EventLoopFuture<Void>?
    wake(on: task.eventLoop) { state in
      // After an interruption, a piece would follow those that were discarded.
      guard !state.isCancelled, state.end == nil else { return }
      if state.announcesLoss {
        state.loss = BodyLoss(part: buffer)
        return
      }
      guard buffer.readableBytes > 0 else {
        state.announcesLoss = true
        return
      }
      state.pieces.append(buffer)
      state.bytes += buffer.readableBytes
      guard state.isFull else { return }
      let promise = task.eventLoop.makePromise(of: Void.self)
      state.space = promise
      space = promise.futureResult
    }
    return space ?? task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) throws {
    wake(on: task.eventLoop) { state in
      if state.end == nil { state.end = state.loss.map { .failure($0) } ?? .success(()) }
      state.task = nil
    }
  }

  /// Ends the response with an error, and the connection. Has no effect after its end: what was received is read.
  func interrupt(_ error: any Error) {
    let (task, reader) = state.withLock {
      state -> (HTTPClient.Task<Void>?, CheckedContinuation<Void, Never>?) in
      guard state.end == nil else { return (nil, nil) }
      state.end = .failure(error)
      state.pieces = []
      return (state.task.take(), woken(&state))
    }
    task?.cancel()
    reader?.resume()
  }

  private func fail(_ error: any Error) {
    state.withLock { state in
      if state.end == nil { state.end = .failure(error) }
      state.task = nil
      return woken(&state)
    }?.resume()
  }

  /// Records an item and wakes the reader. A reader on another thread is woken after the loop has
  /// delivered all data at hand: head, body and end of a short response wake it once.
  private func wake(on loop: any EventLoop, _ record: (inout State) -> Void) {
    let (reader, isFirst) = state.withLock {
      state -> (CheckedContinuation<Void, Never>?, Bool) in
      record(&state)
      guard state.readsElsewhere else { return (woken(&state), false) }
      guard state.reader != nil, !state.isWaking else { return (nil, false) }
      state.isWaking = true
      return (nil, true)
    }
    reader?.resume()
    guard isFirst else { return }
    loop.execute {
      self.state.withLock { state in
        state.isWaking = false
        return self.woken(&state)
      }?.resume()
    }
  }
}

// MARK: Time

extension ResponseReader {
  /// Ends the exchange if a time limit has passed. Returns the time until the next check; `nil`
  /// after the end.
  func nextCheck() -> Duration? {
    let now = clock.now()
    let (delay, task, reader) = state.withLock {
      state -> (Duration?, HTTPClient.Task<Void>?, CheckedContinuation<Void, Never>?) in
      guard state.end == nil, !state.isCancelled, state.expiry == nil else {
        return (nil, nil, nil)
      }
      if now >= deadline {
        state.expiry = .total
      } else if let since = state.waitingSince, now >= since + idleLimit(state.hasConnection) {
        state.expiry = .idle
      } else {
        let since = state.waitingSince ?? now
        let rest = min(deadline, since + idleLimit(state.hasConnection)) - now
        // The limit may become shorter before that, when the request is sent.
        return (state.hasConnection ? rest : min(rest, limits.idle), nil, nil)
      }
      return (nil, state.task.take(), woken(&state))
    }
    task?.cancel()
    reader?.resume()
    return delay
  }

  /// The longest time without data. Before the request is sent it includes the time to connect, which
  /// has its own limit with a better message.
  private func idleLimit(_ hasConnection: Bool) -> Duration {
    hasConnection ? limits.idle : max(limits.idle, limits.connect + .seconds(1))
  }

  /// Whether the limit of a request that was sent is shorter than the limit before.
  private var sendingShortensIdleLimit: Bool { idleLimit(true) < idleLimit(false) }

  /// The longest time without data in the current state.
  var idleLimit: Duration { idleLimit(state.withLock { $0.hasConnection }) }
}
