import GQLRunSupport
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Why the body of a response ended before its end.
///
/// The HTTP client discards the parts that it could not deliver yet when a connection fails. So ``ResponsePartHandler``
/// ends the body instead, and its last part is this error: an empty part, which no server sends, precedes it.
struct BodyLoss: Error, Sendable, Hashable {
  enum Kind: UInt8 {
    /// The connection or stream was closed.
    case lost
    /// The server violated the protocol.
    case http1, http2
  }

  let kind: Kind
  let reason: String

  init(_ error: any Error) {
    switch error {
    case let error as HTTPParserError where error != .invalidEOFState:
      (kind, reason) = (.http1, ErrorWords.text(error))
    case let error as IOError: (kind, reason) = (.lost, TransportFailures.reason(error))
    case let error as NIOHTTP2Errors.StreamClosed:
      let name = TransportFailures.name(error.errorCode)
      (kind, reason) = (.lost, "the server ended the stream (\(name))")
    case is any NIOHTTP2Error: (kind, reason) = (.http2, ErrorWords.text(error))
    default: (kind, reason) = (.lost, "it was closed")
    }
  }

  /// The error as the part of a body.
  var part: ByteBuffer {
    var part = ByteBuffer(integer: kind.rawValue)
    part.writeString(reason)
    return part
  }

  init(part: ByteBuffer) {
    var part = part
    kind = part.readInteger().flatMap(Kind.init) ?? .lost
    reason = String(buffer: part)
  }
}
