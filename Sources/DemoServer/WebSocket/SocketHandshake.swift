import HTTPTypes
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// What the handshake of a WebSocket connection decides.
struct DemoSocketHandshake: Sendable {
  let path: String
  let headers: HTTPFields
  let wish: Misbehaviour
  /// The first offered protocol that the server speaks; `nil` if there is none.
  let subprotocol: DemoSocketSession.Subprotocol?

  /// Reads a handshake; `nil` if it is one for ``DemoResponder``, which answers it like any request.
  ///
  /// - Parameter isCounted: Whether the connection counts for ``Misbehaviour/times``.
  init?(_ head: HTTPRequestHead, _ state: ServerState, isCounted: Bool) {
    let parts = head.uri.split(separator: "?", maxSplits: 1)
    guard head.method == .GET, parts.first == "/graphql" else { return nil }
    path = head.uri
    headers = HTTPFields(head.headers, splitCookie: false)
    var wish = state.misbehaviour
    do throws(Misbehaviour.Failure) {
      let query = parts.count > 1 ? String(parts[1]) : nil
      try wish.add(parameters: QueryParameters(query), headers: headers)
    } catch {
      return nil
    }
    if let times = wish.times, !state.isWithin(times, key: wish.key ?? "", isCounted: isCounted) {
      wish = Misbehaviour()
    }
    guard !wish.failsHandshakes else { return nil }
    self.wish = wish
    subprotocol = head.headers[canonicalForm: "sec-websocket-protocol"]
      .lazy.compactMap { DemoSocketSession.Subprotocol(rawValue: String($0)) }
      .first { wish.subprotocol == nil || wish.subprotocol == $0.rawValue }
  }

  /// The header fields of the response beside those that every handshake has.
  var responseHeaders: HTTPHeaders {
    var headers = HTTPHeaders()
    if let subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol.rawValue) }
    return headers
  }
}

extension Misbehaviour {
  /// Whether the response to a handshake is a failure instead of 101.
  fileprivate var failsHandshakes: Bool {
    html || empty || garbage || status != nil || retryAfter != nil
  }
}
