/// How the server is to misbehave, to show what a client's chain does about it.
///
/// Asked for by a request, in the URL (`/graphql?status=503&times=2`) or in header fields
/// (`X-Demo-Status: 503`, `X-Demo-Times: 2`); or by the program, for all requests, with
/// ``DemoServer/Configuration/misbehaviour`` and ``LiveDemoServer/misbehave(_:)``. What the request asks
/// for is added to what the program has set.
///
/// In this order: the delay, the authorization, then the first of `html`, `status`, `empty`, `garbage`,
/// else the true answer with `errors`, `contentType` and `truncate` applied to it.
public struct Misbehaviour: Sendable, Hashable {
  /// Answers with this status, from 200 to 599. Unless it is a success the body is a GraphQL error.
  public var status: Int?
  /// Misbehaves only for the first so many requests with the same ``key``.
  public var times: Int?
  /// What ``times`` counts by; empty by default.
  public var key: String?
  /// Waits so long before anything else. One minute at most.
  public var delay: Duration?
  /// Closes the connection after so many bytes of the body.
  public var truncate: Int?
  /// Answers with 401 unless the request has the header field `Authorization: Bearer` with this token.
  public var auth: String?
  /// Adds `Retry-After` with so many seconds to a failure; alone it makes a 503.
  public var retryAfter: Int?
  /// Answers with a proxy's HTML page for people, and 502 unless ``status`` says otherwise.
  public var html = false
  /// The media type the answer claims to have.
  public var contentType: String?
  /// Answers with an empty body.
  public var empty = false
  /// Answers with a body that is not JSON.
  public var garbage = false
  /// Makes the first nullable field of the operation fail: partial data and an error.
  public var errors = false

  public init() {}

  /// Whether nothing is asked for.
  public var isNone: Bool { self == Misbehaviour() }
}
