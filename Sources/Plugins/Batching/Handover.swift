import GQLRunPipeline
import GQLRunSupport

/// Passes pieces of a body from one task to another; at most one is buffered.
final class Handover: Sendable {
  private struct State: Sendable {
    var piece: (any BodyChunk)?
    var end: Result<Void, any Error>?
    /// Whether the reader takes no more pieces.
    var hasLeft = false
  }

  private let state = Monitor(State())

  /// Passes a piece on; suspends until the reader has taken the one before. Returns at once if the
  /// reader has left.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  func offer(_ piece: any BodyChunk) async throws {
    try await state.wait { state in
      if state.hasLeft { return true }
      guard state.piece == nil else { return false }
      state.piece = piece
      return true
    }
  }

  /// Ends the body. Has no effect on a body that has ended.
  func end(_ result: Result<Void, any Error>) {
    state.update { if $0.end == nil { $0.end = result } }
  }

  /// The next piece, or `nil` at the end.
  func next() async throws -> (any BodyChunk)? {
    do {
      return try await state.take { state -> (any BodyChunk)?? in
        if let piece = state.piece.take() { return piece }
        guard let end = state.end else { return nil }
        try end.get()
        return .some(nil)
      }
    } catch is CancellationError {
      leave()
      throw CancellationError()
    }
  }

  /// The reader takes no more pieces.
  func leave() {
    state.update { state in
      state.hasLeft = true
      state.piece = nil
      if state.end == nil { state.end = .failure(CancellationError()) }
    }
  }
}
