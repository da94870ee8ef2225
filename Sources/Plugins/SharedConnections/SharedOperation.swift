import GQLRunPipeline
import GQLRunSupport
import NIOCore

/// One operation on a connection that it shares with others: its results, from the connection that receives them to their
/// reader. It calls neither.
final class SharedOperation: Sendable {
  /// What a reader finds.
  enum Found {
    /// A result, and whether the connection may read on because it was removed.
    case result(ByteBuffer, isDrained: Bool)
    /// No result has arrived since the last one.
    case nothing
    /// The operation has ended.
    case end
  }

  /// What a reader waits for.
  enum Event { case begin, result }

  private struct State {
    var id: Int?
    var isBegun = false
    var results = UnreadResults()
    var end: Result<Void, any Error>?
    var isFull = false
    var reader: CheckedContinuation<Void, Never>?
  }

  /// The number of unread results at which the connection stops reading, and at which it reads again.
  static let maxResults = 64
  private static let fewResults = 16

  let isSubscription: Bool
  let flow: ConnectionFlow
  private let state = Locked(State())

  /// - Parameter flow: Counts the unread results of the connection.
  init(isSubscription: Bool, flow: ConnectionFlow) {
    self.isSubscription = isSubscription
    self.flow = flow
  }

  /// Whether the operation was sent to the server.
  var isBegun: Bool { state.withLock { $0.isBegun } }

  /// Whether the operation has ended, or is not read any more.
  var hasEnded: Bool { state.withLock { $0.end != nil } }

  /// The number on the connection; `nil` before the connection has it.
  var id: Int? { state.withLock { $0.id } }

  func setID(_ id: Int) { state.withLock { $0.id = id } }
}

// MARK: Receiving

extension SharedOperation {
  /// The operation was sent.
  func noteBegun() { update { $0.isBegun = true } }

  /// A result has arrived. Returns whether the connection should stop reading.
  ///
  /// Wakes the reader when several results wait, and otherwise leaves this to ``wake()``.
  func receive(_ result: some BodyChunk) -> Bool {
    let (isFull, reader) = state.withLock { state in
      guard state.end == nil else { return (false, CheckedContinuation<Void, Never>?.none) }
      state.results.append(result)
      flow.noteUnread(result.count)
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
  var isFull: Bool { state.withLock { $0.isFull } }

  /// The operation has ended. The first end counts.
  func finish(_ end: Result<Void, any Error>) { update { if $0.end == nil { $0.end = end } } }

  private func update(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      return state.reader.take()
    }?.resume()
  }
}

// MARK: Reading

extension SharedOperation {
  /// Whether the operation was sent. Results come before the error with which it has ended.
  func hasBegun() throws -> Bool {
    try state.withLock { state in
      if state.results.isEmpty { try state.end?.get() }
      return state.isBegun || state.end != nil
    }
  }

  /// Removes the next result.
  func take() throws -> Found {
    try state.withLock { state in
      guard let result = state.results.popFirst() else {
        guard let end = state.end else { return .nothing }
        try end.get()
        return .end
      }
      flow.noteRead(result.readableBytes)
      let isDrained = state.isFull && state.results.count <= Self.fewResults
      if isDrained { state.isFull = false }
      return .result(result, isDrained: isDrained)
    }
  }

  /// Resumes a reader at an event, or at the end of the operation.
  ///
  /// Neither an asynchronous function nor one with a closure: the frames of a waiting subscription would need a fourth block.
  func resume(_ reader: CheckedContinuation<Void, Never>, at event: Event) {
    let isReady = state.withLock { state in
      let hasHappened = event == .begin ? state.isBegun : !state.results.isEmpty
      guard state.end == nil, !hasHappened else { return true }
      state.reader = reader
      return false
    }
    if isReady { reader.resume() }
  }

  /// Drops the results, because they are not read any more. Returns whether the operation has not ended.
  func abandon() -> Bool {
    let (isRunning, reader) = state.withLock { state in
      let isRunning = state.end == nil
      flow.noteRead(state.results.readableBytes)
      state.results = UnreadResults()
      state.end = .failure(CancellationError())
      state.isFull = false
      return (isRunning, state.reader.take())
    }
    reader?.resume()
    return isRunning
  }
}

/// Results of an operation that wait for their reader.
///
/// Small ones are copied into a common buffer: each would otherwise keep all that was read from the socket with it.
struct UnreadResults {
  /// The most bytes of a result that is copied, and of a buffer that such results are added to.
  private static let (maxCopied, maxJoined) = (4 << 10, 16 << 10)

  private var buffers: [ByteBuffer] = []
  /// The index of the next buffer; those before it were read.
  private var nextBuffer = 0
  /// Whether the last buffer takes further results: after it was read from, it would be copied.
  private var isLastOpen = false
  private var lengths: [Int] = []
  /// The index of the next result's length.
  private var nextLength = 0
  /// The number of bytes.
  private(set) var readableBytes = 0

  /// The number of results.
  var count: Int { lengths.count - nextLength }

  var isEmpty: Bool { count == 0 }

  /// Adds a result. An empty one, which is none, is ignored.
  mutating func append(_ result: some BodyChunk) {
    let length = result.count
    guard length > 0 else { return }
    if length > Self.maxCopied {
      let buffer = (result as? ByteBuffer) ?? result.withUnsafeBytes { ByteBuffer(bytes: $0) }
      buffers.append(buffer)
      isLastOpen = false
    } else {
      if !isLastOpen || buffers[buffers.count - 1].readableBytes + length > Self.maxJoined {
        buffers.append(ByteBuffer())
        isLastOpen = true
      }
      result.withUnsafeBytes { bytes in
        _ = buffers[buffers.count - 1].writeBytes(bytes)
      }
    }
    lengths.append(length)
    readableBytes += length
  }

  /// Removes the next result.
  mutating func popFirst() -> ByteBuffer? {
    guard nextLength < lengths.count else { return nil }
    let length = lengths[nextLength]
    nextLength += 1
    readableBytes -= length
    if nextBuffer == buffers.count - 1 { isLastOpen = false }
    let result: ByteBuffer?
    if length == buffers[nextBuffer].readableBytes {
      result = buffers[nextBuffer]
      buffers[nextBuffer] = ByteBuffer()
      nextBuffer += 1
    } else {
      result = buffers[nextBuffer].readSlice(length: length)
    }
    if isEmpty || nextLength > 64 {
      lengths.removeFirst(nextLength)
      buffers.removeFirst(nextBuffer)
      (nextLength, nextBuffer) = (0, 0)
    }
    return result
  }
}
