import AsyncHTTPClient
import GQLRunPipeline
import NIOCore
import NIOPosix

extension MultipartBody {
  /// The body for the HTTP client: read piece by piece on a thread for files, each after the
  /// connection has taken the one before.
  ///
  /// - Parameter onPiece: Called when the connection has taken a piece.
  func sent(onPiece: @escaping @Sendable () -> Void) -> HTTPClient.Body {
    .stream(contentLength: Int64(count)) { writer in
      HTTPClient.defaultEventLoopGroup.any().makeFutureWithTask {
        let reader = makeReader()
        while let piece = try await NIOThreadPool.singleton.runIfActive({ try reader.next() }) {
          try await writer.write(.byteBuffer(ByteBuffer(bytes: piece))).get()
          onPiece()
        }
      }
    }
  }
}
