/// How connections are made and kept.
public struct HTTPConnection: Sendable, Hashable {
  public var tls = TLSSettings()
  public var proxies = HTTPProxies()
  /// Whether HTTP/2 is spoken with servers that offer it over TLS.
  public var usesHTTP2 = true
  /// The most connections to one server that speaks HTTP/1.1.
  public var maximumPerHost = 256
  /// How long a connection without work is kept.
  public var keepAlive: Duration = .seconds(60)
  /// Whether compressed bodies are asked for and unpacked.
  public var decompresses = true

  public init() {}
}

/// What a secure connection asks of the server, and shows of itself. The server's certificate and
/// name are always checked.
public struct TLSSettings: Sendable, Hashable {
  /// A file with the certificates of the authorities that are trusted, instead of the system's.
  public var authorityFile: String?
  /// A file with the certificate chain that this client shows.
  public var certificateFile: String?
  /// A file with the key of that certificate.
  public var keyFile: String?
  public var minimumVersion = Version.v1_2

  public enum Version: String, Sendable, Hashable, CaseIterable {
    case v1_2 = "1.2"
    case v1_3 = "1.3"
  }

  public init() {}
}

/// A proxy that tunnels connections, as `CONNECT` asks it to.
public struct HTTPProxy: Sendable, Hashable {
  public var host: String
  public var port: Int
  public var user: String?
  public var password: SecretString?

  /// Why a text does not name a proxy. Does not repeat the text.
  public struct InvalidURL: Error, Sendable, Hashable {
    public var reason: String
  }

  /// Reads `http://user:password@host:port`; the scheme may be left out, the port is 1080 by default,
  /// as curl has it.
  public init(url: String) throws(InvalidURL) {
    var rest = url[...]
    if let mark = url.firstRange(of: "://") {
      let scheme = url[..<mark.lowerBound].lowercased()
      guard scheme == "http" else {
        throw InvalidURL(
          reason: "only proxies that are spoken to in plain HTTP are supported, not \(scheme): the "
            + "connection to the server is encrypted inside of the tunnel")
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
    }
    let bracket = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : nil
    let colon = authority[(bracket ?? authority.startIndex)...].firstIndex(of: ":")
    let name = authority[..<(colon ?? authority.endIndex)]
    host = String(bracket == nil ? name : name.dropFirst().dropLast())
    guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw InvalidURL(reason: "it names no host")
    }
    let digits = colon.map { authority[authority.index(after: $0)...] } ?? "1080"
    guard let port = Int(digits), (1...65_535).contains(port) else {
      throw InvalidURL(reason: "its port is no number from 1 to 65535")
    }
    self.port = port
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension HTTPProxy: CustomStringConvertible {
  /// Without credentials.
  public var description: String { "\(host):\(port)" }
}

/// Which requests go through which proxy.
public struct HTTPProxies: Sendable, Hashable {
  public var http: HTTPProxy?
  public var https: HTTPProxy?
  /// Names of hosts that are asked directly; each stands for its subdomains, too, and `*` for all.
  public var exceptions: [String]

  public init(http: HTTPProxy? = nil, https: HTTPProxy? = nil, exceptions: [String] = []) {
    self.http = http
    self.https = https
    self.exceptions = exceptions
  }

  /// The proxies that the environment names, as curl reads it: `https_proxy` or `HTTPS_PROXY`,
  /// `http_proxy` in lower case only (`HTTP_PROXY` may come from a request's field `Proxy`),
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

  /// The proxy for a server, or `nil` for one that is asked directly.
  ///
  /// - Parameter authority: The host with its port, if there is one.
  public func proxy(scheme: String, authority: String) -> HTTPProxy? {
    guard let proxy = scheme == "https" ? https : http else { return nil }
    let host =
      authority.hasPrefix("[")
      ? authority.dropFirst().prefix { $0 != "]" }.lowercased()
      : authority.prefix { $0 != ":" }.lowercased()
    let isExcepted = exceptions.contains { exception in
      if exception == "*" { return true }
      let name = exception.lowercased().drop { $0 == "." || $0 == "[" }.filter { $0 != "]" }
      return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
    }
    return isExcepted ? nil : proxy
  }
}
