import Testing

@testable import GQLRunCache

/// Answering an operation from the records.
@Suite("Reads")
struct ReadTests {
  static let response = #"""
    {"data":{"feed":{"__typename":"C","total":2,"edges":[
      {"__typename":"E","cursor":"a","node":{"__typename":"P","id":1,"title":"One","author":{"__typename":"U","id":"x","login":"ada"}}},
      null,
      {"__typename":"E","cursor":"b","node":{"__typename":"P","id":2,"title":"Two","author":null}}],
      "grid":[[{"__typename":"G","n":1}],[null,{"__typename":"G","n":2}]],"tags":["a",null]}}}
    """#
  static let document =
    "{ feed(first: 2) { total edges { cursor node { id title author { id login } } } grid { n } tags } }"

  @Test("the answer has exactly the asked fields in the asked order", arguments: Way.allCases)
  func order(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(Self.response, Self.document)
      for (document, answer) in [
        "{ feed(first: 2) { tags grid { n } edges { node { author { login id } title } } total } }":
          #"{"feed":{"tags":["a",null],"grid":[[{"n":1}],[null,{"n":2}]],"edges":[{"node":{"author":{"login":"ada","id":"x"},"title":"One"}},null,{"node":{"author":null,"title":"Two"}}],"total":2}}"#,
        "{ again: feed(first: 2) { n: total total edges { c: cursor } } feed(first: 2) { t: tags } }":
          #"{"again":{"n":2,"total":2,"edges":[{"c":"a"},null,{"c":"b"}]},"feed":{"t":["a",null]}}"#,
        "{ feed(first: 2) { edges { node { id } } ...F total } } fragment F on C { total edges { cursor node { title } } }":
          #"{"feed":{"edges":[{"node":{"id":1,"title":"One"},"cursor":"a"},null,{"node":{"id":2,"title":"Two"},"cursor":"b"}],"total":2}}"#,
      ] {
        #expect(try await cache.read(document) == answer)
      }
    }
  }

  struct Miss: Sendable, CustomTestStringConvertible {
    var document: String
    var path: String
    var record: String
    var field: String?
    var testDescription: String { document }
  }

  static let misses = [
    Miss(document: "{ other }", path: "other", record: "QUERY_ROOT", field: "other"),
    Miss(
      document: "{ x: other(a: 1) }", path: "x", record: "QUERY_ROOT", field: #"other({"a":1})"#),
    Miss(
      document: "{ feed(first: 3) { total } }", path: "feed", record: "QUERY_ROOT",
      field: #"feed({"first":3})"#),
    Miss(document: "{ feed { total } }", path: "feed", record: "QUERY_ROOT", field: "feed"),
    Miss(
      document: "{ feed(first: 2) { total more } }", path: "feed.more",
      record: #"QUERY_ROOT.feed({"first":2})"#, field: "more"),
    Miss(
      document: "{ feed(first: 2) { edges { node { id body } } } }",
      path: "feed.edges[0].node.body",
      record: "P:1", field: "body"),
    Miss(
      document: "{ f: feed(first: 2) { e: edges { n: node { a: author { b: bio(x: null) } } } } }",
      path: "f.e[0].n.a.b", record: "U:x", field: #"bio({"x":null})"#),
    Miss(
      document: "{ feed(first: 2) { grid { n m } } }", path: "feed.grid[0][0].m",
      record: #"QUERY_ROOT.feed({"first":2})"#, field: "m"),
    Miss(
      document: "{ feed(first: 2) { missing edges { alsoMissing } } }", path: "feed.missing",
      record: #"QUERY_ROOT.feed({"first":2})"#, field: "missing"),
    // A leaf where fields are selected, and the other way round.
    Miss(
      document: "{ feed(first: 2) { total { x } } }", path: "feed.total",
      record: #"QUERY_ROOT.feed({"first":2})"#),
    Miss(
      document: "{ feed(first: 2) { tags { x } } }", path: "feed.tags",
      record: #"QUERY_ROOT.feed({"first":2})"#),
    Miss(
      document: "{ feed(first: 2) { edges } }", path: "feed.edges",
      record: #"QUERY_ROOT.feed({"first":2})"#, field: "edges"),
    Miss(
      document: "{ feed(first: 2) { edges { node } } }", path: "feed.edges[0].node",
      record: #"QUERY_ROOT.feed({"first":2})"#, field: "node"),
    Miss(
      document: "{ feed(first: 2) }", path: "feed", record: #"QUERY_ROOT.feed({"first":2})"#,
      field: #"feed({"first":2})"#),
  ]

  @Test("a miss names the first field that is missing", arguments: StoreKind.allCases, misses)
  func firstMiss(kind: StoreKind, miss: Miss) async throws {
    try await kind.withCache { cache, store in
      try await cache.write(Self.response, Self.document)
      let found = try #require(try await store.read(prepare(miss.document)).miss, "a hit")
      #expect(found.path == miss.path)
      #expect(found.recordKey == miss.record)
      #expect(found.field == miss.field)
    }
  }

  @Test("a reference to a removed record is a miss", arguments: StoreKind.allCases)
  func danglingReferences(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let table = RecordTable()
      table.insert("QUERY_ROOT.a", #"{"a":{"$ref":"A:gone"}}"#)
      table.insert(
        "QUERY_ROOT.b", #"{"b":[{"$ref":"B:1"},{"__typename":"E","c":{"$ref":"C:\"\\"}}]}"#)
      table.insert("B:1", #"{"__typename":"B","n":1}"#)
      let transaction = try await store.records.begin()
      _ = try await transaction.merge(RecordBatch(table))
      _ = try await transaction.commit(settling: nil)
      let cache = CacheUnderTest(store: store)
      #expect(try await cache.read("{ a { n } }") == "miss at a")
      #expect(try await cache.read("{ b { n c { n } } }") == "miss at b[0].c")
      let operation = try prepare("{ b { ... on B { n } ... on E { c { n } } } }")
      let miss = try #require(try await store.read(operation).miss)
      #expect(miss.path == "b[1].c")
      #expect(miss.recordKey == #"C:"\"#)
      #expect(miss.field == nil)
    }
  }

  @Test(
    "operations are answered from records of others if all fields are stored",
    arguments: Way.allCases)
  func otherOperations(way: Way) async throws {
    try await way.withCache { cache in
      let both = "{ user(id: 1) { id name mail posts { id title } } }"
      try await cache.write(
        #"{"data":{"user":{"__typename":"U","id":1,"name":"Ada","posts":[{"__typename":"P","id":1}]}}}"#,
        "{ user(id: 1) { id name posts { id } } }")
      #expect(try await cache.read(both) == "miss at user.mail")
      try await cache.write(
        #"{"data":{"me":{"__typename":"U","id":"1","mail":"a@x"}}}"#, "{ me { id mail } }")
      #expect(try await cache.read(both) == "miss at user.posts[0].title")
      try await cache.write(
        #"{"data":{"set":{"__typename":"P","id":1,"title":"T"}}}"#, "mutation { set { id title } }")
      #expect(
        try await cache.read(both)
          == #"{"user":{"id":"1","name":"Ada","mail":"a@x","posts":[{"id":1,"title":"T"}]}}"#)
    }
  }

  @Test("an open write is not seen before it is committed", arguments: Way.allCases)
  func isolation(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare("{ a { id n } b { id n } }")
      try await cache.write(
        #"{"data":{"a":{"__typename":"A","id":1,"n":1},"b":{"__typename":"A","id":2,"n":1}}}"#,
        operation)
      let before = try await cache.dump()
      let answer = try await cache.read(operation)
      let normalizer = try await feed(
        #"{"data":{"a":{"__typename":"A","id":1,"n":2},"b":{"__typename":"A","id":3,"n":2}}}"#.utf8,
        operation, into: cache.store, arrival: cache.arrival)
      #expect(try await cache.dump() == before)
      let response = try await normalizer.finish()
      #expect(try await cache.read(operation) == answer)
      #expect(try await cache.store.record(forKey: "A:3") == nil)
      _ = try await response.write?.commit()
      #expect(try await cache.read(operation) == #"{"a":{"id":1,"n":2},"b":{"id":3,"n":2}}"#)
    }
  }

  @Test("a large result equals the response", arguments: [Way.memory, .sqlite])
  func large(way: Way) async throws {
    try await way.withCache { cache in
      let text = String(repeating: "long text with \\\"quotes\\\" and é ", count: 20)
      let items = (0..<10_000).map { #"{"__typename":"I","id":\#($0),"t":"\#(text)"}"# }
      let document = "{ items { id t } tags }"
      let tags = (0..<200_000).map { "\"tag \($0)\"" }.joined(separator: ",")
      let written = try await cache.write(
        #"{"data":{"items":[\#(items.joined(separator: ","))],"tags":[\#(tags)]}}"#, document)
      let delivered = try #require(written.data)
      #expect(delivered.utf8.count > 8 << 20)
      expectBytes(try await cache.read(document), delivered)
    }
  }

  @Test(
    "operations as deep as the language allows are written and read",
    arguments: [Way.memory, .sqlite, .sqliteAsItArrives])
  func deep(way: Way) async throws {
    for hasIdentity in [true, false] {
      try await way.withCache { cache in
        let depth = 240
        let document =
          "{ " + String(repeating: hasIdentity ? "a { id " : "a { ", count: depth) + "n "
          + String(repeating: "}", count: depth + 1)
        var response = #"{"__typename":"A","id":"last","n":1}"#
        for level in 1..<depth {
          response = #"{"__typename":"A","id":\#(level),"a":\#(response)}"#
        }
        let written = try await cache.write(#"{"data":{"a":\#(response)}}"#, document)
        expectBytes(try await cache.read(document), try #require(written.data))
        #expect(
          try await cache.dump().split(separator: "\n").count == (hasIdentity ? depth + 1 : 1))
      }
    }
  }
}
