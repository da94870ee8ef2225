import GQLRunJSON
import Testing

@testable import GQLRunCache

/// Fields that are answered from the record that their arguments identify.
@Suite("Cache redirects")
struct RedirectTests {
  private static let sdl = """
    type Query {
      country(code: ID = "PT"): Country
      countries(codes: [ID!], first: Int): [Country!]
      all: [Country!]
      find(input: Find): Country
      seat(row: Int, number: Int): Seat
      seats(row: Int, numbers: [Int]): [Seat]
      animal(id: ID): Animal
      cat(id: ID): Cat
      node(id: ID): Node
    }
    input Find { where: Where limit: Int }
    input Where { code: ID = "PT" }
    type Country { code: ID name: String neighbour(code: ID): Country }
    type Seat { row: Int number: Int price: Int }
    interface Animal { id: ID name: String }
    type Cat implements Animal { id: ID name: String }
    type Dog implements Animal { id: ID name: String }
    interface Node { id: ID }
    type Post implements Node { id: ID }
    """

  private static let keys = KeyRules(
    types: ["Country": ["code"], "Seat": ["row", "number"]],
    groups: ["Cat": "Animal", "Dog": "Animal"],
    redirects: [
      "Query": [
        "country": CacheRedirect(["code"], type: "Country"),
        "countries": CacheRedirect(["codes"], type: "Country", isList: true),
        "find": CacheRedirect(["input.where.code"], type: "Country"),
        "seat": CacheRedirect(["row", "number"], type: "Seat"),
        "seats": CacheRedirect(["row", "numbers"], type: "Seat", isList: true),
        "animal": CacheRedirect(["id"], type: "Animal"),
        "cat": CacheRedirect(["id"], type: "Cat"),
        "node": CacheRedirect(["id"], type: "Node"),
      ],
      "Country": ["neighbour": CacheRedirect(["code"], type: "Country")],
    ])

  /// The rules without types: the schema has them.
  private static var untyped: KeyRules {
    var keys = keys
    keys.redirects = keys.redirects.mapValues { $0.mapValues { CacheRedirect($0.arguments) } }
    return keys
  }

  private static let stored = """
    {"data":{"all":[
    {"__typename":"Country","code":"PT","name":"Portugal"},
    {"__typename":"Country","code":"ES","name":"Spain"}],
    "some":[{"__typename":"Seat","row":1,"number":2,"price":10},
    {"__typename":"Seat","row":1,"number":3,"price":20}],
    "animals":[{"__typename":"Cat","id":"1","name":"Tom"},{"__typename":"Dog","id":"2","name":"Rex"}],
    "posts":[{"__typename":"Post","id":"1"}]}}
    """
  private static let storing = """
    { all { code name } some { row number price } animals { id name } posts { id } }
    """

  private static func withCache(
    _ kind: StoreKind = .memory, _ body: (CacheUnderTest) async throws -> Void
  ) async throws {
    try await kind.withCache { cache, _ in
      try await cache.write(stored, storing, keys: keys)
      try await body(cache)
    }
  }

  /// Reads without a schema, and with one that declares the types of the redirects.
  private static func expect(
    _ cache: CacheUnderTest, _ document: String, _ expected: String, variables: String = "{}",
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) async throws {
    let facts = try facts(sdl)
    let found = [
      try await cache.read(document, variables: variables, keys: keys),
      try await cache.read(document, variables: variables, keys: keys, facts: facts),
      try await cache.read(document, variables: variables, keys: untyped, facts: facts),
    ]
    #expect(found == [expected, expected, expected], sourceLocation: sourceLocation)
  }

  @Test("a field that is not stored is answered from its record", arguments: StoreKind.allCases)
  func single(kind: StoreKind) async throws {
    try await Self.withCache(kind) { cache in
      try await Self.expect(
        cache, #"{ c: country(code: "PT") { n: name } }"#, #"{"c":{"n":"Portugal"}}"#)
      try await Self.expect(
        cache, "query($c: ID) { country(code: $c) { name code } }",
        #"{"country":{"name":"Spain","code":"ES"}}"#, variables: #"{"c":"ES"}"#)
      try await Self.expect(
        cache, #"query($c: ID = "ES") { country(code: $c) { name } }"#,
        #"{"country":{"name":"Spain"}}"#)
      // Without the rule it is a miss.
      #expect(
        try await cache.read(#"{ country(code: "PT") { name } }"#) == "miss at country")
    }
  }

  @Test("a record that is missing, or lacks a field, is a miss", arguments: StoreKind.allCases)
  func misses(kind: StoreKind) async throws {
    try await Self.withCache(kind) { cache in
      try await Self.expect(cache, #"{ country(code: "FR") { name } }"#, "miss at country")
      try await Self.expect(
        cache, #"{ country(code: "PT") { name capital } }"#, "miss at country.capital")
      try await Self.expect(cache, #"{ country(code: null) { name } }"#, "miss at country")
      try await Self.expect(
        cache, "query($c: ID) { country(code: $c) { name } }", "miss at country",
        variables: #"{"c":null}"#)
      try await Self.expect(cache, #"{ country(code: ["PT"]) { name } }"#, "miss at country")
    }
  }

  @Test("the stored value of a field counts, null as well")
  func storedField() async throws {
    try await Self.withCache { cache in
      let document = #"{ country(code: "PT") { name } }"#
      try await cache.write(#"{"data":{"country":null}}"#, document, keys: Self.keys)
      try await Self.expect(cache, document, #"{"country":null}"#)
    }
  }

  @Test("a list of keys is a list of records in that order", arguments: StoreKind.allCases)
  func lists(kind: StoreKind) async throws {
    try await Self.withCache(kind) { cache in
      try await Self.expect(
        cache, #"{ countries(codes: ["ES", "PT", "ES"], first: 9) { name } }"#,
        #"{"countries":[{"name":"Spain"},{"name":"Portugal"},{"name":"Spain"}]}"#)
      try await Self.expect(
        cache, "query($c: [ID!]) { countries(codes: $c) { name } }",
        #"{"countries":[{"name":"Portugal"}]}"#, variables: #"{"c":"PT"}"#)
      // One value of a list type is a list of one.
      try await Self.expect(
        cache, #"{ countries(codes: "PT") { name } }"#, #"{"countries":[{"name":"Portugal"}]}"#)
      try await Self.expect(
        cache, "{ seats(row: 1, numbers: [3, 2]) { price } }",
        #"{"seats":[{"price":20},{"price":10}]}"#)
    }
  }

  @Test(
    "a list that is not complete is a miss",
    arguments: [
      #"{ countries(codes: ["PT", "FR"]) { name } }"#, "{ countries(codes: []) { name } }",
      "{ countries(codes: null) { name } }", #"{ countries(codes: ["PT", null]) { name } }"#,
      #"{ countries(codes: [["PT"]]) { name } }"#, "{ countries { name } }",
    ])
  func incompleteLists(document: String) async throws {
    try await Self.withCache { cache in
      try await Self.expect(cache, document, "miss at countries")
    }
  }

  @Test("a path leads into input objects, given as literals or variables")
  func paths() async throws {
    try await Self.withCache { cache in
      let result = #"{"find":{"name":"Spain"}}"#
      try await Self.expect(
        cache, #"{ find(input: { where: { code: "ES" }, limit: 1 }) { name } }"#, result)
      try await Self.expect(
        cache, "query($w: Where) { find(input: { where: $w }) { name } }", result,
        variables: #"{"w":{"code":"ES"}}"#)
      try await Self.expect(
        cache, "query($i: Find) { find(input: $i) { name } }", result,
        variables: #"{"i":{"where":{"code":"ES"}}}"#)
      try await Self.expect(cache, "{ find(input: { where: null }) { name } }", "miss at find")
      try await Self.expect(cache, "{ find(input: { limit: 1 }) { name } }", "miss at find")
    }
  }

  @Test("with a schema, the defaults of arguments and input fields count")
  func defaults() async throws {
    let facts = try facts(Self.sdl)
    let name = #"{"name":"Portugal"}"#
    let expected = [
      ("{ country { name } }", #"{"country":\#(name)}"#),
      ("{ find(input: { where: {} }) { name } }", #"{"find":\#(name)}"#),
      ("{ country(code: null) { name } }", "miss at country"),
    ]
    try await Self.withCache { cache in
      for (document, result) in expected {
        let found = try await cache.read(document, keys: Self.keys, facts: facts)
        #expect(found == result)
      }
      let unknown = try await cache.read("{ country { name } }", keys: Self.keys)
      #expect(unknown == "miss at country")
    }
  }

  @Test("composite keys are joined and escaped as those of records are")
  func composite() async throws {
    try await Self.withCache { cache in
      try await Self.expect(
        cache, "query($n: Int) { seat(number: $n, row: 1) { price } }",
        #"{"seat":{"price":20}}"#, variables: #"{"n":3}"#)
      try await Self.expect(cache, "{ seat(row: 2, number: 3) { price } }", "miss at seat")
      try await Self.expect(cache, "{ seat(row: 1) { price } }", "miss at seat")
    }
  }

  @Test("an abstract type is found under its own prefix, and a type only as itself")
  func abstractTypes() async throws {
    try await Self.withCache { cache in
      try await Self.expect(
        cache, #"{ animal(id: 2) { __typename name } }"#,
        #"{"animal":{"__typename":"Dog","name":"Rex"}}"#)
      try await Self.expect(cache, #"{ cat(id: "1") { name } }"#, #"{"cat":{"name":"Tom"}}"#)
      // `Animal:2` is a dog.
      try await Self.expect(cache, #"{ cat(id: "2") { name } }"#, "miss at cat")
      // `Post:1` is not `Node:1`.
      try await Self.expect(cache, #"{ node(id: "1") { id } }"#, "miss at node")
    }
  }

  @Test("fields of other types are redirected as well", arguments: StoreKind.allCases)
  func nested(kind: StoreKind) async throws {
    try await Self.withCache(kind) { cache in
      try await Self.expect(
        cache,
        #"{ country(code: "PT") { code neighbour(code: "ES") { name neighbour(code: "PT") { code } } name } }"#,
        #"{"country":{"code":"PT","neighbour":{"name":"Spain","neighbour":{"code":"PT"}},"name":"Portugal"}}"#
      )
      try await Self.expect(
        cache, #"{ country(code: "PT") { neighbour(code: "FR") { name } } }"#,
        "miss at country.neighbour")
    }
  }

  @Test("optimistic records are found, and a stored one again after them")
  func layers() async throws {
    try await Self.withCache { cache in
      let document = #"{ country(code: "FR") { name } }"#
      let guess = try prepare("{ all { code name } }", keys: Self.keys)
      let layer = try cache.store.addOptimistic(
        ["all": [["__typename": "Country", "code": "FR", "name": "France"]]], for: guess)
      try await Self.expect(cache, document, #"{"country":{"name":"France"}}"#)
      cache.store.removeOptimistic(layer)
      try await Self.expect(cache, document, "miss at country")
    }
  }

  @Test(
    "the ages of the record count, and not those of a stale field", arguments: StoreKind.allCases)
  func ages(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let field = try prepare(#"{ country(code: "PT") { code name } }"#, keys: Self.keys)
      let list = try prepare("{ all { code name } }", keys: Self.keys)
      let country = #"{"__typename":"Country","code":"PT","name":"Portugal"}"#
      try await normalize(
        #"{"data":{"country":\#(country)}}"#.utf8, field, into: store, received: 1000)
      try await normalize(
        #"{"data":{"all":[\#(country)]}}"#.utf8, list, into: store, received: 2000)
      func answer(_ now: Int) async throws -> StoreAnswer {
        try await store.read(
          field, options: ReadOptions(ages: AgeRules(maxAge: .seconds(600)), now: now))
      }
      // The field was received at 1000, its record again at 2000.
      try #require(try await answer(2500).result.hit != nil, "the record is fresh")
      let miss = try #require(try await answer(2600).result.miss, "the record is stale")
      #expect(miss.staleness == Staleness(age: 600, maxAge: 600))
      // Without its record, the stale field is what is wrong.
      let other = try prepare(#"{ country(code: "PT") { name } }"#, keys: KeyRules())
      let options = ReadOptions(ages: AgeRules(maxAge: .seconds(600)), now: 2500)
      let stale = try #require(
        try await store.read(other, options: options).result.miss,
        "without the rule the field is stale")
      #expect(stale.path == "country" && stale.staleness?.age == 1500)
    }
  }

  @Test(
    "a watcher fires when a record of a redirect arrives or changes", arguments: StoreKind.allCases)
  func watching(kind: StoreKind) async throws {
    try await Self.withCache(kind) { cache in
      let document = #"{ countries(codes: ["PT", "FR"]) { name } }"#
      var watcher = Watcher(cache.store, try prepare(document, keys: Self.keys))
      #expect(try await watcher.next() == "miss at countries")
      try await cache.write(
        #"{"data":{"seen":{"__typename":"Country","code":"IT","name":"Italy"}}}"#,
        "{ seen { code name } }", keys: Self.keys)
      #expect(!watcher.isPending)
      for name in ["France", "La France"] {
        try await cache.write(
          #"{"data":{"seen":{"__typename":"Country","code":"FR","name":"\#(name)"}}}"#,
          "{ seen { code name } }", keys: Self.keys)
        #expect(
          try await watcher.next()
            == #"{"countries":[{"name":"Portugal"},{"name":"\#(name)"}]}"#)
      }
      try await cache.write(#"{"data":{"countries":[]}}"#, document, keys: Self.keys)
      #expect(try await watcher.next() == #"{"countries":[]}"#)
    }
  }

  @Test("garbage collection keeps what redirects reach", arguments: StoreKind.allCases)
  func garbage(kind: StoreKind) async throws {
    try await kind.withCache { cache, store in
      let response = Self.stored.replacing("\n", with: "").utf8
      try await normalize(
        response, prepare(Self.storing, keys: Self.keys), into: store, received: 100)
      _ = try await store.remove(RecordSelection("Query"))
      let country = #"{ country(code: "PT") { name } }"#
      var keys = KeyRules(types: ["Country": ["code"]])
      keys.redirects = ["Query": ["country": CacheRedirect(["code"])]]
      let facts = try facts(Self.sdl)
      _ = try await store.collectGarbage(rootsBefore: 100, keys: keys, facts: facts)
      let kept = try await cache.dump().split(separator: "\n")
      #expect(kept.count == 2 && kept.allSatisfy { $0.contains("Country:") }, "\(kept)")
      #expect(
        try await cache.read(country, keys: Self.keys) == #"{"country":{"name":"Portugal"}}"#)
      // Redirects keep no older records.
      let old = try await store.collectGarbage(rootsBefore: 101, keys: Self.keys)
      #expect(old.records == 2)
      #expect(try await cache.dump() == "")
    }
  }
}
