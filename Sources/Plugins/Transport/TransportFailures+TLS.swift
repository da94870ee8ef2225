import Foundation
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP2
import NIOSSL

/// The cause of a failure that needs an inspection of the server's certificate.
struct CertificateRefused: Error, CustomStringConvertible {
  var description: String { "the server's certificate was refused" }
}

extension TransportFailures {
  /// Maps a TLS error; `nil` for other errors.
  func secure(_ error: any Error) -> ChainError? {
    switch error {
    case let error as NIOSSLError: return handshake("\(error)")
    case let error as BoringSSLError: return handshake("\(error)")
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return insecure(
        "its certificate is for another name"
          + (limits.connection.tls.serverName.map {
            " than \($0), the option tls.server_name of fetch"
          }
            ?? "; is the URL right, and is it the server you mean?"))
    case let error as NIOSSLExtraError:
      // The text after the name of the error.
      let text = "\(error)"
      return insecure(
        text.firstRange(of: ": ").map { String(text[$0.upperBound...]) } ?? ErrorWords.text(error))
    default: return nil
    }
  }

  private func insecure(_ reason: String, cause: (any Error)? = nil) -> ChainError {
    var error = failure(
      .tlsFailed, "no secure connection to \(origin): \(reason)", .notSent)
    error.cause = cause
    return error
  }

  private func handshake(_ text: String) -> ChainError {
    if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST")
      || text.contains("HTTPS_PROXY_REQUEST")
    {
      return insecure("it does not answer with TLS; is the URL's scheme and port right?")
    }
    if text.contains("CERTIFICATE_VERIFY_FAILED") {
      return insecure(Self.unknownAuthority, cause: CertificateRefused())
    }
    if text.contains("UNSUPPORTED_PROTOCOL") || text.contains("PROTOCOL_VERSION") {
      return insecure(
        "it does not support TLS \(limits.connection.tls.minimumVersion.rawValue) or newer; "
          + (limits.connection.tls.minimumVersion == .tls13
            ? "lower the option tls.min_version of fetch if 1.2 is enough"
            : "older versions are not safe"))
    }
    if text.contains("CERTIFICATE_REQUIRED") || text.contains("BAD_CERTIFICATE")
      || text.contains("HANDSHAKE_FAILURE")
    {
      return insecure(
        "it refused this client, and may require a client certificate (--cert, or the "
          + "option tls.client_certificate of fetch): \(Self.reason(text))")
    }
    return insecure(Self.reason(text))
  }

  /// The reason in an error of the TLS library, as words: `error:…:OPENSSL_internal:NO_SHARED_CIPHER at
  /// …` is `no shared cipher`.
  private static func reason(_ text: String) -> String {
    guard let start = text.firstRange(of: "OPENSSL_internal:")?.upperBound else {
      return "the TLS handshake failed"
    }
    let words = text[start...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return words.lowercased().replacing("_", with: " ")
  }

  private static let unknownAuthority =
    "its certificate is signed by an unknown authority; name a file with the authority's "
    + "certificate with --cacert, or in the option tls.ca_file of fetch"

  @inline(never)
  func unusable(_ file: TLSSettings.UnusableFile) -> ChainError {
    insecure(file.message)
  }

  /// A failure with the result of the certificate's inspection.
  func explained(_ error: ChainError) async -> ChainError {
    var explained = error
    explained.cause = nil
    // There is no inspection through a tunnel or over a socket.
    guard proxy == nil, route.unixSocket == nil, let (host, port) = address,
      let problem = await CertificateProbe.problem(
        host: host, name: limits.connection.tls.serverName, port: port,
        connect: .nanoseconds(limits.connect.nanoseconds),
        now: Date().timeIntervalSince1970)
    else { return explained }
    explained.message =
      "no secure connection to \(origin): its certificate \(problem); is this machine's clock "
      + "right?"
    return explained
  }

  private var address: (host: String, port: Int)? {
    let authority = request.head.authority ?? ""
    guard let url = URL(string: "https://\(authority)"), let host = url.host() else { return nil }
    return (host.filter { $0 != "[" && $0 != "]" }, url.port ?? 443)
  }
}

// MARK: HTTP/2

extension TransportFailures {
  /// Maps an error of an HTTP/2 connection or stream before the head of a response; `nil` for
  /// others.
  func multiplexed(_ error: any Error) -> ChainError? {
    switch error {
    case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
      // https://www.rfc-editor.org/rfc/rfc9113#section-8.7
      return failure(
        .connectionClosed,
        "\(origin) accepted no more requests on this connection (REFUSED_STREAM); it did not "
          + "process this one", .notSent)
    case let error as NIOHTTP2Errors.StreamClosed:
      return failure(
        .connectionClosed,
        "\(origin) ended the stream before it answered (\(Self.name(error.errorCode)))",
        .unknown)
    case is any NIOHTTP2Error:
      return failure(
        .malformedResponse, "\(origin) violated HTTP/2: \(ErrorWords.text(error))", .unknown)
    default: return nil
    }
  }

  static func name(_ code: NIOHTTP2.HTTP2ErrorCode) -> String {
    switch code {
    case .internalError: "INTERNAL_ERROR"
    case .cancel: "CANCEL"
    case .refusedStream: "REFUSED_STREAM"
    case .protocolError: "PROTOCOL_ERROR"
    case .noError: "NO_ERROR"
    default: "error \(code.networkCode)"
    }
  }
}
