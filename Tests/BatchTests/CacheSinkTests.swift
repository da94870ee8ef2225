import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("The cache as a sink", .timeLimit(.minutes(10)))
struct CacheSinkTests {
  private let path: Place

  init() throws {
    path = try Place(ids: 60)
    try path.write(Bench.cachingPipeline, to: "p.pipeline.yaml")
  }

  static let yaml = """
    version: 1
    pipeline: p.pipeline.yaml
    run: { concurrency: 4 }
    sinks: [cache]
    operations:
    \(Bench.users)
        policy: network-only
    """

  /// The tasks that the newest journal has as done.
  private func done() throws -> Int {
    let folder = path.file("runs")
    let name = try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".journal") }.max()
    let journal = try Journal(path: "\(folder)/\(try #require(name))", isReadOnly: true)
    defer { journal.close() }
    return try journal.counts()[.done]
  }

  @Test("a task is done only when the cache would keep its result through a power cut")
  func order() async throws {
    try await Bench.withServer(Self.yaml, in: path) { manifest, _ in
      #expect(manifest.pipeline.store.isRequired)
      let counts = Locked<[Int]>([])
      let base = try CacheStore.sqlite(path: path.file("cache.db"))
      let store = WatchedStore(base: base.records) { () throws(CacheError) in
        let count = (try? done()) ?? -1
        counts.withLock { $0.append(count) }
      }
      let summary = try await Bench.run(manifest, store: CacheStore(store))
      #expect(summary.counters.done == 60)
      // Whenever the cache was made durable, what it had got since the last time was not done yet.
      let seen = counts.withLock { $0 }
      #expect(seen.first == 0)
      #expect(seen.allSatisfy { (0..<60).contains($0) }, "\(seen)")
      #expect(try await base.statistics().types["User"]?.records == 60)
      try base.close()
    }
  }

  @Test("a cache that cannot be made durable stops the run, with nothing done")
  func failure() async throws {
    try await Bench.withServer(Self.yaml, in: path) { manifest, _ in
      let base = try CacheStore.sqlite(path: path.file("cache.db"))
      let store = WatchedStore(base: base.records) { () throws(CacheError) in
        throw CacheError(.storage, "no room")
      }
      let error = await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(manifest, store: CacheStore(store))
      }
      #expect(error?.message.contains("no room") == true)
      #expect(try done() == 0)
      let second = try await Bench.run(manifest, Bench.resuming, store: base)
      #expect(second.counters.done == 60)
      try base.close()
    }
  }

  @Test(
    "a pipeline that keeps nothing in a file is refused",
    arguments: [
      "store: { kind: memory }\nchain: [fetch, response-code, parse, cache-write]",
      "store: { kind: sqlite, path: cache.db }\nchain: [fetch, response-code, parse]",
    ])
  func refused(_ pipeline: String) throws {
    try path.write(
      "version: 1\nendpoint: { url: \"http://127.0.0.1:9/\" }\n\(pipeline)\n",
      to: "p.pipeline.yaml")
    let found = try Bench.findings(Self.yaml, in: path)
    #expect(found.count == 1, "\(found)")
    #expect(found[0].hasPrefix("4:1 "), "\(found)")
    #expect(
      found[0].contains("the sink `cache` needs a pipeline with a store that outlives the run"))
  }
}
