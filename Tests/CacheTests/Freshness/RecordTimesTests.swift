import Foundation
import Testing

@testable import GQLRunCache

@Suite("The times of records")
struct RecordTimesTests {
  private typealias Received = (at: Int, document: String, fields: String)

  private static let user = "{ viewer { __typename id name email } }"
  private static let name = "{ viewer { __typename id name } }"

  private static func response(_ fields: String) -> String {
    #"{"data":{"viewer":{"__typename":"User","id":"1",\#(fields)}}}"#
  }

  /// Writes responses one after the other, and tells the times of `User:1` in the end.
  private static func times(
    _ kind: StoreKind, _ responses: [Received]
  ) async throws -> [String: UInt32] {
    try await kind.withStore { store in
      for (at, document, fields) in responses {
        try await normalize(
          response(fields).utf8, prepare(document), into: store, received: at)
      }
      return try await CacheTests.times(of: store)[ReferenceCache.Text("User:1")] ?? [:]
    }
  }

  @Test(
    "a field has the time of the last response that had it, however near",
    arguments: StoreKind.allCases)
  func fields(kind: StoreKind) async throws {
    let first: Received = (5000, Self.user, #""name":"Ada","email":"a@b""#)
    let rows: [(title: String, later: [Received], times: [String: UInt32])] = [
      ("a new record", [], ["__typename": 5000, "id": 5000, "name": 5000, "email": 5000]),
      (
        "fields that did not arrive keep their time",
        [
          (6000, Self.name, #""name":"Ada""#),
          (6500, "{ viewer { __typename id phone } }", #""phone":"1""#),
        ],
        ["__typename": 6500, "id": 6500, "name": 6000, "email": 5000, "phone": 6500]
      ),
      (
        "a changed field", [(5001, Self.name, #""name":"Eva""#)],
        ["__typename": 5001, "id": 5001, "name": 5001, "email": 5000]
      ),
      (
        "exceptions are removed when all fields are received again",
        [
          (6000, Self.name, #""name":"Eva""#),
          (7000, Self.user, #""name":"Eva","email":"a@b""#),
        ],
        ["__typename": 7000, "id": 7000, "name": 7000, "email": 7000]
      ),
    ]
    for (title, later, expected) in rows {
      let times = try await Self.times(kind, [first] + later)
      #expect(times == expected, "\(title)")
    }
  }

  @Test(
    "unchanged data keeps its time for a minute in a file, and has the new one in memory",
    arguments: [(5059, 5000), (5060, 5060), (4941, 5000), (4940, 4940)])
  func granularity(second: Int, expected: UInt32) async throws {
    let responses = [
      (at: 5000, document: Self.user, fields: #""name":"Ada","email":"a@b""#),
      (at: second, document: Self.user, fields: #""name":"Ada","email":"a@b""#),
    ]
    #expect(try await Set(Self.times(.sqlite, responses).values) == [expected])
    #expect(try await Set(Self.times(.memory, responses).values) == [UInt32(second)])
  }

  @Test("unchanged data write no row within the granularity", arguments: [false, true])
  func unchangedWritesNothing(isPartial: Bool) async throws {
    let file = try StoreFile()
    let store = try file.open { $0.ageGranularity = 100 }
    // Every write grows the log.
    let log = URL(fileURLWithPath: file.path + "-wal")
    let size = { try Data(contentsOf: log).count }
    let whole = Self.response(#""name":"Ada","email":"a@b""#)
    try await normalize(whole.utf8, prepare(Self.user), into: store, received: 5000)
    let before = try size()
    let summary =
      isPartial
      ? try await normalize(
        Self.response(#""name":"Ada""#).utf8, prepare(Self.name),
        into: store, received: 5099)
      : try await normalize(whole.utf8, prepare(Self.user), into: store, received: 5099)
    #expect(try size() == before)
    #expect(summary.summary?.unchangedRecords == 2)
    try await normalize(whole.utf8, prepare(Self.user), into: store, received: 5100)
    #expect(try size() > before)
    try store.close()
  }

  @Test(
    "an embedded object has the time of its oldest part", arguments: StoreKind.allCases)
  func embedded(kind: StoreKind) async throws {
    let whole = "{ viewer { __typename id address { __typename city zip } } }"
    let part = "{ viewer { __typename id address { __typename city } } }"
    let first = (5000, whole, #""address":{"__typename":"A","city":"X","zip":"1"}"#)
    let partial = (6000, part, #""address":{"__typename":"A","city":"Y"}"#)
    let times = try await Self.times(kind, [first, partial])
    #expect(times["address"] == 5000 && times["id"] == 6000)
    let swapped = (
      7000, "{ viewer { __typename id address { zip city __typename } } }",
      #""address":{"zip":"2","city":"Y","__typename":"A"}"#
    )
    #expect(try await Self.times(kind, [first, partial, swapped])["address"] == 7000)
  }

  @Test("a field hidden by an error keeps its time", arguments: Way.allCases)
  func erroredNull(way: Way) async throws {
    try await way.withCache { cache in
      try await normalize(
        Self.response(#""name":"Ada","email":"a@b""#).utf8, prepare(Self.user), into: cache.store,
        arrival: cache.arrival, received: 5000)
      let second =
        #"{"data":{"viewer":{"__typename":"User","id":"1","name":null,"email":"c@d"}},"#
        + #""errors":[{"message":"no","path":["viewer","name"]}]}"#
      try await normalize(
        second.utf8, prepare(Self.user), into: cache.store, arrival: cache.arrival, received: 6000)
      let times = try await CacheTests.times(of: cache.store)[ReferenceCache.Text("User:1")]
      #expect(times?["name"] == 5000 && times?["email"] == 6000, "\(way): \(times ?? [:])")
    }
  }

  @Test(
    "a list of pages has the time of the oldest page, and a replaced list that of its page",
    arguments: StoreKind.allCases)
  func pages(kind: StoreKind) async throws {
    try await kind.withStore { store in
      let field = #"feed({"by":"x"})"#
      for (range, after, at, expected) in [
        (0..<2, "{}", 5000, 5000), (2..<4, #"{"after":"c1"}"#, 6000, 5000),
        (0..<2, "{}", 7000, 7000), (2..<4, #"{"after":"c1"}"#, 8000, 7000),
      ] {
        try await normalize(
          PageTests.response(PageTests.feed(range, of: 9)).utf8,
          prepare(PageTests.document, variables: after, keys: PageTests.connection), into: store,
          received: at)
        let times = try await CacheTests.times(of: store)[ReferenceCache.Text("QUERY_ROOT")]
        #expect(times?[field] == UInt32(expected), "at \(at)")
      }
    }
  }

  @Test("times survive a file that is closed and opened again")
  func reopened() async throws {
    let file = try StoreFile()
    var store = try CacheStore.sqlite(path: file.path)
    try await normalize(
      Self.response(#""name":"Ada","email":"a@b""#).utf8, prepare(Self.user), into: store,
      received: 5000)
    try await normalize(
      Self.response(#""name":"Eva""#).utf8, prepare(Self.name),
      into: store, received: 6000)
    let before = try await CacheTests.times(of: store)
    try store.close()
    store = try CacheStore.sqlite(path: file.path)
    #expect(try await CacheTests.times(of: store) == before)
    #expect(before[ReferenceCache.Text("User:1")]?["email"] == 5000)
    try store.close()
  }

  @Test("ages that cannot be read make fields old, not fresh")
  func damagedAges() {
    let key = Array("\"name\"".utf8)
    for text in ["{\"name\":x}", "{\"name\"", "nonsense", "{\"name\":-1}"] {
      let times = RecordTimes(received: 9000, ages: Array(text.utf8))
      key.withUnsafeBufferPointer { #expect(times.time(of: Bytes($0)) == 0, "\(text)") }
    }
  }
}
