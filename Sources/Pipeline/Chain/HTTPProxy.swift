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
    let bracket = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : nil
    let colon = authority[(bracket ?? authority.startIndex)...].firstIndex(of: ":")
    let name = authority[..<(colon ?? authority.endIndex)]
    host = String(bracket == nil ? name : name.dropFirst().dropLast())
    guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw InvalidURL(reason: "it has no host")
    }
    let digits = colon.map { authority[authority.index(after: $0)...] } ?? "1080"
    guard let port = Int(digits), (1...65_535).contains(port) else {
      throw InvalidURL(reason: "its port is not a number from 1 to 65535")
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
  /// Host and port, without credentials.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
