import Foundation
import GQLRun
import GQLRunDemoServer
import Testing

@Suite("PipelineClient: watching and the store", .timeLimit(.minutes(10)))
struct StoreTests {
  @Test("cache-and-network has two results when the cache has an answer, else one")
  func twoResults() async throws {
    try await withClient { client, _ in
      for expected in [[GraphQLResponse.Source.server], [.cache, .server]] {
        var sources: [GraphQLResponse.Source] = []
        for try await result in client.results(
          Documents.country, variables: ["code": "FR"], as: CountryData.self)
        {
          #expect(result.data?.country?.name == "France")
          sources.append(result.source)
        }
        #expect(sources == expected)
      }
    }
  }

  @Test("a watch shows a mutation before it is answered, and its answer")
  func optimistic() async throws {
    try await withClient { client, _ in
      var updates = client.watch(Documents.post, variables: ["id": "P_1"], as: PostData.self)
        .makeAsyncIterator()
      let before = try #require(try await updates.next()?.result?.data?.post?.likeCount)
      let expected: JSONValue = [
        "likePost": ["__typename": "Post", "id": "P_1", "likeCount": 1_000_000]
      ]
      async let like = client.perform(
        Documents.like, variables: ["id": "P_1"], optimistic: expected)
      var likes = 0
      while likes != before + 1 {
        likes = try #require(try await updates.next()?.result?.data?.post?.likeCount)
        #expect(likes == 1_000_000 || likes == before + 1)
      }
      #expect(try await like.data?["likePost"]?["likeCount"]?.intValue == before + 1)
    }
  }

  @Test("expected data that is not complete is an error, and nothing is sent")
  func incompleteGuess() async throws {
    try await withClient { client, server in
      let error = await #expect(throws: CacheError.self) {
        try await client.perform(
          Documents.like, variables: ["id": "P_1"],
          optimistic: ["likePost": ["__typename": "Post", "id": "P_1"]])
      }
      #expect(error?.code == .invalidData && server.requestCount == 0)
    }
  }

  @Test("a mutation requests watched queries again, by name")
  func refetch() async throws {
    try await withClient { client, _ in
      var updates = client.watch(Documents.post, variables: ["id": "P_1"], as: PostData.self)
        .makeAsyncIterator()
      let before = try #require(try await updates.next()?.result?.data?.post?.likeCount)
      // Without a key field, the result of the mutation does not change the post in the cache.
      let like = "mutation Like($id: ID!) { likePost(id: $id) { likeCount } }"
      for names in [["Feed"], ["Feed", "Post"]] {
        _ = try await client.perform(like, variables: ["id": "P_1"], refetch: names)
      }
      let after = try #require(try await updates.next()?.result)
      #expect(after.source == .server && after.data?.post?.likeCount == before + 2)
      // A mutation that fails requests nothing.
      await #expect(throws: (any Error).self) {
        try await client.perform(like, refetch: ["Post"])
      }
    }
  }

  @Test("a watch reports missing data, and failures, and continues")
  func missing() async throws {
    try await withClient { client, server in
      var updates = client.watch(
        Documents.post, variables: ["id": "P_1"], cachePolicy: .cacheOnly, as: PostData.self
      ).makeAsyncIterator()
      guard case .missing? = try await updates.next() else {
        Issue.record("no miss")
        return
      }
      _ = try await client.fetch(Documents.post, variables: ["id": "P_1"])
      #expect(try await updates.next()?.result?.source == .cache)
      try await client.clear()
      guard case .missing? = try await updates.next() else {
        Issue.record("no miss")
        return
      }
      var down = Misbehaviour()
      down.status = 500
      server.misbehave(down)
      var failing = client.watch(Documents.post, variables: ["id": "P_2"], as: PostData.self)
        .makeAsyncIterator()
      guard case .failure(let error)? = try await failing.next() else {
        Issue.record("no failure")
        return
      }
      #expect((error as? ChainError)?.http?.status == 500)
    }
  }

  @Test("what cannot be watched is an error of the first update")
  func unwatchable() async throws {
    try await withClient { client, _ in
      var updates = client.watch(Documents.like, variables: ["id": "P_1"]).makeAsyncIterator()
      await #expect(throws: ChainError.self) { try await updates.next() }
    }
  }

  @Test("the cache is edited, refreshed, and emptied by logging out")
  func editing() async throws {
    try await withClient { client, server in
      _ = try await client.fetch(Documents.post, variables: ["id": "P_1"])
      let post = try client.prepare(Documents.post, variables: ["id": "P_1"])
      try await client.transaction { try await $0.update(post) { $0["post"]?["title"] = "Edited" } }
      let result = try await client.fetch(
        Documents.post, variables: ["id": "P_1"], as: PostData.self)
      #expect(result.data?.post?.title == "Edited" && result.source == .cache)
      #expect(try await client.refresh() == false)
      #expect(try await client.logOut() == ["2 records"])
      #expect(try await client.store?.statistics().records == 0)
      #expect(server.requestCount == 1)
    }
  }

  @Test("without a store, editing names what is missing")
  func noStore() async throws {
    let folder = try Folder()
    let file = try folder.pipeline(
      "http://localhost/", store: "{ kind: none }", chain: "[fetch, response-code, parse]")
    try await PipelineClient(file: file).shutdown { client in
      #expect(client.store == nil)
      let error = await #expect(throws: ChainError.self) { try await client.clear() }
      #expect(error?.message.contains("store: { kind: memory }") == true)
    }
  }

  @Test("a file that cannot be opened is an error when it is required, else a warning")
  func unusableFile() async throws {
    let folder = try Folder()
    _ = try folder.write("this is no database, but long enough to look like a file", to: "cache.db")
    let required = try folder.pipeline(
      "http://localhost/", store: "{ kind: sqlite, path: no-folder/cache.db }")
    let error = await #expect(throws: CacheError.self) { try await PipelineClient(file: required) }
    #expect(error?.code == .storage)
  }
}
