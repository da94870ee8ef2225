import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// A port that takes no more connections and refuses none: its queue is full.
private final class BlackHole: Sendable {
  let port: Int
  private let held: HeldPort
  private let clients: [Int32]

  init() throws {
    held = try HeldPort()
    port = held.number
    try #require(listen(held.descriptor, 0) == 0)
    let held = held
    clients = (0..<4).map { _ in held.connection() }
  }

  deinit { for client in clients { close(client) } }
}

@Suite(.timeLimit(.minutes(10))) struct BlackHoleTests {
  @Test func `fault 31: a server that takes no connection is given up after connect_timeout`()
    async throws
  {
    let hole = try BlackHole()
    let chain = Bench.fetching("connect_timeout: 200ms")
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
