import Foundation

/// A reserved port of this machine without a listener.
///
/// A port that a server has just released may be used by another test the next moment, and the system may choose
/// it for the peer of a connection. This one is bound and does not listen: connections are refused, no other
/// program gets it, and a server that is started with its number can use it (`SO_REUSEADDR`, `socket(7)`).
public final class HeldPort: Sendable {
  public let number: Int
  /// The socket, for tests that call `listen` themselves.
  public let descriptor: Int32

  public struct Failure: Error {
    public var code: Int32
  }

  public init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var on: Int32 = 1
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
          == 0 && bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      let code = errno
      close(descriptor)
      throw Failure(code: code)
    }
    self.descriptor = descriptor
    number = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// Begins a connection to the port, and does not wait for it. The caller closes the socket.
  public func connection() -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(number).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    _ = fcntl(client, F_SETFL, O_NONBLOCK)
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return client
  }

  /// Holds the port for as long as the work takes.
  public static func with<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (_ number: Int) async throws -> Result
  ) async throws -> Result {
    let port = try HeldPort()
    let result = try await body(port.number)
    withExtendedLifetime(port) {}
    return result
  }
}
