import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Optimistic layers: seen at once, replaced or taken back, in any order.
@Suite("Optimistic layers")
struct OptimisticTests {
  static let query = "{ post { id likes title } }"
  static let like = "mutation { like { id likes } }"

  static func post(_ likes: Int, title: String = "t") -> String {
    #"{"data":{"post":{"__typename":"Post","id":1,"likes":\#(likes),"title":"\#(title)"}}}"#
  }

  static func shown(_ likes: Int, title: String = "t") -> String {
    #"{"post":{"id":1,"likes":\#(likes),"title":"\#(title)"}}"#
  }

  static func guess(_ likes: Int) -> JSONValue {
    ["like": ["__typename": "Post", "id": 1, "likes": .number(JSONNumber(likes))]]
  }

  static func answer(_ likes: Int) -> String {
    #"{"data":{"like":{"__typename":"Post","id":1,"likes":\#(likes)}}}"#
  }

  /// What the server says to the mutation, settling a layer.
  private func settle(
    _ store: CacheStore, _ likes: Int, _ layer: OptimisticLayer
  ) async throws {
    let normalizer = try await feed(
      Self.answer(likes).utf8, prepare(Self.like), into: store, arrival: .byteByByte)
    _ = try await normalizer.finish().write?.commit(settling: layer)
  }

  @Test("a layer is visible immediately, also to watchers", arguments: StoreKind.allCases)
  func atOnce(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      let dump = try await cache.dump()
      var watcher = try await Watcher.started(store, prepare(Self.query))
      let layer = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      #expect(try await cache.read(Self.query) == Self.shown(2))
      #expect(try await watcher.next() == Self.shown(2))
      #expect(try await cache.dump() == dump, "what is stored has no layers")
      store.removeOptimistic(layer)
      #expect(try await watcher.next() == Self.shown(1))
      #expect(try await cache.dump() == dump)
      store.removeOptimistic(layer)
      #expect(!watcher.isPending, "taking it away twice changes nothing")
    }
  }

  @Test("a layer does not wait for a response that is being written", arguments: StoreKind.allCases)
  func duringWrite(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      let transaction = try await store.records.begin()
      _ = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      #expect(try await cache.read(Self.query) == Self.shown(2))
      await transaction.rollback()
    }
  }

  @Test("an answer that equals the guess is no news", arguments: StoreKind.allCases)
  func equalAnswer(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      var watcher = try await Watcher.started(store, prepare(Self.query))
      let layer = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      #expect(try await watcher.next() == Self.shown(2))
      try await settle(store, 2, layer)
      #expect(try await watcher.look() == nil)
      #expect(try await cache.read(Self.query) == Self.shown(2))
      #expect(!store.records.activity.hasLayers)
    }
  }

  @Test(
    "a response that differs from the optimistic layer replaces it in one step",
    arguments: StoreKind.allCases)
  func otherAnswer(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      var watcher = try await Watcher.started(store, prepare(Self.query))
      let layer = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      _ = try await watcher.next()
      try await settle(store, 7, layer)
      #expect(try await watcher.next() == Self.shown(7))
      #expect(!watcher.isPending)
    }
  }

  @Test("layers interleave: each end in any order leaves the others", arguments: StoreKind.allCases)
  func interleaving(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      let a = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      let b = try store.addOptimistic(Self.guess(3), for: prepare(Self.like))
      let c = try store.addOptimistic(Self.guess(4), for: prepare(Self.like))
      #expect(try await cache.read(Self.query) == Self.shown(4))
      // The answer to B, while A and C are pending: C still lies above it.
      try await settle(store, 30, b)
      #expect(try await cache.read(Self.query) == Self.shown(4))
      store.removeOptimistic(c)
      #expect(try await cache.read(Self.query) == Self.shown(2))
      // Another writer's change of another field is visible.
      try await cache.write(Self.post(31, title: "new"), Self.query)
      #expect(try await cache.read(Self.query) == Self.shown(2, title: "new"))
      store.removeOptimistic(a)
      #expect(try await cache.read(Self.query) == Self.shown(31, title: "new"))
    }
  }

  @Test("a layer makes records that are not there yet", arguments: StoreKind.allCases)
  func newRecords(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      var watcher = Watcher(store, try prepare(Self.query))
      #expect(try await watcher.next() == "miss at post")
      let data: JSONValue = [
        "post": ["__typename": "Post", "id": 1, "likes": 0, "title": "mine"]
      ]
      let layer = try store.addOptimistic(data, for: prepare(Self.query))
      #expect(try await watcher.next() == Self.shown(0, title: "mine"))
      store.removeOptimistic(layer)
      #expect(try await watcher.next() == "miss at post")
      #expect(try await cache.dump().isEmpty)
    }
  }

  @Test("a layer may hide records and fields", arguments: StoreKind.allCases)
  func removals(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      var watcher = try await Watcher.started(store, prepare(Self.query))
      let record = try store.addOptimistic { draft throws(CacheError) in
        try draft.remove(RecordRemoval(record: "Post:1"))
      }
      #expect(try await watcher.next() == "miss at post")
      store.removeOptimistic(record)
      #expect(try await watcher.next() == Self.shown(1))
      let field = try store.addOptimistic { draft throws(CacheError) in
        try draft.remove(RecordRemoval(record: "Post:1", field: "title"))
      }
      #expect(try await watcher.next() == "miss at post.title")
      store.removeOptimistic(field)
      #expect(try await watcher.next() == Self.shown(1))
      let root = try store.addOptimistic { draft throws(CacheError) in
        try draft.remove(RecordRemoval(record: "QUERY_ROOT", field: "post"))
      }
      #expect(watcher.isPending, "a field of the root is a record")
      #expect(try await watcher.next() == "miss at post")
      store.removeOptimistic(root)
      #expect(try await watcher.next() == Self.shown(1))
    }
  }

  @Test(
    "embedded objects and long lists merge with those of a layer", arguments: StoreKind.allCases)
  func embedded(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let items = (0..<10_000).map { #"{"__typename":"I","n":\#($0),"m":0}"# }
      let document = "{ box { id e { x y } list { n m } } }"
      try await cache.write(
        #"{"data":{"box":{"__typename":"Box","id":1,"e":{"__typename":"E","x":1,"y":1},"list":[\#(items.joined(separator: ","))]}}}"#,
        document)
      let before = try await cache.read(document)
      let change: JSONValue = [
        "box": [
          "__typename": "Box", "id": 1, "e": ["__typename": "E", "y": 2],
          "list": .array(
            (0..<10_000).map {
              ["__typename": "I", "m": .number(JSONNumber($0 == 9_999 ? 5 : 0))]
            }),
        ]
      ]
      let layer = try store.addOptimistic(
        change, for: prepare("mutation { box { id e { y } list { m } } }"))
      let during = try await cache.read(document)
      #expect(during.hasPrefix(#"{"box":{"id":1,"e":{"x":1,"y":2},"list":[{"n":0,"m":0},"#))
      #expect(during.hasSuffix(#"{"n":9998,"m":0},{"n":9999,"m":5}]}}"#))
      store.removeOptimistic(layer)
      #expect(try await cache.read(document) == before)
    }
  }

  @Test("data that is not complete is refused, and no layer is made", arguments: StoreKind.allCases)
  func incomplete(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.like)
      let cases: [(JSONValue, String)] = [
        (["like": ["__typename": "Post", "id": 1]], "like.likes"),
        (["like": ["id": 1, "likes": 1]], "like.__typename"),
        ([:], "like"),
        (["like": ["__typename": "Post", "id": 1, "likes": 1, "x": 1]], "like.x"),
        (["like": [["__typename": "Post", "id": 1]]], "like[0].likes"),
        (["like": 1], "like"),
      ]
      for (data, path) in cases {
        let error = try #require(throws: CacheError.self) {
          _ = try store.addOptimistic(data, for: operation)
        }
        #expect(error.code == .invalidData)
        #expect(error.path == path)
      }
      #expect(!store.records.activity.hasLayers)
    }
  }

  @Test(
    "clearing removes the layers, and discards responses requested before",
    arguments: StoreKind.allCases)
  func clearing(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.post(1), Self.query)
      let layer = try store.addOptimistic(Self.guess(2), for: prepare(Self.like))
      var watcher = try await Watcher.started(store, prepare(Self.query))
      // Two responses in flight: one that ends before the logout, one that has begun.
      let ended = try await feed(Self.post(5).utf8, prepare(Self.query), into: store)
      let pending = try await ended.finish().write
      let begun = try ResponseNormalizer(prepare(Self.query), store: store)
      try await store.clear()
      #expect(try await watcher.next() == "miss at post")
      _ = try await pending?.commit(settling: layer)
      try Array(Self.post(6).utf8).withUnsafeBytes { try begun.feed($0) }
      try await begun.flush()
      let summary = try await begun.finish().write?.commit()
      #expect(summary == WriteSummary())
      #expect(try await cache.dump().isEmpty, "nothing of the former user comes back")
      try await cache.write(Self.post(9), Self.query)
      #expect(try await watcher.next() == Self.shown(9))
    }
  }
}
