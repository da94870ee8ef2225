/// Deliberate failures of the server, to show how a client's chain handles them.
///
/// A request asks for them in the URL (`/graphql?status=503&times=2`) or in header fields
/// (`X-Demo-Status: 503`, `X-Demo-Times: 2`); the program sets them for all requests with
/// ``DemoServer/Configuration/misbehaviour`` or ``LiveDemoServer/misbehave(_:)``. The settings of a
/// request are merged with those of the program, and take precedence.
///
/// Applied in this order: the delay, the authorization, then the first of `html`, `status`, `empty`
/// and `garbage`, or else the regular response with `errors`, `contentType` and `truncate`.
///
/// A WebSocket connection is configured by its handshake. The delay is that of its acknowledgement,
/// `times` counts connections, the bearer token may also be the `Authorization` of the connection's
/// payload, and a setting that makes a request fail makes the handshake fail.
public struct Misbehaviour: Sendable, Hashable {
  /// The status of the response, 200 to 599. Unless it is a success, the body has a GraphQL error.
  public var status: Int?
  /// Limits the misbehaviour to this number of requests with the same ``key``; `nil` for no limit.
  public var times: Int?
  /// The key by which ``times`` counts requests; `nil` is the empty key.
  public var key: String?
  /// The delay before anything else; one minute at most.
  public var delay: Duration?
  /// The number of bytes of the body after which the connection is closed.
  public var truncate: Int?
  /// The bearer token of the header field `Authorization`; requests without it get a 401.
  public var auth: String?
  /// The `Retry-After` of failures, in seconds. On its own, the response is a 503.
  public var retryAfter: Int?
  /// Whether to respond with the HTML page of a proxy; with status 502 unless ``status`` is set.
  public var html = false
  /// The media type that the response claims to have.
  public var contentType: String?
  /// Whether to respond with an empty body.
  public var empty = false
  /// Whether to respond with a body that is not JSON.
  public var garbage = false
  /// Whether the first nullable field of the operation fails: partial data with an error.
  public var errors = false
  /// The delay after each part of a response in several parts; one minute at most.
  public var partDelay: Duration?
  /// The number of events of a subscription, or parts of a response, after which the connection is
  /// closed: with a close frame if ``closeCode`` is set, otherwise without.
  public var closeAfter: Int?
  /// The close code of a WebSocket connection, which is closed with it after ``closeAfter`` events
  /// or, without a number, as soon as it is acknowledged.
  public var closeCode: Int?
  /// The number of events or parts after which nothing is sent, and the connection stays open.
  public var stallAfter: Int?
  /// Whether a WebSocket connection is never acknowledged.
  public var noAck = false
  /// Whether neither pings of the protocol nor of WebSocket are answered.
  public var noPong = false
  /// The only subprotocol that WebSocket connections may use; `none` refuses all.
  public var subprotocol: String?

  /// No misbehaviour.
  public init() {}

  /// Whether there is no misbehaviour.
  public var isNone: Bool { self == Misbehaviour() }
}
