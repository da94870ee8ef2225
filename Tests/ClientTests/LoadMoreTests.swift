import GQLRun
import GQLRunDemoServer
import Testing

@Suite("PipelineClient: loadMore", .timeLimit(.minutes(10)))
struct LoadMoreTests {
  private static let feed = """
    query Feed($after: String) {
      feed(first: 2, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } }
    }
    """

  private func withFeed(
    rules: String = "fields: { Query.feed: { merge: connection } }",
    _ body: (PipelineClient, LiveDemoServer) async throws -> Void
  ) async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 5
    try await withClient(configuration, more: rules, body)
  }

  private func ids(_ data: JSONValue?) -> [String] {
    (data?["feed"]?["edges"]?.arrayValue ?? []).compactMap { $0["node"]?["id"]?.stringValue }
  }

  @Test("each page makes the watched list longer, until the last one")
  func pages() async throws {
    try await withFeed { client, _ in
      var updates = client.watch(Self.feed).makeAsyncIterator()
      let first = try await updates.next()?.result
      #expect(ids(first?.data) == ["P_0", "P_1"])
      let page = try await client.loadMore(Self.feed)
      #expect(ids(page?.data) == ["P_2", "P_3"])
      let second = try await updates.next()?.result
      #expect(second?.source == .cache && ids(second?.data) == ["P_0", "P_1", "P_2", "P_3"])
      try await client.loadMore(Self.feed, list: "feed")
      let third = try await updates.next()?.result
      #expect(ids(third?.data) == ["P_0", "P_1", "P_2", "P_3", "P_4"])
      let end = try await client.loadMore(Self.feed)
      #expect(end == nil)
    }
  }

  @Test("what has no pages to load is an error that says what would work")
  func refusals() async throws {
    try await withFeed { client, _ in
      await #expect(throws: CacheMiss.self) { try await client.loadMore(Self.feed) }
      for (document, list, part) in [
        (Documents.post, nil, "it has no list with pages; select `pageInfo"),
        (Self.feed, "posts", "it has no list with pages at `posts`"),
        (
          """
          query Both($after: String) {
            feed(first: 1, after: $after) { pageInfo { hasNextPage endCursor } }
            more: feed(first: 2, after: $after) { pageInfo { hasNextPage endCursor } }
          }
          """, nil, "it has several lists with pages, `feed`, `more`"
        ),
      ] as [(String, String?, String)] {
        let error = await #expect(throws: ChainError.self) {
          try await client.loadMore(
            document, variables: document == Documents.post ? ["id": "P_1"] : [:], list: list)
        }
        let message = error?.message ?? ""
        #expect(message.contains(part), "\(message)")
      }
    }
    try await withFeed(rules: "") { client, _ in
      let error = await #expect(throws: ChainError.self) { try await client.loadMore(Self.feed) }
      let message = error?.message ?? ""
      #expect(message.contains("the cache does not join the pages of `feed`"), "\(message)")
    }
  }
}
