import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import NIOCore
import NIOPosix

/// The sending of a body with files, which an early response ends.
final class UploadSending: Sendable {
  private struct State {
    var isOver = false
    /// Fulfilled when the connection has taken the current piece.
    var piece: EventLoopPromise<Void>?
  }

  private let files: MultipartBody
  private let state = Locked(State())

  init(_ files: MultipartBody) { self.files = files }

  /// The body for the HTTP client: read piece by piece on a thread for files, each after the
  /// connection has taken the one before.
  ///
  /// - Parameter onPiece: Called when the connection has taken a piece.
  func body(onPiece: @escaping @Sendable () -> Void) -> HTTPClient.Body {
    .stream(contentLength: Int64(files.count)) { writer in
      HTTPClient.defaultEventLoopGroup.any().makeFutureWithTask { [self] in
        let reader = files.makeReader()
        while let piece = try await NIOThreadPool.singleton.runIfActive({ try reader.next() }) {
          try await send(piece, to: writer)
          onPiece()
        }
      }
    }
  }

  private func send(_ piece: [UInt8], to writer: HTTPClient.Body.StreamWriter) async throws {
    let taken = HTTPClient.defaultEventLoopGroup.any().makePromise(of: Void.self)
    let isOver = state.withLock { state in
      if !state.isOver { state.piece = taken }
      return state.isOver
    }
    guard !isOver else {
      taken.fail(CancellationError())
      throw CancellationError()
    }
    writer.write(.byteBuffer(ByteBuffer(bytes: piece))).cascade(to: taken)
    try await taken.futureResult.get()
  }

  /// Ends the sending. After a response that comes before the end of the request, the client takes no further pieces,
  /// and the futures of its writer stay unfulfilled.
  func stop() {
    state.withLock { state in
      state.isOver = true
      return state.piece.take()
    }?.fail(CancellationError())
  }
}
