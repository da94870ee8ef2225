import Foundation
import GRDB
import Testing

@testable import GQLRunCache

/// Without a schema, a type condition on a name that some object had as its `__typename` holds for that
/// type and no other.
@Suite("Conditions on concrete types")
struct ConcreteTypeTests {
  /// Operations, responses and what a read finds: all without a schema.
  static let cases: [(document: String, response: String)] = [
    (
      "{ list { __typename id ... on B { v } } one { __typename id v } }",
      #"{"data":{"list":[{"__typename":"A","id":1},{"__typename":"B","id":2,"v":2}],"one":{"__typename":"A","id":1,"v":1}}}"#
    ),
    (
      "{ list { __typename id ... on B { pet { id __typename age } } } one { __typename id pet { __typename id } } }",
      #"{"data":{"list":[{"__typename":"A","id":1},{"__typename":"B","id":2,"pet":{"id":8,"__typename":"P","age":3}}],"one":{"__typename":"A","id":1,"pet":{"__typename":"P","id":7}}}}"#
    ),
    // A fragment that is spread, and one within a fragment on an interface.
    (
      "{ list { __typename id ...F } one { __typename id v w } } fragment F on I { w ... on B { v } }",
      #"{"data":{"list":[{"__typename":"A","id":1,"w":1},{"__typename":"B","id":2,"w":1,"v":2}],"one":{"__typename":"A","id":1,"v":1,"w":1}}}"#
    ),
    // The type is met in a field that has no conditions.
    (
      "{ list { __typename id ... on B { v } } one { __typename id v } b { __typename id } }",
      #"{"data":{"list":[{"__typename":"A","id":1}],"one":{"__typename":"A","id":1,"v":1},"b":{"__typename":"B","id":3}}}"#
    ),
    // The type has no identity.
    (
      "{ list { __typename ... on A { id } ... on B { v } } one { __typename id v } }",
      #"{"data":{"list":[{"__typename":"A","id":1},{"__typename":"B","v":2}],"one":{"__typename":"A","id":1,"v":1}}}"#
    ),
    // Whether an object of the type is also of one that is named inside of it is not known.
    (
      "{ n { __typename id ... on T { x ... on I { x ... on J { y } } } } }",
      #"{"data":{"n":{"__typename":"T","id":"1","x":1}}}"#
    ),
  ]

  @Test(
    "a condition on a type that an object has holds for no other type, read from every store",
    arguments: Way.allCases, cases.indices)
  func condition(way: Way, index: Int) async throws {
    let (document, response) = Self.cases[index]
    try await way.withCache { cache in
      let written = try await cache.write(response, document)
      #expect(#"{"data":\#(written.data ?? "")}"# == response)
      // Prepared again, so that nothing is known from the response but what the store keeps.
      #expect(try await cache.read(document) == written.data)
    }
  }

  @Test(
    "a file that is opened again knows the concrete types; in one of an earlier version, records tell them",
    arguments: cases.indices.map { ($0, false) } + (0..<4).map { ($0, true) })
  func reopened(index: Int, isEarlier: Bool) async throws {
    let (document, response) = Self.cases[index]
    let file = try StoreFile()
    let store = try file.open()
    let written = try await CacheUnderTest(store: store).write(response, document)
    try store.close()
    if isEarlier {
      let queue = try DatabaseQueue(path: file.path)
      try await queue.write { try $0.execute(sql: "DELETE FROM meta WHERE name LIKE 'type:%'") }
      try queue.close()
    }
    let again = try file.open()
    #expect(try await CacheUnderTest(store: again).read(document) == written.data)
    try again.close()
  }

  @Test("what another process wrote tells the concrete types to a store that is open")
  func otherProcess() async throws {
    let (document, response) = Self.cases[0]
    let file = try StoreFile()
    let open = try file.open()
    let writer = try file.open()
    let written = try await CacheUnderTest(store: writer).write(response, document)
    // What this process learned from its own write is forgotten, as if another process had written.
    open.activity.concreteTypes.removeAll()
    #expect(try await CacheUnderTest(store: open).read(document) == written.data)
    try writer.close()
    try open.close()
  }

  @Test(
    "one key that means different fields in fragments is stored as the field of the object's type",
    arguments: Way.allCases)
  func writing(way: Way) async throws {
    let document = "{ list { __typename id ... on A { x: v } ... on I { x: w } } }"
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"list":[{"__typename":"A","id":1,"x":1},{"__typename":"C","id":2,"x":2}]}}"#,
        document)
      #expect(written.response.warnings.count == 1, "only I may be an interface")
      try await cache.expectDump(
        #"{"key":"A:1","fields":{"__typename":"A","id":1,"v":1}}"#,
        #"{"key":"C:2","fields":{"__typename":"C","id":2,"w":2}}"#,
        #"{"key":"QUERY_ROOT","fields":{"list":[{"$ref":"A:1"},{"$ref":"C:2"}]}}"#)
      // A response without an A, when the store has met one.
      try await cache.write(#"{"data":{"list":[{"__typename":"C","id":3,"x":3}]}}"#, document)
      #expect(
        try await cache.read("{ list { __typename id w } }")
          == #"{"list":[{"__typename":"C","id":3,"w":3}]}"#)
    }
  }

  @Test("a field asked of another type only is not delivered", arguments: Way.allCases)
  func delivery(way: Way) async throws {
    let document = "{ list { id ... on B { __typename } } }"
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"list":[{"__typename":"B","id":1},{"__typename":"A","id":2}]}}"#, document)
      #expect(written.data == #"{"list":[{"__typename":"B","id":1},{"id":2}]}"#)
      #expect(try await cache.read(document) == written.data)
    }
  }

  @Test("an explanation leaves the same fields out as a read", arguments: StoreKind.allCases)
  func explanation(kind: StoreKind) async throws {
    let (document, response) = Self.cases[1]
    try await kind.withStore { store in
      try await CacheUnderTest(store: store).write(response, document)
      let explanation = try await store.explain(
        prepare(document), options: ReadOptions(), showing: .everything)
      #expect(explanation.counts[.missing] == nil)
    }
  }

  @Test(
    "a server that invents types without end does not fill the store", arguments: StoreKind.allCases
  )
  func manyTypes(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let list = (0..<5000).map { #"{"__typename":"T\#($0)","id":1}"# }.joined(separator: ",")
      let cache = CacheUnderTest(store: store)
      try await cache.write(
        #"{"data":{"list":[\#(list)]}}"#, "{ list { __typename id ... on B { v } } }")
      let known = (0..<5000).count { store.records.activity.concreteTypes.contains("T\($0)") }
      #expect(known == ConcreteTypes.limit)
    }
  }

  @Test("a cleared store has met no types", arguments: StoreKind.allCases)
  func cleared(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let (document, response) = Self.cases[0]
      try await CacheUnderTest(store: store).write(response, document)
      try await store.clear()
      #expect(!store.records.activity.concreteTypes.contains("B"))
      // `B` may be an interface now.
      let cache = CacheUnderTest(store: store)
      try await cache.write(
        #"{"data":{"one":{"__typename":"A","id":1,"v":1}}}"#, "{ one { __typename id v } }")
      #expect(
        try await cache.read("{ one { id ... on B { v } } }") == #"{"one":{"id":1,"v":1}}"#)
    }
  }

  @Test("an object that arrives without __typename keeps its fields, with a schema and without")
  func withoutTypename() async throws {
    let facts = try facts(
      "union U = T0 | T3 type T0 { k1: String k2: String } type T3 { f1: Int } type Query { f0: [U] }"
    )
    var keys = KeyRules()
    keys.types["T0"] = ["k1", "k2"]
    for (document, response) in [
      ("{ f0 { ... on T0 { k1 } ... on T0 { k2 } } }", #"{"f0":[{"k2":"x"}]}"#),
      ("{ f0 { ... on T0 { k2 } ... on T3 { f1 } } }", #"{"f0":[{"k2":"x"},{"f1":7}]}"#),
    ] {
      for (writes, reads) in [(true, true), (true, false), (false, true), (false, false)] {
        try await StoreKind.memory.withStore { store in
          _ = try await normalize(
            #"{"data":\#(response)}"#.utf8,
            prepare(document, keys: keys, facts: writes ? facts : nil), into: store)
          let stored = try await dump(store)
          #expect(stored.contains(#""k2":"x""#), "\(stored)")
          let found = try await CacheUnderTest(store: store).read(
            prepare(document, keys: keys, facts: reads ? facts : nil))
          #expect(found == response || found.hasPrefix("miss at "), "\(writes) \(reads): \(found)")
        }
      }
    }
  }

  @Test("a read without a schema that had to guess about a type warns, as an import does")
  func guessedRead() async throws {
    try await StoreKind.memory.withStore { store in
      let document = "{ one { __typename id ... on B { v } } }"
      let cache = CacheUnderTest(store: store)
      try await cache.write(
        #"{"data":{"one":{"__typename":"A","id":1}}}"#, "{ one { __typename id } }")
      let answer = try await store.read(prepare(document), options: ReadOptions())
      #expect(answer.warnings.count == 1 && answer.warnings[0].contains("can be a B"))
      let facts = try facts(
        "interface I { id: Int } type A implements I { id: Int } type B implements I { id: Int v: Int } type Query { one: I }"
      )
      let known = try await store.read(prepare(document, facts: facts), options: ReadOptions())
      #expect(known.warnings == [])
    }
  }
}
