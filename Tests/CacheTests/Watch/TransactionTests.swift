import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Reading and writing the data of operations by hand.
@Suite("Transactions by hand")
struct TransactionTests {
  static let document = "{ feed { id posts { id title } } }"
  static let response =
    #"{"data":{"feed":{"__typename":"Feed","id":"f","posts":[{"__typename":"Post","id":1,"title":"a"}]}}}"#

  @Test("data is read, changed and written back in one step", arguments: StoreKind.allCases)
  func update(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.response, Self.document)
      var watcher = try await Watcher.started(store, prepare(Self.document))
      try await store.transaction { transaction in
        try await transaction.update(prepare(Self.document)) { data in
          data["feed"]?["posts"]?.arrayValue?.insert(
            ["__typename": "Post", "id": 2, "title": "b"], at: 0)
        }
      }
      #expect(
        try await watcher.next()
          == #"{"feed":{"id":"f","posts":[{"id":2,"title":"b"},{"id":1,"title":"a"}]}}"#)
      try await cache.expectDump(
        #"{"key":"Feed:f","fields":{"__typename":"Feed","id":"f","posts":[{"$ref":"Post:2"},{"$ref":"Post:1"}]}}"#,
        #"{"key":"Post:1","fields":{"__typename":"Post","id":1,"title":"a"}}"#,
        #"{"key":"Post:2","fields":{"__typename":"Post","id":2,"title":"b"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"feed":{"$ref":"Feed:f"}}}"#)
    }
  }

  @Test(
    "an update on a miss is an error that names the first missing field",
    arguments: StoreKind.allCases)
  func miss(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.response, Self.document)
      let dump = try await cache.dump()
      let operation = try prepare("{ feed { id posts { id title body } } }")
      let miss = try await #require(throws: CacheMiss.self) {
        try await store.transaction { try await $0.update(operation) { _ in } }
      }
      #expect(miss.path == "feed.posts[0].body")
      #expect(miss.recordKey == "Post:1" && miss.field == "body")
      #expect(try await cache.dump() == dump)
    }
  }

  @Test(
    "an update without the key fields of a record is an error, and changes nothing",
    arguments: StoreKind.allCases)
  func identity(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.response, Self.document)
      let dump = try await cache.dump()
      let operation = try prepare("{ feed { id posts { title } } }")
      let error = try await #require(throws: CacheError.self) {
        try await store.transaction { try await $0.update(operation) { _ in } }
      }
      #expect(error.code == .invalidData)
      #expect(
        error.message.hasPrefix("cannot update Post:1: the operation does not identify it"),
        "\(error.message)")
      #expect(try await cache.dump() == dump)
    }
  }

  struct Feed: Decodable {
    struct Post: Decodable {
      var id: Int
      var title: String
    }
    struct Posts: Decodable { var posts: [Post] }
    var feed: Posts
  }

  @Test("data is read into the program's own types", arguments: StoreKind.allCases)
  func decoding(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await CacheUnderTest(store: store).write(Self.response, Self.document)
      let title = try await store.transaction {
        try await $0.read(prepare(Self.document), as: Feed.self).feed.posts[0].title
      }
      #expect(title == "a")
    }
  }

  @Test(
    "an object that is changed at one of its paths only is an error, and keeps its value",
    arguments: StoreKind.allCases)
  func severalPaths(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let operation = try prepare("{ a { id n } list { id n } }")
      try await cache.write(
        #"{"data":{"a":{"__typename":"A","id":1,"n":1},"list":[{"__typename":"A","id":1,"n":1}]}}"#,
        operation)
      let dump = try await cache.dump()
      let error = try await #require(throws: CacheError.self) {
        try await store.transaction { transaction in
          try await transaction.update(operation) { $0["a"]?["n"] = 2 }
        }
      }
      #expect(error.code == .invalidData && error.path == "a.n")
      #expect(try await cache.dump() == dump)
      try await store.transaction { transaction in
        try await transaction.update(operation) { data in
          data["a"]?["n"] = 2
          data["list"]?.arrayValue?[0]["n"] = 2
        }
      }
      #expect(
        try await cache.read(operation) == #"{"a":{"id":1,"n":2},"list":[{"id":1,"n":2}]}"#)
    }
  }

  @Test("a transaction sees what it has written, and others do not", arguments: StoreKind.allCases)
  func isolation(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let operation = try prepare("{ a { id n } }")
      try await store.transaction { transaction in
        try await transaction.write(
          json: Array(#"{"a":{"__typename":"A","id":1,"n":1}}"#.utf8), for: operation)
        let seen = try await transaction.read(operation)
        #expect(seen == ["a": ["__typename": "A", "id": 1, "n": 1]])
        #expect(try await cache.read(operation) == "miss at a")
        try await transaction.update(operation) { _ in }
        try await transaction.remove(RecordRemoval(record: "A:1", field: "n"))
        await #expect(throws: CacheMiss.self) { try await transaction.read(operation) }
        try await transaction.write(
          ["a": ["__typename": "A", "id": 1, "n": 2]], for: operation)
      }
      #expect(try await cache.read(operation) == #"{"a":{"id":1,"n":2}}"#)
    }
  }

  @Test(
    "nothing is written when the closure throws, or its task is cancelled",
    arguments: StoreKind.allCases)
  func rollback(kind: StoreKind) async throws {
    struct Refusal: Error {}
    try await kind.withCache { cache, store in
      try await cache.write(Self.response, Self.document)
      let dump = try await cache.dump()
      let watcher = try await Watcher.started(store, prepare(Self.document))
      let operation = try prepare("{ a }")
      await #expect(throws: Refusal.self) {
        try await store.transaction { transaction in
          try await transaction.write(["a": 1], for: operation)
          try await transaction.remove(RecordRemoval(record: "Post:1"))
          throw Refusal()
        }
      }
      let cancelled = Task {
        try await store.transaction { transaction in
          try await transaction.write(["a": 1], for: operation)
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      await #expect(throws: CancellationError.self) { try await cancelled.value }
      #expect(try await cache.dump() == dump)
      #expect(!watcher.isPending)
      try await store.transaction { try await $0.write(["a": 1], for: operation) }
      #expect(try await cache.read("{ a }") == #"{"a":1}"#, "the store is free for others")
    }
  }

  @Test("a transaction that has ended cannot be used", arguments: StoreKind.allCases)
  func ended(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let escaped = try await store.transaction { $0 }
      await #expect(throws: CacheError.self) {
        try await escaped.write(["a": 1], for: prepare("{ a }"))
      }
      await #expect(throws: CacheError.self) { try await escaped.read(prepare("{ a }")) }
      await #expect(throws: CacheError.self) {
        try await escaped.remove(RecordRemoval(record: "A:1"))
      }
    }
  }

  @Test("the changes of a transaction are what differs in the end", arguments: StoreKind.allCases)
  func changes(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(
        #"{"data":{"a":{"__typename":"A","id":1,"n":1,"m":1},"b":{"__typename":"A","id":2,"n":1,"m":1}}}"#,
        "{ a { id n m } b { id n m } }")
      let operation = try prepare("{ a { id n } }")
      let write = { (n: Int, into: any RecordTransaction) async throws in
        let data: JSONValue = ["a": ["__typename": "A", "id": 1, "n": .number(JSONNumber(n))]]
        let table = try operation.records(ofData: data, segmentSeed: store.records.segmentSeed)
          .table
        _ = try await into.merge(RecordBatch(table))
      }
      let transaction = try await store.records.begin()
      try await write(2, transaction)
      try await transaction.remove([RecordRemoval(record: "A:1", field: "m")])
      try await write(1, transaction)
      try await transaction.remove([RecordRemoval(record: "A:2"), RecordRemoval(record: "A:9")])
      let summary = try await transaction.commit(settling: nil)
      #expect(
        summary.changes.map { "\($0.recordKey).\($0.field)" }.sorted()
          == ["A:1.m", "A:2.__typename", "A:2.id", "A:2.m", "A:2.n"])
      #expect(summary.removedRecords == 1 && summary.changedRecords == 1)
      #expect(summary.newRecords == 0 && summary.unchangedRecords == 1)
      let again = try await store.records.begin()
      try await again.remove([RecordRemoval(record: "A:1")])
      try await write(3, again)
      let second = try await again.commit(settling: nil)
      #expect(
        second.changes.map { "\($0.recordKey).\($0.field)" }.sorted() == ["A:1.n"])
    }
  }

  @Test(
    "incomplete data is an error with its path, and nothing is written",
    arguments: StoreKind.allCases)
  func incomplete(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let operation = try prepare(Self.document)
      let cases: [(JSONValue, String)] = [
        (["feed": ["__typename": "Feed", "id": "f"]], "feed.posts"),
        (
          ["feed": ["__typename": "Feed", "id": "f", "posts": [["id": 1, "title": "a"]]]],
          "feed.posts[0].__typename"
        ),
        (["feed": nil, "more": 1], "more"),
        ([1], ""),
      ]
      for (data, path) in cases {
        let error = try await #require(throws: CacheError.self) {
          try await store.transaction { try await $0.write(data, for: operation) }
        }
        #expect(error.code == .invalidData)
        #expect(error.path == path)
      }
      let error = try await #require(throws: CacheError.self) {
        try await store.transaction { try await $0.write(json: Array("{".utf8), for: operation) }
      }
      #expect(error.code == .invalidData)
      try await store.transaction { try await $0.write(["feed": nil], for: operation) }
      #expect(try await cache.read(operation) == #"{"feed":null}"#)
    }
  }

  @Test("the whole root is not removed by name", arguments: StoreKind.allCases)
  func root(kind: StoreKind) async throws {
    try await kind.withStore { store in
      await #expect(throws: CacheError.self) {
        try await store.transaction {
          try await $0.remove(RecordRemoval(record: "QUERY_ROOT"))
        }
      }
    }
  }

  @Test("layers are not written by a transaction", arguments: StoreKind.allCases)
  func layers(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let operation = try prepare("{ a { id n m } }")
      try await cache.write(#"{"data":{"a":{"__typename":"A","id":1,"n":1,"m":1}}}"#, operation)
      let layer = try store.addOptimistic(
        ["a": ["__typename": "A", "id": 1, "n": 5]], for: prepare("mutation { a { id n } }"))
      try await store.transaction { transaction in
        try await transaction.update(operation) { data in
          data["a"]?["m"] = 2
        }
      }
      #expect(try await cache.read(operation) == #"{"a":{"id":1,"n":5,"m":2}}"#)
      store.removeOptimistic(layer)
      #expect(try await cache.read(operation) == #"{"a":{"id":1,"n":1,"m":2}}"#)
    }
  }
}
