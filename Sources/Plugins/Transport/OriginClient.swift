import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP1
import Synchronization

/// Cached client, proxy and URL parts for one origin.
///
/// Proxy, client and URL parts are the same for all requests to one origin.
final class OriginClient: Sendable {
  private struct Prepared: Sendable {
    var method: HTTPRequest.Method
    var path: String
    /// The header fields of ``request``, as the chain has them; `nil` before they are set.
    var fields: HTTPFields?
    /// The request without its body.
    var request: HTTPClient.Request

    func hasFields(_ other: HTTPFields) -> Bool {
      // Exactly: `==` ignores the case of names.
      fields?.elementsEqual(other) { $0.name.rawName == $1.name.rawName && $0.value == $1.value }
        ?? false
    }
  }

  let route: ConnectionRoute
  let client: HTTPClient
  let peer: Peer
  let names: FieldNames
  let observer: (@Sendable (NetworkEvent) -> Void)?
  private let scheme: String?
  private let authority: String?
  private let limits: HTTPLimits
  private let prepared = Locked<Prepared?>(nil)
  /// The number of exchanges that have a connection or wait for one.
  private let exchanges = Atomic(0)

  init(
    _ head: HTTPRequest, limits: HTTPLimits, route: ConnectionRoute, client: HTTPClient,
    peer: Peer, names: FieldNames, observer: (@Sendable (NetworkEvent) -> Void)?
  ) {
    self.observer = observer
    self.route = route
    self.client = client
    self.peer = peer
    self.names = names
    self.limits = limits
    scheme = head.scheme
    authority = head.authority
  }

  /// Whether a request has this origin and these settings.
  func matches(_ head: HTTPRequest, _ limits: HTTPLimits) -> Bool {
    authority == head.authority && scheme == head.scheme && self.limits.connect == limits.connect
      && self.limits.bodyBytes == limits.bodyBytes
      && self.limits.decompressionRatio == limits.decompressionRatio
      && self.limits.connection == limits.connection
  }

  func exchangeBegins() { exchanges.add(1, ordering: .relaxed) }

  func exchangeEnds() { exchanges.subtract(1, ordering: .relaxed) }

  /// The number of exchanges that wait for a connection, because each needs its own and all permitted ones are
  /// in use.
  var waiting: Int {
    // Without TLS, there is no HTTP/2.
    guard scheme == "http" || !limits.connection.usesHTTP2 || peer.usesHTTP1 else { return 0 }
    return max(0, exchanges.load(ordering: .relaxed) - limits.connection.maxPerHost)
  }

  /// The request for async-http-client, except a body with files.
  func outgoing(_ request: HTTPRequestMessage, userAgent: String) throws -> HTTPClient.Request {
    let (method, path) = (request.head.method, request.head.path ?? "/")
    let known = prepared.withLock { $0?.path == path && $0?.method == method ? $0 : nil }
    var prepared =
      try known ?? Prepared(method: method, path: path, request: route.request(method, path))
    // Most requests have the same fields as the one before.
    if !prepared.hasFields(request.head.headerFields) {
      prepared.fields = request.head.headerFields
      prepared.request.headers = route.headers(
        request.head, userAgent: userAgent, decompresses: limits.connection.decompresses)
      self.prepared.withLock { [prepared] in $0 = prepared }
    }
    var outgoing = prepared.request
    outgoing.body = request.body.map { .byteBuffer(ByteBuffer(bytes: $0)) }
    return outgoing
  }
}

/// The peer of connections.
final class Peer: Sendable {
  private let keeps = Atomic(false)
  private let isHTTP1 = Atomic(false)

  /// Whether the last response came over HTTP/1.1, where each exchange needs a connection.
  var usesHTTP1: Bool { isHTTP1.load(ordering: .relaxed) }

  func note(usesHTTP1: Bool) { isHTTP1.store(usesHTTP1, ordering: .relaxed) }

  /// Whether a connection stayed open after the last response.
  var keepsConnection: Bool { keeps.load(ordering: .relaxed) }

  func note(connectionIsKept: Bool) { keeps.store(connectionIsKept, ordering: .relaxed) }
}

/// A cache of parsed field names: nearly all responses have the same ones.
final class FieldNames: Sendable {
  private let known = Locked<[String: HTTPField.Name]>([:])
  /// The most cached names, so that a server cannot fill the memory with invented ones.
  private static let most = 256

  /// The header fields of a response without invalid ones.
  func fields(of headers: HTTPHeaders) -> HTTPFields {
    var fields = HTTPFields()
    fields.reserveCapacity(headers.count)
    known.withLock { known in
      for (text, value) in headers {
        if let name = known[text] {
          fields.append(HTTPField(name: name, value: value))
        } else if let name = HTTPField.Name(text) {
          if known.count < Self.most { known[text] = name }
          fields.append(HTTPField(name: name, value: value))
        }
      }
    }
    return fields
  }
}
