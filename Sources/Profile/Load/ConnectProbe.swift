import Foundation

/// Makes TCP connections to an endpoint and closes them, to see what one costs.
///
/// The HTTP library keeps connections and does not say when it makes one; so this is measured beside it,
/// without TLS and without a proxy.
package struct ConnectProbe {
  private let host: String
  private let port: String
  /// How long a connection may take.
  private static let limit: Int32 = 2000

  /// - Parameter url: An http or https URL.
  package init?(_ url: String) {
    guard let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty else {
      return nil
    }
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    port = String(parts.port ?? (parts.scheme == "https" ? 443 : 80))
  }

  /// The times of so many connections, in seconds; `nil` when one could not be made.
  package func times(_ count: Int) -> [Double]? {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &list) == 0, let list else { return nil }
    defer { freeaddrinfo(list) }
    var times: [Double] = []
    for _ in 0..<count {
      guard let time = Self.connect(list.pointee) else { return nil }
      times.append(time)
    }
    return times
  }

  private static func connect(_ address: addrinfo) -> Double? {
    let descriptor = socket(
      address.ai_family,
      address.ai_socktype | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
      address.ai_protocol)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let start = StageClock.wall()
    if Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) != 0 {
      guard errno == EINPROGRESS else { return nil }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&waiting, 1, limit) == 1 else { return nil }
      var failure: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size) == 0, failure == 0 else {
        return nil
      }
    }
    return Double(StageClock.wall() &- start) / 1e9
  }
}
