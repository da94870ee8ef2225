import Testing

@testable import GQLRunCache

/// What every store must do with a whole response, whichever way it comes.
@Suite("Round trip")
struct RoundTripTests {
  static let feed = """
    query Feed($first: Int!) {
      feed(first: $first) { edges { cursor node { id title author { id login } } } pageInfo { endCursor } }
    }
    """
  static let response = #"""
    {"data":{"feed":{"__typename":"C","edges":[
      {"__typename":"E","cursor":"a","node":{"__typename":"Post","id":"P1","title":"One","author":{"__typename":"User","id":"U1","login":"ada"}}},
      {"__typename":"E","cursor":"b","node":{"__typename":"Post","id":"P2","title":"Two \"q\" é","author":{"__typename":"User","id":"U1","login":"ada"}}}],
      "pageInfo":{"__typename":"PageInfo","endCursor":null}}}}
    """#

  @Test(
    "a response is normalized, and answers its operation again", arguments: StoreKind.allCases,
    [Arrival(), .byteByByte, .pieces(of: 7), .pieces(of: 64)])
  func roundTrip(kind: StoreKind, arrival: Arrival) async throws {
    try await kind.withStore { store in
      let cache = CacheUnderTest(store: store, arrival: arrival)
      let operation = try prepare(Self.feed, variables: #"{"first":2}"#)
      let written = try await cache.write(Self.response, operation)
      #expect(written.summary?.newRecords == 4)
      let expected =
        #"{"feed":{"edges":[{"cursor":"a","node":{"id":"P1","title":"One","author":{"id":"U1","login":"ada"}}},{"cursor":"b","node":{"id":"P2","title":"Two \"q\" é","author":{"id":"U1","login":"ada"}}}],"pageInfo":{"endCursor":null}}}"#
      #expect(written.data == expected)
      #expect(try await cache.read(operation) == expected)
      #expect(
        try await cache.dump() == #"""
          {"key":"Post:P1","fields":{"__typename":"Post","author":{"$ref":"User:U1"},"id":"P1","title":"One"}}
          {"key":"Post:P2","fields":{"__typename":"Post","author":{"$ref":"User:U1"},"id":"P2","title":"Two \"q\" é"}}
          {"key":"QUERY_ROOT","fields":{"feed({\"first\":2})":{"__typename":"C","edges":[{"__typename":"E","cursor":"a","node":{"$ref":"Post:P1"}},{"__typename":"E","cursor":"b","node":{"$ref":"Post:P2"}}],"pageInfo":{"__typename":"PageInfo","endCursor":null}}}}
          {"key":"User:U1","fields":{"__typename":"User","id":"U1","login":"ada"}}

          """#)
    }
  }
}
