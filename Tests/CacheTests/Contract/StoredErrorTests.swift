import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// What a read finds, as text: the data or the miss, and each error, sorted.
struct FoundErrors: Equatable, CustomStringConvertible {
  var data: String
  var errors: [String] = []

  init(_ data: String, errors: [JSONValue] = []) throws {
    self.data = data
    self.errors = errors.map { error in
      var error = error
      error["locations"] = nil
      return error.canonicalText
    }.sorted()
  }

  var description: String { "\(data) \(errors)" }
}

extension CacheStore {
  /// Reads an operation with its stored errors.
  func found(
    _ operation: PreparedOperation, _ policy: ErrorReadPolicy, now: Int = 0,
    ages: AgeRules = AgeRules()
  ) async throws -> FoundErrors {
    let answer = try await read(
      operation, options: ReadOptions(ages: ages, now: now, errors: policy))
    return try FoundErrors(text(answer.result), errors: answer.errors)
  }
}

/// The errors of fields: stored, read again, and removed.
@Suite("Stored errors")
struct StoredErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var title: String
    var document: String
    var data: String
    var errors: [String]

    init(_ title: String, _ document: String, data: String, errors: String...) {
      self.title = title
      self.document = document
      self.data = data
      self.errors = errors
    }

    var testDescription: String { title }
    var response: String { #"{"data":\#(data),"errors":[\#(errors.joined(separator: ","))]}"# }
  }

  static func error(_ path: String, _ message: String = "no") -> String {
    #"{"message":"\#(message)","path":\#(path)}"#
  }

  static func v(_ fields: String) -> String { #"{"v":{"__typename":"V","id":1,\#(fields)}}"# }

  /// A response with these fields of the object `V:1`.
  static func body(_ fields: String, errors: [String] = []) -> String {
    let list = errors.isEmpty ? "" : #","errors":[\#(errors.joined(separator: ","))]"#
    return #"{"data":\#(v(fields))\#(list)}"#
  }

  static let cases = [
    Case(
      "of a leaf", "{ v { id x y } }", data: v(#""x":null,"y":2"#), errors: error(#"["v","x"]"#)),
    Case(
      "of a root field", "{ w v { id } }", data: #"{"w":null,"v":null}"#,
      errors: error(#"["w"]"#), error(#"["v"]"#, "none")),
    Case(
      "with extensions, locations and members of its own", "{ v { id x } }", data: v(#""x":null"#),
      errors:
        #"{"locations":[{"line":1,"column":9}],"type":"T","path":["v","x"],"message":"\"é\" \\","extensions":{"code":"C","n":1.50}}"#
    ),
    Case(
      "below a null, with the names of an alias", "{ v { id e { q: p(n: 2) { r: s } } } w }",
      data: #"{"v":null,"w":1}"#, errors: error(#"["v","e","q","r"]"#)),
    Case(
      "below a null in an object without a key", "{ v { id e { f { p } q } } }",
      data: v(#""e":{"__typename":"E","f":null,"q":1}"#), errors: error(#"["v","e","f","p"]"#)),
    Case(
      "two at one field", "{ v { id x } }", data: v(#""x":null"#),
      errors: error(#"["v","x"]"#, "one"), error(#"["v","x"]"#, "two")),
    Case(
      "of one field under two aliases", "{ v { id a: x b: x } }", data: v(#""a":null,"b":null"#),
      errors: error(#"["v","a"]"#), error(#"["v","b"]"#)),
    Case(
      "of an element", "{ v { id list { n } } }",
      data: v(#""list":[{"__typename":"E","n":1},null,{"__typename":"E","n":3}]"#),
      errors: error(#"["v","list",1,"n"]"#)),
    Case(
      "of an element and of a field of another", "{ v { id list { n m } } }",
      data: v(#""list":[{"__typename":"E","n":null,"m":1},null]"#),
      errors: error(#"["v","list",0,"n"]"#), error(#"["v","list",1]"#)),
    Case(
      "of a field of an element", "{ v { id list { n m } } }",
      data: v(#""list":[{"__typename":"E","n":1,"m":1},{"__typename":"E","n":null,"m":2}]"#),
      errors: error(#"["v","list",1,"n"]"#)),
    Case(
      "in lists of lists", "{ v { id grid { n } x } }",
      data: v(#""grid":[[{"__typename":"E","n":1},null],null],"x":1"#),
      errors: error(#"["v","grid",0,1]"#), error(#"["v","grid",1,4,"n"]"#)),
    Case(
      "in a list of leaf values", "{ v { id tags matrix } }",
      data: v(#""tags":["a",null,null],"matrix":[[1],[2,null]]"#),
      errors: error(#"["v","tags",1]"#), error(#"["v","tags",2]"#), error(#"["v","matrix",1,1]"#)),
    Case(
      "of fields of entities", "{ list { id n } v { id r { id m } } }",
      data:
        #"{"list":[{"__typename":"R","id":1,"n":null},null,{"__typename":"R","id":2,"n":2}],"v":{"__typename":"V","id":1,"r":{"__typename":"R","id":3,"m":null}}}"#,
      errors: error(#"["list",0,"n"]"#), error(#"["list",1]"#), error(#"["v","r","m"]"#)),
    Case(
      "of an entity that occurs twice", "{ a { id n } list { id n } }",
      data:
        #"{"a":{"__typename":"R","id":1,"n":null},"list":[{"__typename":"R","id":1,"n":null},{"__typename":"R","id":2,"n":2}]}"#,
      errors: error(#"["a","n"]"#), error(#"["list",0,"n"]"#)),
    Case(
      "in fragments", "{ v { ...F ... on V { e { ... on E { p } } } } } fragment F on V { id x }",
      data: v(#""x":null,"e":{"__typename":"E","p":null}"#),
      errors: error(#"["v","x"]"#), error(#"["v","e","p"]"#)),
    Case(
      "at a field with arguments", #"{ v { id x(n: "a\"b") y(n: 1) } }"#,
      data: v(#""x":null,"y":1"#), errors: error(#"["v","x"]"#)),
  ]

  @Test("an error is read again with its field", arguments: Way.allCases, cases)
  func replayed(way: Way, test: Case) async throws {
    try await way.withCache { cache in
      let operation = try prepare(test.document)
      let written = try await cache.write(test.response, operation)
      let data = try #require(written.data)
      #expect(
        try await cache.store.found(operation, .replay)
          == FoundErrors(data, errors: written.response.errors))
      #expect(try await cache.store.found(operation, .keep) == FoundErrors(data))
      #expect(try await cache.store.found(operation, .refuse).data.hasPrefix("miss at "))
      // Again, it changes nothing.
      let dump = try await cache.dump()
      let again = try await cache.write(test.response, operation)
      #expect(again.summary?.errors == [])
      #expect(try await cache.dump() == dump)
      #expect(try await cache.store.found(operation, .replay).data == data)
      #expect(try await cache.store.statistics().errors > 0)
    }
  }

  @Test("a success removes the error", arguments: Way.allCases, cases)
  func success(way: Way, test: Case) async throws {
    try await way.withCache { cache in
      let operation = try prepare(test.document)
      try await cache.write(test.response, operation)
      // Null is a value without an error.
      let written = try await cache.write(#"{"data":\#(test.data)}"#, operation)
      #expect(written.summary?.errors.isEmpty == false)
      #expect(try await cache.store.statistics().errors == 0)
      #expect(
        try await cache.store.found(operation, .refuse) == FoundErrors(try #require(written.data)))
    }
  }

  @Test("an older value is read without the error", arguments: Way.allCases)
  func olderValue(way: Way) async throws {
    try await way.withCache { cache in
      let operation = try prepare("{ v { id x list { n } } }")
      try await cache.write(Self.body(#""x":1,"list":[{"__typename":"E","n":1}]"#), operation)
      let dump = try await cache.dump()
      let errors = [Self.error(#"["v","x"]"#), Self.error(#"["v","list",0]"#)]
      let written = try await cache.write(
        Self.body(#""x":null,"list":[null]"#, errors: errors), operation)
      #expect(written.changes == [])
      #expect(try await cache.dump() == dump)
      #expect(
        try await cache.store.found(operation, .refuse)
          == FoundErrors(#"{"v":{"id":1,"x":1,"list":[{"n":1}]}}"#))
      #expect(
        try await cache.store.found(operation, .replay)
          == FoundErrors(
            #"{"v":{"id":1,"x":null,"list":[null]}}"#, errors: written.response.errors))
      #expect(
        try await cache.store.found(operation, .keep)
          == FoundErrors(#"{"v":{"id":1,"x":null,"list":[null]}}"#))
    }
  }

  @Test("another operation reads the error with its own names", arguments: StoreKind.allCases)
  func otherOperation(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let errors = [Self.error(#"["v","x"]"#), Self.error(#"["v","e","p"]"#)]
      try await cache.write(
        Self.body(#""x":null,"e":null"#, errors: errors), "{ v { id x e { p } } }")
      #expect(
        try await store.found(prepare("{ one: v { k: x } }"), .replay)
          == FoundErrors(
            #"{"one":{"k":null}}"#, errors: [try JSONValue(parsing: Self.error(#"["one","k"]"#))]))
      #expect(
        try await store.found(prepare("{ v { g: e { f: p } } }"), .replay)
          == FoundErrors(
            #"{"v":{"g":null}}"#, errors: [try JSONValue(parsing: Self.error(#"["v","g","f"]"#))]))
      // It is not known whether the null is due without the field that failed.
      #expect(try await store.found(prepare("{ v { e { q } } }"), .replay).data == "miss at v.e")
      #expect(
        try await store.found(prepare("{ v { e { q } } }"), .keep).data == #"{"v":{"e":null}}"#)
    }
  }

  @Test("a part of an object leaves the errors of its other fields", arguments: Way.allCases)
  func otherFields(way: Way) async throws {
    try await way.withCache { cache in
      let errors = [#"["v","e","p"]"#, #"["v","list",1,"n"]"#].map { Self.error($0) }
      try await cache.write(
        Self.body(
          #""e":{"__typename":"E","p":null,"q":1},"list":[{"__typename":"E","n":1},{"__typename":"E","n":null}]"#,
          errors: errors),
        "{ v { id e { p q } list { n } } }")
      try await cache.write(
        Self.body(
          #""e":{"__typename":"E","q":2},"list":[{"__typename":"E","m":1},{"__typename":"E","m":2}]"#
        ),
        "{ v { id e { q } list { m } } }")
      #expect(
        try await cache.store.found(prepare("{ v { e { p q } list { n m } } }"), .replay)
          == FoundErrors(
            #"{"v":{"e":{"p":null,"q":2},"list":[{"n":1,"m":1},{"n":null,"m":2}]}}"#,
            errors: try errors.map { try JSONValue(parsing: $0) }))
      // A list of another length has other elements.
      try await cache.write(
        Self.body(#""list":[{"__typename":"E","m":1}]"#), "{ v { id list { m } } }")
      #expect(try await cache.store.statistics().errors == 1)
      // An object of another type has other fields.
      try await cache.write(Self.body(#""e":{"__typename":"F","q":2}"#), "{ v { id e { q } } }")
      #expect(try await cache.store.statistics().errors == 0)
    }
  }

  @Test(
    "an error that leads to no field is not stored",
    arguments: [
      #"{"message":"no"}"#, #"{"message":"no","path":null}"#, #"{"message":"no","path":[]}"#,
    ])
  func notStored(error: String) async throws {
    for way in [Way.memory, .sqliteAsItArrives] {
      try await way.withCache { cache in
        try await cache.write(Self.body(#""x":null"#, errors: [error]), "{ v { id x } }")
        #expect(try await cache.store.statistics().errors == 0)
      }
    }
  }

  static let unreadable = [
    #"{"message":"no","path":["v","x",null]}"#, #"{"message":"no","path":["v","x",0.5]}"#,
    error(#"["v","x"]"#, String(repeating: "long", count: 5000)),
  ]

  @Test(
    "an error that cannot be read again as it was is a miss, also after a value or another error",
    arguments: Way.allCases, unreadable)
  func unstorable(way: Way, error: String) async throws {
    let failed = Self.body(#""x":null"#, errors: [error])
    let operation = try prepare("{ v { id x } }")
    for before in [Self.body(#""x":1"#), Self.failed] {
      try await way.withCache { cache in
        try await cache.write(before, operation)
        try await cache.write(failed, operation)
        #expect(try await cache.store.statistics().errors == 1)
        #expect(try await cache.store.found(operation, .replay).data == "miss at v.x")
        #expect(try await cache.store.found(operation, .keep).data == "miss at v.x")
        #expect(
          try await cache.store.found(operation, .refuse).data
            == (before == Self.failed ? "miss at v.x" : #"{"v":{"id":1,"x":1}}"#))
        try await cache.write(Self.body(#""x":2"#), operation)
        #expect(
          try await cache.store.found(operation, .replay) == FoundErrors(#"{"v":{"id":1,"x":2}}"#))
      }
    }
  }

  @Test("an error that is nested too deep for a reader is a miss, and damages nothing")
  func deep() async throws {
    let operation = try prepare("{ v { id x } }")
    var deep = JSONValue.null
    for _ in 0..<600 { deep = .array([deep]) }
    let error: JSONValue = ["message": "no", "path": ["v", "x"], "extensions": ["deep": deep]]
    let table = RecordTable()
    table.insert("QUERY_ROOT.v", #"{"v":{"$ref":"V:1"}}"#)
    table.insert("V:1", #"{"__typename":"V","id":1,"x":null}"#)
    let records = StagedRecords(table: table, seed: 0)
    NullResolution(plan: operation.plan, paths: ErrorPaths([error]), concreteConditions: [])
      .run(records)
    let stored = try #require(records.text(of: Array("$errors:V:1".utf8)))
    #expect(String(decoding: stored, as: UTF8.self) == #"{"[\"x\"]": {"$errors":[]}}"#)
  }

  @Test("of too many errors none is stored")
  func tooMany() async throws {
    let cache = CacheUnderTest(store: MemoryStore())
    let errors = [String](repeating: Self.error(#"["v","x"]"#), count: StoredErrors.maxErrors + 1)
    try await cache.write(Self.body(#""x":null"#, errors: errors), "{ v { id x } }")
    #expect(try await cache.store.statistics().errors == 0)
    #expect(try await cache.read("{ v { x } }") == "miss at v.x")
  }

  @Test("secrets are replaced before an error is stored")
  func secrets() async throws {
    var options = ResponseNormalizer.Options()
    options.hidesSecrets = { error in
      var error = error
      error["message"] = .string("•••")
      return error
    }
    let store = CacheStore.memory()
    let operation = try prepare("{ v { id x } }")
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    try Array(Self.failed.utf8).withUnsafeBytes { try normalizer.feed($0) }
    _ = try await normalizer.finish().write?.commit()
    #expect(
      try await store.found(operation, .replay).errors == [#"{"message":"•••","path":["v","x"]}"#])
  }

  @Test(
    "the policy of the writer decides whether there are errors",
    arguments: [ErrorPolicy.discard, .keep])
  func writePolicies(policy: ErrorPolicy) async throws {
    let cache = CacheUnderTest(store: MemoryStore())
    let test = Self.cases[0]
    try await cache.write(test.response, test.document)
    try await cache.write(test.response, prepare(test.document), policy: policy)
    // `keep` writes the null as a value, which removes the error of before.
    #expect(try await cache.store.statistics().errors == (policy == .keep ? 0 : 1))
    let isHit = try await cache.read(test.document) == #"{"v":{"id":1,"x":null,"y":2}}"#
    #expect(isHit == (policy == .keep))
  }
}

/// Errors and the rest of the cache: ages, watchers, layers, transactions, housekeeping.
extension StoredErrorTests {
  static let failed = body(#""x":null"#, errors: [error(#"["v","x"]"#)])

  @Test("an error expires like a value", arguments: StoreKind.allCases)
  func ages(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ v { id x } }")
      try await normalize(Self.failed.utf8, operation, into: store, received: 1000)
      let ages = AgeRules(maxAge: .seconds(100))
      #expect(
        try await store.found(operation, .replay, now: 1050, ages: ages).data
          == #"{"v":{"id":1,"x":null}}"#)
      // Only the other fields are received again.
      try await normalize(
        #"{"data":{"v":{"__typename":"V","id":1}}}"#.utf8, prepare("{ v { id } }"), into: store,
        received: 1080)
      #expect(
        try await store.found(operation, .replay, now: 1120, ages: ages).data == "miss at v.x")
      try await normalize(Self.failed.utf8, operation, into: store, received: 1110)
      #expect(
        try await store.found(operation, .replay, now: 1120, ages: ages).data
          == #"{"v":{"id":1,"x":null}}"#)
    }
  }

  @Test("an older value keeps its own age", arguments: StoreKind.allCases)
  func olderAge(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ v { id x } }")
      try await normalize(Self.body(#""x":1"#).utf8, operation, into: store, received: 1000)
      try await normalize(Self.failed.utf8, operation, into: store, received: 1200)
      let ages = AgeRules(maxAge: .seconds(100))
      #expect(
        try await store.found(operation, .refuse, now: 1210, ages: ages).data == "miss at v.x")
      #expect(
        try await store.found(operation, .replay, now: 1210, ages: ages).data
          == #"{"v":{"id":1,"x":null}}"#)
    }
  }

  @Test("a watcher that reads errors is notified of them", arguments: StoreKind.allCases)
  func watched(kind: StoreKind) async throws {
    try await kind.withCache(collectsChanges: false) { cache, store in
      let operation = try prepare("{ v { id x } }")
      try await cache.write(Self.body(#""x":null"#), operation)
      let replaying = WatchedOperation(store: store, operation: operation, errors: .replay)
      let refusing = WatchedOperation(store: store, operation: operation)
      #expect(try await replaying.look()?.errors == [])
      _ = try await refusing.look()
      try await cache.write(Self.failed, operation)
      #expect(replaying.signal.isPending)
      // The value is the same, and now there is an error.
      #expect(try await replaying.look()?.errors.count == 1)
      #expect(try await refusing.look() == nil)
      try await cache.write(Self.failed, operation)
      #expect(try await replaying.look() == nil, "the same error is no change")
      try await cache.write(Self.body(#""x":null"#), operation)
      #expect(try await replaying.look()?.errors == [])
      // An error of another field changes nothing here.
      try await cache.write(
        Self.body(#""y":null"#, errors: [Self.error(#"["v","y"]"#)]), "{ v { id y } }")
      #expect(!replaying.signal.isPending)
      replaying.end()
      refusing.end()
    }
  }

  @Test("an optimistic value hides the error", arguments: StoreKind.allCases)
  func layers(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let operation = try prepare("{ v { id x } }")
      try await cache.write(Self.failed, operation)
      let layer = try store.addOptimistic(
        ["v": ["__typename": "V", "id": 1, "x": 5]], for: operation)
      #expect(try await store.found(operation, .replay) == FoundErrors(#"{"v":{"id":1,"x":5}}"#))
      store.removeOptimistic(layer)
      #expect(try await store.found(operation, .replay).errors.count == 1)
    }
  }

  @Test("errors go with their field, their record and the store", arguments: StoreKind.allCases)
  func removed(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      func count() async throws -> Int { try await store.statistics().errors }
      let twice = Self.body(
        #""x":null,"y":null"#, errors: [Self.error(#"["v","x"]"#), Self.error(#"["v","y"]"#)])
      let document = "{ v { id x y } }"
      try await cache.write(twice, document)
      #expect(try await count() == 2)
      _ = try await store.remove(try RecordSelection("V:*", fields: "x"))
      #expect(try await count() == 1)
      _ = try await store.remove(try RecordSelection("V:1"))
      #expect(try await count() == 0)
      try await cache.write(twice, document)
      try await store.transaction { try await $0.remove(RecordRemoval(record: "V:1", field: "x")) }
      #expect(try await count() == 1)
      try await store.transaction { try await $0.remove(RecordRemoval(record: "V:1")) }
      #expect(try await count() == 0)
      try await cache.write(twice, document)
      _ = try await store.collectGarbage(rootsBefore: nil)
      #expect(try await count() == 2, "a root field reaches the record")
      _ = try await store.remove(try RecordSelection("Query.v"))
      _ = try await store.collectGarbage(rootsBefore: nil)
      #expect(try await count() == 0)
      #expect(try await store.statistics().records == 0)
      try await cache.write(#"{"data":{"w":null},"errors":[\#(Self.error(#"["w"]"#))]}"#, "{ w }")
      _ = try await store.collectGarbage(rootsBefore: nil)
      #expect(try await count() == 1, "a root field that failed is reached")
      _ = try await store.remove(try RecordSelection("*"))
      #expect(try await count() == 0)
      try await cache.write(twice, document)
      try await store.clear()
      #expect(try await count() == 0)
    }
  }

  @Test("what only a list with an error refers to is no garbage", arguments: StoreKind.allCases)
  func garbage(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      // Long enough for segments.
      let elements = (0..<2000).map {
        #"{"__typename":"R","id":\#($0),"n":"some text, so that the list has segments, \#($0)"}"#
      }
      let operation = try prepare("{ list { id n } tags }")
      let tags = (0..<20_000).map(String.init).joined(separator: ",")
      let errors = [Self.error(#"["list",2000]"#), Self.error(#"["tags",20000]"#)]
      let written = try await cache.write(
        #"{"data":{"list":[\#(elements.joined(separator: ",")),null],"tags":[\#(tags),null]},"errors":[\#(errors.joined(separator: ","))]}"#,
        operation)
      let expected = try FoundErrors(try #require(written.data), errors: written.response.errors)
      #expect(try await store.found(operation, .replay) == expected)
      _ = try await store.collectGarbage(rootsBefore: nil)
      #expect(try await store.found(operation, .replay) == expected)
      let size = try await store.statistics().bytes
      _ = try await store.trim(to: size)
      #expect(try await store.found(operation, .replay) == expected)
      _ = try await store.collectGarbage(rootsBefore: .max)
      #expect(try await store.statistics().bytes == 0)
    }
  }

  @Test(
    "an explanation has the errors, and the policies that answer", arguments: StoreKind.allCases)
  func explained(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare("{ v { id x list { n } } }")
      let errors = [Self.error(#"["v","x"]"#), Self.error(#"["v","list",0,"n"]"#, "bad")]
      try await normalize(
        Self.body(#""x":null,"list":[null]"#, errors: errors).utf8, operation, into: store,
        received: 1000)
      for policy in ErrorReadPolicy.allCases {
        let explanation = try await store.explain(
          operation, options: ReadOptions(now: 1010, errors: policy), showing: .everything)
        #expect(explanation.policies == [.replay, .keep])
        #expect(explanation.isHit == (policy != .refuse))
        let fields = try #require(explanation.fields.first?.fields)
        #expect(fields.map(\.responseKey) == ["id", "x", "list"])
        #expect(fields[0].errors == [])
        #expect(
          fields[1].errors == [
            .init(path: "v.x", message: "no", received: 1000, age: 10)
          ])
        #expect(
          fields[2].errors == [
            .init(path: "v.list[0].n", message: "bad", received: 1000, age: 10)
          ])
        #expect(fields[1].status == (policy == .refuse ? .missing : .errored))
      }
    }
  }

  @Test("the errors of a part are read with the whole", arguments: StoreKind.allCases)
  func parts(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(
        "{ hero { id ... @defer { bio stats { wins } } } e { ... @defer { p q } } }")
      let arrived = try await receive(
        [
          #"{"data":{"hero":{"__typename":"Hero","id":"1"},"e":{"__typename":"E"}},"hasNext":true}"#,
          """
          {"incremental":[{"path":["hero"],"data":{"bio":null,"stats":{"wins":null}},
            "errors":[{"message":"x","path":["hero","bio"]},{"message":"y","path":["hero","stats","wins"]}]},
            {"path":["e"],"data":{"p":null,"q":1},"errors":[{"message":"z","path":["e","p"]}]}],
           "hasNext":false}
          """,
        ], operation, into: store)
      let whole = try prepare("{ hero { id bio stats { wins } } e { p q } }")
      #expect(
        try await store.found(whole, .replay)
          == FoundErrors(
            #"{"hero":{"id":"1","bio":null,"stats":{"wins":null}},"e":{"p":null,"q":1}}"#,
            errors: arrived.results.last?.errors ?? []))
      _ = try await receive(
        [
          #"{"data":{"hero":{"__typename":"Hero","id":"1"},"e":{"__typename":"E"}},"hasNext":true}"#,
          """
          {"incremental":[{"path":["hero"],"data":{"bio":"b","stats":{"wins":1}}},
            {"path":["e"],"data":{"p":2,"q":1}}],"hasNext":false}
          """,
        ], operation, into: store)
      #expect(
        try await store.found(whole, .replay)
          == FoundErrors(
            #"{"hero":{"id":"1","bio":"b","stats":{"wins":1}},"e":{"p":2,"q":1}}"#))
      #expect(try await store.statistics().errors == 0)
    }
  }

  @Test(
    "a later part keeps the errors that arrive with it, and older ones of fields that it does not have",
    arguments: StoreKind.allCases)
  func nestedParts(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let first = #"{"data":{"e":{"__typename":"E"}},"hasNext":true}"#
      let arrived = try await receive(
        [
          first,
          #"{"incremental":[{"path":["e"],"data":{"f":{"p":null,"q":1}},"errors":[{"message":"z","path":["e","f","p"]}]}],"hasNext":false}"#,
        ], prepare("{ e { ... @defer { f { p q } } } }"), into: store)
      let errors = arrived.results.last?.errors ?? []
      #expect(errors.count == 1)
      let whole = try prepare("{ e { f { p q } } }")
      #expect(
        try await store.found(whole, .replay)
          == FoundErrors(#"{"e":{"f":{"p":null,"q":1}}}"#, errors: errors))
      _ = try await receive(
        [first, #"{"incremental":[{"path":["e"],"data":{"f":{"q":2}}}],"hasNext":false}"#],
        prepare("{ e { ... @defer { f { q } } } }"), into: store)
      #expect(
        try await store.found(whole, .replay)
          == FoundErrors(#"{"e":{"f":{"p":null,"q":2}}}"#, errors: errors))
    }
  }

  @Test("a record with too many errors keeps the newest")
  func tooManyOfRecord() throws {
    func text(_ numbers: Range<Int>) -> [UInt8] {
      var errors = StoredErrors()
      errors.positions = numbers.map { number in
        StoredErrors.Position(
          steps: [.field(Array("\"x\(number)\"".utf8))],
          value: Array(#"{"$errors":[{"message":"no","path":[]}]}"#.utf8))
      }
      return errors.text
    }
    let table = RecordTable()
    let records = StagedRecords(table: table, seed: 0)
    let key = Array("$errors:V:1".utf8)
    key.withBytes { key in
      text(0..<6000).withBytes { text in
        _ = table.insert(key, hash: RecordTable.hash(key), text: text, received: 0)
      }
      text(5000..<10_000).withBytes { records.makeRoom(forErrors: $0, key: key) }
    }
    #expect(records.text(of: key) == text(0..<6000), "there is room for them")
    key.withBytes { key in
      text(5000..<10_001).withBytes { records.makeRoom(forErrors: $0, key: key) }
    }
    #expect(records.text(of: key) == nil)
  }

  @Test("the errors of streamed elements are at their index", arguments: StoreKind.allCases)
  func streamed(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let arrived = try await receive(
        [
          #"{"data":{"l":[{"a":1},{"a":2}]},"hasNext":true}"#,
          #"{"incremental":[{"path":["l",2],"items":[{"a":3},{"a":null}],"errors":[{"message":"x","path":["l",3,"a"]}]}],"hasNext":false}"#,
        ], prepare("{ l @stream { a } }"), into: store)
      #expect(
        try await store.found(prepare("{ l { a } }"), .replay)
          == FoundErrors(
            #"{"l":[{"a":1},{"a":2},{"a":3},{"a":null}]}"#,
            errors: arrived.results.last?.errors ?? []))
    }
  }
}
