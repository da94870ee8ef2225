import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import Testing

/// The examples of `docs/guide-library.md`, line by line.
@Suite("The library guide")
struct LibraryGuideTests {
  struct PostData: Decodable {
    struct Post: Decodable { var title: String }
    var post: Post
  }

  private struct Enough: Error {}

  /// Keeps the results that a watch shows, and stops it after some.
  private final class Shown {
    private(set) var likes: [Int] = []
    let limit: Int

    init(limit: Int) { self.limit = limit }

    func show(_ response: GraphQLResponse) throws {
      var bytes: [UInt8] = []
      try response.data?.forEachChunk { bytes += $0 }
      likes.append(try JSONValue(parsing: bytes)["post"]?["likeCount"]?.intValue ?? -1)
      if likes.count == limit { throw Enough() }
    }
  }

  private static let pipeline = """
    version: 1
    endpoint: { url: "URL" }
    store: { kind: memory }
    chain: [cache-read, fetch, response-code, parse, cache-write]
    """

  /// A pipeline file for a server, in a folder that goes afterwards.
  private func withFile(
    _ url: String, _ body: (String, String) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "guide-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = folder + "/demo.pipeline.yaml"
    try Self.pipeline.replacingOccurrences(of: "URL", with: url)
      .write(toFile: file, atomically: true, encoding: .utf8)
    try await body(file, folder)
  }

  @Test("its examples do what it says")
  func examples() async throws {
    try await DemoServer.withServer { server in
      try await withFile(server.url) { file, folder in
        let loaded = try PipelineFile.load(path: file, registry: .builtIn)
        let transport = AsyncHTTPTransport()
        let store = MemoryStore()
        let runner = PipelineRunner(
          loaded.pipeline, services: Services(transport: transport, store: store))

        let post = try PreparedOperation(
          document: Document(
            parsing: "query Post($id: ID!) { post(id: $id) { id title likeCount } }"),
          variables: ["id": "P_1"])
        for try await result in runner.execute(GraphQLRequest(post)) {
          print(result.source, result.errors)
        }

        let before = try await likes(post, store)
        try await optimistic(runner, post, before)
        #expect(try await likes(post, store) == before + 1)
        try await byHand(store, post)
        await transport.shutdown()
        try await chain(folder + "/cache.db", post)
      }
    }
  }

  private func likes(_ post: PreparedOperation, _ store: any RecordStore) async throws -> Int {
    let data = try await store.transaction { try await $0.read(post) }
    return try #require(data["post"]?["likeCount"]?.intValue)
  }

  private func optimistic(
    _ runner: PipelineRunner, _ post: PreparedOperation, _ before: Int
  ) async throws {
    let shown = Shown(limit: 2)
    let show = shown.show
    do {
      for await event in try runner.watch(GraphQLRequest(post, cachePolicy: .cacheAndNetwork)) {
        switch event {
        case .response(let response): try show(response)
        case .missing(let miss): print(miss)
        case .failure(let error): print(error)
        }
      }
    } catch is Enough {}
    #expect(shown.likes == [before, before])

    let watch = try runner.watch(GraphQLRequest(post, cachePolicy: .cacheOnly))
    var iterator = watch.makeAsyncIterator()
    _ = await iterator.next()
    let like = try PreparedOperation(
      document: Document(
        parsing: "mutation Like($id: ID!) { likePost(id: $id) { id likeCount } }"),
      variables: ["id": "P_1"])
    let guess: JSONValue = [
      "likePost": ["__typename": "Post", "id": "P_1", "likeCount": 1_000_000]
    ]
    for try await result in try runner.execute(GraphQLRequest(like), optimistic: guess) {
      print(result.errors)
    }
    let after = Shown(limit: 2)
    if case .response(let response)? = await iterator.next() { try after.show(response) }
    #expect(after.likes == [before + 1])
  }

  private func byHand(_ store: any RecordStore, _ post: PreparedOperation) async throws {
    try await store.transaction { transaction in
      try await transaction.update(post) { data in
        data["post"]?["title"] = "Edited"
      }
    }

    let title = try await store.transaction { transaction in
      try await transaction.read(post, as: PostData.self).post.title
    }
    #expect(title == "Edited")

    try await store.transaction { transaction in
      try await transaction.remove(
        RecordRemoval(record: "Post:P_1", field: "title"), RecordRemoval(record: "User:U_1"))
    }
    let error = await #expect(throws: CacheMiss.self) {
      try await store.transaction { try await $0.read(post) }
    }
    #expect(error?.path == "post.title")

    try await store.clear()
    #expect(try await store.statistics().records == 0)
  }

  private func chain(_ file: String, _ post: PreparedOperation) async throws {
    var options = SQLiteStore.Options()
    options.memory = 64 << 20
    let store = try SQLiteStore(path: file, options: options)
    try await store.transaction {
      try await $0.write(
        ["post": ["__typename": "Post", "id": "P_1", "title": "t", "likeCount": 3]], for: post)
    }
    try await store.refresh()
    #expect(try await likes(post, store) == 3)
    try store.close()
  }

  @Test("its examples are lines of this file")
  func lines() throws {
    let here = try String(contentsOfFile: #filePath, encoding: .utf8)
    var top = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { top.deleteLastPathComponent() }
    let guide = try String(
      contentsOf: top.appendingPathComponent("docs/guide-library.md"), encoding: .utf8)
    let code = Self.normalized(here)
    var blocks = 0
    for (index, part) in guide.components(separatedBy: "```").enumerated()
    where index % 2 == 1 && part.hasPrefix("swift\n") {
      let example = Self.normalized(String(part.dropFirst(6)))
      #expect(code.contains(example), "not run by any test:\n\(part)")
      blocks += 1
    }
    #expect(blocks > 5)
  }

  /// The lines without indentation and without empty ones.
  private static func normalized(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }.joined(separator: "\n")
  }
}
