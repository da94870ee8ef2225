import Testing

@testable import GQLRunCache

/// Tasks that wait for the transaction of another, in every store.
@Suite("Waiting to write", .timeLimit(.minutes(10)))
struct WaitingTests {
  @Test(
    "a cancelled task stops waiting, and the next one gets its turn", arguments: StoreKind.allCases)
  func cancellation(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let open = try await store.records.begin()
      for pauses in [0, 1, 100] {
        let waiting = Task { _ = try await store.records.begin() }
        for _ in 0..<pauses { await Task.yield() }
        waiting.cancel()
        let error = await #expect(throws: CacheError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
      }
      let clearing = Task { try await store.clear() }
      for _ in 0..<100 { await Task.yield() }
      clearing.cancel()
      let error = await #expect(throws: CacheError.self) { try await clearing.value }
      #expect(error?.code == .cancelled)
      let next = Task { try await store.records.begin() }
      await open.rollback()
      await (try await next.value).rollback()
    }
  }

  @Test(
    "a transaction that is forgotten while it is open lets the next one begin",
    arguments: StoreKind.allCases)
  func forgotten(kind: StoreKind) async throws {
    try await kind.withStore { store in
      _ = try await store.records.begin()
      await (try await store.records.begin()).rollback()
    }
  }
}
