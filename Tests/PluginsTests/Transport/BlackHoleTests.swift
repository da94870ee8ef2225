import Foundation
import Pipeline
import Testing

/// A port that takes no more connections and refuses none: its queue is full.
private final class BlackHole: Sendable {
  let port: Int
  private let descriptors: [Int32]

  init?() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 0) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else { return nil }
    port = Int(UInt16(bigEndian: address.sin_port))
    var open = [listener]
    for _ in 0..<4 {
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      _ = fcntl(client, F_SETFL, O_NONBLOCK)
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, length) }
      }
      open.append(client)
    }
    descriptors = open
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}

@Suite(.timeLimit(.minutes(1))) struct BlackHoleTests {
  @Test func `fault 31: a server that takes no connection is given up after connect_timeout`()
    async throws
  {
    let hole = try #require(BlackHole())
    let chain = Bench.plain.replacing("- fetch", with: "- fetch: { connect_timeout: 200ms }")
    try await Bench.with(chain, url: "http://127.0.0.1:\(hole.port)/graphql") { bench in
      try await bench.prime()
      let before = await bench.dump()
      let outcome = await bench.run(policy: .networkOnly)
      #expect(outcome.code == .connectionFailed, "\(outcome.message)")
      #expect(outcome.failure?.delivery == .notSent)
      #expect(
        outcome.message.contains("no connection to http://127.0.0.1:\(hole.port) within 200ms"))
      #expect(await bench.dump() == before)
      expectNoSecrets(outcome, bench)
    }
  }
}
