import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunCache

@Suite("How old answers may be")
struct AgeTests {
  private static let document = """
    { feed { __typename title author { __typename id name } posts { __typename id title } } now }
    """
  private static let response = """
    {"data":{"feed":{"__typename":"Feed","title":"T","author":{"__typename":"User","id":"1",\
    "name":"Ada"},"posts":[{"__typename":"Post","id":"1","title":"A"},\
    {"__typename":"Post","id":"2","title":"B"}]},"now":1}}
    """
  private static let schema = """
    type Query { feed: Feed now: Int }
    type Feed { title: String author: User posts: [Post] }
    interface Node { id: ID }
    type User implements Node { id: ID name: String }
    type Post implements Node { id: ID title: String }
    """

  /// Rules, the seconds since the response, and the miss that follows: its path, record and field.
  static let rules: [(AgeRules, Int, String?)] = [
    (AgeRules(), 1_000_000, nil),
    (AgeRules(maxAge: .seconds(60)), 59, nil),
    (AgeRules(maxAge: .seconds(60)), 60, "feed QUERY_ROOT feed"),
    (AgeRules(maxAge: .zero), 0, "feed QUERY_ROOT feed"),
    (AgeRules(types: ["Query": .seconds(60)]), 60, "feed QUERY_ROOT feed"),
    (AgeRules(fields: ["Query": ["now": .seconds(60)]]), 60, "now QUERY_ROOT now"),
    (AgeRules(fields: ["Feed": ["title": .seconds(60)]]), 60, "feed.title QUERY_ROOT.feed title"),
    (AgeRules(types: ["User": .seconds(60)]), 60, "feed.author.id User:1 id"),
    (AgeRules(fields: ["User": ["name": .seconds(60)]]), 60, "feed.author.name User:1 name"),
    (AgeRules(types: ["Node": .seconds(60)]), 60, "feed.author.id User:1 id"),
    (
      AgeRules(types: ["Node": .seconds(60), "User": .seconds(100)]), 60,
      "feed.posts[0].id Post:1 id"
    ),
    (
      AgeRules(maxAge: .seconds(9), types: ["Feed": .seconds(99), "Query": .seconds(99)]), 60,
      "feed.author.id User:1 id"
    ),
    (
      AgeRules(types: ["User": .seconds(9)], fields: ["User": ["id": .seconds(99)]]), 60,
      "feed.author.name User:1 name"
    ),
    (AgeRules(types: ["Other": .zero], fields: ["Feed": ["other": .zero]]), 60, nil),
  ]

  @Test("the nearest rule decides", arguments: StoreKind.allCases, rules)
  func nearestRule(kind: StoreKind, rule: (AgeRules, Int, String?)) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document, facts: facts(Self.schema))
      try await normalize(Self.response.utf8, operation, into: store, received: 5000)
      var options = ReadOptions(ages: rule.0, now: 5000 + rule.1)
      let strict = try await store.read(operation, options: options)
      guard let expected = rule.2 else {
        try #require(strict.result.hit != nil, "\(strict)")
        return
      }
      let miss = try #require(strict.result.miss, "\(strict)")
      #expect("\(miss.path) \(miss.recordKey) \(miss.field ?? "")" == expected)
      #expect(miss.staleness?.age == rule.1)
      options.stale = .whatever
      let lenient = try await store.read(operation, options: options)
      let data = try #require(lenient.result.hit, "stale data are not accepted")
      #expect(lenient.stale == miss)
      #expect(
        try JSONValue(parsing: data.bytes()) == JSONValue(parsing: Self.response)["data"])
    }
  }

  @Test(
    "max_stale accepts data that are so much too old",
    arguments: StoreKind.allCases, [(59, "hit"), (60, "stale"), (159, "stale"), (160, "miss")])
  func maxStale(kind: StoreKind, age: (Int, String)) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      try await normalize(Self.response.utf8, operation, into: store, received: 5000)
      let options = ReadOptions(
        ages: AgeRules(maxAge: .seconds(60)), stale: .upTo(.seconds(100)), now: 5000 + age.0)
      let answer = try await store.read(operation, options: options)
      let found =
        switch answer.result {
        case .hit: answer.stale == nil ? "hit" : "stale"
        case .miss: "miss"
        }
      #expect(found == age.1)
    }
  }

  @Test("a miss contains the age of the field", arguments: StoreKind.allCases)
  func reason(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      try await normalize(Self.response.utf8, operation, into: store, received: 5000)
      let options = ReadOptions(
        ages: AgeRules(types: ["Post": .seconds(300)]), now: 5000 + 432)
      let miss = try #require(
        try await store.read(operation, options: options).result.miss, "there should be a miss")
      #expect(
        miss.description
          == "the field id of Post:1 in the cache is stale: received 7 min 12 s ago, max_age 5 min, "
          + "selected at feed.posts[0].id")
    }
  }

  @Test("a time in the future is not trusted", arguments: StoreKind.allCases)
  func future(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let operation = try prepare(Self.document)
      try await normalize(Self.response.utf8, operation, into: store, received: 5000)
      let ages = AgeRules(maxAge: .seconds(1_000_000))
      // Clocks may differ by a minute.
      for (now, isFresh) in [(4940, true), (4939, false)] {
        let answer = try await store.read(operation, options: ReadOptions(ages: ages, now: now))
        #expect((answer.result.hit != nil) == isFresh)
      }
    }
  }

  @Test("a reference in a list has its own time, and later elements that of the list")
  func mixedList() async throws {
    let store = MemoryStore()
    let operation = try prepare("{ items { ... on A { id n } ... on B { n } } }")
    let items = #"{"__typename":"A","id":"1","n":1},{"__typename":"B","n":2}"#
    try await normalize(
      #"{"data":{"items":[\#(items)]}}"#.utf8, operation, into: store, received: 5000)
    // The entity alone comes again, so only the list is old.
    try await normalize(
      #"{"data":{"a":{"__typename":"A","id":"1","n":1}}}"#.utf8, prepare("{ a { id n } }"),
      into: store, received: 6000)
    let options = ReadOptions(
      ages: AgeRules(types: ["A": .seconds(100), "B": .seconds(100)]), now: 6000)
    let miss = try #require(
      try await store.read(operation, options: options).result.miss, "there should be a miss")
    #expect(miss.path == "items[1].n")
  }

  @Test(
    "the data of an optimistic layer is fresh, and other data keeps its age",
    arguments: StoreKind.allCases)
  func layers(kind: StoreKind) async throws {
    try await kind.withStore { store in
      // Layers take the time of day.
      let now = Int(Date().timeIntervalSince1970)
      let operation = try prepare("{ viewer { __typename id name } }")
      let data = #"{"viewer":{"__typename":"User","id":"1","name":"Ada"}}"#
      try await normalize(
        #"{"data":\#(data)}"#.utf8, operation, into: store, received: now - 7200)
      let options = ReadOptions(ages: AgeRules(types: ["User": .seconds(3600)]), now: now)
      try #require(
        try await store.read(operation, options: options).result.miss != nil,
        "there should be a miss")
      let layer = try store.addOptimistic(JSONValue(parsing: data), for: operation)
      try #require(
        try await store.read(operation, options: options).result.hit != nil,
        "the layer should be fresh")
      store.removeOptimistic(layer)
      _ = try store.addOptimistic(
        JSONValue(parsing: #"{"rename":{"__typename":"User","id":"1","name":"Eva"}}"#),
        for: prepare("mutation { rename { __typename id name } }"))
      _ = try await store.remove(RecordSelection("User:2"))
      let name = try prepare("{ viewer { name } }")
      try #require(
        try await store.read(name, options: options).result.hit != nil,
        "the field of the layer should be fresh")
    }
  }

  @Test(
    "durations count in seconds, rounded up",
    arguments: [(Duration.milliseconds(1), 1), (.seconds(2), 2), (.milliseconds(2500), 3)])
  func rounding(duration: Duration, seconds: Int) {
    #expect(AgeRules.seconds(duration) == seconds)
  }

  @Test("times are renewed a sixteenth of the shortest limit apart")
  func granularity() {
    #expect(AgeRules().granularity == 60)
    #expect(AgeRules(maxAge: .seconds(320)).granularity == 20)
    #expect(
      AgeRules(maxAge: .seconds(320), fields: ["A": ["b": .seconds(15)]]).granularity == 0)
  }

  @Test(
    "ages are formatted with units",
    arguments: [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3660, "1 h 1 min"), (90_000, "1 d 1 h")])
  func words(seconds: Int, text: String) {
    #expect(Staleness.text(seconds) == text)
  }
}
