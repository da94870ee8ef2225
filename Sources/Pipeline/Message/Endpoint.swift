public import GQLRunJSON
import GQLRunLanguage
public import HTTPTypes

/// The URL that operations are sent to, with header fields and method.
public struct Endpoint: Sendable, Hashable {
  /// The HTTP method of queries. Mutations and subscriptions are always sent with POST.
  public enum Method: String, Sendable, Hashable, CaseIterable {
    /// GET, with the request in the URL.
    case get = "GET"
    /// POST, with the request in the body.
    case post = "POST"
    /// QUERY, with the request in the body: safe like GET. An endpoint that does not support the method gets POST.
    ///
    /// https://www.rfc-editor.org/rfc/rfc10008
    case query = "QUERY"
  }

  /// The scheme: `http` or `https`; `ws` or `wss` send everything over WebSocket.
  public let scheme: String
  /// Host and port.
  public let authority: String
  /// Path and query; begins with `/`.
  public let path: String
  /// The header fields of every request.
  public var headers: HTTPFields
  /// The method of queries. POST by default.
  public var method: Method
  /// How subscriptions are sent; `nil` sends them like queries.
  public var subscriptions: Subscriptions?

  /// Whether everything is sent over WebSocket.
  public var isWebSocket: Bool { Self.webSocketSchemes.contains(scheme) }

  static let webSocketSchemes = ["ws", "wss"]

  /// The length of the longest host that a SOCKS proxy can be given; no name of the DNS is longer.
  private static let maxHostBytes = 255

  /// Parses an absolute URL with the scheme `http`, `https`, `ws` or `wss`.
  ///
  /// - Parameters:
  ///   - url: The text of the URL, in ASCII.
  ///   - headers: The header fields of every request.
  ///   - method: The method of queries.
  /// - Throws: ``InvalidURL`` if the text is not such a URL, or contains credentials.
  public init(
    url: String, headers: HTTPFields = [:], method: Method = .post
  ) throws(InvalidURL) {
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw InvalidURL(reason: "it contains characters that a URL must escape")
    }
    guard let mark = url.firstRange(of: "://") else {
      throw InvalidURL(reason: "it has no scheme: write `https://…`")
    }
    let scheme = url[..<mark.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" || Self.webSocketSchemes.contains(scheme) else {
      throw InvalidURL(reason: "only the schemes http, https, ws and wss are supported")
    }
    let rest = url[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.isEmpty, authority.first != ":" else {
      throw InvalidURL(reason: "it has no host")
    }
    guard !authority.contains("@") else {
      throw InvalidURL(
        reason: "it contains credentials, which are not sent: set an Authorization header instead")
    }
    let server = Authority(authority)
    // A port may be empty: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.3
    if let port = server.portText, !port.isEmpty {
      guard port.allSatisfy({ ("0"..."9").contains($0) }), (1...65_535).contains(Int(port) ?? 0)
      else { throw InvalidURL(reason: "its port is not a number from 1 to 65535") }
    }
    guard server.host.utf8.count <= Self.maxHostBytes else {
      throw InvalidURL(reason: "its host has more than \(Self.maxHostBytes) characters")
    }
    let path = rest[authority.endIndex...].prefix { $0 != "#" }
    self.scheme = scheme
    self.authority = String(authority)
    self.path = path.first == "/" ? String(path) : "/\(path)"
    self.headers = headers
    self.method = method
  }

  /// The same endpoint at another URL: with its header fields, its method and its transport of subscriptions.
  ///
  /// Subscriptions are sent to the new URL, too, because a URL of their own belongs to the former server.
  ///
  /// - Parameter url: The text of the URL, in ASCII.
  /// - Throws: ``InvalidURL`` if the text is not such a URL, or contains credentials.
  package func at(url: String) throws(InvalidURL) -> Endpoint {
    var result = try Endpoint(url: url, headers: headers, method: method)
    if let subscriptions {
      result.subscriptions = try Subscriptions(
        transport: subscriptions.transport,
        usesSingleConnection: subscriptions.usesSingleConnection,
        connectionParameters: subscriptions.connectionParameters)
    }
    return result
  }

  /// Text that should be a URL, for messages: without user, password and query.
  public static func shownText(_ url: String) -> String {
    let shown = url.prefix { $0 != "?" && $0 != "#" }
    // A password with one of these characters, which is not escaped.
    if url[shown.endIndex...].contains("@"), let scheme = shown.firstRange(of: "://"),
      shown[scheme.upperBound...].contains(":"), !shown[scheme.upperBound...].contains("/")
    {
      return "\(shown[..<scheme.upperBound])\(SecretString.redacted)"
    }
    guard let at = shown.lastIndex(of: "@") else {
      return shown.count < url.count ? "\(shown)?\(SecretString.redacted)" : url
    }
    let start = shown[..<at].firstRange(of: "://")?.upperBound ?? shown.startIndex
    return "\(shown[..<start])\(SecretString.redacted)\(shown[at...])"
  }

  /// The URL without its query, which may contain keys.
  public var shownURL: String {
    "\(scheme)://\(authority)\(path.prefix { $0 != "?" })"
  }

  /// The error for text that is not the URL of an endpoint. Does not contain the text.
  public struct InvalidURL: Error, Sendable, Hashable {
    /// What is wrong with the text.
    public var reason: String
  }
}

extension Endpoint {
  /// How subscriptions are sent.
  public struct Subscriptions: Sendable, Hashable {
    /// A protocol for subscriptions.
    public enum Transport: String, Sendable, Hashable, CaseIterable {
      /// WebSocket with either subprotocol; if the server opens none, server-sent events or multipart HTTP. The
      /// answer is remembered.
      case auto
      /// WebSocket with the current subprotocol.
      ///
      /// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
      case graphQLTransportWS = "graphql-transport-ws"
      /// WebSocket with the legacy subprotocol.
      ///
      /// https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md
      case graphQLWS = "graphql-ws"
      /// Server-sent events.
      case sse
      /// Multipart HTTP.
      case multipart

      /// The subprotocols that are offered, the preferred one first; empty for transports over HTTP.
      var subprotocols: [String] {
        switch self {
        case .auto: [Self.graphQLTransportWS.rawValue, Self.graphQLWS.rawValue]
        case .graphQLTransportWS, .graphQLWS: [rawValue]
        case .sse, .multipart: []
        }
      }
    }

    /// The URL; `nil` uses that of the endpoint, with the scheme of the transport.
    public let url: String?
    /// The protocol. `auto` by default.
    public var transport: Transport
    /// Whether all subscriptions share one event stream, with the transport `sse`: "single connection mode" of
    /// graphql-sse. Otherwise each one has its own response.
    ///
    /// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
    public var usesSingleConnection: Bool
    /// The payload of `connection_init` for connections over WebSocket; `nil` sends none.
    public var connectionParameters: ConnectionParameters?
    let target: Target?

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - url: The absolute URL with the scheme `http`, `https`, `ws` or `wss`; `nil` uses that of the endpoint.
    ///   - transport: The protocol.
    ///   - usesSingleConnection: Whether all subscriptions share one event stream, with the transport `sse`.
    ///   - connectionParameters: The payload of `connection_init`.
    /// - Throws: ``Endpoint/InvalidURL``.
    public init(
      url: String? = nil, transport: Transport = .auto, usesSingleConnection: Bool = false,
      connectionParameters: ConnectionParameters? = nil
    ) throws(InvalidURL) {
      self.url = url
      self.transport = transport
      self.usesSingleConnection = usesSingleConnection
      self.connectionParameters = connectionParameters
      target = try url.map { url throws(InvalidURL) in try Endpoint(url: url).target }
    }
  }

  /// The parts of a URL.
  struct Target: Sendable, Hashable {
    var scheme: String
    var authority: String
    var path: String
  }

  private var target: Target { Target(scheme: scheme, authority: authority, path: path) }

  /// The URL for operations of a type, for WebSocket or for HTTP.
  func target(for type: OperationType, isSocket: Bool) -> Target {
    let own = type == .subscription ? subscriptions?.target : nil
    var target = own ?? self.target
    let isSecure = target.scheme == "https" || target.scheme == "wss"
    target.scheme = (isSocket ? "ws" : "http") + (isSecure ? "s" : "")
    return target
  }

  /// The subprotocols that are offered for operations of a type; empty if they are sent over HTTP.
  func subprotocols(for type: OperationType) -> [String] {
    guard let subscriptions, type == .subscription || isWebSocket else {
      return isWebSocket ? Subscriptions.Transport.auto.subprotocols : []
    }
    let offered = subscriptions.transport.subprotocols
    return offered.isEmpty && type != .subscription
      ? Subscriptions.Transport.auto.subprotocols : offered
  }
}

/// The payload of `connection_init`, with which a client introduces itself to a server over WebSocket.
///
/// Its texts are templates, which are filled in for each connection.
public struct ConnectionParameters: Sendable, Hashable {
  private indirect enum Node: Hashable, ExpressibleByOption {
    case value(JSONValue)
    case text(Template)
    case list([Node])
    case object([Member])

    static func optionType(in range: ClosedRange<Never>?) -> OptionType { .jsonTemplate }
    static var unsetOption: Node { .value(.null) }
    var optionDefault: JSONValue? { nil }

    init(option: GivenOption) throws(OptionError) {
      switch option.node.content {
      case .sequence: self = .list(try [Node](option: option))
      case .mapping: self = .object(try Self.members(option))
      case .scalar:
        let value = option.node.json
        self = value.stringValue == nil ? .value(value) : .text(try Template(option: option))
      }
    }

    static func members(_ option: GivenOption) throws(OptionError) -> [Member] {
      try OptionMap<Node>(option: option).entries.map { Member(name: $0.name, value: $0.value) }
    }
  }

  private struct Member: Sendable, Hashable {
    var name: String
    var value: Node
  }

  private let node: Node

  /// Creates parameters that are the same for all requests.
  public init(_ value: JSONObject) { node = .value(.object(value)) }

  /// The JSON text for a request.
  func json(for request: GraphQLRequest) throws(ChainError) -> [UInt8] {
    do throws(Template.MissingValue) {
      return try Self.value(node, request.context).jsonBytes()
    } catch {
      throw ChainError(
        notSent: .invalidRequest, "`connection_params` of `endpoint` have no value: \(error)")
    }
  }

  private static func value(
    _ node: Node, _ context: RequestContext
  ) throws(Template.MissingValue) -> JSONValue {
    switch node {
    case .value(let value): return value
    case .text(let template): return .string(try template.text { context.named[$0] })
    case .list(let elements):
      var values: [JSONValue] = []
      for element in elements { values.append(try value(element, context)) }
      return .array(values)
    case .object(let members):
      var object = JSONObject()
      for member in members { object[member.name] = try value(member.value, context) }
      return .object(object)
    }
  }
}

extension ConnectionParameters: ExpressibleByOption {
  /// A mapping of any values, whose texts are templates.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .map(.jsonTemplate) }
  /// An empty mapping.
  public static var unsetOption: ConnectionParameters { ConnectionParameters([:]) }
  /// `nil`: parameters have no default.
  public var optionDefault: JSONValue? { nil }

  /// Creates parameters from a mapping.
  ///
  /// - Throws: `OptionError` for another value, or if a value in it cannot be created.
  public init(option: GivenOption) throws(OptionError) {
    node = .object(try Node.members(option))
  }
}
