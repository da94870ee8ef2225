public import GQLRunPipeline
import GQLRunSupport

/// The operations in flight, so that a shutdown can cancel them and wait for their end.
final class OperationRegister: Sendable {
  private struct State: Sendable {
    var closing: Task<Void, any Error>?
    var nextID = 0
    /// Cancels an operation; `nil` for one that a shutdown only waits for.
    var running: [Int: (@Sendable () -> Void)?] = [:]
  }

  private let state = Monitor(State())

  /// Runs `body` in a task that ``close(_:)`` cancels.
  ///
  /// - Throws: The errors of `body`; `ChainError` with code `client_shut_down` after a shutdown.
  func run<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let id = try begin()
    defer { end(id) }
    let task = Task { try await body() }
    let isClosing = state.withLock { state in
      state.running[id] = { task.cancel() }
      return state.closing != nil
    }
    if isClosing { task.cancel() }
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    } catch {
      throw isClosed && !Task.isCancelled ? Self.shutDown : error
    }
  }

  /// Runs `body` in the caller's task; ``close(_:)`` waits for its end.
  func hold<Result>(_ body: () async throws -> Result) async throws -> Result {
    let id = try begin()
    defer { end(id) }
    return try await body()
  }

  /// The results of `stream`, each read in a task that ``close(_:)`` cancels.
  func guarding(_ stream: ResponseStream) -> ResponseStream {
    ResponseStream(pull: { try await self.run { try await stream.next() } })
  }

  /// Cancels the operations in flight, waits for their end, and calls `body` once, even if it is
  /// called several times.
  func close(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let (closing, cancels) = state.withLock { state in
      let cancels = state.closing == nil ? Array(state.running.values) : []
      let closing =
        state.closing
        ?? Task {
          // Until no operation is in flight.
          try await self.state.wait { $0.running.isEmpty }
          try await body()
        }
      state.closing = closing
      return (closing, cancels)
    }
    for cancel in cancels { cancel?() }
    try await closing.value
  }

  private var isClosed: Bool { state.withLock { $0.closing != nil } }

  private func begin() throws -> Int {
    try state.withLock { state in
      guard state.closing == nil else { throw Self.shutDown }
      state.nextID += 1
      state.running.updateValue(nil, forKey: state.nextID)
      return state.nextID
    }
  }

  private func end(_ id: Int) {
    state.update { _ = $0.running.removeValue(forKey: id) }
  }

  private static var shutDown: ChainError {
    ChainError(
      notSent: .clientShutDown,
      "the client has been shut down; create another one for further operations")
  }
}

extension ChainError.Code {
  /// The client was shut down before the operation began, or while it was running.
  public static let clientShutDown = Self(rawValue: "client_shut_down")
}
