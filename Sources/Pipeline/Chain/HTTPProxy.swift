import Foundation

/// An HTTP or SOCKS5 proxy.
///
/// An HTTP proxy tunnels TLS connections (`CONNECT`) and forwards plain requests, which it can
/// read. A SOCKS5 proxy tunnels both, and resolves the server's name itself.
public struct HTTPProxy: Sendable, Hashable {
  /// The protocol of a proxy.
  public enum Kind: Sendable, Hashable {
    /// HTTP or SOCKS5.
    case http, socks5
  }

  /// The protocol of the proxy. HTTP by default.
  public var kind = Kind.http
  /// The host name or IP address, without brackets.
  public var host: String
  /// The TCP port.
  public var port: Int
  /// The user name; `nil` without authentication.
  public var user: String?
  /// The password; `nil` without authentication.
  public var password: SecretString?

  /// The error for text that is not a proxy URL. Does not contain the text.
  public struct InvalidURL: Error, Sendable, Hashable {
    /// What is wrong with the text.
    public var reason: String
  }

  /// Parses `http://user:password@host:port` or `socks5h://host:port`.
  ///
  /// As in curl, the scheme is `http` and the port 1080 by default.
  ///
  /// - Parameter url: The text of the URL.
  /// - Throws: ``InvalidURL`` if the text is not the URL of a supported proxy.
  public init(url: String) throws(InvalidURL) {
    var rest = url[...]
    if let mark = url.firstRange(of: "://") {
      let scheme = url[..<mark.lowerBound].lowercased()
      switch scheme {
      case "http": break
      // Either way, the proxy resolves host names.
      case "socks5", "socks5h": kind = .socks5
      default:
        throw InvalidURL(
          reason: "the schemes http and socks5h are supported, not \(scheme) (connections to "
            + "servers are encrypted inside of the tunnel)")
      }
      rest = url[mark.upperBound...]
    }
    var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = authority.lastIndex(of: "@") {
      let parts = authority[..<at].split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      user = parts.first.map { Self.decoded($0) }
      password = parts.count > 1 ? SecretString(Self.decoded(parts[1])) : nil
      authority = authority[authority.index(after: at)...]
      guard kind == .http else {
        throw InvalidURL(reason: "a name and password for a SOCKS proxy are not supported")
      }
    }
    let parts = Authority(authority)
    host = parts.host
    guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw InvalidURL(reason: "it has no host")
    }
    guard let port = Int(parts.portText ?? "1080"), (1...65_535).contains(port) else {
      throw InvalidURL(reason: "its port is not a number from 1 to 65535")
    }
    self.port = port
  }

  /// As curl decodes it: a percent sign without two digits is itself.
  private static func decoded(_ text: Substring) -> String {
    let parts = text.split(separator: "%", omittingEmptySubsequences: false)
    let escapes = parts.dropFirst().map { part in
      (part.count > 1 && part.prefix(2).allSatisfy(\.isHexDigit) ? "%" : "%25") + part
    }
    return (parts[0] + escapes.joined()).removingPercentEncoding ?? String(text)
  }
}

extension HTTPProxy: CustomStringConvertible {
  /// Host and port, without credentials.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The proxies for each scheme, and the hosts that are reached without one.
public struct HTTPProxies: Sendable, Hashable {
  /// The proxy for `http` URLs; `nil` connects directly.
  public var http: HTTPProxy?
  /// The proxy for `https` URLs; `nil` connects directly.
  public var https: HTTPProxy?
  /// The hosts that are reached without a proxy: host names, which include their subdomains; IP
  /// addresses; address ranges such as `10.0.0.0/8`; and `*` for all.
  public var exceptions: [String]

  /// Creates a set of proxies; without arguments, every connection is direct.
  ///
  /// - Parameters:
  ///   - http: The proxy for `http` URLs.
  ///   - https: The proxy for `https` URLs.
  ///   - exceptions: The hosts that are reached without a proxy.
  public init(http: HTTPProxy? = nil, https: HTTPProxy? = nil, exceptions: [String] = []) {
    self.http = http
    self.https = https
    self.exceptions = exceptions
  }

  /// The proxies of the environment, by the rules of curl: `https_proxy` or `HTTPS_PROXY`,
  /// `http_proxy` in lower case only (`HTTP_PROXY` may come from the request field `Proxy`),
  /// `all_proxy` or `ALL_PROXY`, `no_proxy` or `NO_PROXY`.
  ///
  /// https://everything.curl.dev/usingcurl/proxies/env.html
  public init(
    environment variable: (_ name: String) -> String?
  ) throws(HTTPProxy.InvalidURL) {
    func proxy(_ names: String...) throws(HTTPProxy.InvalidURL) -> HTTPProxy? {
      for name in names {
        guard let text = variable(name), !text.isEmpty else { continue }
        do throws(HTTPProxy.InvalidURL) {
          return try HTTPProxy(url: text)
        } catch {
          throw HTTPProxy.InvalidURL(reason: "the variable \(name): \(error.reason)")
        }
      }
      return nil
    }
    http = try proxy("http_proxy", "all_proxy", "ALL_PROXY")
    https = try proxy("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    exceptions = (variable("no_proxy") ?? variable("NO_PROXY") ?? "")
      .split { $0 == "," || $0.isWhitespace }.map(String.init)
  }

  /// The proxy for a server; `nil` for a direct connection.
  ///
  /// - Parameters:
  ///   - scheme: The scheme of the URL, `http` or `https`.
  ///   - authority: The host, with its port if the URL has one.
  public func proxy(scheme: String, authority: String) -> HTTPProxy? {
    guard let proxy = scheme == "https" ? https : http else { return nil }
    let host = Authority(authority).host.lowercased()
    let address = AddressRange.address(host)
    let isExcepted = exceptions.contains { exception in
      if exception == "*" { return true }
      if let address { return AddressRange(exception)?.contains(address) ?? false }
      let name = exception.lowercased().drop { $0 == "." || $0 == "[" }.filter { $0 != "]" }
      return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
    }
    return isExcepted ? nil : proxy
  }
}

/// The addresses that share a prefix, such as `10.0.0.0/8`, or a single address.
private struct AddressRange {
  private let first: [UInt8]
  private let bits: Int

  init?(_ text: String) {
    let parts = text.filter { $0 != "[" && $0 != "]" }
      .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first.flatMap({ Self.address(String($0)) }) else { return nil }
    let all = first.count * 8
    guard let bits = parts.count == 1 ? all : Int(parts[1]), (0...all).contains(bits) else {
      return nil
    }
    self.first = first
    self.bits = bits
  }

  /// The bytes of an IPv4 or IPv6 address.
  static func address(_ text: String) -> [UInt8]? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }

  func contains(_ address: [UInt8]) -> Bool {
    guard address.count == first.count else { return false }
    return zip(first, address).enumerated().allSatisfy { index, pair in
      let left = min(max(bits - index * 8, 0), 8)
      return pair.0 >> (8 - left) == pair.1 >> (8 - left)
    }
  }
}

/// Settings of connections and of the connection pool.
public struct HTTPConnection: Sendable, Hashable {
  /// The settings of TLS connections.
  public var tls = TLSSettings()
  /// The proxies; none by default.
  public var proxies = HTTPProxies()
  /// The path of the Unix domain socket that connections are made to instead of the URL's host; `nil`
  /// uses the network. Proxies are not used with it.
  public var unixSocket: String?
  /// Whether HTTP/2 is used with servers that offer it over TLS. `true` by default.
  public var usesHTTP2 = true
  /// The most connections to one HTTP/1.1 server. 256 by default.
  public var maxPerHost = 256
  /// The time after which an idle connection is closed. 60 s by default.
  public var keepAlive: Duration = .seconds(60)
  /// Whether compressed responses are requested and decompressed. `true` by default.
  public var decompresses = true

  /// Creates settings with the default values.
  public init() {}
}

/// Settings of TLS connections.
public struct TLSSettings: Sendable, Hashable {
  /// The path of a PEM file with the trusted certificate authorities; `nil` uses those of the
  /// system.
  public var authorityFile: String?
  /// The path of a PEM file with the client's certificate chain.
  public var certificateFile: String?
  /// The path of a PEM file with the private key of the client's certificate.
  public var keyFile: String?
  /// The server name for SNI and certificate verification; `nil` uses the URL's host.
  ///
  /// For servers that are reached by an IP address or under another name.
  public var serverName: String?
  /// Whether the server's certificate and host name are verified. `true` by default; without it anyone
  /// on the network can read and change what is sent.
  public var verifiesServer = true
  /// The lowest TLS version that is accepted. TLS 1.2 by default.
  public var minimumVersion = Version.tls12

  /// A version of TLS.
  public enum Version: String, Sendable, Hashable, CaseIterable {
    /// TLS 1.2.
    case tls12 = "1.2"
    /// TLS 1.3.
    case tls13 = "1.3"
  }

  /// Creates settings with the default values.
  public init() {}
}
