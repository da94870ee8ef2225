import Foundation
import GQLRun
import GQLRunTesting
import Testing

@Suite("ScriptedTransport", .timeLimit(.minutes(10)))
struct ScriptedTransportTests {
  private let transport = ScriptedTransport()

  private func withClient(_ body: (PipelineClient) async throws -> Void) async throws {
    var configuration = PipelineClient.Configuration()
    configuration.transport = transport
    let client = try await PipelineClient(
      endpoint: "http://scripted.test/graphql", headers: [.authorization: "Bearer t"],
      configuration: configuration)
    try await client.shutdown { try await body($0) }
  }

  @Test("a response passes the chain: it has the data, and the cache answers the next request")
  func data() async throws {
    let post = PostQuery.Data.Post(id: "1", title: "One", likeCount: 3)
    transport.respond(to: PostQuery.self, with: .init(post: post))
    try await withClient { client in
      let first = try await client.fetch(PostQuery(id: "1"))
      let second = try await client.fetch(PostQuery(id: "1"))
      #expect(first.data?.post == post && second.data?.post == post)
      #expect(first.source == .server && second.source == .cache)
    }
    let request = try #require(transport.requests.first)
    #expect(transport.requests.count == 1)
    #expect(request.operationName == "Post" && request.variables["id"] == "1")
    #expect(request.document?.contains("likeCount") == true)
    #expect(request.headerFields[.authorization] == "Bearer t")
  }

  @Test("a handler answers by what the request says, and may be replaced")
  func handler() async throws {
    transport.respond(to: PostQuery.self) { request in
      let id = request.variables["id"]?.stringValue ?? ""
      return .data(PostQuery.Data(post: .init(id: id, title: "Post \(id)", likeCount: 0)))
    }
    try await withClient { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for id in 1...20 {
          group.addTask {
            let title = try await client.fetch(PostQuery(id: "\(id)")).data?.post?.title
            #expect(title == "Post \(id)")
          }
        }
        try await group.waitForAll()
      }
      transport.respond(to: PostQuery.self, with: .init(post: nil))
      let replaced = try await client.fetch(PostQuery(id: "21"))
      #expect(replaced.data != nil && replaced.data?.post == nil)
    }
  }

  @Test("events reach a typed subscription and the cache")
  func events() async throws {
    transport.respond(to: LikesSubscription.self) { _ in
      .events([4, 5].map { LikesSubscription.Data(likesChanged: .init(id: "1", likeCount: $0)) })
    }
    try await withClient { client in
      let post = PostQuery.Data.Post(id: "1", title: "One", likeCount: 3)
      try await client.write(.init(post: post), for: PostQuery(id: "1"))
      var likes: [Int?] = []
      for try await event in client.subscribe(LikesSubscription(id: "1")) {
        likes.append(event.data?.likesChanged.likeCount)
      }
      #expect(likes == [4, 5])
      #expect(try await client.read(PostQuery(id: "1"))?.post?.likeCount == 5)
    }
  }

  @Test("GraphQL errors and HTTP statuses are those of a server")
  func errors() async throws {
    transport.respond(to: PostQuery.self) { request in
      request.variables["id"] == "1"
        ? .error("There is no post.", code: "NOT_FOUND")
        : .json(#"{"message": "no"}"#, status: .forbidden)
    }
    try await withClient { client in
      let result = try await client.fetch(PostQuery(id: "1"))
      #expect(result.data == nil && result.errors.first?.code == "NOT_FOUND")
      let error = await #expect(throws: ChainError.self) {
        try await client.fetch(PostQuery(id: "2"))
      }
      #expect(error?.http?.status == 403)
    }
  }

  @Test("an operation without a response is an error that names it")
  func unscripted() async throws {
    transport.respond(to: LikeMutation.self, with: .init(likePost: .init(id: "1", likeCount: 1)))
    try await withClient { client in
      let error = await #expect(throws: ChainError.self) {
        try await client.fetch(PostQuery(id: "1"))
      }
      #expect(error?.code == .unscriptedOperation)
      #expect(error?.message.contains("'Post', only for Like;") == true)
    }
    #expect(transport.requests.count == 1)
  }

  @Test("a fixture is the response of an operation, or its data")
  func fixtures() async throws {
    let folder = try Folder()
    let text = #"{"data":{"post":{"id":"1","title":"One","likeCount":3}}}"#
    try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/post.json"))
    try Data("{}".utf8).write(to: URL(filePath: "\(folder.path)/empty.json"))
    let fixture = try Fixture("post", in: ".", test: "\(folder.path)/Tests.swift")
    #expect(fixture.text == text)
    #expect(try fixture.data(of: PostQuery(id: "1")).post?.title == "One")
    transport.respond(to: PostQuery.self) { _ in .fixture(fixture) }
    try await withClient { client in
      let post = try await client.fetch(PostQuery(id: "1")).data?.post
      #expect(post?.likeCount == 3)
    }
    let missing = #expect(throws: Fixture.Failure.self) { try Fixture("none") }
    #expect(
      missing?.description.contains("ClientTests/Fixtures/none.json: the fixture cannot be read")
        == true)
    let empty = #expect(throws: Fixture.Failure.self) {
      try Fixture("empty", in: ".", test: "\(folder.path)/Tests.swift").data(of: PostQuery(id: "1"))
    }
    #expect(empty?.description.hasSuffix("it needs a member `data`") == true)
  }
}
