import AsyncHTTPClient
package import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOSSL

/// What a transport does, as it happens: for programs that show it.
package enum NetworkEvent: Sendable {
  /// A connection is ready for requests.
  case connected(NetworkConnection)
  /// The head of a request was sent, with all its header fields.
  case sent(HTTPRequest)
  /// The head of a response arrived.
  case received(HTTPResponse, version: String)
  /// The server has acknowledged a WebSocket connection to this origin.
  case socketOpened(String)
  /// A WebSocket connection to this origin has ended, or was not opened, for this reason.
  case socketClosed(String, String)
  /// An event stream for several subscriptions from this origin has begun.
  case eventStreamOpened(String)
  /// Such an event stream has ended, or did not begin, for this reason.
  case eventStreamClosed(String, String)
}

/// The facts about a new connection.
package struct NetworkConnection: Sendable {
  /// The address of the peer: IP address and port, or the path of a Unix domain socket. The peer may be
  /// a proxy. `nil` if it is unknown.
  package var peer: String?
  /// The version of TLS, such as `TLS 1.3`; `nil` for a plain connection.
  package var tls: String?
  /// The end of the validity of the server's certificate, in seconds since 1970.
  package var certificateEnd: Double?
  /// The version of HTTP.
  package var http: String

  /// Call it on the channel's event loop.
  init(_ channel: any Channel, http: String) {
    self.http = http
    peer = channel.remoteAddress.map { address in
      switch address {
      case .unixDomainSocket: address.pathname ?? ""
      case .v4, .v6: "\(address.ipAddress ?? "") port \(address.port ?? 0)"
      }
    }
    let pipeline = channel.pipeline.syncOperations
    switch try? pipeline.nioSSL_tlsVersion() {
    case .tlsv13: tls = "TLS 1.3"
    case .tlsv12: tls = "TLS 1.2"
    case .some: tls = "TLS"
    case nil: tls = nil
    }
    certificateEnd = (try? pipeline.nioSSL_peerCertificate()).flatMap { $0 }
      .map { Double($0.notValidAfter) }
  }
}

extension ResponseReader {
  /// Notes that the request is sent, and reports it as async-http-client has completed it.
  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
    noteHeadSent()
    guard let observer else { return }
    observer(
      .sent(
        HTTPRequest(
          method: HTTPRequest.Method(head.method.rawValue) ?? .post, scheme: nil, authority: nil,
          path: head.uri, headerFields: HTTPFields(head.headers))))
  }
}
