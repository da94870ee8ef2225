public import HTTPTypes

/// The URL that operations are sent to, with header fields and method.
public struct Endpoint: Sendable, Hashable {
  /// The HTTP method of queries. Mutations and subscriptions are always sent with POST.
  public enum Method: String, Sendable, Hashable, CaseIterable {
    /// GET, with the request in the URL.
    case get = "GET"
    /// POST, with the request in the body.
    case post = "POST"
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
    guard Self.hasPossiblePort(authority) else {
      throw InvalidURL(reason: "its port is not a number from 1 to 65535")
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

  /// Whether the text after the host's colon can be a port. A port may be empty.
  ///
  /// https://www.rfc-editor.org/rfc/rfc3986#section-3.2.3
  private static func hasPossiblePort(_ authority: Substring) -> Bool {
    let bracket = authority.first == "[" ? authority.firstIndex(of: "]") : nil
    let rest = authority[(bracket ?? authority.startIndex)...]
    guard let colon = rest.firstIndex(of: ":") else { return true }
    let digits = rest[rest.index(after: colon)...]
    guard digits.allSatisfy({ ("0"..."9").contains($0) }) else { return false }
    return digits.isEmpty || (1...65_535).contains(Int(digits) ?? 0)
  }

  /// Text that should be a URL, for messages: without user, password and query.
  public static func shownText(_ url: String) -> String {
    let shown = url.prefix { $0 != "?" && $0 != "#" }
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
