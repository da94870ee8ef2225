import Testing

@testable import GQLRunCache

/// Fragments, and what the type of an object decides.
@Suite("Fragments")
struct FragmentTests {
  static let schema = """
    interface Node { id: ID! }
    interface Named { name: String! }
    union Item = Issue | Pull | Note
    type Issue implements Node & Named { id: ID! name: String! number: Int author: Actor by: User }
    type Pull implements Node { id: ID! number: Int title: String author: Actor merged(by: ID): Boolean }
    type Note { text: String number: Int }
    interface Actor { login: String }
    type User implements Actor & Node { id: ID! login: String email: String }
    type Bot implements Actor { login: String url: String }
    type Query { items: [Item!] item: Item node(id: ID!): Node }
    """

  /// An element of a list as it is sent, as the list refers to it, and as it is read.
  private struct Item {
    var sent: String
    var stored: String
    var shown: String
  }

  @Test(
    "each type of a union has its own fields, under response keys that differ between them",
    arguments: Way.allCases, [true, false])
  func union(way: Way, hasSchema: Bool) async throws {
    let facts = hasSchema ? try facts(Self.schema) : nil
    try await way.withCache { cache in
      let operation = try prepare(
        """
        { items {
            ... on Issue { id label: name n: number }
            ... on Pull { id label: title n: merged(by: 1) }
            ... on Note { label: text }
        } }
        """, facts: facts)
      let items = [
        Item(
          sent: #"{"__typename":"Issue","id":"1","label":"one","n":10}"#,
          stored: #"{"$ref":"Issue:1"}"#, shown: #"{"id":"1","label":"one","n":10}"#),
        Item(
          sent: #"{"n":true,"label":"two","id":"2","__typename":"Pull"}"#,
          stored: #"{"$ref":"Pull:2"}"#, shown: #"{"id":"2","label":"two","n":true}"#),
        Item(
          sent: #"{"label":"three","__typename":"Note"}"#,
          stored: #"{"__typename":"Note","text":"three"}"#, shown: #"{"label":"three"}"#),
        Item(
          sent: #"{"id":"4","__typename":"Issue","label":"four","n":40}"#,
          stored: #"{"$ref":"Issue:4"}"#, shown: #"{"id":"4","label":"four","n":40}"#),
      ]
      for items in permute(items) {
        try await cache.store.clear()
        let written = try await cache.write(
          #"{"data":{"items":[\#(items.map(\.sent).joined(separator: ","))]}}"#, operation)
        try await cache.expectDump(
          #"{"key":"Issue:1","fields":{"__typename":"Issue","id":"1","name":"one","number":10}}"#,
          #"{"key":"Issue:4","fields":{"__typename":"Issue","id":"4","name":"four","number":40}}"#,
          #"{"key":"Pull:2","fields":{"__typename":"Pull","id":"2","merged({\"by\":1})":true,"title":"two"}}"#,
          #"{"key":"QUERY_ROOT","fields":{"items":[\#(items.map(\.stored).joined(separator: ","))]}}"#
        )
        #expect(!(written.data ?? "").contains("__typename"))
        let shown = items.map(\.shown).joined(separator: ",")
        #expect(try await cache.read(operation) == #"{"items":[\#(shown)]}"#)
      }
    }
  }

  @Test(
    "fields below a key may differ between types, too", arguments: Way.allCases, [true, false])
  func nestedConflict(way: Way, hasSchema: Bool) async throws {
    let facts = hasSchema ? try facts(Self.schema) : nil
    let operation = try prepare(
      """
      { items { ... on Issue { id author { v: login } } ... on Pull { id author { v: __typename w: login } } } }
      """, facts: facts)
    for items in permute([
      Item(
        sent: #"{"__typename":"Issue","id":"1","author":{"__typename":"Bot","v":"b1"}}"#,
        stored: #"{"$ref":"Issue:1"}"#, shown: #"{"id":"1","author":{"v":"b1"}}"#),
      Item(
        sent: #"{"id":"2","author":{"v":"Bot","w":"b2","__typename":"Bot"},"__typename":"Pull"}"#,
        stored: #"{"$ref":"Pull:2"}"#, shown: #"{"id":"2","author":{"v":"Bot","w":"b2"}}"#),
    ]) {
      try await way.withCache { cache in
        try await cache.write(
          #"{"data":{"items":[\#(items.map(\.sent).joined(separator: ","))]}}"#, operation)
        try await cache.expectDump(
          #"{"key":"Issue:1","fields":{"__typename":"Issue","author":{"__typename":"Bot","login":"b1"},"id":"1"}}"#,
          #"{"key":"Pull:2","fields":{"__typename":"Pull","author":{"__typename":"Bot","login":"b2"},"id":"2"}}"#,
          #"{"key":"QUERY_ROOT","fields":{"items":[\#(items.map(\.stored).joined(separator: ","))]}}"#
        )
        let shown = items.map(\.shown).joined(separator: ",")
        #expect(try await cache.read(operation) == #"{"items":[\#(shown)]}"#)
      }
    }
  }

  @Test(
    "fields of another type's fragment below a shared key are not missing",
    arguments: Way.allCases, [true, false])
  func nestedOptional(way: Way, hasSchema: Bool) async throws {
    let facts = hasSchema ? try facts(Self.schema) : nil
    try await way.withCache { cache in
      let operation = try prepare(
        "{ item { ... on Issue { id author { login } } ... on Pull { id author { ... on Bot { url } } } } }",
        facts: facts)
      let written = try await cache.write(
        #"{"data":{"item":{"__typename":"Issue","id":"1","author":{"__typename":"Bot","login":"b"}}}}"#,
        operation)
      #expect(written.data == #"{"item":{"id":"1","author":{"login":"b"}}}"#)
      #expect(try await cache.read(operation) == written.data)
    }
  }

  @Test(
    "with a schema, a type name that only a fragment on another type asks for is not shown",
    arguments: Way.allCases)
  func hiddenTypeName(way: Way) async throws {
    let facts = try facts(Self.schema)
    try await way.withCache { cache in
      let operation = try prepare(
        "{ item { ... on Issue { author { __typename } } ... on Pull { author { login } } } }",
        facts: facts)
      for (type, shown) in [("Pull", #""login":"b""#), ("Issue", #""__typename":"Bot""#)] {
        let fields = type == "Pull" ? #","login":"b""# : ""
        let written = try await cache.write(
          #"{"data":{"item":{"__typename":"\#(type)","id":"1","author":{"__typename":"Bot"\#(fields)}}}}"#,
          operation)
        #expect(written.data == #"{"item":{"author":{\#(shown)}}}"#)
        #expect(try await cache.read(operation) == written.data)
      }
    }
  }

  @Test("a fragment on a type inside one on an interface names the type", arguments: Way.allCases)
  func typeInsideInterface(way: Way) async throws {
    let document = """
      { node(id: 1) { ...F } }
      fragment F on Node { id ... on Issue { v: name } ... on Pull { v: title ...G } }
      fragment G on Actor { ... on Pull { number } }
      """
    for facts in [nil, try facts(Self.schema)] {
      try await way.withCache { cache in
        let operation = try prepare(document, facts: facts)
        try await cache.write(
          #"{"data":{"node":{"__typename":"Pull","id":"1","v":"T"}}}"#, operation)
        try await cache.expectDump(
          #"{"key":"Pull:1","fields":{"__typename":"Pull","id":"1","title":"T"}}"#,
          #"{"key":"QUERY_ROOT","fields":{"node({\"id\":1})":{"$ref":"Pull:1"}}}"#)
        // With the schema, an Actor is never a Pull; without it, the type is named, so the field is due.
        #expect(
          try await cache.read(operation)
            == (facts == nil ? "miss at node.number" : #"{"node":{"id":"1","v":"T"}}"#))
      }
    }
  }

  @Test(
    "a field that a fragment on the object's own type asks for is missed", arguments: Way.allCases)
  func requiredByType(way: Way) async throws {
    for facts in [nil, try facts(Self.schema)] {
      try await way.withCache { cache in
        try await cache.write(
          #"{"data":{"node":{"__typename":"User","id":"1","login":"ada"}}}"#,
          "{ node(id: 1) { id ... on User { login } } }", facts: facts)
        for document in [
          "{ node(id: 1) { id ... on User { login email } } }",
          "{ node(id: 1) { id ...F } } fragment F on Node { ... on User { login email } }",
          "{ node(id: 1) { id ... { ... on User { email } } } }",
        ] {
          #expect(try await cache.read(document, facts: facts) == "miss at node.email")
        }
      }
    }
  }

  @Test("with a schema, exactly the fragments that apply are read", arguments: Way.allCases)
  func schemaDecides(way: Way) async throws {
    let facts = try facts(Self.schema)
    try await way.withCache { cache in
      let operation = try prepare(
        "{ item { ... on Node { id } ... on Named { name } ... on Actor { login } ... on Item { ... on Note { text } } } }",
        facts: facts)
      let written = try await cache.write(
        #"{"data":{"item":{"__typename":"Issue","id":"1","name":"n"}}}"#, operation)
      #expect(written.data == #"{"item":{"id":"1","name":"n"}}"#)
      #expect(try await cache.read(operation) == written.data)
      // A field of the record that belongs to a fragment that does not apply stays hidden.
      try await cache.write(
        #"{"data":{"item":{"__typename":"Issue","id":"1","login":"x"}}}"#, "{ item { id login } }",
        facts: facts)
      #expect(try await cache.read(operation) == written.data)
      #expect(
        try await cache.read(
          "{ item { ... on Named { name } ... on Pull { title } } }", facts: facts)
          == #"{"item":{"name":"n"}}"#)
      #expect(
        try await cache.read("{ item { ... on Issue { number } } }", facts: facts)
          == "miss at item.number")
    }
  }

  @Test(
    "without a schema, a fragment on another type name applies when all its fields are there",
    arguments: Way.allCases)
  func withoutSchema(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare(
        "{ item { ... on Node { id } ... on Named { name nick } ... on Actor { login } } }")
      let written = try await cache.write(
        #"{"data":{"item":{"__typename":"Issue","id":"1","name":"n","nick":"m"}}}"#, operation)
      #expect(written.data == #"{"item":{"id":"1","name":"n","nick":"m"}}"#)
      #expect(try await cache.read(operation) == written.data)
      // With one of two fields, whether it applies is not known; to omit the one that is stored would lose it.
      #expect(
        try await cache.read("{ item { id ... on Named { name other } } }")
          == "miss at item.other")
      #expect(
        try await cache.read("{ item { id ... on Named { other } } }") == #"{"item":{"id":"1"}}"#)
      // Asked for on its own as well, it is.
      #expect(
        try await cache.read("{ item { id ... on Named { name other } name } }")
          == #"{"item":{"id":"1","name":"n"}}"#)
    }
  }

  @Test("fragments at the root always apply", arguments: Way.allCases)
  func rootFragments(way: Way) async throws {
    for document in [
      "{ ...F } fragment F on Query { a b { id } }",
      "{ ...F } fragment F on RootQueryType { a b { id } }",
      "{ ... on Anything { ... on QueryRoot { a } b { id } } }",
      "{ ... { a ... { b { id } } } }",
    ] {
      try await way.withCache { cache in
        let operation = try prepare(document)
        #expect(try await cache.read(operation) == "miss at a", "\(document)")
        let written = try await cache.write(
          #"{"data":{"a":1,"b":{"__typename":"B","id":1}}}"#, operation)
        #expect(written.data == #"{"a":1,"b":{"id":1}}"#)
        #expect(try await cache.read(operation) == written.data)
        try await cache.expectDump(
          #"{"key":"B:1","fields":{"__typename":"B","id":1}}"#,
          #"{"key":"QUERY_ROOT","fields":{"a":1,"b":{"$ref":"B:1"}}}"#)
      }
    }
  }

  @Test("selections of one field from several fragments are merged", arguments: Way.allCases)
  func mergedSelections(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare(
        """
        { v { ...A ...B a { ...C } ...A } }
        fragment A on V { id a { x b { p } } }
        fragment B on V { a { y b { q } } }
        fragment C on A { z b { p } }
        """)
      let written = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,"a":{"__typename":"A","x":1,"b":{"__typename":"B","p":4,"q":5},"y":2,"z":3}}}}"#,
        operation)
      #expect(written.response.statistics.unknownFields == 0)
      #expect(written.data == #"{"v":{"id":1,"a":{"x":1,"b":{"p":4,"q":5},"y":2,"z":3}}}"#)
      #expect(try await cache.read(operation) == written.data)
    }
  }

  @Test("two meanings of one key in a selection set are harmless", arguments: Way.allCases)
  func contradiction(way: Way) async throws {
    for document in [
      "{ v { id x: a x: b } }", "{ v { id c { x: a } c { x: b } } }",
      "{ v { id ... on V { x: a x: b } } }", "{ v { id c { ... on C { x: a } } c { x: b } } }",
      "{ x: a x: b }",
    ] {
      try await way.withCache { cache in
        for response in [
          #"{"data":{"v":{"__typename":"V","id":1,"x":1,"c":{"__typename":"C","x":2}},"x":3}}"#,
          #"{"data":{"x":3,"v":{"c":{"x":2,"__typename":"C"},"x":1,"id":1,"__typename":"V"}}}"#,
        ] {
          try await cache.write(response, document)
          _ = try await cache.read(document)
          _ = try await cache.dump()
        }
      }
    }
  }

  @Test("__typename is shown where it was asked for, under the asked name", arguments: Way.allCases)
  func typenames(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare(
        "{ __typename t: __typename v { id k: __typename w { __typename } ... on V { t: __typename } } }"
      )
      let written = try await cache.write(
        #"{"data":{"__typename":"Query","t":"Query","v":{"__typename":"V","id":1,"k":"V","w":{"__typename":"W"},"t":"V"}}}"#,
        operation)
      #expect(
        written.data
          == #"{"__typename":"Query","t":"Query","v":{"id":1,"k":"V","w":{"__typename":"W"},"t":"V"}}"#
      )
      #expect(try await cache.read(operation) == written.data)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:1"}}}"#,
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"w":{"__typename":"W"}}}"#)
    }
  }

  @Test("the root's type name alone makes no record to show", arguments: Way.allCases)
  func rootTypename(way: Way) async throws {
    try await way.withCache { cache in
      // The type is not known yet, and a root type may have any name.
      #expect(try await cache.read("{ __typename }") == "miss at __typename")
      try await cache.write(#"{"data":{"__typename":"Root"}}"#, "{ __typename }")
      #expect(try await cache.read("{ __typename }") == #"{"__typename":"Root"}"#)
      try await cache.expectDump()
      #expect(try await cache.store.record(forKey: "QUERY_ROOT") == nil)
    }
  }

  @Test("an alias that hides __typename is refused")
  func hiddenTypename() async throws {
    #expect(
      try await code { _ = try prepare("{ v { __typename: name } }") } == .invalidOperation)
  }

  @Test("selections deeper than any response are refused, not recursed into")
  func deepFragments() async throws {
    let level = String(repeating: "a{", count: 200)
    let end = String(repeating: "}", count: 200)
    let fragments = (0..<250).map { "fragment F\($0) on T { \(level) ...F\($0 + 1) \(end) }" }
    let document = "{ ...F0 } \(fragments.joined(separator: " ")) fragment F250 on T { a }"
    #expect(try await code { _ = try prepare(document) } == .invalidOperation)
  }
}
