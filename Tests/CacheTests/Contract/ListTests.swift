import Foundation
import Testing

@testable import GQLRunCache

/// Lists of every depth and length.
@Suite("Lists")
struct ListTests {
  @Test("lists of objects nest, and hold nulls", arguments: Way.allCases)
  func nested(way: Way) async throws {
    try await way.withCache { cache in
      let document = "{ grid { ... on P { id } x } }"
      for (list, stored, shown) in [
        ("[]", "[]", "[]"), ("null", "null", "null"), ("[null]", "[null]", "[null]"),
        ("[[],[null],[[]]]", "[[],[null],[[]]]", "[[],[null],[[]]]"),
        (
          #"[[{"__typename":"P","id":1,"x":1},null],[{"__typename":"Q","x":2}],null,[[{"x":3,"__typename":"Q"}]]]"#,
          #"[[{"$ref":"P:1"},null],[{"__typename":"Q","x":2}],null,[[{"__typename":"Q","x":3}]]]"#,
          #"[[{"id":1,"x":1},null],[{"x":2}],null,[[{"x":3}]]]"#
        ),
      ] {
        try await cache.store.clear()
        let written = try await cache.write(#"{"data":{"grid":\#(list)}}"#, document)
        #expect(written.data == #"{"grid":\#(shown)}"#)
        #expect(try await cache.read(document) == #"{"grid":\#(shown)}"#)
        #expect(
          try await cache.dump().contains(#"{"key":"QUERY_ROOT","fields":{"grid":\#(stored)}}"#))
      }
    }
  }

  // MARK: Long lists

  /// What the elements of a long list are.
  enum Element: String, CaseIterable, Sendable {
    case embedded, references, mixed, lists, integers, strings, scalars, leafLists

    var isLeaf: Bool {
      switch self {
      case .integers, .strings, .scalars, .leafLists: true
      default: false
      }
    }

    func sent(_ i: Int) -> String {
      switch self {
      case .embedded: #"{"__typename":"E","n":\#(i),"t":"element number \#(i)"}"#
      case .references: #"{"__typename":"R","id":\#(i),"n":\#(i)}"#
      case .mixed:
        i % 3 == 0 ? "null" : i % 3 == 1 ? Self.embedded.sent(i) : Self.references.sent(i)
      case .lists: "[\(Self.embedded.sent(i)),[\(Self.references.sent(i))],null]"
      case .integers: "\(i)"
      case .strings: #""string \#(i) \u00e9\"""#
      case .scalars:
        [
          #"{"$ref":"R:\#(i)"}"#, #"{"$segments":["0123456789abcdef"],"count":1}"#,
          #"{"$values":["0123456789abcdef"],"count":1}"#, #"{"$null":\#(i)}"#,
          #"{"b":1,"a":\#(i)}"#,
          #"[{"$ref":"x"},\#(i)]"#, "null", "[]",
        ][i % 8]
      case .leafLists: "[[\(i),null],[],null]"
      }
    }

    /// As the dump shows it.
    func stored(_ i: Int) -> String {
      switch self {
      case .references: #"{"$ref":"R:\#(i)"}"#
      case .mixed: i % 3 == 2 ? Self.references.stored(i) : sent(i)
      case .lists: "[\(Self.embedded.sent(i)),[\(Self.references.stored(i))],null]"
      case .strings: #""string \#(i) é\"""#
      default: sent(i)
      }
    }

    var field: String { isLeaf ? "list" : "list { ... on R { id } n ... on E { t } }" }
  }

  @Test(
    "a long list is split into segments, without an effect on results",
    arguments: [Way.memory, .sqlite, .sqliteAsItArrives], Element.allCases)
  func longLists(way: Way, element: Element) async throws {
    try await way.kind.withStore { store in
      let cache = CacheUnderTest(
        store: store, arrival: way == .sqliteAsItArrives ? .pieces(of: 1000) : Arrival())
      for count in [150_000 / element.stored(10_000).utf8.count, 5] {
        let list = (0..<count).map(element.sent).joined(separator: ",")
        let document = "{ v { id \(element.field) last } }"
        let response = #"{"data":{"v":{"__typename":"V","id":1,"list":[\#(list)],"last":true}}}"#
        let written = try await cache.write(response, document)
        let statistics = try await store.statistics()
        #expect(count < 100 || statistics.segments > 1)
        #expect(written.changes.contains("V:1.list"))
        #expect(!written.changes.contains { $0.contains("$segment") })
        expectBytes(try await cache.read(document), try #require(written.data))
        let stored = (0..<count).map(element.stored).joined(separator: ",")
        let line =
          #"{"key":"V:1","fields":{"__typename":"V","id":1,"last":true,"list":[\#(stored)]}}"#
        let dump = try await cache.dump()
        expectBytes(dump.split(separator: "\n").last.map(String.init), line)
        #expect(!dump.contains("$segment:"))
        expectBytes(try await store.record(forKey: "V:1"), line)
        // The same again changes nothing.
        let again = try await cache.write(response, document)
        #expect(again.changes == [])
        #expect(again.summary?.newRecords == 0)
        #expect(again.summary?.changedRecords == 0)
        #expect(try await store.statistics().segments == statistics.segments)
        expectBytes(try await cache.dump(), dump)
      }
    }
  }

  static func list(_ count: Int, _ fields: (Int) -> String) -> String {
    (0..<count).map { #"{"__typename":"E",\#(fields($0))}"# }.joined(separator: ",")
  }

  static func response(_ list: String) -> String {
    #"{"data":{"v":{"__typename":"V","id":1,"list":[\#(list)]}}}"#
  }

  /// Lengths on both sides of the cut, where the elements have about 40 bytes.
  static let lengths = [3, 1500, 2000, 6000]

  @Test(
    "long lists merge by position like short ones",
    arguments: [Way.memory, .sqlite, .sqliteAsItArrives],
    lengths)
  func mergedLists(way: Way, count: Int) async throws {
    try await way.kind.withStore { store in
      let cache = CacheUnderTest(
        store: store, arrival: way == .sqliteAsItArrives ? .pieces(of: 500) : Arrival())
      try await cache.write(
        Self.response(Self.list(count) { #""a":"first field of \#($0)""# }),
        "{ v { id list { a } } }")
      let second = try await cache.write(
        Self.response(Self.list(count) { #""b":\#($0)"# }), "{ v { id list { b } } }")
      #expect(second.changes == ["V:1.list"])
      #expect(second.summary?.changedRecords == 1)
      let both = Self.list(count) { #""a":"first field of \#($0)","b":\#($0)"# }
      expectBytes(
        try await store.record(forKey: "V:1"),
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"list":[\#(both)]}}"#)
      let operation = try prepare("{ v { list { b a } } }")
      let shown = (0..<count).map { #"{"b":\#($0),"a":"first field of \#($0)"}"# }
      expectBytes(
        try await cache.read(operation), #"{"v":{"list":[\#(shown.joined(separator: ","))]}}"#)
      // One of the two selections again: nothing changes.
      let third = try await cache.write(
        Self.response(Self.list(count) { #""b":\#($0)"# }), "{ v { id list { b } } }")
      #expect(third.changes == [])
      #expect(third.summary?.changedRecords == 0)
      // Another type in one place replaces the list.
      let changed = Self.list(count) { #""b":\#($0)"# }
        .replacingOccurrences(of: #"{"__typename":"E","b":1}"#, with: #"{"__typename":"F","b":1}"#)
      let fourth = try await cache.write(Self.response(changed), "{ v { id list { b } } }")
      #expect(fourth.changes == ["V:1.list"])
      expectBytes(
        try await store.record(forKey: "V:1"),
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"list":[\#(changed)]}}"#)
      // Another length, too.
      let longer = Self.list(count + 1) { #""a":\#($0)"# }
      try await cache.write(Self.response(longer), "{ v { id list { a } } }")
      expectBytes(
        try await store.record(forKey: "V:1"),
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"list":[\#(longer)]}}"#)
    }
  }

  @Test("merging makes a list long that was short", arguments: [Way.memory, .sqlite])
  func growing(way: Way) async throws {
    try await way.withCache { cache in
      let count = 800
      let names = (0..<6).map { "field\($0)" }
      for name in names {
        try await cache.write(
          Self.response(Self.list(count) { #""\#(name)":"value \#($0)""# }),
          "{ v { id list { \(name) } } }")
      }
      let all = Self.list(count) { i in
        names.map { #""\#($0)":"value \#(i)""# }.joined(separator: ",")
      }
      expectBytes(
        try await cache.store.record(forKey: "V:1"),
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"list":[\#(all)]}}"#)
      let document = "{ v { list { \(names.joined(separator: " ")) } } }"
      #expect(try await cache.read(document).utf8.count > 100_000)
    }
  }

  @Test("the fields of a list's objects may come in any order", arguments: [Way.memory, .sqlite])
  func shuffled(way: Way) async throws {
    try await way.withCache { cache in
      let document = "{ v { id list { a b } } }"
      let first = (0..<3000).map { #"{"__typename":"E","a":\#($0),"b":"text \#($0)"}"# }
      let second = (0..<3000).map { #"{"b":"text \#($0)","__typename":"E","a":\#($0)}"# }
      try await cache.write(Self.response(first.joined(separator: ",")), document)
      let dump = try await cache.dump()
      let again = try await cache.write(Self.response(second.joined(separator: ",")), document)
      #expect(again.changes == [])
      #expect(try await cache.dump() == dump)
    }
  }

  @Test("lists in lists may be long, and objects in them deep", arguments: [Way.memory, .sqlite])
  func longInLong(way: Way) async throws {
    try await way.withCache { cache in
      let inner = (0..<3000).map {
        #"{"__typename":"E","a":\#($0),"refs":[{"__typename":"R","id":\#($0)}]}"#
      }
      .joined(separator: ",")
      let rows = (0..<3).map {
        #"{"__typename":"Row","n":\#($0),"cells":[[\#(inner)],null,[\#(inner)]]}"#
      }
      let document = "{ rows { n cells { a refs { id } } } }"
      let written = try await cache.write(
        #"{"data":{"rows":[\#(rows.joined(separator: ","))]}}"#, document)
      expectBytes(try await cache.read(document), try #require(written.data))
      #expect(try await cache.store.statistics().types["R"]?.records == 3000)
      let dump = try await cache.dump()
      let again = try await cache.write(
        #"{"data":{"rows":[\#(rows.joined(separator: ","))]}}"#, document)
      #expect(again.changes == [])
      #expect(try await cache.dump() == dump)
    }
  }
}
