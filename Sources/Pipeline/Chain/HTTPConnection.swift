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
  public var maximumPerHost = 256
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
