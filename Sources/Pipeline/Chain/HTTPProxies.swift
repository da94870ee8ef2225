#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
    let host =
      authority.hasPrefix("[")
      ? authority.dropFirst().prefix { $0 != "]" }.lowercased()
      : authority.prefix { $0 != ":" }.lowercased()
    let address = IPAddress(host)
    let isExcepted = exceptions.contains { exception in
      if exception == "*" { return true }
      if let address { return AddressRange(exception)?.contains(address) ?? false }
      let name = exception.lowercased().drop { $0 == "." || $0 == "[" }.filter { $0 != "]" }
      return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
    }
    return isExcepted ? nil : proxy
  }
}

/// The bytes of an IPv4 or IPv6 address.
private struct IPAddress: Equatable {
  var bytes: [UInt8]

  init?(_ text: some StringProtocol) {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, String(text), &bytes) == 1 {
        self.bytes = bytes
        return
      }
    }
    return nil
  }
}

/// The addresses that share a prefix, such as `10.0.0.0/8`, or a single address.
private struct AddressRange {
  private let first: IPAddress
  private let bits: Int

  init?(_ text: String) {
    let parts = text.filter { $0 != "[" && $0 != "]" }
      .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first.flatMap({ IPAddress($0) }) else { return nil }
    let all = first.bytes.count * 8
    guard let bits = parts.count == 1 ? all : Int(parts[1]), (0...all).contains(bits) else {
      return nil
    }
    self.first = first
    self.bits = bits
  }

  func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == first.bytes.count else { return false }
    return zip(first.bytes, address.bytes).enumerated().allSatisfy { index, pair in
      let left = min(max(bits - index * 8, 0), 8)
      return pair.0 >> (8 - left) == pair.1 >> (8 - left)
    }
  }
}
