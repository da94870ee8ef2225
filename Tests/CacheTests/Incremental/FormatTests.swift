import GQLRunJSON
import Testing

@testable import GQLRunCache

@Suite("Formats of responses in parts")
struct FormatTests {
  @Test(
    "give the data of every part, cut anywhere",
    arguments: DeliveryCases.withIDs + DeliveryCases.older)
  func format(_ test: DeliveryCase) async throws {
    let operation = try prepare(test.document)
    for kind in [StoreKind.memory, .sqlite] {
      try await kind.withStore { store in
        for chunk in [Int.max, 1, 7] {
          let arrived = try await receive(test.messages, operation, into: store, chunk: chunk)
          #expect(
            arrived.results.map { $0.data?.value } == (try test.data.map { try json($0) }))
          if !test.pending.isEmpty { #expect(arrived.pending == test.pending) }
          #expect(arrived.errors == test.errors)
          #expect(arrived.results.last?.hasNext == false)
          try await store.clear()
        }
      }
    }
  }

  @Test("the members of messages may have any order, and ids may be numbers")
  func order() async throws {
    let operation = try prepare(
      #"{ post { id ... @defer(label: "B") { body } tags @stream(label: "S") { id } } }"#)
    let arrived = try await receive(
      [
        """
        {"hasNext":true,"pending":[{"id":1,"path":["post"],"label":"B"},
          {"path":["post","tags"],"id":2,"label":"S"}],"data":{"post":{"id":"7","tags":[]}}}
        """,
        """
        {"hasNext":false,"extensions":null,"completed":[{"id":2},{"id":1}],"incremental":[
          {"items":[{"id":"2"}],"id":2,"path":["post","tags"],"label":"S"},
          {"data":{"body":"…"},"label":null,"id":1}]}
        """,
      ], operation, chunk: 1)
    #expect(
      arrived.data == (try json(#"{"post":{"id":"7","tags":[{"id":"2"}],"body":"…"}}"#)))
    #expect(arrived.pending == [["B post", "S post.tags"], []])
  }

  @Test("every part says what it has added")
  func delivered() async throws {
    let operation = try prepare(
      #"{ post { id ... @defer(label: "B") { body } tags @stream(label: "S") { id } } }"#)
    let arrived = try await receive(
      [
        """
        {"data":{"post":{"id":"7","tags":[{"id":"1"}]}},"pending":[{"id":"0","path":["post"],"label":"B"},
          {"path":["post","tags"],"id":"1","label":"S"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"1","items":[{"id":"2"}]},{"id":"0","data":{"body":"b"}}],
         "completed":[{"id":"0"},{"id":"1"}],"hasNext":false}
        """,
      ], operation, merges: false)
    #expect(arrived.data == nil)
    let texts = try arrived.results.flatMap(\.delivered).map { delivered in
      "\(delivered.label ?? "-") \(PathStep.text(delivered.path)) \(delivered.firstIndex.map(String.init) ?? "-") "
        + String(decoding: try delivered.data?.bytes() ?? [], as: UTF8.self)
    }
    #expect(
      texts == [
        #"- the top - {"post":{"id":"7","tags":[{"id":"1"}]}}"#, #"S post.tags 1 [{"id":"2"}]"#,
        #"B post - {"body":"b"}"#,
      ])
  }

  static let unusable: [[String]: String] = [
    [#"{"data":{"a":1},"pending":[{"id":"0","path":[],"label":"L"}],"hasNext":true}"#]:
      "the response ended before all its parts had arrived; missing: L at the top",
    [#"{"data":{"a":1},"hasNext":true}"#]: "the response ended before all its parts had arrived",
    []: "the response ended before its first part",
    [#"{"data":{"a":1},"hasNext":true}"#, #"{"incremental":[{"id":"9","data":{"b":1}}]}"#]:
      #"the response has a part with the id "9", which is not pending"#,
    [
      #"{"data":{"a":1},"hasNext":true}"#,
      #"{"incremental":[{"path":["x",1],"data":{"b":1}}],"hasNext":false}"#,
    ]:
      "the response has a part with fields of an object at x[1], where the operation defers nothing, or "
      + "where no value has arrived",
    [
      #"{"data":{"a":1,"l":[1]},"hasNext":true}"#,
      #"{"incremental":[{"path":["l",3],"items":[1]}],"hasNext":false}"#,
    ]: "the response continues the list l at index 3, but 1 elements have arrived",
    [#"{"data":{"a":1},"hasNext":true}"#, #"{"incremental":[{"path":[],"data":{"b":tru}}]}"#]:
      "the part of the response for the top is not valid JSON",
    [#"{"data":{"a":1},"hasNext":true}"#, #"{"incremental":{}}"#]:
      "`incremental` of the response: a member of a message is not a list",
    [#"{"data":{"a":1},"pending":[{"id":"0","path":"a"}]}"#]:
      "an element of `pending` of the response has no path of names and indices",
    [#"{"data":{"a":1},"hasNext":true}"#, #"{"incremental":[{"path":[],"data":[1]}]}"#]:
      #""data" of the response is a list; GraphQL requires an object or null"#,
  ]

  @Test("what no server may send is an error", arguments: unusable)
  func broken(_ messages: [String], _ expected: String) async throws {
    let operation = try prepare(#"{ a l @stream ... @defer(label: "L") { b } }"#)
    #expect(await failure(messages, operation).hasPrefix(expected))
  }

  @Test("a later part that is too long is an error, the data of the first part has no limit")
  func limit() async throws {
    let operation = try prepare("{ a ... @defer { b } }")
    let long = String(repeating: "x", count: 1000)
    let messages = [
      #"{"data":{"a":"\#(long)"},"hasNext":true}"#,
      #"{"incremental":[{"path":[],"data":{"b":"\#(long)"}}],"hasNext":false}"#,
    ]
    #expect(
      await failure(messages, operation, limit: 900) == "a message is longer than 900 bytes")
    _ = try await receive(messages, operation, limit: 1200)
  }

  /// The first message of ``strict``.
  private static let strictFirst = """
    {"data":{"p":{"__typename":"P","id":"1"},"l":["a"]},"hasNext":true,
     "pending":[{"id":"0","path":["p"]},{"id":"1","path":["l"]}]}
    """

  static let strict: [String: String] = [
    #"{"incremental":[{"id":"1","data":{"n":"x"}}],"hasNext":false}"#:
      "the response has a part with `data` for the list l",
    #"{"incremental":[{"id":"0","items":["x"]}],"hasNext":false}"#:
      "the response has a part with elements of a list at p",
    #"{"incremental":[{"id":"1","items":["b"]}],"incremental":[{"id":"1","items":["c"]}],"hasNext":false}"#:
      "a message has the member `incremental` twice",
    #"{"incremental":[],"\u0069ncremental":[],"hasNext":false}"#:
      "a message has the member `incremental` twice",
    #"{"data":{"p":null,"l":[]},"hasNext":false}"#: "the response has a second initial message",
    #"{"incremental":[],"hasNext":"yes"}"#:
      "`hasNext` of the response is a string; it must be true or false",
    #"{"incremental":[{"id":"1","items":["b"],"data":{}}],"hasNext":false}"#:
      "`incremental` of the response: an element has both `data` and `items`",
    #"{"incremental":[{"id":"1"}],"hasNext":false}"#:
      "`incremental` of the response: an element has neither `data` nor `items`",
    #"{"incremental":[{"items":["b"]}],"hasNext":false}"#:
      "`incremental` of the response: an element has neither an `id` nor a `path`",
    #"{"completed":[{"id":"7"}],"hasNext":false}"#:
      #"the response has a part with the id "7", which is not pending"#,
    #"{"pending":[{"id":"1","path":["l"]}],"hasNext":true}"#:
      #"the response announces the id "1" twice"#,
    #"{"incremental":[{"path":["l"],"items":["b"]}],"hasNext":false}"#:
      "the response mixes two formats of parts",
    #"{"incremental":[{"id":"1","items":["b"],"label":7}],"hasNext":false}"#:
      "`incremental` of the response: `label` of the response is a number; it must be a string",
    #"{"completed":[{"id":"1","errors":{}}],"hasNext":false}"#:
      "`errors` of `completed` of the response is an object; it must be a list",
    #"{"extensions":[],"hasNext":false}"#:
      "`extensions` of the response is a list; it must be an object",
  ]

  @Test("a part that is not as its format says is an error, and changes nothing", arguments: strict)
  func strictness(_ message: String, _ expected: String) async throws {
    let operation = try prepare(
      "{ p { __typename id ... @defer { n } } l @stream(initialCount: 1) }")
    let store = CacheStore(MemoryStore())
    _ = try await receive([Self.strictFirst], operation, into: store, isWhole: false)
    let before = try await dump(store)
    let found = await failure([Self.strictFirst, message], operation, into: store)
    #expect(found.hasPrefix(expected), "\(found)")
    #expect(try await dump(store) == before)
  }

  @Test(
    "a part that contradicts the type or a key field of its object is an error, and changes nothing",
    arguments: [
      (#"{"id":"2","n":"x"}"#, #"the id of the object at p is "2"; expected 1"#),
      (#"{"__typename":"Q","n":"x"}"#, #"the __typename of the object at p is Q; expected P"#),
      (#"{"id":null,"n":"x"}"#, "the id of the object at p is null; expected 1"),
    ])
  func identity(_ data: String, _ expected: String) async throws {
    let operation = try prepare("{ p { __typename id ... @defer { id n __typename } } }")
    for messages in [
      [
        #"{"data":{"p":{"__typename":"P","id":"1"}},"pending":[{"id":"0","path":["p"]}],"hasNext":true}"#,
        #"{"incremental":[{"id":"0","data":\#(data)}],"completed":[{"id":"0"}],"hasNext":false}"#,
      ],
      [
        #"{"data":{"p":{"__typename":"P","id":"1"}},"hasNext":true}"#,
        #"{"incremental":[{"path":["p"],"data":\#(data)}],"hasNext":false}"#,
      ],
    ] {
      let store = CacheStore(MemoryStore())
      let found = await failure(messages, operation, into: store)
      #expect(found.contains(expected), "\(found)")
      #expect(
        try await dump(store).contains(#"{"key":"P:1","fields":{"__typename":"P","id":"1"}}"#))
    }
  }

  @Test(
    "a list of objects without keys under two response names keeps all fields",
    arguments: StoreKind.allCases)
  func repeatedList(_ kind: StoreKind) async throws {
    let operation = try prepare(
      "{ p { __typename l @stream(initialCount: 1) { __typename v } ... @defer { m: l { __typename w } } } }"
    )
    try await kind.withStore { store in
      let arrived = try await receive(
        [
          """
          {"data":{"p":{"__typename":"P","l":[{"__typename":"E","v":1}]}},"hasNext":true,
           "pending":[{"id":"0","path":["p"]},{"id":"1","path":["p","l"]}]}
          """,
          """
          {"incremental":[{"id":"0","data":{"m":[{"__typename":"E","w":1},{"__typename":"E","w":2}]}}],
           "completed":[{"id":"0"}],"hasNext":true}
          """,
          """
          {"incremental":[{"id":"1","items":[{"__typename":"E","v":2}]}],"completed":[{"id":"1"}],"hasNext":false}
          """,
        ], operation, into: store)
      let read = try await CacheUnderTest(store: store).read(operation)
      #expect(try json(read) == arrived.data)
    }
  }
}
