import GQLRunPipeline

/// A cookie of a server.
///
/// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.7
struct Cookie: Sendable, Equatable {
  var name: String
  var value: String
  /// The host, or the domain whose hosts get the cookie.
  var domain: String
  var isHostOnly: Bool
  var path: String
  var isSecure: Bool
  /// When it ends, in seconds since 1970; `nil` with the jar.
  var expires: Double?
  /// The order of creation, which a replacement keeps.
  var number = 0

  /// What identifies a cookie in a jar.
  ///
  /// As bytes, because strings that differ in the composition of a letter are equal.
  var key: [[UInt8]] {
    [name, domain, isHostOnly ? "host" : "domain", path].map { Array($0.utf8) }
  }

  func isExpired(at now: Double) -> Bool { expires.map { $0 <= now } ?? false }

  /// Whether the cookie belongs to a request.
  func belongs(to origin: CookieOrigin) -> Bool {
    (isHostOnly ? origin.host == domain : Self.matches(origin.host, domain: domain))
      && Self.matches(origin.path, prefix: path) && (!isSecure || origin.isSecure)
  }

  /// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.3
  static func matches(_ host: String, domain: String) -> Bool {
    host == domain
      || host.utf8.reversed().starts(with: ".\(domain)".utf8.reversed())
        && !CookieOrigin.isAddress(host)
  }

  /// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.4
  static func matches(_ path: String, prefix: String) -> Bool {
    path == prefix
      || path.utf8.starts(with: prefix.utf8)
        && (prefix.utf8.last == slash || path.utf8.dropFirst(prefix.utf8.count).first == slash)
  }
}

/// The part of a request's URL that decides about cookies.
struct CookieOrigin: Sendable {
  /// In lower case, without the port.
  var host: String
  /// Without the query.
  var path: String
  var isSecure: Bool

  init(scheme: String, authority: String, path: String) {
    host = Authority(authority).writtenHost.lowercased()
    self.path = String(path.prefix { $0 != "?" && $0 != "#" })
    isSecure = scheme == "https" || scheme == "wss"
  }

  /// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.4
  var defaultPath: String {
    guard path.hasPrefix("/"), let last = path.lastIndex(of: "/"), last != path.startIndex else {
      return "/"
    }
    return String(path[..<last])
  }

  /// Whether a host is an IP address, which has no subdomains.
  static func isAddress(_ host: String) -> Bool {
    host.hasPrefix("[") || host.split(separator: ".").last.map { UInt($0) != nil } ?? false
  }
}

extension Cookie {
  /// The longest name with value, and the longest value of an attribute, in bytes.
  private static let limits = (pair: 4096, attribute: 1024)
  /// The longest life, in seconds: 400 days.
  private static let longestLife = 400.0 * 86_400

  private static let slash = UInt8(ascii: "/")

  /// Reads a field `Set-Cookie`; `nil` for one that is refused.
  ///
  /// Delimiters are bytes, also before a combining character.
  ///
  /// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.6
  init?(setCookie text: String, from origin: CookieOrigin, now: Double) {
    guard !text.utf8.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) else { return nil }
    var parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      .map(Self.pair)[...]
    let first = parts.removeFirst()
    (name, value) = first.value.map { (first.name, $0) } ?? ("", first.name)
    guard name.utf8.count + value.utf8.count <= Self.limits.pair, !(name.isEmpty && value.isEmpty)
    else { return nil }
    (domain, isHostOnly, path, isSecure) = (origin.host, true, origin.defaultPath, false)
    var maxAge: Double?
    for part in parts {
      let content = part.value ?? ""
      guard content.utf8.count <= Self.limits.attribute else { continue }
      switch part.name.lowercased() {
      case "expires":
        if let date = HTTPDate.seconds(content) { expires = min(date, now + Self.longestLife) }
      case "max-age": maxAge = Self.seconds(content) ?? maxAge
      case "domain":
        let hasDot = content.utf8.first == UInt8(ascii: ".")
        // Of other letters, some have a lower case in ASCII.
        guard content.utf8.allSatisfy({ $0 < 128 }) else { return nil }
        let name = hasDot ? String(content.dropFirst()) : content
        (domain, isHostOnly) = name.isEmpty ? (origin.host, true) : (name.lowercased(), false)
      case "path": path = content.utf8.first == Self.slash ? content : origin.defaultPath
      case "secure": isSecure = true
      // No script reads the jar, and every request is the program's own.
      default: continue
      }
    }
    if let maxAge { expires = maxAge <= 0 ? 0 : now + min(maxAge, Self.longestLife) }
    guard isAllowed(for: origin) else { return nil }
  }

  /// Whether the server may set the cookie. Also makes a cookie for a public suffix one of the host.
  private mutating func isAllowed(for origin: CookieOrigin) -> Bool {
    if !isHostOnly {
      // A name without a dot is a public suffix. There is no list of the longer ones, such as `co.uk`.
      if !domain.contains("."), domain != origin.host { return false }
      guard Self.matches(origin.host, domain: domain) else { return false }
      if domain == origin.host, !domain.contains(".") || CookieOrigin.isAddress(domain) {
        isHostOnly = true
      }
    }
    if isSecure, !origin.isSecure { return false }
    // Servers read a cookie without a name as one with the name at the beginning of its value.
    let prefixed = (name.isEmpty ? value : name).lowercased().utf8
    if prefixed.starts(with: "__secure-".utf8) { return isSecure && !name.isEmpty }
    guard prefixed.starts(with: "__host-".utf8) else { return true }
    return isSecure && isHostOnly && path == "/" && !name.isEmpty
  }

  /// A number of seconds; a negative one ends the cookie.
  private static func seconds(_ text: String) -> Double? {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return text.hasPrefix("-") ? -1 : Double(digits)
  }

  /// A name and its value, without the spaces around them; the value is `nil` without a `=`.
  private static func pair(_ part: Substring.UTF8View) -> (name: String, value: String?) {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(part), nil) }
    return (trimmed(part[..<equals]), trimmed(part[equals...].dropFirst()))
  }

  private static func trimmed(_ text: Substring.UTF8View) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }
    let rest = text.drop(while: isBlank)
    guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(Substring(rest[...last]))
  }
}
