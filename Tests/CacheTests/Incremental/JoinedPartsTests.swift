import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Parts of a response that are committed together.
@Suite("Parts that are committed together", .timeLimit(.minutes(10)))
struct JoinedPartsTests {
  private static let document = "{ feed @stream { id text } }"
  private static let first = #"{"data":{"feed":[]},"hasNext":true}"#

  private static func element(_ id: Int) -> String {
    #"{"__typename":"Post","id":"\#(id)","text":"t\#(id)"}"#
  }

  private static func message(_ items: String, at index: Int, hasNext: Bool) -> String {
    #"{"incremental":[{"path":["feed",\#(index)],"items":\#(items)}],"hasNext":\#(hasNext)}"#
  }

  /// The messages of a stream of `count` parts with an element each.
  private static func messages(_ count: Int) -> [String] {
    [first] + (0..<count).map { message("[\(element($0))]", at: $0, hasNext: $0 < count - 1) }
  }

  @Test("are one transaction with the records of separate ones", arguments: [1, 2, 7, 100])
  func transactions(together: Int) async throws {
    let directory = try TemporaryDirectory()
    let operation = try prepare(Self.document)
    var dumps: [String] = []
    var transactions: [Int] = []
    for (name, together) in [("joined", together), ("separate", 1)] {
      let path = directory.path("\(name).db")
      let store = try SQLiteStore(path: path)
      let arrived = try await receive(
        Self.messages(20), operation, into: CacheStore(store), together: together)
      #expect(arrived.results.count == 21)
      transactions.append(try commits(inLogOf: path))
      dumps.append(try await dump(store))
      try store.close()
    }
    #expect(transactions[1] - transactions[0] == 20 - (20 + together - 1) / together)
    #expect(dumps[0] == dumps[1])
  }

  @Test(
    "report their changes once, and are one append to the list", arguments: StoreKind.allCases)
  func changes(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let arrived = try await receive(
        Self.messages(3), prepare(Self.document), into: store, together: 3)
      #expect(
        arrived.changes
          == [
            ["QUERY_ROOT.feed"],
            ["QUERY_ROOT.feed"]
              + (0..<3).flatMap { ["Post:\($0).__typename", "Post:\($0).id", "Post:\($0).text"] }
              .sorted(),
          ].map { $0.sorted() })
    }
  }

  @Test("become visible to another connection at one moment")
  func visibility() async throws {
    let file = try StoreFile()
    let store = try file.open()
    let other = CacheUnderTest(store: try file.open())
    let operation = try prepare(Self.document)
    let response = IncrementalResponse(operation, store: CacheStore(store))
    let reader = IncrementalReader(response, limit: 1 << 20)
    var writes: [PendingWrite] = []
    for (number, message) in Self.messages(4).enumerated() {
      reader.begin()
      writes += try await feed(reader, Array(message.utf8)).compactMap(\.write)
      try reader.end()
      if number == 0 || number == 2 || number == 4 {
        let before = max(0, number - 2)
        if number > 0 { #expect(try await other.read(operation) == Self.result(before)) }
        _ = try await PendingWrite.commit(writes)
        writes = []
        #expect(try await other.read(operation) == Self.result(number))
      }
    }
    try response.finish()
  }

  private static func result(_ count: Int) -> String {
    #"{"feed":["# + (0..<count).map { #"{"id":"\#($0)","text":"t\#($0)"}"# }.joined(separator: ",")
      + "]}"
  }

  @Test(
    "are none if one of them cannot be written; the parts before remain",
    .enabled(if: SQLiteTool.isThere), arguments: 1..<5)
  func failure(refused: Int) async throws {
    let file = try StoreFile()
    let store = try file.open()
    try SQLiteTool.run(
      """
      CREATE TRIGGER refusal BEFORE INSERT ON records WHEN NEW.key = 'Post:\(refused)'
      BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END
      """, on: file.path)
    let operation = try prepare(Self.document)
    let error = await #expect(throws: CacheError.self) {
      _ = try await receive(Self.messages(6), operation, into: CacheStore(store), together: 2)
    }
    #expect(error?.message.contains("refused by a trigger") == true)
    #expect(
      try await CacheUnderTest(store: store).read(operation) == Self.result(refused / 2 * 2))
    try store.close()
  }

  @Test(
    "are separate if a later one has a field of the object in which an earlier one extends a list",
    arguments: [StoreKind.memory, .sqlite])
  func sameObject(kind: StoreKind) async throws {
    let messages = [
      DeliveryStoreTests.first,
      DeliveryStoreTests.friend.replacing("\"hasNext\":false", with: "\"hasNext\":true"),
      DeliveryStoreTests.details.replacing("\"hasNext\":true", with: "\"hasNext\":false"),
    ]
    let operation = try prepare(DeliveryStoreTests.document)
    var dumps: [String] = []
    for together in [1, 2] {
      try await kind.withStore { store in
        _ = try await receive(messages, operation, into: store, together: together)
        dumps.append(try await dump(store))
      }
    }
    #expect(dumps[0] == dumps[1])
    #expect(dumps[0].contains(#""friends":[{"$ref":"Hero:2"},{"$ref":"Hero:3"}]"#))
  }

  @Test("append nothing to a list that another request has replaced", arguments: [1, 3])
  func replaced(together: Int) async throws {
    try await StoreKind.sqlite.withStore { store in
      let operation = try prepare(Self.document)
      let response = IncrementalResponse(operation, store: store)
      let reader = IncrementalReader(response, limit: 1 << 20)
      var writes: [PendingWrite] = []
      for (number, message) in Self.messages(3).enumerated() {
        reader.begin()
        writes += try await feed(reader, Array(message.utf8)).compactMap(\.write)
        try reader.end()
        guard number % together == 0 else { continue }
        _ = try await PendingWrite.commit(writes)
        writes = []
        if number == 0 {
          try await normalize(
            #"{"data":{"feed":[\#((5...9).map(Self.element).joined(separator: ","))]}}"#.utf8,
            prepare("{ feed { id text } }"), into: store)
        }
      }
      #expect(
        try await CacheUnderTest(store: store).read(operation)
          == #"{"feed":[\#((5...9).map { #"{"id":"\#($0)","text":"t\#($0)"}"# }.joined(separator: ","))]}"#
      )
    }
  }

  @Test("are counted without watchers, whose changes are not collected")
  func counts() async throws {
    try await StoreKind.memory.withStore(collectsChanges: false) { store in
      let operation = try prepare(Self.document)
      let response = IncrementalResponse(operation, store: store)
      let reader = IncrementalReader(response, limit: 1 << 20)
      var summaries: [WriteSummary] = []
      for message in Self.messages(2) {
        reader.begin()
        for result in try await feed(reader, Array(message.utf8)) {
          if let write = result.write { summaries.append(try await write.commit()) }
        }
        try reader.end()
      }
      #expect(summaries.map(\.newRecords) == [1, 1, 1])
      #expect(summaries.map(\.changedRecords) == [0, 1, 1])
      #expect(summaries.allSatisfy { !$0.changesAreKnown && $0.changes.isEmpty })
    }
  }

  @Test(
    "a path without white space and escapes is that of a parser",
    arguments: [
      #"["feed",0,"title"]"#, "[]", #"["a"]"#, "[0]", "[12,345678901]", #"["a,b",1]"#, #"[",",1]"#,
      #"["é"]"#, #"["a\"b"]"#, #"["a\\",2]"#, "[01]", "[-1]", "[1.0]", "[1e2]", "[1,]", "[,]",
      #"[ "a", 1 ]"#, "[9999999999]", "[null]", #"["a"#, #"["a""b"]"#, #"["","\u0041"]"#, "{}", "",
    ])
  func paths(text: String) throws {
    let expected = (try? JSONValue(parsing: text)).flatMap { PathStep.path($0) }
    if let found = PathStep.plainPath(Array(text.utf8)) { #expect(found == expected) }
    let isPlain = [#"["feed",0,"title"]"#, #"["a"]"#, "[0]", "[12,345678901]"].contains(text)
    #expect((PathStep.plainPath(Array(text.utf8)) != nil) == isPlain)
  }
}
