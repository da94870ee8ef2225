import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// One operation of an HTTP batch: waits for its answer, and reads its element of the response.
final class BatchMember: Sendable {
  /// What an operation gets.
  enum Answer: Sendable {
    /// The response with the operation's own body.
    case response(HTTPResponseMessage)
    /// The operation is to be sent by itself.
    case alone
    case failure(any Error)
  }

  private struct State: Sendable {
    var answer: Answer?
    var hasLeft = false
    var waiter: CheckedContinuation<Void, Never>?
    /// Called once when the operation is no longer interested.
    var onLeave: (@Sendable () -> Void)?
  }

  /// What is equal for all operations of a batch.
  struct Kind: Hashable {
    var head: HTTPRequest
    var isMutation: Bool
  }

  /// The HTTP request of the operation alone.
  let request: HTTPRequestMessage
  let isMutation: Bool
  /// The head without the request's own identifiers.
  let anonymousHead: HTTPRequest
  /// The body of the operation's response.
  let pieces = Handover()
  private let state = Locked(State())

  init(_ request: HTTPRequestMessage, isMutation: Bool, anonymousHead: HTTPRequest) {
    self.request = request
    self.isMutation = isMutation
    self.anonymousHead = anonymousHead
  }

  /// Queries share a request although their identifiers differ; it has those of the first one. The server would take
  /// mutations with one idempotency key for one mutation.
  var kind: Kind { Kind(head: isMutation ? request.head : anonymousHead, isMutation: isMutation) }

  /// Whether the operation was cancelled, or has released its response.
  var hasLeft: Bool { state.withLock { $0.hasLeft } }

  /// Waits for the answer.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func answer() async throws -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isAvailable = state.withLock { state in
          if state.answer != nil || state.hasLeft { return true }
          state.waiter = continuation
          return false
        }
        if isAvailable { continuation.resume() }
      }
    } onCancel: {
      leave()
    }
    try Task.checkCancellation()
    return state.withLock { $0.answer.take() } ?? .failure(CancellationError())
  }

  /// Gives the operation its answer; later ones have no effect.
  func give(_ answer: Answer) {
    state.withLock { state in
      // The answer contains this object.
      if state.answer == nil, !state.hasLeft { state.answer = answer }
      return state.waiter.take()
    }?.resume()
  }

  /// Gives the operation the head of a response, whose body comes through ``pieces``.
  func give(head response: HTTPResponseMessage) {
    var response = response
    let reading = Reading(self)
    response.head.headerFields[.contentLength] = nil
    response.body = HTTPBody(pull: { try await reading.member.pieces.next() })
    give(.response(response))
  }

  /// Ends the operation with an error, before or within its body.
  func fail(_ error: any Error) {
    give(.failure(error))
    pieces.end(.failure(error))
  }

  /// Calls `action` when the operation is no longer interested.
  func onLeave(_ action: @escaping @Sendable () -> Void) {
    let hasLeft = state.withLock { state in
      if !state.hasLeft { state.onLeave = action }
      return state.hasLeft
    }
    if hasLeft { action() }
  }

  private func leave() {
    // Released outside the lock, which releasing a response takes.
    let (waiter, action, unread) = state.withLock { state in
      state.hasLeft = true
      return (state.waiter.take(), state.onLeave.take(), state.answer.take())
    }
    withExtendedLifetime(unread) { pieces.leave() }
    waiter?.resume()
    action?()
  }

  /// Releasing the body of a response releases its place in the batch.
  private final class Reading: Sendable {
    let member: BatchMember

    init(_ member: BatchMember) { self.member = member }

    deinit { member.leave() }
  }
}
