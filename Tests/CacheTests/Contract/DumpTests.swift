import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// The same facts give the same dump, byte for byte.
@Suite("Dump")
struct DumpTests {
  @Test("records are sorted by key, and fields by name, as bytes", arguments: Way.allCases)
  func sorting(way: Way) async throws {
    try await way.withCache { cache in
      let ids = ["10", "2", "é", "z", "~", "", "-1", "A", "a", "東", "🚀", "e\u{301}", "\u{7f}"]
      let items = ids.map { #"{"__typename":"T","id":"\#($0)"}"# }
      try await cache.write(
        #"{"data":{"b":1,"B":2,"_":3,"a1":4,"a":5,"x":6,"y":7,"list":[\#(items.joined(separator: ","))],"v":{"__typename":"Z","b":{"z":1,"__typename":"Q","A":2,"a":3,"_":4},"a":0}}}"#,
        #"{ b B _ a1 a x: a(z: 1) y: a(b: 1) list { id } v { b { z A a _ } a } }"#)
      let sorted = ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      let refs = ids.map { #"{"$ref":"T:\#($0)"}"# }.joined(separator: ",")
      let lines =
        [
          #"{"key":"QUERY_ROOT","fields":{"B":2,"_":3,"a":5,"a({\"b\":1})":7,"a({\"z\":1})":6,"a1":4,"b":1,"list":[\#(refs)],"v":{"__typename":"Z","a":0,"b":{"A":2,"_":4,"__typename":"Q","a":3,"z":1}}}}"#
        ] + sorted.map { #"{"key":"T:\#($0)","fields":{"__typename":"T","id":"\#($0)"}}"# }
      expectBytes(try await cache.dump(), lines.map { $0 + "\n" }.joined())
    }
  }

  static let document = """
    { v { id n e { a b } list { ... on X { id k: m } ... on Y { k: o { p } } } s } u { id } }
    """
  /// The parts of a response, each object with its fields in all orders.
  static func response(_ shuffle: ([String]) -> [String]) -> String {
    func object(_ fields: String...) -> String {
      "{" + shuffle(fields).joined(separator: ",") + "}"
    }
    let e = object(#""__typename":"E""#, #""a":1"#, #""b":null"#)
    let x = object(#""__typename":"X""#, #""id":"x\u00e9""#, #""k":2.50"#)
    let p = object(#""__typename":"P""#, #""p":[{"b":1,"a":2}]"#)
    let y = object(#""__typename":"Y""#, #""k":\#(p)"#)
    let v = object(
      #""__typename":"V""#, #""id":1"#, #""n":"\ud83d\ude80""#, #""e":\#(e)"#,
      #""list":[\#(x),\#(y),null]"#, #""s":{"z":1,"y":[2]}"#)
    let u = object(#""__typename":"U""#, #""id":"1""#)
    let data = object(#""v":\#(v)"#, #""u":\#(u)"#)
    return object(#""data":\#(data)"#, #""extensions":{"x":[1]}"#)
  }

  static let expected = lines(
    #"{"key":"QUERY_ROOT","fields":{"u":{"$ref":"U:1"},"v":{"$ref":"V:1"}}}"#,
    #"{"key":"U:1","fields":{"__typename":"U","id":"1"}}"#,
    #"{"key":"V:1","fields":{"__typename":"V","e":{"__typename":"E","a":1,"b":null},"id":1,"list":[{"$ref":"X:xé"},{"__typename":"Y","o":{"__typename":"P","p":[{"b":1,"a":2}]}},null],"n":"🚀","s":{"z":1,"y":[2]}}}"#,
    #"{"key":"X:xé","fields":{"__typename":"X","id":"xé","m":2.50}}"#)

  @Test("the order of an object's fields leaves no trace", arguments: Way.allCases)
  func shuffled(way: Way) async throws {
    let operation = try prepare(Self.document)
    try await way.withCache { cache in
      for seed in 0..<60 as Range<UInt64> {
        var random = SeededRandom(seed)
        let response = Self.response { seed == 0 ? $0 : $0.shuffled(using: &random) }
        if seed % 3 == 0 { try await cache.store.clear() }
        let written = try await cache.write(response, operation)
        #expect(seed % 3 == 0 || written.changes == [], "seed \(seed)")
        expectBytes(try await cache.dump(), Self.expected)
      }
    }
  }

  @Test("where a response is cut leaves no trace", arguments: StoreKind.allCases)
  func cuts(kind: StoreKind) async throws {
    let operation = try prepare(Self.document)
    let response = Self.response { $0.reversed() }
    try await kind.withStore { store in
      // In two pieces, cut at every byte.
      for first in 1..<response.utf8.count {
        let arrival = Arrival(
          pieces: [first, Int.max], minimumPiece: first % 2 == 0 ? 1 : 4096,
          flushThreshold: first % 3 == 0 ? 1 : 1 << 20)
        if first % 8 == 1 { try await store.clear() }
        try await normalize(response.utf8, operation, into: store, arrival: arrival)
        if first % 4 == 1 { expectBytes(try await dump(store), Self.expected) }
      }
      // In pieces of every size, and of random ones.
      for size in 1...60 {
        var random = SeededRandom(UInt64(size))
        let pieces =
          size <= 30 ? [size] : (0..<1000).map { _ in Int.random(in: 1...40, using: &random) }
        try await store.clear()
        try await normalize(
          response.utf8, operation, into: store,
          arrival: Arrival(pieces: pieces, minimumPiece: 1, flushThreshold: 1))
        expectBytes(try await dump(store), Self.expected)
      }
    }
  }

  @Test("a single record is shown as the dump shows it", arguments: Way.allCases)
  func singleRecord(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(Self.response { $0 }, prepare(Self.document))
      try await cache.write(#"{"data":{"a":1}}"#, "{ a(b: 1) }")
      let dump = try await cache.dump().split(separator: "\n").map(String.init)
      for key in ["QUERY_ROOT", "U:1", "V:1", "X:xé"] {
        let line = dump.first { $0.hasPrefix(#"{"key":"\#(key)","#) }
        #expect(try await cache.store.record(forKey: key) == line)
      }
      for key in ["", "V:2", "X:xe\u{301}", "MUTATION_ROOT", "query_root", "v"] {
        #expect(try await cache.store.record(forKey: key) == nil, "\(key)")
      }
    }
  }

  @Test("statistics count records, the root as one", arguments: Way.allCases)
  func statistics(way: Way) async throws {
    try await way.withCache { cache in
      #expect(try await cache.store.statistics().records == 0)
      try await cache.write(
        #"{"data":{"a":{"__typename":"A","id":1},"b":[{"__typename":"A","id":2},{"__typename":"B","id":1}],"c":\#(Array(0..<40_000))}}"#,
        "{ a { id } b { id } c }")
      let statistics = try await cache.store.statistics()
      #expect(statistics.records == 4)
      #expect(statistics.types.mapValues(\.records) == ["QUERY_ROOT": 1, "A": 2, "B": 1])
      #expect(statistics.segments > 1)
      #expect(statistics.bytes > 40_000 * 5)
      #expect((statistics.fileBytes != nil) == (way.kind != .memory))
    }
  }

  @Test("statistics count types, not the prefixes of keys", arguments: Way.allCases)
  func statisticsOfGroups(way: Way) async throws {
    try await way.withCache { cache in
      let keys = KeyRules(groups: ["Cat": "Pet", "Dog": "Pet"])
      try await cache.write(
        #"{"data":{"a":{"__typename":"Cat","id":1},"b":[{"__typename":"Cat","id":2},{"__typename":"Dog","id":3}]}}"#,
        prepare("{ a { __typename id } b { __typename id } }", keys: keys))
      #expect(try await cache.store.record(forKey: "Pet:3") != nil)
      let types = try await cache.store.statistics().types
      #expect(types.mapValues(\.records) == ["QUERY_ROOT": 1, "Cat": 2, "Dog": 1])
    }
  }

  @Test("clear removes everything", arguments: Way.allCases)
  func clear(way: Way) async throws {
    try await way.withCache { cache in
      for _ in 0..<2 {
        try await cache.write(Self.response { $0 }, prepare(Self.document))
        try await cache.store.clear()
        try await cache.expectDump()
        #expect(try await cache.read("{ u { id } }") == "miss at u")
        let statistics = try await cache.store.statistics()
        #expect(statistics.records == 0 && statistics.bytes == 0)
      }
    }
  }
}
