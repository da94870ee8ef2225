public import HTTPTypes

/// Where operations are sent.
public struct Endpoint: Sendable, Hashable {
  /// How queries are sent. Mutations and subscriptions are always sent by POST.
  public enum Method: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  /// `http` or `https`.
  public let scheme: String
  /// Host and port.
  public let authority: String
  /// Path and query; begins with `/`.
  public let path: String
  /// Sent with every request.
  public var headers: HTTPFields
  public var method: Method

  /// Takes an absolute `http` or `https` URL apart.
  public init(
    url: String, headers: HTTPFields = [:], method: Method = .post
  ) throws(InvalidURL) {
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw InvalidURL(reason: "it holds characters that a URL must escape")
    }
    guard let mark = url.firstRange(of: "://") else {
      throw InvalidURL(reason: "it has no scheme: write `https://…`")
    }
    let scheme = url[..<mark.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw InvalidURL(reason: "only http and https are spoken")
    }
    let rest = url[mark.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.isEmpty, authority.first != ":" else {
      throw InvalidURL(reason: "it names no host")
    }
    guard !authority.contains("@") else {
      throw InvalidURL(
        reason: "a name or password in it would not be sent: set an Authorization header")
    }
    guard Self.hasPossiblePort(authority) else {
      throw InvalidURL(reason: "its port is no number from 1 to 65535")
    }
    let path = rest[authority.endIndex...].prefix { $0 != "#" }
    self.scheme = scheme
    self.authority = String(authority)
    self.path = path.first == "/" ? String(path) : "/\(path)"
    self.headers = headers
    self.method = method
  }

  /// Whether what follows the host's colon, if there is one, can be a port. A port may be left empty.
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

  /// A text that should have been a URL, as far as it may be shown: without name, password and query.
  public static func shownText(_ url: String) -> String {
    let shown = url.prefix { $0 != "?" && $0 != "#" }
    guard let at = shown.lastIndex(of: "@") else {
      return shown.count < url.count ? "\(shown)?\(SecretString.redacted)" : url
    }
    let start = shown[..<at].firstRange(of: "://")?.upperBound ?? shown.startIndex
    return "\(shown[..<start])\(SecretString.redacted)\(shown[at...])"
  }

  /// The address without query, which may hold keys.
  public var shownURL: String {
    "\(scheme)://\(authority)\(path.prefix { $0 != "?" })"
  }

  /// Why a text is not the URL of an endpoint. Does not repeat the text.
  public struct InvalidURL: Error, Sendable, Hashable {
    public var reason: String
  }
}
