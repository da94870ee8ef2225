import GQLRunPipeline
import GQLRunSupport

/// Passes pieces of a body from one task to another; at most one is buffered.
final class Handover: Sendable {
  private struct State: Sendable {
    var piece: (any BodyChunk)?
    var end: Result<Void, any Error>?
    /// Whether the reader takes no more pieces.
    var hasLeft = false
    var reader: CheckedContinuation<Void, Never>?
    var writer: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// Passes a piece on; suspends until the reader has taken the one before. Returns at once if the
  /// reader has left.
  func offer(_ piece: any BodyChunk) async {
    while true {
      let (isDone, reader) = state.withLock {
        state -> (Bool, CheckedContinuation<Void, Never>?) in
        if state.hasLeft { return (true, nil) }
        guard state.piece == nil else { return (false, nil) }
        state.piece = piece
        return (true, state.reader.take())
      }
      reader?.resume()
      if isDone { return }
      await withCheckedContinuation { continuation in
        let mayGoOn = state.withLock { state in
          if state.hasLeft || state.piece == nil { return true }
          state.writer = continuation
          return false
        }
        if mayGoOn { continuation.resume() }
      }
    }
  }

  /// Ends the body. Has no effect on a body that has ended.
  func end(_ result: Result<Void, any Error>) {
    state.withLock { state in
      if state.end == nil { state.end = result }
      return state.reader.take()
    }?.resume()
  }

  /// The next piece, or `nil` at the end.
  func next() async throws -> (any BodyChunk)? {
    while true {
      let (piece, end, writer) = state.withLock { state in
        (state.piece.take(), state.end, state.writer.take())
      }
      writer?.resume()
      if let piece { return piece }
      if let end {
        try end.get()
        return nil
      }
      try Task.checkCancellation()
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let mayGoOn = state.withLock { state in
            if state.piece != nil || state.end != nil || state.hasLeft { return true }
            state.reader = continuation
            return false
          }
          if mayGoOn { continuation.resume() }
        }
      } onCancel: {
        leave()
      }
      try Task.checkCancellation()
    }
  }

  /// The reader takes no more pieces.
  func leave() {
    let (reader, writer) = state.withLock { state in
      state.hasLeft = true
      state.piece = nil
      if state.end == nil { state.end = .failure(CancellationError()) }
      return (state.reader.take(), state.writer.take())
    }
    reader?.resume()
    writer?.resume()
  }
}
