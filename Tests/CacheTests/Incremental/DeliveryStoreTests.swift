import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// What parts of a response do in the store.
@Suite("Responses in parts, in the store")
struct DeliveryStoreTests {
  static let document = """
    { hero { id name ...Details @defer(label: "details") friends @stream(initialCount: 1) { id name } } }
    fragment Details on Hero { bio stats { wins } }
    """
  static let first = """
    {"data":{"hero":{"__typename":"Hero","id":"1","name":"Luke","friends":[
      {"__typename":"Hero","id":"2","name":"Han"}]}},"hasNext":true}
    """
  static let details = """
    {"incremental":[{"path":["hero"],"data":{"__typename":"Hero","bio":"b","stats":{"__typename":"Stats","wins":3}}}],
     "hasNext":true}
    """
  static let friend = """
    {"incremental":[{"path":["hero","friends",1],"items":[{"__typename":"Hero","id":"3","name":"Leia"}]}],
     "hasNext":false}
    """

  @Test(
    "each part is one transaction that writes what is new", arguments: StoreKind.allCases)
  func transactions(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      let arrived = try await receive(
        [Self.first, Self.details, Self.friend], operation, into: store)
      #expect(
        arrived.changes == [
          [
            "Hero:1.__typename", "Hero:1.friends", "Hero:1.id", "Hero:1.name", "Hero:2.__typename",
            "Hero:2.id", "Hero:2.name", "QUERY_ROOT.hero",
          ], ["Hero:1.bio", "Hero:1.stats"],
          ["Hero:1.friends", "Hero:3.__typename", "Hero:3.id", "Hero:3.name"],
        ])
      try await CacheUnderTest(store: store).expectDump(
        #"{"key":"Hero:1","fields":{"__typename":"Hero","bio":"b","friends":[{"$ref":"Hero:2"},{"$ref":"Hero:3"}],"id":"1","name":"Luke","stats":{"__typename":"Stats","wins":3}}}"#,
        #"{"key":"Hero:2","fields":{"__typename":"Hero","id":"2","name":"Han"}}"#,
        #"{"key":"Hero:3","fields":{"__typename":"Hero","id":"3","name":"Leia"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"hero":{"$ref":"Hero:1"}}}"#)
    }
  }

  @Test("a record of a part that was discarded is stored with a later part")
  func discarded() async throws {
    try await StoreKind.memory.withStore { store in
      func post(_ id: Int) -> String { #"{"__typename":"Post","id":"\#(id)","text":null}"# }
      // Of many records, the last ones are remembered while they are staged.
      let posts = (0..<300).map(post).joined(separator: ",")
      let messages = [
        #"{"data":{"feed":[]},"hasNext":true}"#,
        """
        {"incremental":[{"path":["feed",0],"items":[\(posts)],
          "errors":[{"message":"no","path":["feed",0,"text"]}]}],"hasNext":true}
        """,
        #"{"incremental":[{"path":["feed",300],"items":[\#(post(299))]}],"hasNext":false}"#,
      ]
      let operation = try prepare("{ feed @stream { id text } }")
      _ = try await receive(messages, operation, into: store, policy: .discard)
      try await CacheUnderTest(store: store).expectDump(
        #"{"key":"Post:299","fields":{"__typename":"Post","id":"299","text":null}}"#,
        #"{"key":"QUERY_ROOT","fields":{"feed":[]}}"#)
    }
  }

  @Test(
    "what one selection of a field identifies, all selections of the field do",
    arguments: [
      // Another alias has the fragment with the key, in a later part.
      "{ a: node { x } ... @defer { b: node { ... on User { code } } } }":
        "a: node { __typename ... on User { code } x }",
      // The key comes with a deferred fragment inside a deferred fragment.
      "{ node { ... @defer { ... on User @defer { name } } } }":
        "node { __typename ... on User { code } ... @defer {",
      // The key field of a type is a field of its interface.
      "{ a: node { x } b: node @stream { ... @include(if: true) { code } } }":
        "a: node { __typename ... on User { code } x }",
      // Without the directives, nothing is added.
      "{ a: node { x } b: node { ... on User { code } } }": "a: node { __typename x }",
      // A type that the field cannot have.
      "{ a: other { x } ... @defer { b: node { ... on User { code } } } }":
        "a: other { __typename x }",
    ] as [String: String])
  func sharedIdentities(document: String, expected: String) throws {
    let facts = try facts(
      """
      directive @defer on FRAGMENT_SPREAD | INLINE_FRAGMENT
      directive @stream on FIELD
      type Query { node: Node other: Other }
      interface Node { x: Int code: String }
      interface Other { x: Int }
      type User implements Node { x: Int code: String name: String }
      type Post implements Node & Other { x: Int code: String }
      """)
    let operation = try prepare(document, keys: KeyRules(types: ["User": ["code"]]), facts: facts)
    let sent = operation.document.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(sent.contains(expected), "\(sent)")
  }

  @Test(
    "a part goes to the object that the first part had, whatever was written since",
    arguments: [StoreKind.memory, .sqlite])
  func references(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ hero { id ... @defer { bio } } }")
      let response = IncrementalResponse(operation, store: store)
      let reader = IncrementalReader(response, limit: 1 << 20)
      for (index, message) in [
        #"{"data":{"hero":{"__typename":"Hero","id":"1"}},"hasNext":true}"#,
        #"{"incremental":[{"path":["hero"],"data":{"bio":"of 1"}}],"hasNext":false}"#,
      ].enumerated() {
        if index == 1 {
          try await normalize(
            #"{"data":{"hero":{"__typename":"Hero","id":"2"}}}"#.utf8, prepare("{ hero { id } }"),
            into: store)
        }
        reader.begin()
        for result in try await feed(reader, Array(message.utf8)) {
          _ = try await result.write?.commit()
        }
        try reader.end()
      }
      try await CacheUnderTest(store: store).expectDump(
        #"{"key":"Hero:1","fields":{"__typename":"Hero","bio":"of 1","id":"1"}}"#,
        #"{"key":"Hero:2","fields":{"__typename":"Hero","id":"2"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"hero":{"$ref":"Hero:2"}}}"#)
    }
  }

  @Test(
    "a broken response keeps what was committed; a read names the missing fragment",
    arguments: StoreKind.allCases)
  func missing(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      #expect(
        await failure([Self.first], operation, into: store)
          == "the response ended before all its parts had arrived")
      let miss = try #require(
        try await store.read(operation).miss, "a read without the deferred fields is a hit")
      #expect(miss.deferredFragment == "details")
      #expect(
        "\(miss)"
          == "the cache has no field bio of Hero:1, selected at hero.bio in the deferred fragment details"
      )
      #expect(
        try await CacheUnderTest(store: store).read("{ hero { name } }")
          == #"{"hero":{"name":"Luke"}}"#)
    }
  }

  @Test(
    "a null with an error is no fact, in a part as in a response", arguments: StoreKind.allCases)
  func errors(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ hero { id ... @defer { bio stats { wins } } } }")
      let whole =
        #"{"data":{"hero":{"__typename":"Hero","id":"1","bio":"old","stats":{"wins":1}}}}"#
      try await normalize(whole.utf8, operation, into: store)
      _ = try await receive(
        [
          #"{"data":{"hero":{"__typename":"Hero","id":"1"}},"hasNext":true}"#,
          """
          {"incremental":[{"path":["hero"],"data":{"bio":null,"stats":{"wins":null}},
            "errors":[{"message":"x","path":["hero","bio"]},{"message":"y","path":["hero","stats","wins"]}]}],
           "hasNext":false}
          """,
        ], operation, into: store)
      #expect(
        try await CacheUnderTest(store: store).read(operation)
          == #"{"hero":{"id":"1","bio":"old","stats":{"wins":1}}}"#)
    }
  }

  @Test(
    "a list whose rest failed is not stored: it would be taken for the whole",
    arguments: [
      #"{"incremental":[{"path":["l",1],"items":null,"errors":[{"message":"x","path":["l",1]}]}],"hasNext":false}"#,
      #"{"incremental":[{"path":["l",1],"items":[null],"errors":[{"message":"x","path":["l",1]}]}],"hasNext":false}"#,
    ])
  func failedList(message: String) async throws {
    for kind in [StoreKind.memory, .sqlite] {
      try await kind.withStore { store in
        let operation = try prepare("{ l @stream { a } }")
        _ = try await receive(
          [#"{"data":{"l":[{"a":1}]},"hasNext":true}"#, message], operation, into: store)
        #expect(try await CacheUnderTest(store: store).read("{ l { a } }") == "miss at l")
      }
    }
  }

  @Test(
    "an error in a part has the path in the whole response",
    arguments: [
      (#"{"incremental":[{"path":["b","l",1],"items":[{"a":2},"x"]}],"hasNext":false}"#, "b.l[2]"),
      (#"{"incremental":[{"path":["b"],"data":{"c":"x"}}],"hasNext":false}"#, "b.c"),
    ])
  func pathsInParts(message: String, path: String) async throws {
    let operation = try prepare("{ b { l @stream { a } ... @defer { c { a } } } }")
    try await StoreKind.memory.withStore { store in
      let first = #"{"data":{"b":{"l":[{"a":1}]}},"hasNext":true}"#
      let found = await failure([first, message], operation, into: store)
      #expect(found.contains("has a string at \(path), where"), "\(found)")
    }
  }

  @Test(
    "a list whose connection broke keeps the elements that came, and the next response replaces it",
    arguments: [StoreKind.memory, .sqlite])
  func brokenList(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ feed @stream { id } }")
      func part(_ ids: [Int], _ end: String) -> String {
        let items = ids.map { #"{"__typename":"Post","id":"\#($0)"}"# }.joined(separator: ",")
        return #"{"incremental":[{"id":"0","items":[\#(items)]}],\#(end)}"#
      }
      let first = #"{"data":{"feed":[]},"pending":[{"id":"0","path":["feed"]}],"hasNext":true}"#
      let message = await failure(
        [first, part([1, 2], #""hasNext":true"#)], operation, into: store)
      #expect(message.contains("missing: feed"), "\(message)")
      func stored() async throws -> [String]? {
        guard case .hit(let body) = try await store.read(operation) else { return nil }
        let feed = try JSONValue(parsing: body.bytes())["feed"]?.arrayValue
        return feed?.compactMap { $0["id"]?.stringValue }
      }
      // Nothing in a record says that a list is not whole: a later read takes it for that (decision 38).
      #expect(try await stored() == ["1", "2"])
      let whole = part([1, 2, 3], #""completed":[{"id":"0"}],"hasNext":false"#)
      _ = try await receive([first, whole], operation, into: store)
      #expect(try await stored() == ["1", "2", "3"])
    }
  }

  @Test("nothing of a response is written after the store was cleared")
  func cleared() async throws {
    let store = CacheStore(MemoryStore(collectsChanges: true))
    let operation = try prepare("{ a ... @defer { b } }")
    let response = IncrementalResponse(operation, store: store)
    let normalizer = try response.firstPart()
    try Array(#"{"data":{"a":1}}"#.utf8).withUnsafeBytes { try normalizer.feed($0) }
    let first = try await response.result(
      of: normalizer, [(Array("hasNext".utf8), Array("true".utf8))])
    _ = try await first.first?.write?.commit()
    try await store.clear()
    let later = try await response.result(
      of: [(Array("data".utf8), Array(#"{"b":1}"#.utf8)), (Array("path".utf8), Array("[]".utf8))])
    _ = try await later?.write?.commit()
    #expect(try await dump(store) == "")
  }

  @Test(
    "a long list grows by segments, and its items alone are in memory",
    arguments: [StoreKind.memory, .sqlite])
  func longList(kind: StoreKind) async throws {
    try await kind.withStore(collectsChanges: false) { store in
      let operation = try prepare("{ feed @stream { id text } }")
      var messages = [
        #"{"data":{"feed":[]},"pending":[{"id":"0","path":["feed"]}],"hasNext":true}"#
      ]
      let size = 50
      for part in 0..<100 {
        let items = (0..<size).map {
          #"{"__typename":"Post","id":"\#(part * size + $0)","text":"text number \#($0)"}"#
        }
        messages.append(
          #"{"incremental":[{"id":"0","items":[\#(items.joined(separator: ","))]}],"hasNext":true}"#
        )
      }
      messages.append(#"{"completed":[{"id":"0"}],"hasNext":false}"#)
      let arrived = try await receive(messages, operation, into: store, merges: false)
      #expect(arrived.results.last?.data == nil)
      let statistics = try await store.statistics()
      #expect(statistics.records == 100 * size + 1)
      // Twenty bytes for each of 5,000 references are two segments; every short end that was replaced is gone.
      #expect(statistics.segments < 6)
      let body = try #require(try await store.read(operation).hit, "the list is not in the store")
      let feed = try JSONValue(parsing: body.bytes())["feed"]?.arrayValue
      #expect(feed?.count == 100 * size)
      #expect(feed?.last?["id"]?.stringValue == "\(100 * size - 1)")
    }
  }

  @Test("directives that cannot work are refused before anything is sent")
  func refused() throws {
    let known = """
      type Query { a: Int b: Int } type Subscription { a: Int }
      """
    #expect {
      try prepare("{ a ... @defer { b } }", facts: facts(known))
    } throws: { error in
      "\(error)".contains(
        "the schema does not define @defer, so the server would refuse the operation; remove the directive"
      )
    }
    let definition =
      "directive @defer(if: Boolean! = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT"
    _ = try prepare("{ a ... @defer { b } }", facts: facts(known + definition))
    #expect {
      try prepare("subscription { a ... @defer { a } }")
    } throws: {
      "\($0)".contains("@defer has no meaning in a subscription")
    }
    #expect {
      try prepare("query($l: String) { a ... @defer(label: $l) { b } }", variables: #"{"l":"x"}"#)
    } throws: {
      "\($0)".contains("the label of @defer must be a string without variables")
    }
  }

  @Test("`if` decides whether a directive applies, and a variable without a value counts as true")
  func condition() throws {
    let document = "query($if: Boolean) { a ... @defer(if: $if) { b } }"
    #expect(try prepare(document).hasDeferredParts)
    #expect(try prepare(document, variables: #"{"if":true}"#).hasDeferredParts)
    #expect(!(try prepare(document, variables: #"{"if":false}"#).hasDeferredParts))
    #expect(!(try prepare("{ a ... @defer(if: false) { b } }").hasDeferredParts))
  }

  @Test("objects are identified before their deferred fragments arrive")
  func identity() throws {
    let schema = """
      directive @defer on FRAGMENT_SPREAD | INLINE_FRAGMENT
      interface Node { name: String } type User implements Node { id: ID! name: String bio: String }
      type Query { node: Node }
      """
    let operation = try prepare(
      "{ node { name ... on User @defer { bio } } }", facts: facts(schema))
    #expect(
      operation.document.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }.joined(
        separator: " ")
        == "{ node { __typename ... on User { id } name ... on User @defer { id bio } } }")
  }
}
