import AsyncHTTPClient
import GQLRunPipeline
import HTTPTypes
import NIOCore
import NIOPosix
import NIOSOCKS

/// Maps the errors of proxies.
extension TransportFailures {
  func connection(_ error: NIOConnectionError, to proxy: HTTPProxy) -> ChainError {
    if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
      return refused(by: proxy, "the name \(proxy.host) has no address")
    }
    let causes = error.connectionErrors.map { Self.reason(anyOf: $0.error) }
    return refused(by: proxy, causes.first ?? "no address answered")
  }

  func refused(by proxy: HTTPProxy, _ reason: String) -> ChainError {
    failure(
      .proxyFailed,
      "cannot connect to the proxy \(proxy): \(reason); it comes from --proxy, the option proxy of fetch, "
        + "or from variables such as HTTPS_PROXY", .notSent)
  }

  /// The error of a proxy that opened no tunnel; `nil` for other errors.
  func client(_ error: HTTPClientError, through proxy: HTTPProxy) -> ChainError? {
    switch error {
    case .proxyAuthenticationRequired: return wantsCredentials(proxy)
    case .invalidProxyResponse:
      return failure(
        .proxyFailed,
        "the proxy \(proxy) opened no tunnel to \(origin): it refused, or is not an HTTP proxy",
        .notSent)
    case .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
      return failure(
        .proxyFailed,
        "the proxy \(proxy) opened no tunnel to \(origin) within \(limits.connect.optionText)",
        .notSent)
    case .connectTimeout:
      return failure(
        .proxyFailed, "no connection to the proxy \(proxy) within \(limits.connect.optionText)",
        .notSent)
    default: return nil
    }
  }

  func wantsCredentials(_ proxy: HTTPProxy) -> ChainError {
    failure(
      .proxyFailed,
      "the proxy \(proxy) requires credentials, or rejected those that were sent (407): put them "
        + "into its URL, http://user:password@\(proxy)", .notSent)
  }

  /// The error in the response of a forwarding proxy; `nil` if the response is not about the proxy.
  @inline(never)
  func refusal(by response: HTTPResponse) -> ChainError? {
    guard route.setting.isPassedOn, let proxy, response.status.code == 407 else { return nil }
    return wantsCredentials(proxy)
  }

  /// The error of the SOCKS handshake; `nil` for other errors.
  func socks(_ error: any Error) -> ChainError? {
    guard let proxy, proxy.kind == .socks5 else { return nil }
    switch error {
    case let error as SOCKSError.ConnectionFailed:
      return failure(
        .proxyFailed,
        "the proxy \(proxy) opened no connection to \(origin): \(Self.reason(error.reply))",
        .notSent)
    case is SOCKSError.NoValidAuthenticationMethod, is SOCKSError.InvalidAuthenticationSelection:
      return failure(
        .proxyFailed,
        "the proxy \(proxy) requires credentials, which is not supported for SOCKS", .notSent)
    case is SOCKSError.InvalidProtocolVersion, is SOCKSError.InvalidReservedByte,
      is SOCKSError.InvalidAddressType,
      is SOCKSError.InvalidClientState, is SOCKSError.UnexpectedRead:
      return failure(
        .proxyFailed, "the proxy \(proxy) does not answer with SOCKS 5; is it an HTTP proxy?",
        .notSent)
    default: return nil
    }
  }

  /// https://www.rfc-editor.org/rfc/rfc1928#section-6
  private static func reason(_ reply: SOCKSServerReply) -> String {
    switch reply.value {
    case 2: "its rules do not allow that"
    case 3: "the network cannot be reached"
    case 4: "the host cannot be reached, or its name has no address"
    case 5: "connection refused; is the server running?"
    default: "it gave the reason \(reply.value)"
    }
  }
}
