import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import NIOCore

/// One operation on a connection that it shares with others, as its reader sees it.
///
/// Its results are a JSON text sequence: the payload of each message, then a separator. Small results that arrive
/// faster than they are read are joined to one chunk, because reading a chunk takes more time than copying a small result.
final class SharedOperation: Sendable {
  /// How an operation ends without `complete`.
  enum Failure: Error {
    /// The connection was over before the operation reached it.
    case notBegun
    case failed(any Error)
  }

  private struct State {
    var id: Int?
    var isBegun = false
    var results = SocketResults()
    var end: Result<Void, Failure>?
    var isAbandoned = false
    var isFull = false
    var reader: CheckedContinuation<Void, Never>?
  }

  /// The number of unread results at which the connection stops reading, and at which it reads again.
  static let maxResults = 64
  private static let fewResults = 16

  let payload: [UInt8]
  let isSubscription: Bool
  private let connection: any OperationConnection
  private let state = Locked(State())

  init(_ payload: [UInt8], isSubscription: Bool, on connection: any OperationConnection) {
    self.payload = payload
    self.isSubscription = isSubscription
    self.connection = connection
  }

  /// Whether the operation was sent to the server.
  var isBegun: Bool { state.withLock { $0.isBegun } }
}

// MARK: Reading

extension SharedOperation {
  /// Suspends until the operation was sent. Returns `false` if the connection was over before.
  func begin() async throws -> Bool {
    connection.begin(self)
    while true {
      let (isBegun, hasResults, end) = try state.withLock { state in
        if state.isAbandoned { throw CancellationError() }
        return (state.isBegun, !state.results.isEmpty, state.end)
      }
      switch end {
      case .failure(.notBegun): return false
      case .failure(.failed(let error)):
        // The results come first.
        guard hasResults else { throw error }
        return true
      case .success: return true
      case nil: if isBegun { return true }
      }
      await wait { $0.isBegun }
    }
  }

  /// The next chunk of the sequence, or `nil` at its end.
  func next() async throws -> (any BodyChunk)? {
    while true {
      let (chunk, end, isDrained) = try state.withLock {
        state -> (ByteBuffer?, Result<Void, Failure>?, Bool) in
        if state.isAbandoned { throw CancellationError() }
        guard let chunk = state.results.popFirst() else { return (nil, state.end, false) }
        let isDrained = state.isFull && state.results.count <= Self.fewResults
        if isDrained { state.isFull = false }
        return (chunk, nil, isDrained)
      }
      if isDrained { connection.drained() }
      if let chunk {
        connection.noteRead(chunk.readableBytes)
        return chunk
      }
      switch end {
      case .success: return nil
      case .failure(.failed(let error)): throw error
      case .failure(.notBegun): throw CancellationError()
      case nil: await wait { !$0.results.isEmpty }
      }
    }
  }

  private func wait(until isAvailable: @Sendable (State) -> Bool) async {
    connection.noteWaiting(1)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          guard !state.isAbandoned, state.end == nil, !isAvailable(state) else { return true }
          state.reader = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      abandon()
    }
    connection.noteWaiting(-1)
  }

  /// Ends the operation at the server, unless it has ended.
  func abandon() {
    let (isFirst, isRunning, bytes, reader) = state.withLock { state in
      defer {
        state.isAbandoned = true
        state.results = SocketResults()
      }
      return (
        !state.isAbandoned, state.end == nil, state.results.readableBytes, state.reader.take()
      )
    }
    guard isFirst else { return }
    connection.noteRead(bytes)
    if isRunning { connection.end(self) } else { connection.drained() }
    reader?.resume()
  }
}

// MARK: Receiving

extension SharedOperation {
  /// The number on the connection.
  var id: Int? { state.withLock { $0.id } }

  func setID(_ id: Int) { state.withLock { $0.id = id } }

  /// The operation was sent.
  func noteBegun() { update { $0.isBegun = true } }

  /// A result has arrived. Returns whether the connection should stop reading.
  ///
  /// Wakes the reader when several results wait, and otherwise leaves this to ``wake()``.
  func receive(_ result: ByteBuffer) -> Bool {
    let (isFull, reader) = state.withLock { state in
      guard !state.isAbandoned, state.end == nil else {
        return (false, CheckedContinuation<Void, Never>?.none)
      }
      connection.noteUnread(state.results.append(result))
      if state.results.count >= Self.maxResults { state.isFull = true }
      let isEnough = state.results.count >= Self.fewResults
      return (state.isFull, isEnough ? state.reader.take() : nil)
    }
    reader?.resume()
    return isFull
  }

  /// Wakes the reader after the results that have arrived together.
  func wake() { update { _ in } }

  /// Whether unread results stop the connection.
  var isFull: Bool { state.withLock { $0.isFull && !$0.isAbandoned } }

  /// The operation has ended.
  func finish(_ end: Result<Void, Failure>) { update { if $0.end == nil { $0.end = end } } }

  /// Ends the operation, here and at the server, because its time is over.
  func expire(_ error: any Error) {
    finish(.failure(.failed(error)))
    connection.end(self)
  }

  private func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
    let (result, reader) = state.withLock { state in
      let result = change(&state)
      return (result, state.reader.take())
    }
    reader?.resume()
    return result
  }
}

/// Releasing the body of a response before its end ends the operation.
final class SocketBody: Sendable {
  private let operation: SharedOperation
  private let onEnd: @Sendable () -> Void

  init(_ operation: SharedOperation, onEnd: @escaping @Sendable () -> Void) {
    self.operation = operation
    self.onEnd = onEnd
  }

  deinit {
    operation.abandon()
    onEnd()
  }

  func next() async throws -> (any BodyChunk)? { try await operation.next() }
}
