import Foundation
import GQLRun
import GQLRunTesting
import Testing

@testable import Feed

/// The app's client with scripted responses: the whole pipeline, without a network.
@Suite("The repository", .timeLimit(.minutes(1)))
struct RepositoryTests {
  private let transport = ScriptedTransport()

  /// Runs `body` with the pipeline of the app, logged in with the token `secret`.
  private func withClient(
    url: String = "http://feed.test/graphql", token: String? = "secret",
    transport: (any HTTPTransport)?,
    _ body: (PipelineClient, GraphQLPostRepository, Session) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "token.txt").path
    if let token { try token.write(toFile: file, atomically: true, encoding: .utf8) }
    var configuration = PipelineClient.Configuration()
    configuration.transport = transport
    configuration.environment.variable = { ["GQL_URL": url, "FEED_TOKEN": file][$0] }
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let client = try await PipelineClient(
      file: package.appending(path: "feed.pipeline.yaml").path, configuration: configuration)
    try await client.shutdown {
      try await body($0, GraphQLPostRepository(client: $0, pageSize: 2), Session(file: file))
    }
  }

  private static func summary(_ id: String, likes: Int = 7) -> PostSummary {
    PostSummary(
      id: id, title: "Post \(id)", likeCount: likes,
      author: .init(id: "U_1", name: nil, login: "ada"))
  }

  private static func page(_ ids: [String], next: String?) -> FeedQuery.Data {
    .init(
      feed: .init(
        edges: ids.map { .init(node: summary($0)) },
        pageInfo: .init(hasNextPage: next != nil, endCursor: next)))
  }

  @Test("a page begins at the cursor of the one before, and comes from the cache the second time")
  func pages() async throws {
    transport.respond(to: FeedQuery.self) { request in
      request.variables["after"] == nil
        ? .data(Self.page(["1", "2"], next: "c")) : .data(Self.page(["3"], next: nil))
    }
    try await withClient(transport: transport) { _, posts, _ in
      let first = try await posts.page(after: nil)
      #expect(first.posts.map(\.id) == ["1", "2"] && first.next == "c")
      #expect(first.posts.first?.author == "ada")
      let second = try await posts.page(after: first.next)
      #expect(second.posts.map(\.title) == ["Post 3"] && second.next == nil)
      #expect(try await posts.page(after: nil) == first)
    }
    #expect(transport.requests.map { $0.variables["after"] } == [nil, "c"])
    #expect(transport.requests.first?.headerFields[.authorization] == "Bearer secret")
  }

  @Test("a post has its text, its date and its comments")
  func details() async throws {
    let fixture = try Fixture("post")
    transport.respond(to: PostDetailsQuery.self) { _ in .fixture(fixture) }
    try await withClient(transport: transport) { _, posts, _ in
      let details = try #require(try await posts.details(of: "P_1"))
      let expected = try #require(try fixture.data(of: PostDetailsQuery(id: "P_1")).post)
      #expect(details == PostDetails(expected))
      #expect(details.comments.count == 3 && details.post.id == "P_1")
    }
  }

  @Test("a like is shown before the server has answered")
  func like() async throws {
    let details = try Fixture("post").data(of: PostDetailsQuery(id: "P_1"))
    let before = try #require(details.post).postSummary.likeCount
    let (shown, continuation) = AsyncStream.makeStream(of: Void.self)
    transport.respond(to: PostDetailsQuery.self, with: details)
    transport.respond(to: LikePostMutation.self) { _ in
      for await _ in shown { break }
      return .data(LikePostMutation.Data(likePost: .init(id: "P_1", likeCount: before + 5)))
    }
    try await withClient(transport: transport) { _, posts, _ in
      let post = try #require(try await posts.details(of: "P_1")).post
      async let like: Void = posts.like(post)
      var likes: [Int] = []
      for try await change in posts.changes(of: "P_1") {
        if likes.last != change.post.likes { likes.append(change.post.likes) }
        if likes.last == before + 1 { continuation.finish() }
        if likes.last == before + 5 { break }
      }
      try await like
      #expect(likes.suffix(2) == [before + 1, before + 5])
    }
  }

  @Test("a like that the server refuses is taken back")
  func refusedLike() async throws {
    let details = try Fixture("post").data(of: PostDetailsQuery(id: "P_1"))
    transport.respond(to: PostDetailsQuery.self, with: details)
    transport.respond(to: LikePostMutation.self) { _ in .error("Too many likes.", code: "LIMITED") }
    try await withClient(transport: transport) { _, posts, _ in
      let before = try #require(try await posts.details(of: "P_1"))
      await #expect(throws: FeedError.self) { try await posts.like(before.post) }
      #expect(try await posts.details(of: "P_1") == before)
    }
    #expect(transport.requests.count { $0.operationName == "PostDetails" } == 1)
  }

  @Test("events of other users change the post on the screen")
  func events() async throws {
    let details = try Fixture("post").data(of: PostDetailsQuery(id: "P_1"))
    transport.respond(to: PostDetailsQuery.self, with: details)
    transport.respond(to: LikesChangedSubscription.self) { _ in
      .events(
        [100, 101].map {
          LikesChangedSubscription.Data(likesChanged: .init(id: "P_1", likeCount: $0))
        })
    }
    try await withClient(transport: transport) { _, posts, _ in
      _ = try await posts.details(of: "P_1")
      var likes: [Int] = []
      for try await event in posts.followLikes(of: "P_1") { likes.append(event) }
      #expect(likes == [100, 101])
      #expect(try await posts.details(of: "P_1")?.post.likes == 101)
    }
  }

  @Test("without a token nothing is sent, and the user has to log in")
  func withoutToken() async throws {
    try await withClient(token: nil, transport: transport) { _, posts, _ in
      await #expect(throws: FeedError.loginRequired) { try await posts.page(after: nil) }
    }
    #expect(transport.requests.isEmpty)
  }

  @Test("the app works with a server that requires a token, over a real connection")
  func demoServer() async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 3
    configuration.misbehaviour.auth = "secret"
    try await DemoServer.withServer(configuration) { server in
      try await withClient(url: server.url, token: nil, transport: nil) { client, posts, session in
        await #expect(throws: FeedError.loginRequired) {
          try await session.logIn(token: "wrong", posts)
        }
        await #expect(throws: FeedError.loginRequired) { try await posts.page(after: nil) }
        try await session.logIn(token: "secret", posts)
        let first = try await posts.page(after: nil)
        let second = try await posts.page(after: first.next)
        #expect(first.posts.count == 2 && second.posts.count == 1 && second.next == nil)
        let post = first.posts[0]
        try await posts.like(post)
        #expect(try await posts.details(of: post.id)?.post.likes == post.likes + 1)
        for try await likes in posts.followLikes(of: post.id) {
          #expect(likes == post.likes + 1)
          break
        }
        try await session.logOut(client)
        await #expect(throws: FeedError.loginRequired) { try await posts.page(after: nil) }
      }
    }
  }
}
