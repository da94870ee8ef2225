import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import Pipeline

/// What the network's errors mean: one message, one code, and how far the request got.
struct TransportFailures: Sendable {
  let request: HTTPRequestMessage
  let limits: HTTPLimits

  private var origin: String {
    "\(request.head.scheme ?? "http")://\(request.head.authority ?? "")"
  }

  /// An error that came instead of the head of a response.
  func beforeHead(_ error: any Error) -> any Error {
    if error is CancellationError { return error }
    if let error = error as? ChainError { return error }
    switch error {
    case let error as NIOConnectionError: return connection(error)
    case let error as HTTPClientError: return client(error)
    case let error as HTTPParserError:
      return failure(
        .malformedResponse, "\(origin) did not answer with HTTP (\(error)); is the URL's scheme and port right?",
        .unknown)
    default: break
    }
    let name = String(reflecting: type(of: error))
    if name.contains("NIOSSL") || name.contains("BoringSSL") {
      return failure(
        .tlsFailed, "no secure connection to \(origin): \(error)", .notSent, cause: error)
    }
    if let error = error as? IOError {
      return failure(
        .connectionClosed, "the connection to \(origin) broke before an answer came: \(error)",
        .unknown, cause: error)
    }
    return failure(
      .connectionFailed, "the request to \(origin) failed: \(error)", .unknown, cause: error)
  }

  /// An error in the middle of a body.
  func inBody(_ error: any Error, received: Int) -> any Error {
    if error is CancellationError { return error }
    switch error as? HTTPClientError {
    case .readTimeout, .deadlineExceeded:
      return failure(
        .timedOut,
        "\(origin) fell silent after \(received) bytes of the body: nothing came for "
          + "\(limits.idle.optionText); raise the option idle_timeout of fetch if it is that slow",
        .answered)
    case .cancelled: return CancellationError()
    default:
      if "\(type(of: error))".contains("Decompression") {
        return failure(
          .malformedResponse,
          "the body from \(origin) cannot be decompressed, or is larger than \(limits.bodyBytes) "
            + "decompressed: \(error)", .answered, cause: error)
      }
      return failure(
        .truncatedResponse,
        "the connection to \(origin) broke after \(received) bytes of the body: \(error)",
        .answered, cause: error)
    }
  }

  func tooLarge(_ limit: Int) -> ChainError {
    failure(
      .limitExceeded,
      "the body from \(origin) is larger than \(ByteSize(bytes: limit)); raise the option max_body "
        + "of fetch if it may be", .answered)
  }

  func tookTooLong(received: Int) -> ChainError {
    failure(
      .timedOut,
      "\(origin) took longer than \(limits.total.optionText): \(received) bytes of the body had "
        + "arrived; raise the option timeout of fetch", .answered)
  }

  private func connection(_ error: NIOConnectionError) -> ChainError {
    if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
      return failure(
        .nameResolutionFailed,
        "the name \(error.host) has no address: \(error.dnsAError ?? error.dnsAAAAError.map { $0 as any Error } ?? error); is it spelled right?",
        .notSent)
    }
    let causes = error.connectionErrors.map { "\($0.error)" }
    return failure(
      .connectionFailed,
      "cannot connect to \(origin): \(causes.first ?? "no address answered"); is the server running?",
      .notSent)
  }

  private func client(_ error: HTTPClientError) -> any Error {
    switch error {
    case .cancelled: return CancellationError()
    case .connectTimeout:
      return failure(
        .connectionFailed,
        "no connection to \(origin) within \(limits.connect.optionText)", .notSent)
    case .tlsHandshakeTimeout:
      return failure(.tlsFailed, "no secure connection to \(origin) in time", .notSent)
    case .getConnectionFromPoolTimeout:
      return failure(
        .timedOut, "no connection to \(origin) became free in time", .notSent)
    case .deadlineExceeded:
      return failure(
        .timedOut, "\(origin) did not answer within \(limits.total.optionText)", .unknown)
    case .readTimeout:
      return failure(
        .timedOut, "\(origin) did not answer: nothing came for \(limits.idle.optionText)", .unknown)
    case .remoteConnectionClosed:
      return failure(
        .connectionClosed, "\(origin) closed the connection before it answered", .unknown)
    case .emptyHost, .emptyScheme, .invalidURL:
      return failure(.invalidRequest, "\(origin) is not a URL to send to", .notSent)
    default:
      return failure(
        .connectionFailed, "the request to \(origin) failed: \(error.shortDescription)", .unknown,
        cause: error)
    }
  }

  private func failure(
    _ code: ChainError.Code, _ message: String, _ delivery: ChainError.Delivery,
    cause: (any Error)? = nil
  ) -> ChainError {
    ChainError(.transport, code, message, cause: nil, delivery: delivery)
  }
}
