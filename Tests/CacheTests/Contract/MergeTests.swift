import Testing

@testable import GQLRunCache

/// What becomes of a stored value when another arrives.
@Suite("Merge")
struct MergeTests {
  /// Two responses in a row for one object, and what is stored after.
  struct Case: Sendable, CustomTestStringConvertible {
    var title: String
    /// The selection of `v`, without `id`.
    var selection: String
    /// The fields of the object in the first and in the second response.
    var first: String
    var second: String
    /// The second's selection, where it is another.
    var secondSelection: String?
    /// The fields of `V:1` after both, without `__typename` and `id`, sorted.
    var stored: String
    /// The fields of `V:1` that the second response changes.
    var changed: [String]
    /// Other records after both.
    var others: [String] = []
    /// Changes of other records.
    var otherChanges: [String] = []

    var testDescription: String { title }
  }

  static let cases = [
    Case(
      title: "a scalar replaces a scalar", selection: "x y", first: #""x":1,"y":2"#,
      second: #""x":1,"y":3"#, stored: #""x":1,"y":3"#, changed: ["y"]),
    Case(
      title: "a scalar with another text is another value", selection: "x y z",
      first: #""x":1,"y":"1","z":1.0"#, second: #""x":1.0,"y":1,"z":1.0"#,
      stored: #""x":1.0,"y":1,"z":1.0"#, changed: ["x", "y"]),
    Case(
      title: "null replaces a value, and a value null", selection: "x y z",
      first: #""x":1,"y":null,"z":null"#, second: #""x":null,"y":[],"z":null"#,
      stored: #""x":null,"y":[],"z":null"#, changed: ["x", "y"]),
    Case(
      title: "a field that is not asked for stays", selection: "x y", first: #""x":1,"y":2"#,
      second: #""x":3"#, secondSelection: "x", stored: #""x":3,"y":2"#, changed: ["x"]),
    Case(
      title: "a field that is asked for and does not come stays: absent is not null",
      selection: "x y", first: #""x":1,"y":2"#, second: #""y":2"#, stored: #""x":1,"y":2"#,
      changed: []),
    Case(
      title: "a field that comes first is added", selection: "y", first: #""y":2"#,
      second: #""x":1"#, secondSelection: "x", stored: #""x":1,"y":2"#, changed: ["x"]),
    Case(
      title: "the same fields in another order change nothing", selection: "x y z { a b }",
      first: #""x":1,"y":2,"z":{"__typename":"Z","a":1,"b":2}"#,
      second: #""z":{"b":2,"a":1,"__typename":"Z"},"y":2,"x":1"#,
      stored: #""x":1,"y":2,"z":{"__typename":"Z","a":1,"b":2}"#, changed: []),
    // References
    Case(
      title: "a reference replaces a reference", selection: "r { id }",
      first: #""r":{"__typename":"R","id":1}"#, second: #""r":{"__typename":"R","id":2}"#,
      stored: #""r":{"$ref":"R:2"}"#, changed: ["r"],
      others: [
        #"{"key":"R:1","fields":{"__typename":"R","id":1}}"#,
        #"{"key":"R:2","fields":{"__typename":"R","id":2}}"#,
      ], otherChanges: ["R:2.__typename", "R:2.id"]),
    Case(
      title: "an object with identity replaces one without", selection: "r { n }",
      first: #""r":{"__typename":"R","n":1}"#, second: #""r":{"__typename":"R","id":2}"#,
      secondSelection: "r { id }", stored: #""r":{"$ref":"R:2"}"#, changed: ["r"],
      others: [#"{"key":"R:2","fields":{"__typename":"R","id":2}}"#],
      otherChanges: ["R:2.__typename", "R:2.id"]),
    Case(
      title: "an object without identity replaces a reference", selection: "r { id }",
      first: #""r":{"__typename":"R","id":1}"#, second: #""r":{"__typename":"R","n":2}"#,
      secondSelection: "r { n }", stored: #""r":{"__typename":"R","n":2}"#, changed: ["r"],
      others: [#"{"key":"R:1","fields":{"__typename":"R","id":1}}"#]),
    Case(
      title: "what a reference refers to changes in its own record", selection: "r { id n }",
      first: #""r":{"__typename":"R","id":1,"n":1}"#,
      second: #""r":{"__typename":"R","id":1,"n":2}"#, stored: #""r":{"$ref":"R:1"}"#, changed: [],
      others: [#"{"key":"R:1","fields":{"__typename":"R","id":1,"n":2}}"#],
      otherChanges: ["R:1.n"]),
    // Objects without identity
    Case(
      title: "objects of one type merge", selection: "e { a }",
      first: #""e":{"__typename":"E","a":1}"#,
      second: #""e":{"__typename":"E","b":2}"#, secondSelection: "e { b }",
      stored: #""e":{"__typename":"E","a":1,"b":2}"#, changed: ["e"]),
    Case(
      title: "objects of two types replace each other", selection: "e { a }",
      first: #""e":{"__typename":"E","a":1}"#, second: #""e":{"__typename":"F","b":2}"#,
      secondSelection: "e { b }", stored: #""e":{"__typename":"F","b":2}"#, changed: ["e"]),
    Case(
      title: "objects without a type name merge", selection: "e { a }", first: #""e":{"a":1}"#,
      second: #""e":{"b":2}"#, secondSelection: "e { b }", stored: #""e":{"a":1,"b":2}"#,
      changed: ["e"]),
    Case(
      title: "an object with a type name replaces one without", selection: "e { a }",
      first: #""e":{"a":1}"#, second: #""e":{"__typename":"E","b":2}"#, secondSelection: "e { b }",
      stored: #""e":{"__typename":"E","b":2}"#, changed: ["e"]),
    Case(
      title: "objects merge at every depth", selection: "e { f { g { a } } }",
      first: #""e":{"__typename":"E","f":{"__typename":"F","g":{"__typename":"G","a":1}}}"#,
      second:
        #""e":{"__typename":"E","x":0,"f":{"__typename":"F","g":{"__typename":"G","b":2},"y":0}}"#,
      secondSelection: "e { x f { g { b } y } }",
      stored:
        #""e":{"__typename":"E","f":{"__typename":"F","g":{"__typename":"G","a":1,"b":2},"y":0},"x":0}"#,
      changed: ["e"]),
    Case(
      title: "of an object that merges, only what differs counts", selection: "e { a } f { a }",
      first: #""e":{"__typename":"E","a":1},"f":{"__typename":"E","a":1}"#,
      second: #""e":{"__typename":"E","a":1},"f":{"__typename":"E","a":2}"#,
      stored: #""e":{"__typename":"E","a":1},"f":{"__typename":"E","a":2}"#, changed: ["f"]),
    Case(
      title: "a null replaces an object", selection: "e { a }",
      first: #""e":{"__typename":"E","a":1}"#,
      second: #""e":null"#, stored: #""e":null"#, changed: ["e"]),
    // Lists
    Case(
      title: "lists of leaf values replace", selection: "l", first: #""l":[1,2,3]"#,
      second: #""l":[1,2]"#, stored: #""l":[1,2]"#, changed: ["l"]),
    Case(
      title: "lists of references replace", selection: "l { id }",
      first: #""l":[{"__typename":"R","id":1},{"__typename":"R","id":2}]"#,
      second: #""l":[{"__typename":"R","id":2},{"__typename":"R","id":1}]"#,
      stored: #""l":[{"$ref":"R:2"},{"$ref":"R:1"}]"#, changed: ["l"],
      others: [
        #"{"key":"R:1","fields":{"__typename":"R","id":1}}"#,
        #"{"key":"R:2","fields":{"__typename":"R","id":2}}"#,
      ]),
    Case(
      title: "lists of equal length merge by position", selection: "l { a }",
      first: #""l":[{"__typename":"E","a":1},{"__typename":"F","a":2}]"#,
      second: #""l":[{"__typename":"E","b":3},{"__typename":"F","b":4}]"#,
      secondSelection: "l { b }",
      stored: #""l":[{"__typename":"E","a":1,"b":3},{"__typename":"F","a":2,"b":4}]"#,
      changed: ["l"]),
    Case(
      title: "lists of another length replace", selection: "l { a }",
      first: #""l":[{"__typename":"E","a":1}]"#,
      second: #""l":[{"__typename":"E","b":3},{"__typename":"E","b":4}]"#,
      secondSelection: "l { b }",
      stored: #""l":[{"__typename":"E","b":3},{"__typename":"E","b":4}]"#,
      changed: ["l"]),
    Case(
      title: "a shorter list replaces", selection: "l { a }",
      first: #""l":[{"__typename":"E","a":1},{"__typename":"E","a":2}]"#,
      second: #""l":[{"__typename":"E","b":3}]"#, secondSelection: "l { b }",
      stored: #""l":[{"__typename":"E","b":3}]"#, changed: ["l"]),
    Case(
      title: "an empty list replaces, and is replaced", selection: "l { a } m { a }",
      first: #""l":[{"__typename":"E","a":1}],"m":[]"#,
      second: #""l":[],"m":[{"__typename":"E","a":1}]"#,
      stored: #""l":[],"m":[{"__typename":"E","a":1}]"#, changed: ["l", "m"]),
    Case(
      title: "another type in one place replaces the whole list", selection: "l { a }",
      first: #""l":[{"__typename":"E","a":1},{"__typename":"F","a":2}]"#,
      second: #""l":[{"__typename":"E","b":3},{"__typename":"E","b":4}]"#,
      secondSelection: "l { b }",
      stored: #""l":[{"__typename":"E","b":3},{"__typename":"E","b":4}]"#,
      changed: ["l"]),
    Case(
      title: "another entity in one place replaces the whole list", selection: "l { id a }",
      first: #""l":[{"__typename":"E","a":1},{"__typename":"R","id":1}]"#,
      second: #""l":[{"__typename":"E","b":3},{"__typename":"R","id":2}]"#,
      secondSelection: "l { id b }", stored: #""l":[{"__typename":"E","b":3},{"$ref":"R:2"}]"#,
      changed: ["l"],
      others: [
        #"{"key":"R:1","fields":{"__typename":"R","id":1}}"#,
        #"{"key":"R:2","fields":{"__typename":"R","id":2}}"#,
      ], otherChanges: ["R:2.__typename", "R:2.id"]),
    Case(
      title: "an entity instead of an object without identity replaces the whole list",
      selection: "l { id a }",
      first: #""l":[{"__typename":"E","a":1},{"__typename":"E","a":2}]"#,
      second: #""l":[{"__typename":"E","b":3},{"__typename":"E","id":1}]"#,
      secondSelection: "l { id b }", stored: #""l":[{"__typename":"E","b":3},{"$ref":"E:1"}]"#,
      changed: ["l"], others: [#"{"key":"E:1","fields":{"__typename":"E","id":1}}"#],
      otherChanges: ["E:1.__typename", "E:1.id"]),
    Case(
      title: "nulls in lists contradict nothing", selection: "l { a }",
      first: #""l":[{"__typename":"E","a":1},null,{"__typename":"E","a":3},null]"#,
      second: #""l":[null,{"__typename":"F","b":2},{"__typename":"E","b":3},null]"#,
      secondSelection: "l { b }",
      stored: #""l":[null,{"__typename":"F","b":2},{"__typename":"E","a":3,"b":3},null]"#,
      changed: ["l"]),
    Case(
      title: "lists in lists merge, too", selection: "l { a }",
      first: #""l":[[{"__typename":"E","a":1}],[],null]"#,
      second: #""l":[[{"__typename":"E","b":2}],[],null]"#, secondSelection: "l { b }",
      stored: #""l":[[{"__typename":"E","a":1,"b":2}],[],null]"#, changed: ["l"]),
    Case(
      title: "a list and an object replace each other", selection: "l { a } m { a }",
      first: #""l":[{"__typename":"E","a":1}],"m":{"__typename":"E","a":1}"#,
      second: #""l":{"__typename":"E","b":1},"m":[{"__typename":"E","b":1}]"#,
      secondSelection: "l { b } m { b }",
      stored: #""l":{"__typename":"E","b":1},"m":[{"__typename":"E","b":1}]"#, changed: ["l", "m"]),
    // Leaf or not
    Case(
      title: "a custom scalar and an object with selected fields replace each other",
      selection: "x y { a }", first: #""x":{"__typename":"E","a":1},"y":{"__typename":"E","a":1}"#,
      second: #""x":{"__typename":"E","a":1},"y":{"__typename":"E","a":1}"#,
      secondSelection: "x { a } y",
      stored: #""x":{"__typename":"E","a":1},"y":{"__typename":"E","a":1}"#,
      changed: ["x", "y"]),
  ]

  @Test("the second of two responses merges with what is stored", arguments: Way.allCases, cases)
  func twoResponses(way: Way, test: Case) async throws {
    try await way.withCache { cache in
      let secondDocument = "{ v { id \(test.secondSelection ?? test.selection) } }"
      let first = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,\#(test.first)}}}"#,
        "{ v { id \(test.selection) } }")
      #expect(first.summary?.changedRecords == 0)
      let second = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,\#(test.second)}}}"#, secondDocument)
      #expect(
        second.changes == (test.otherChanges + test.changed.map { "V:1.\($0)" }).sorted())
      // Sorted with the others: `__typename` first, and lower case after it.
      let own = (#""__typename":"V","# + insertingID(test.stored))
      let lines =
        (test.others + [
          #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:1"}}}"#,
          #"{"key":"V:1","fields":{\#(own)}}"#,
        ]).sorted()
      let dump = try await cache.dump()
      #expect(dump.split(separator: "\n").map(String.init) == lines)
      // And again: nothing changes any more.
      let third = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,\#(test.second)}}}"#, secondDocument)
      #expect(third.changes == [])
      #expect(third.summary?.changedRecords == 0 && third.summary?.newRecords == 0)
      #expect(try await cache.dump() == dump)
    }
  }

  /// The fields with `id` among them; only its neighbours in these tests are looked at.
  private func insertingID(_ fields: String) -> String {
    let id = #""id":1"#
    if fields.hasPrefix(#""e""#) {
      // `e` and `f` sort before `id`.
      return fields + "," + id
    }
    return id + "," + fields
  }

  @Test("the same entity twice in one response is the union of its fields", arguments: Way.allCases)
  func sameEntityTwice(way: Way) async throws {
    let document = "{ a { id x e { p } } b { id y e { q } } list { id z } }"
    let operation = try prepare(document)
    try await way.withCache { cache in
      let written = try await cache.write(
        #"""
        {"data":{"a":{"__typename":"U","id":1,"x":1,"e":{"__typename":"E","p":1}},
         "b":{"__typename":"U","id":"1","y":2,"e":{"__typename":"E","q":2}},
         "list":[{"__typename":"U","id":1,"z":1},{"__typename":"U","id":1,"z":2},{"__typename":"U","id":2,"z":3}]}}
        """#, operation)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"U:1"},"b":{"$ref":"U:1"},"list":[{"$ref":"U:1"},{"$ref":"U:1"},{"$ref":"U:2"}]}}"#,
        #"{"key":"U:1","fields":{"__typename":"U","e":{"__typename":"E","p":1,"q":2},"id":1,"x":1,"y":2,"z":2}}"#,
        #"{"key":"U:2","fields":{"__typename":"U","id":2,"z":3}}"#)
      #expect(
        written.changes == [
          "QUERY_ROOT.a", "QUERY_ROOT.b", "QUERY_ROOT.list", "U:1.__typename", "U:1.e", "U:1.id",
          "U:1.x", "U:1.y", "U:1.z", "U:2.__typename", "U:2.id", "U:2.z",
        ])
    }
  }

  @Test("an entity inside itself is one record", arguments: Way.allCases)
  func selfReference(way: Way) async throws {
    try await way.withCache { cache in
      let document = "{ a { id x friend { id x friend { id y } } } }"
      let written = try await cache.write(
        #"{"data":{"a":{"__typename":"U","id":1,"friend":{"__typename":"U","id":2,"x":2,"friend":{"__typename":"U","id":1,"y":3}},"x":1}}}"#,
        document)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"U:1"}}}"#,
        #"{"key":"U:1","fields":{"__typename":"U","friend":{"$ref":"U:2"},"id":1,"x":1,"y":3}}"#,
        #"{"key":"U:2","fields":{"__typename":"U","friend":{"$ref":"U:1"},"id":2,"x":2}}"#)
      #expect(
        try await cache.read(document)
          == #"{"a":{"id":1,"x":1,"friend":{"id":2,"x":2,"friend":{"id":1,"y":3}}}}"#)
      #expect(written.summary?.newRecords == 3)
    }
  }

  @Test("a new record changes all its fields", arguments: Way.allCases)
  func newRecord(way: Way) async throws {
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,"a":null,"b":{"__typename":"B","c":[]}},"w":null}}"#,
        "{ v { id a b { c } } w }")
      #expect(
        written.changes == [
          "QUERY_ROOT.v", "QUERY_ROOT.w", "V:1.__typename", "V:1.a", "V:1.b", "V:1.id",
        ])
    }
  }

  @Test("mutations write their objects, and no root", arguments: Way.allCases)
  func mutation(way: Way) async throws {
    try await way.withCache { cache in
      let mutation = "mutation { update(id: 1) { id name } stats { x } many { id } }"
      let written = try await cache.write(
        #"{"data":{"update":{"__typename":"U","id":1,"name":"Ada"},"stats":{"__typename":"S","x":1},"many":[{"__typename":"U","id":2}]}}"#,
        mutation)
      #expect(
        written.data == #"{"update":{"id":1,"name":"Ada"},"stats":{"x":1},"many":[{"id":2}]}"#)
      try await cache.expectDump(
        #"{"key":"U:1","fields":{"__typename":"U","id":1,"name":"Ada"}}"#,
        #"{"key":"U:2","fields":{"__typename":"U","id":2}}"#)
      // Nor does a mutation read what a query of the same name has stored.
      try await cache.write(
        #"{"data":{"update":{"__typename":"U","id":1,"name":"Ada"}}}"#,
        "{ update(id: 1) { id name } }")
      #expect(
        try await cache.read("mutation { update(id: 1) { id name } }") == "miss at update")
    }
  }

  @Test("without their roots, queries write their objects only", arguments: StoreKind.allCases)
  func withoutRoots(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await normalize(
        #"{"data":{"v":{"__typename":"U","id":1,"n":null}},"errors":[{"message":"m","path":["v","n"]}]}"#
          .utf8, prepare("{ v { id n } }"), into: store, writesRoots: false)
      #expect(
        try await dump(store) == lines(#"{"key":"U:1","fields":{"__typename":"U","id":1}}"#))
    }
  }
}
