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
  /// The name that is asked for and must stand in the server's certificate, in the place of the URL's
  /// host: for servers that are reached by an address or through another name.
  public var serverName: String?
  public var minimumVersion = Version.tls12

  public enum Version: String, Sendable, Hashable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"
  }

  public init() {}
}
