import Testing

@testable import GQLRunCache

@Suite("Explaining what a cache has")
struct ExplainTests {
  private static let document = """
    { feed { __typename title author { id name } posts { id title } } now }
    """

  private static func fill(_ store: CacheStore) async throws {
    try await normalize(
      """
      {"data":{"feed":{"__typename":"Feed","title":"T","author":{"__typename":"User","id":"1",\
      "name":"Ada"},"posts":[{"__typename":"Post","id":"1","title":"A"},\
      {"__typename":"Post","id":"2","title":"B"},{"__typename":"Post","id":"3","title":"C"}]},\
      "now":1}}
      """.utf8, prepare(document), into: store, received: 5000)
  }

  private static func all(_ fields: [CacheExplanation.Field]) -> [CacheExplanation.Field] {
    fields.flatMap { [$0] + all($0.fields) + inside($0.value) }
  }

  private static func inside(_ value: CacheExplanation.Value) -> [CacheExplanation.Field] {
    guard case .list(_, let elements, _) = value else { return [] }
    return elements.flatMap { all($0.fields) + inside($0.value) }
  }

  private static func lines(_ explanation: CacheExplanation) -> [String] {
    all(explanation.fields).map { "\($0.path) \($0.recordKey).\($0.field) \($0.status.rawValue)" }
  }

  @Test("everything is there", arguments: StoreKind.allCases)
  func complete(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      let explanation = try await store.explain(
        prepare(Self.document), options: ReadOptions(now: 5420), showing: .everything)
      #expect(explanation.isHit && explanation.counts == [.hit: 14])
      #expect(
        Self.lines(explanation) == [
          "feed QUERY_ROOT.feed hit", "feed.__typename QUERY_ROOT.feed.__typename hit",
          "feed.title QUERY_ROOT.feed.title hit", "feed.author QUERY_ROOT.feed.author hit",
          "feed.author.id User:1.id hit", "feed.author.name User:1.name hit",
          "feed.posts QUERY_ROOT.feed.posts hit", "feed.posts[0].id Post:1.id hit",
          "feed.posts[0].title Post:1.title hit", "feed.posts[1].id Post:2.id hit",
          "feed.posts[1].title Post:2.title hit", "feed.posts[2].id Post:3.id hit",
          "feed.posts[2].title Post:3.title hit", "now QUERY_ROOT.now hit",
        ])
      #expect(Self.all(explanation.fields).allSatisfy { $0.age == 420 && $0.received == 5000 })
    }
  }

  @Test("continues after a missing field", arguments: StoreKind.allCases)
  func missing(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      _ = try await store.remove(RecordSelection("User:1"))
      _ = try await store.remove(RecordSelection("Post:2", fields: "title"))
      let operation = try prepare(
        "{ feed { title author { id name } posts { id title } } now later }")
      let explanation = try await store.explain(
        operation, options: ReadOptions(), showing: .problems(1))
      #expect(!explanation.isHit)
      #expect(explanation.counts[.missing] == 3)
      let troubles = Self.all(explanation.fields).filter { $0.status == .missing }.map(\.path)
      #expect(troubles == ["feed.posts[1].title", "later"])
      let author = Self.all(explanation.fields).first { $0.path == "feed.author" }
      #expect(author?.value == .missingRecord("User:1"))
      let posts = Self.all(explanation.fields).first { $0.path == "feed.posts" }
      guard case .list(3, let elements, leftOut: 1)? = posts?.value else {
        Issue.record("\(String(describing: posts))")
        return
      }
      #expect(elements.map(\.index) == [0, 1])
      // A read stops where the explanation does first.
      let miss = try #require(try await store.read(operation).miss, "there should be a miss")
      #expect(miss.path == "feed.author")
    }
  }

  @Test("reports stale and accepted fields", arguments: StoreKind.allCases)
  func stale(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      var options = ReadOptions(
        ages: AgeRules(fields: ["Post": ["title": .seconds(60)]]), now: 5060)
      let operation = try prepare(Self.document)
      var explanation = try await store.explain(operation, options: options, showing: .problems(1))
      #expect(explanation.counts == [.hit: 11, .stale: 3] && !explanation.isHit)
      #expect(explanation.omittedProblems == 2)
      let title = Self.all(explanation.fields).first { $0.status == .stale }
      #expect(title?.path == "feed.posts[0].title" && title?.age == 60 && title?.maxAge == 60)
      options.stale = .upTo(.seconds(1))
      explanation = try await store.explain(operation, options: options, showing: .problems(1))
      #expect(explanation.counts == [.hit: 11, .accepted: 3] && explanation.isHit)
    }
  }

  @Test("without a schema, a fragment's missing fields are omitted", arguments: StoreKind.allCases)
  func leftOut(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store)
      let operation = try prepare("{ feed { title ... on Pinned { reason } } }")
      let explanation = try await store.explain(
        operation, options: ReadOptions(), showing: .everything)
      #expect(explanation.isHit && explanation.counts[.leftOut] == 1)
    }
  }

  @Test("an empty cache has nothing", arguments: StoreKind.allCases)
  func empty(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let explanation = try await store.explain(
        prepare(Self.document), options: ReadOptions(), showing: .everything)
      #expect(
        Self.lines(explanation) == [
          "feed QUERY_ROOT.feed missing", "now QUERY_ROOT.now missing",
        ])
    }
  }

  @Test("long lists in segments are walked", arguments: StoreKind.allCases)
  func segments(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let items = (0..<3000).map {
        #"{"__typename":"E","n":\#($0),"text":"\#(String(repeating: "x", count: 60))"}"#
      }
      let operation = try prepare("{ items { n text } }")
      try await normalize(
        #"{"data":{"items":[\#(items.joined(separator: ","))]}}"#.utf8, operation, into: store)
      #expect(try await store.statistics().segments > 1)
      let explanation = try await store.explain(
        operation, options: ReadOptions(), showing: .problems(3))
      #expect(explanation.isHit && explanation.counts == [.hit: 6001])
      guard case .list(3000, _, leftOut: 2999)? = explanation.fields.first?.value else {
        Issue.record("\(explanation.fields.first?.path ?? "")")
        return
      }
    }
  }

  private static let countries = """
    {"data":{"all":[{"__typename":"Country","code":"FR","name":"France"},\
    {"__typename":"Country","code":"PT","name":"Portugal"},\
    {"__typename":"City","code":"PT","name":"Port"}]}}
    """

  @Test("a redirected field is a hit with its records", arguments: StoreKind.allCases)
  func redirect(kind: StoreKind) async throws {
    let keys = KeyRules(
      default: ["code"],
      redirects: ["Query": ["country": CacheRedirect(["code"], type: "Country")]])
    try await kind.withStore { store in
      try await normalize(
        Self.countries.utf8, prepare("{ all { code name } }", keys: keys), into: store,
        received: 5000)
      let operation = try prepare(
        #"{ country(code: "FR") { name } none: country(code: "DE") { name } }"#, keys: keys)
      let explanation = try await store.explain(
        operation, options: ReadOptions(now: 5420), showing: .everything)
      let (country, none) = (explanation.fields[0], explanation.fields[1])
      #expect(country.status == .hit && country.value == .reference("Country:FR"))
      #expect(country.redirect == ["Country:FR"] && country.age == nil)
      #expect(country.fields.map(\.responseKey).contains("name"))
      #expect(country.fields.allSatisfy { $0.recordKey == "Country:FR" && $0.age == 420 })
      #expect(none.status == .missing && none.redirect == ["Country:DE"])
      #expect(explanation.counts[.missing] == 1 && explanation.proposals.isEmpty)
    }
  }

  @Test(
    "a redirect is proposed when the records that the arguments identify are stored",
    arguments: [
      #"{ country(code: "FR") { name } }"#: ["Query.country: { key_args: [code], type: Country }"],
      #"{ land(input: { code: "FR", limit: 1 }) { name } }"#: [
        "Query.land: { key_args: [input.code], type: Country }"
      ],
      #"{ several(codes: ["PT", "FR"]) { name } }"#: [
        #"Query.several: { key_args: [codes], type: "[Country]" }"#
      ],
      // The name of the field decides between Country:PT and City:PT.
      #"{ city(code: "PT") { name } }"#: ["Query.city: { key_args: [code], type: City }"],
      #"{ land(code: "PT") { name } }"#: [], #"{ country(code: "DE") { name } }"#: [],
      #"{ country(code: "FR") }"#: [], "{ country { name } }": [],
    ] as [String: [String]])
  func proposals(document: String, expected: [String]) async throws {
    let keys = KeyRules(default: ["code"])
    try await StoreKind.sqlite.withStore { store in
      try await normalize(
        Self.countries.utf8, prepare("{ all { code name } }", keys: keys), into: store)
      let explanation = try await store.explain(
        prepare(document, keys: keys), options: ReadOptions(), showing: .everything)
      #expect(explanation.proposals.map(\.rule) == expected)
    }
  }

  @Test("with a schema only the declared type is proposed")
  func proposalOfSchema() async throws {
    let keys = KeyRules(default: ["code"])
    let facts = try facts(
      """
      type Query { all: [Place] land(code: ID): Country found(code: ID): [Country] }
      union Place = Country | City
      type Country { code: ID name: String } type City { code: ID name: String }
      """)
    let store = MemoryStore()
    try await normalize(
      Self.countries.utf8,
      prepare(
        "{ all { ... on Country { code name } ... on City { code name } } }", keys: keys,
        facts: facts), into: store)
    let explanation = try await store.explain(
      prepare(
        #"{ land(code: "PT") { name } found(code: "PT") { name } }"#, keys: keys, facts: facts),
      options: ReadOptions(), showing: .everything)
    #expect(
      explanation.proposals.map(\.rule) == ["Query.land: { key_args: [code], type: Country }"])
    #expect(explanation.proposals.first?.records == ["Country:PT"])
  }
}
