import Foundation
import GQLRun
import GQLRunDemoServer
import Testing

/// The examples of `docs/guide-library.md`. `make guides` checks that its code is in this file; its first
/// program is run by `make test-outside`.
@Suite("The library guide", .timeLimit(.minutes(10)))
struct LibraryGuideTests {
  private struct PostData: Decodable {
    struct Post: Decodable {
      var title: String
      var likeCount: Int
    }
    var post: Post
  }

  private struct Enough: Error {}

  private static let query = "query Post($id: ID!) { post(id: $id) { id title likeCount } }"

  @Test("its examples do what the guide describes")
  func examples() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let file = try folder.pipeline(server.url)
      let client = try await configured(file)
      let before = try await results(client)
      try await errors(client, id: "P_1")
      try await optimistic(client, before)
      try await files(client, folder.write("abc", to: "report.pdf"))
      try await byHand(client)
      try await client.logOut()
      #expect(try await client.store?.statistics().records == 0)
      try await client.shutdown()
      try await simple(server, token: "t")
      try await stores(folder.path + "/cache.db")
    }
  }

  private func simple(_ server: LiveDemoServer, token: String) async throws {
    let simple = try await PipelineClient(
      endpoint: server.url, headers: [.authorization: "Bearer \(token)"])
    _ = try await simple.fetch(Self.query, variables: ["id": "P_1"])
    #expect(server.log.last?.header("Authorization") == "Bearer t")
    try await simple.shutdown()
  }

  private func configured(_ file: String) async throws -> PipelineClient {
    var configuration = PipelineClient.Configuration()
    configuration.logger = Logger(label: "shop")
    configuration.store = .memory()
    configuration.decoder.dateDecodingStrategy = .iso8601
    let client = try await PipelineClient(file: file, configuration: configuration)
    return client
  }

  /// How many likes the post has.
  private func results(_ client: PipelineClient) async throws -> Int {
    let query = Self.query
    let json = try await client.fetch(query, variables: ["id": "P_1"])
    let bytes = try await client.fetch(query, variables: ["id": "P_1"], as: [UInt8].self)
    print(json.data?["post"]?["title"] ?? .null, bytes.data?.count ?? 0)
    for try await result in client.results(query, variables: ["id": "P_1"], as: PostData.self) {
      print(result.source, result.data?.post.title ?? "")
    }
    return try #require(json.data?["post"]?["likeCount"]?.intValue)
  }

  private func optimistic(_ client: PipelineClient, _ before: Int) async throws {
    let query = Self.query
    func show(_ result: OperationResult<PostData>) throws {
      #expect(result.data?.post.likeCount == before)
      throw Enough()
    }
    do {
      for try await update in client.watch(query, variables: ["id": "P_1"], as: PostData.self) {
        switch update {
        case .result(let result): try show(result)
        case .missing(let miss): print(miss)
        case .failure(let error): print(error)
        }
      }
    } catch is Enough {}
    try await client.refresh()

    let optimistic: JSONValue = [
      "likePost": ["__typename": "Post", "id": "P_1", "likeCount": 1_000_000]
    ]
    let like = try await client.perform(
      "mutation Like($id: ID!) { likePost(id: $id) { id likeCount } }", variables: ["id": "P_1"],
      optimistic: optimistic)
    print(like.data?["likePost"]?["likeCount"] ?? .null)
    #expect(like.data?["likePost"]?["likeCount"]?.intValue == before + 1)
  }

  private func files(_ client: PipelineClient, _ report: String) async throws {
    let attached = try await client.perform(
      "mutation Attach($input: AttachInput!) { attach(input: $input) { filename size } }",
      uploads: ["input.attachments.0": Upload(path: report)])
    #expect(attached.data?["attach"]?[0]?["size"]?.intValue == 3)
  }

  private func byHand(_ client: PipelineClient) async throws {
    let query = Self.query
    let post = try client.prepare(query, variables: ["id": "P_1"])
    try await client.transaction { transaction in
      try await transaction.update(post) { $0["post"]?["title"] = "Edited" }
    }

    let title = try await client.transaction { transaction in
      try await transaction.read(post, as: PostData.self).post.title
    }
    #expect(title == "Edited")

    try await client.transaction { transaction in
      try await transaction.remove(
        RecordRemoval(record: "Post:P_1", field: "title"), RecordRemoval(record: "User:U_1"))
    }
    let error = await #expect(throws: CacheMiss.self) {
      try await client.transaction { try await $0.read(post) }
    }
    #expect(error?.path == "post.title")
  }

  private func errors(_ client: PipelineClient, id: String) async throws {
    let query = Self.query
    do {
      let result = try await client.fetch(query, variables: ["id": .string(id)], as: PostData.self)
      for error in result.errors { print(error.code ?? "no code", error.message) }
    } catch let error as ChainError {
      print(error.code, error.http?.status ?? 0, error.message)
    }
    let rejected = try await client.fetch("{ noSuchField }")
    #expect(rejected.data == nil && !rejected.errors.isEmpty)
    #expect("\(ChainError.Code.cacheMiss)" == "cache_miss")
  }

  private func stores(_ file: String) async throws {
    var options = CacheStore.SQLiteOptions()
    options.memory = 64 << 20
    let store = try CacheStore.sqlite(path: file, options: options)
    var configuration = PipelineClient.Configuration()
    configuration.store = store
    configuration.keyResolver = KeyResolver(version: "1") { object in
      guard object.typename == "Post", let id = object["id"]?.stringValue else { return .fields }
      return .id(id.lowercased())
    }
    let client = try await PipelineClient(
      endpoint: "http://localhost/graphql", configuration: configuration)
    let post = try client.prepare(Self.query, variables: ["id": "P_1"])
    try await client.transaction {
      try await $0.write(
        ["post": ["__typename": "Post", "id": "P_1", "title": "t", "likeCount": 3]], for: post)
    }
    let result = try await client.fetch(Self.query, variables: ["id": "P_1"], as: PostData.self)
    #expect(result.data?.post.likeCount == 3 && result.source == .cache)
    #expect(try await store.record(forKey: "Post:p_1") != nil)
    configuration.keyResolver = nil
    let other = await #expect(throws: CacheError.self) {
      try await PipelineClient(
        endpoint: "http://localhost/graphql", configuration: configuration)
    }
    #expect(other?.code == .otherKeys)
    try await client.shutdown()
    try store.close()
  }
}
