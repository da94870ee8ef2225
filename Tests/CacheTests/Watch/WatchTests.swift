import GQLRunJSON
import Testing

@testable import GQLRunCache

/// When a watcher of a store fires, and what with.
@Suite("Watching a store")
struct WatchTests {
  static let document = "{ user { id name } }"

  static func user(_ id: Int, _ name: String, more: String = "") -> String {
    #"{"data":{"user":{"__typename":"User","id":"\#(id)","name":"\#(name)"\#(more)}}}"#
  }

  static func shown(_ id: Int, _ name: String) -> String {
    #"{"user":{"id":"\#(id)","name":"\#(name)"}}"#
  }

  @Test("the first element is the answer as it is", arguments: StoreKind.allCases)
  func firstElement(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      var cold = Watcher(store, try prepare(Self.document))
      #expect(try await cold.next() == "miss at user")
      try await cache.write(Self.user(1, "ada"), Self.document)
      var warm = Watcher(store, try prepare(Self.document))
      #expect(try await warm.next() == Self.shown(1, "ada"))
    }
  }

  @Test("a watcher on a cold cache fires when its data arrives", arguments: StoreKind.allCases)
  func coldCache(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      var watcher = Watcher(store, try prepare(Self.document))
      #expect(try await watcher.next() == "miss at user")
      try await cache.write(#"{"data":{"other":1}}"#, "{ other }")
      #expect(!watcher.isPending)
      try await cache.write(Self.user(1, "ada"), Self.document)
      #expect(try await watcher.next() == Self.shown(1, "ada"))
    }
  }

  @Test(
    "a watcher on a cold cache fires when its last part arrives", arguments: StoreKind.allCases)
  func partByPart(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let watched = try prepare("{ a { id x } b { id x } }")
      var watcher = Watcher(store, watched)
      #expect(try await watcher.next() == "miss at a")
      try await cache.write(#"{"data":{"a":{"__typename":"T","id":1}}}"#, "{ a { id } }")
      #expect(watcher.isPending)
      #expect(try await watcher.look() == nil, "still a miss")
      try await cache.write(#"{"data":{"b":{"__typename":"T","id":2,"x":2}}}"#, "{ b { id x } }")
      #expect(!watcher.isPending, "what is missing first is not that")
      try await cache.write(#"{"data":{"a":{"__typename":"T","id":1,"x":1}}}"#, "{ a { id x } }")
      #expect(try await watcher.next() == #"{"a":{"id":1,"x":1},"b":{"id":2,"x":2}}"#)
    }
  }

  @Test(
    "a watcher fires when a field it depends on changes, and only then",
    arguments: StoreKind.allCases)
  func onlyThen(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let wide = "{ user { id name age } }"
      try await cache.write(Self.user(1, "ada", more: #","age":36"#), wide)
      var watcher = try await Watcher.started(store, prepare(Self.document))
      try await cache.write(Self.user(1, "ada", more: #","age":37"#), wide)
      #expect(!watcher.isPending, "another field of the record")
      try await cache.write(Self.user(1, "ada"), Self.document)
      #expect(!watcher.isPending, "the same value again")
      try await cache.write(
        #"{"data":{"x":{"__typename":"User","id":"2","name":"bob"}}}"#, "{ x { id name } }")
      #expect(!watcher.isPending, "another record")
      try await cache.write(
        #"{"data":{"y":{"__typename":"User","id":"1","name":"Ada"}}}"#, "{ y { id name } }")
      #expect(watcher.isPending)
      #expect(try await watcher.next() == Self.shown(1, "Ada"))
      try await cache.write(Self.user(2, "bob"), Self.document)
      #expect(try await watcher.next() == Self.shown(2, "bob"), "another reference")
      try await cache.write(
        #"{"data":{"y":{"__typename":"User","id":"1","name":"ada"}}}"#, "{ y { id name } }")
      #expect(!watcher.isPending, "the record it referred to before")
    }
  }

  @Test("several changes in one commit are one element", arguments: StoreKind.allCases)
  func oneCommit(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let document = "{ list { id n } }"
      let list = { (n: Int) in
        let items = (0..<50).map { #"{"__typename":"T","id":\#($0),"n":\#(n)}"# }
        return #"{"data":{"list":[\#(items.joined(separator: ","))]}}"#
      }
      try await cache.write(list(1), document)
      var watcher = try await Watcher.started(store, prepare(document))
      try await cache.write(list(2), document)
      let next = try await watcher.next()
      #expect(next.contains(#"{"id":49,"n":2}"#) && !next.contains(#""n":1"#))
      #expect(!watcher.isPending)
    }
  }

  @Test("a slow reader sees the newest state only", arguments: StoreKind.allCases)
  func coalescing(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.user(1, "0"), Self.document)
      var watcher = try await Watcher.started(store, prepare(Self.document))
      for n in 1...100 { try await cache.write(Self.user(1, "\(n)"), Self.document) }
      #expect(try await watcher.next() == Self.shown(1, "100"))
      #expect(!watcher.isPending)
      try await cache.write(Self.user(1, "other"), Self.document)
      try await cache.write(Self.user(1, "100"), Self.document)
      #expect(try await watcher.look() == nil, "back to what was seen last")
    }
  }

  @Test("removed fields and records, and clearing, are changes", arguments: StoreKind.allCases)
  func removal(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      var watcher = try await Watcher.started(store, prepare(Self.document))
      let removals: [(RecordRemoval, String)] = [
        (RecordRemoval(record: "User:1", field: "name"), "miss at user.name"),
        (RecordRemoval(record: "User:1"), "miss at user"),
        (RecordRemoval(record: "QUERY_ROOT", field: "user"), "miss at user"),
      ]
      for (removal, expected) in removals {
        try await cache.write(Self.user(1, "ada"), Self.document)
        #expect(try await watcher.next() == Self.shown(1, "ada"))
        try await store.transaction { try await $0.remove(RecordRemoval(record: "User:2")) }
        #expect(!watcher.isPending)
        try await store.transaction { try await $0.remove(removal) }
        #expect(try await watcher.next() == expected)
      }
      try await cache.write(Self.user(1, "ada"), Self.document)
      #expect(try await watcher.next() == Self.shown(1, "ada"))
      try await store.clear()
      #expect(try await watcher.next() == "miss at user")
    }
  }

  @Test("records removed by housekeeping are a miss for watchers", arguments: StoreKind.allCases)
  func housekeeping(kind: StoreKind) async throws {
    let works: [@Sendable (CacheStore) async throws -> RemovalSummary] = [
      { try await $0.remove(RecordSelection("User:1", fields: "name")) },
      { try await $0.remove(RecordSelection("User:*")) },
      { try await $0.trim(to: 0) },
      { try await $0.collectGarbage(rootsBefore: Int(UInt32.max)) },
    ]
    for collects in [true, false] {
      try await kind.withCache(collectsChanges: collects) { cache, store in
        var watcher = try await Watcher.started(store, prepare(Self.document))
        for work in works {
          try await cache.write(Self.user(1, "ada"), Self.document)
          #expect(try await watcher.next() == Self.shown(1, "ada"))
          _ = try await store.remove(RecordSelection("Other:*"))
          #expect(!watcher.isPending)
          #expect(try await !work(store).isEmpty)
          #expect(try await watcher.next().hasPrefix("miss at user"))
        }
      }
    }
  }

  @Test("evicted records are a miss for watchers")
  func eviction() async throws {
    let store = CacheStore.memory(maxSize: 4096)
    let cache = CacheUnderTest(store: store)
    try await cache.write(Self.user(1, "ada"), Self.document)
    var watcher = try await Watcher.started(store, prepare(Self.document))
    let filling = #"{"data":{"x":"\#(String(repeating: "x", count: 5000))"}}"#
    try await cache.write(filling, "{ x }")
    #expect(try await watcher.next() == "miss at user")
  }

  @Test("a type that determines the fields is a dependency", arguments: StoreKind.allCases)
  func typename(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let keys = KeyRules(groups: ["Cat": "Pet", "Dog": "Pet"])
      let document = "{ pet { id ... on Cat { n } ... on Dog { m } } }"
      let facts = try facts(
        "type Query { pet: Pet } union Pet = Cat | Dog type Cat { id: ID n: Int } type Dog { id: ID m: Int }"
      )
      try await cache.write(
        #"{"data":{"pet":{"__typename":"Cat","id":1,"n":1}}}"#, document, keys: keys, facts: facts)
      var watcher = Watcher(store, try prepare(document, keys: keys, facts: facts))
      #expect(try await watcher.next() == #"{"pet":{"id":1,"n":1}}"#)
      try await cache.write(
        #"{"data":{"pet":{"__typename":"Dog","id":1,"m":2}}}"#, document, keys: keys, facts: facts)
      #expect(try await watcher.next() == #"{"pet":{"id":1,"m":2}}"#)
    }
  }

  @Test("an element of a list in segments is watched", arguments: StoreKind.allCases)
  func segments(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let body = { (last: Int) in
        let items = (0..<20_000).map { #"{"n":\#($0 == 19_999 ? last : $0)}"# }
        return #"{"data":{"list":[\#(items.joined(separator: ","))]}}"#
      }
      try await cache.write(body(1), "{ list { n } }")
      var watcher = try await Watcher.started(store, prepare("{ list { n } }"))
      try await cache.write(body(1), "{ list { n } }")
      #expect(!watcher.isPending)
      try await cache.write(body(2), "{ list { n } }")
      #expect(try await watcher.next().hasSuffix(#"{"n":19998},{"n":2}]}"#))
    }
  }

  @Test("a watch that begins while a response is written sees it", arguments: StoreKind.allCases)
  func lateWatch(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      let normalizer = try await feed(
        Self.user(1, "ada").utf8, operation, into: store, arrival: .byteByByte)
      let response = try await normalizer.finish()
      var watcher = Watcher(store, operation)
      #expect(try await watcher.next() == "miss at user")
      _ = try await response.write?.commit()
      #expect(try await watcher.next() == Self.shown(1, "ada"))
    }
  }

  @Test("a response that is rolled back is no change", arguments: StoreKind.allCases)
  func rollback(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      let watcher = try await Watcher.started(store, operation)
      let normalizer = try await feed(
        Self.user(1, "ada").utf8, operation, into: store, arrival: .byteByByte)
      try await normalizer.finish().write?.rollback()
      #expect(!watcher.isPending)
    }
  }

  @Test("a waiting watcher is woken by a change", arguments: StoreKind.allCases)
  func waiting(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let watch = store.watch(try prepare(Self.document))
      let (begun, begin) = AsyncStream.makeStream(of: Void.self)
      let seen = Task {
        var seen: [String] = []
        for try await answer in watch {
          seen.append(try text(answer))
          begin.yield()
          if seen.count == 2 { break }
        }
        return seen
      }
      // What is written before the first look would be the first answer, and no change.
      for await _ in begun { break }
      try await CacheUnderTest(store: store).write(Self.user(1, "ada"), Self.document)
      #expect(try await seen.value == ["miss at user", Self.shown(1, "ada")])
    }
  }

  @Test(
    "cancelling ends a watch, waiting or not, and leaves nothing behind",
    arguments: StoreKind.allCases)
  func cancelling(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let watch = store.watch(try prepare(Self.document))
      let count = Task {
        var count = 0
        for try await _ in watch { count += 1 }
        return count
      }
      while store.records.activity.watchCount == 0 { await Task.yield() }
      count.cancel()
      #expect(try await count.value <= 1)
      #expect(store.records.activity.watchCount == 0)
      do {
        var watcher = Watcher(store, try prepare(Self.document))
        _ = try await watcher.next()
        #expect(store.records.activity.watchCount == 1)
      }
      #expect(store.records.activity.watchCount == 0, "a dropped iterator is no watcher")
    }
  }

  @Test("no changes are collected without watchers", arguments: [StoreKind.memory, .sqlite])
  func collecting(kind: StoreKind) async throws {
    try await kind.withCache(collectsChanges: false) { cache, store in
      let before = try await cache.write(Self.user(1, "ada"), Self.document).summary
      #expect(before?.changesAreKnown == false && before?.changes.isEmpty == true)
      let watched = WatchedOperation(store: store, operation: try prepare(Self.document))
      let during = try await cache.write(Self.user(1, "Ada"), Self.document).summary
      #expect(during?.changesAreKnown == true)
      #expect(during?.changes == [FieldChange(recordKey: "User:1", field: "name")])
      watched.end()
      let after = try await cache.write(Self.user(1, "ada"), Self.document).summary
      #expect(after?.changesAreKnown == false)
    }
  }

  @Test(
    "a write of very many fields makes all watchers look", arguments: [StoreKind.memory, .sqlite])
  func manyChanges(kind: StoreKind) async throws {
    try await kind.withCache(collectsChanges: false) { cache, store in
      try await cache.write(Self.user(1, "ada"), Self.document)
      let watcher = try await Watcher.started(store, prepare(Self.document))
      let items = (0..<60_000).map { #"{"__typename":"T","id":\#($0)}"# }
      let summary = try await cache.write(
        #"{"data":{"list":[\#(items.joined(separator: ","))]}}"#, "{ list { id } }"
      ).summary
      #expect(summary?.newRecords == 60_001)
      #expect(summary?.changesAreKnown == false)
      #expect(watcher.isPending)
      #expect(try await watcher.look() == nil, "and they find that nothing has changed")
    }
  }

  @Test("two stores on one file share their watchers")
  func twoStores() async throws {
    let directory = try TemporaryDirectory()
    let one = try CacheStore.sqlite(path: directory.path("cache.db"))
    let other = try CacheStore.sqlite(path: directory.path("cache.db"))
    var watcher = Watcher(one, try prepare(Self.document))
    #expect(try await watcher.next() == "miss at user")
    try await CacheUnderTest(store: other).write(Self.user(1, "ada"), Self.document)
    #expect(try await watcher.next() == Self.shown(1, "ada"))
    let elsewhere = try CacheStore.sqlite(path: directory.path("another.db"))
    try await CacheUnderTest(store: elsewhere).write(Self.user(1, "bob"), Self.document)
    #expect(!watcher.isPending)
    try one.close()
    try other.close()
    try elsewhere.close()
  }

  @Test(
    "the dependencies of a result are collected by name on request", arguments: StoreKind.allCases)
  func dependencies(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let document = #"{ me: user(id: 1) { n: name friend { id } } }"#
      let operation = try prepare(document)
      let names = { () async throws -> [String]? in
        let answer = try await store.read(operation, options: ReadOptions(tracking: .names))
        return answer.dependencies?.fields.map { "\($0.recordKey) \($0.field ?? "*")" }.sorted()
      }
      #expect(try await names() == [#"QUERY_ROOT user({"id":1})"#])
      try await cache.write(
        #"{"data":{"me":{"__typename":"User","id":1,"n":"a","friend":{"__typename":"User","id":"é\"2"}}}}"#,
        #"{ me: user(id: 1) { id n: name friend { id } } }"#)
      #expect(
        try await names() == [
          #"QUERY_ROOT user({"id":1})"#, "User:1 __typename", "User:1 friend", "User:1 name",
          #"User:é"2 __typename"#, #"User:é"2 id"#,
        ])
      try await store.transaction { try await $0.remove(RecordRemoval(record: #"User:é"2"#)) }
      #expect(try await names()?.last == #"User:é"2 *"#)
      #expect(try await store.read(operation, options: ReadOptions()).dependencies == nil)
    }
  }
}

/// A watch under test: its elements as text.
struct Watcher {
  private var iterator: StoreWatch.Iterator

  init(_ store: CacheStore, _ operation: PreparedOperation) {
    iterator = store.watch(operation).makeAsyncIterator()
  }

  /// A watcher that has taken its first element, the answer as it is.
  static func started(_ store: CacheStore, _ operation: PreparedOperation) async throws -> Watcher {
    var watcher = Watcher(store, operation)
    _ = try await watcher.next()
    return watcher
  }

  /// Whether a change has come in that the watcher has to look at.
  var isPending: Bool { iterator.watched.signal.isPending }

  mutating func next() async throws -> String {
    guard let answer = try await iterator.next() else { return "end" }
    return try text(answer)
  }

  /// What a look shows without waiting; `nil` when the answer is the one that was seen last.
  func look() async throws -> String? {
    try await iterator.watched.look().map { try text($0.result) }
  }
}

/// The JSON text of a hit, or `miss at <path>`.
func text(_ answer: CacheReadResult) throws -> String {
  switch answer {
  case .hit(let data): String(decoding: try data.bytes(), as: UTF8.self)
  case .miss(let miss): "miss at \(miss.path)"
  }
}
