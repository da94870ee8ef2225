import GQLRun
import GQLRunDemoServer
import Observation
import Testing

// As `gqlrun generate` writes them.
struct PostQuery: GraphQLQuery {
  static let operationName = "Post"
  static let document = "query Post($id:ID!){post(id:$id){id title likeCount}}"
  let id: String

  func write(to variables: inout ObjectWriter) { variables.write("id", id) }

  struct Data: GraphQLObject {
    let post: Post?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(post: object.read("post", "Post"))
    }
    func write(to object: inout ObjectWriter) { object.write("post", post) }

    struct Post: GraphQLObject, Hashable {
      let id: String
      let title: String
      let likeCount: Int

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(
          id: object.read("id", "ID!"), title: object.read("title", "String!"),
          likeCount: object.read("likeCount", "Int!"))
      }
      func write(to object: inout ObjectWriter) {
        object.write(["__typename": "Post", "id": id, "title": title, "likeCount": likeCount])
      }
    }
  }
}

/// A post without its key field.
struct PostTitleQuery: GraphQLQuery {
  static let operationName = "PostTitle"
  static let document = "query PostTitle($id:ID!){post(id:$id){title}}"
  let id: String

  func write(to variables: inout ObjectWriter) { variables.write("id", id) }

  struct Data: GraphQLObject {
    let post: Post?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(post: object.read("post", "Post"))
    }
    func write(to object: inout ObjectWriter) { object.write("post", post) }

    struct Post: GraphQLObject {
      let title: String

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(title: object.read("title", "String!"))
      }
      func write(to object: inout ObjectWriter) {
        object.write(["__typename": "Post", "title": title])
      }
    }
  }
}

struct LikeMutation: GraphQLMutation {
  static let operationName = "Like"
  static let document = "mutation Like($id:ID!){likePost(id:$id){id likeCount}}"
  let id: String

  func write(to variables: inout ObjectWriter) { variables.write("id", id) }

  struct Data: GraphQLObject {
    let likePost: LikePost

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(likePost: object.read("likePost", "Post!"))
    }
    func write(to object: inout ObjectWriter) { object.write("likePost", likePost) }

    struct LikePost: GraphQLObject {
      let id: String
      let likeCount: Int

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(id: object.read("id", "ID!"), likeCount: object.read("likeCount", "Int!"))
      }
      func write(to object: inout ObjectWriter) {
        object.write(["__typename": "Post", "id": id, "likeCount": likeCount])
      }
    }
  }
}

struct LikesSubscription: GraphQLSubscription {
  static let operationName = "Likes"
  static let document = "subscription Likes($id:ID!){likesChanged(post:$id){id likeCount}}"
  let id: String

  func write(to variables: inout ObjectWriter) { variables.write("id", id) }

  struct Data: GraphQLObject {
    let likesChanged: LikeMutation.Data.LikePost

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(likesChanged: object.read("likesChanged", "Post!"))
    }
    func write(to object: inout ObjectWriter) { object.write("likesChanged", likesChanged) }
  }
}

struct UploadMutation: GraphQLMutation {
  static let operationName = "Upload"
  static let document = """
    mutation Upload($file: Upload!, $input: AttachInput!) {
      uploadFile(file: $file) { filename } attach(input: $input) { filename }
    }
    """
  let file: GraphQLUpload
  let input: Attachments

  struct Attachments: GraphQLInputObject {
    let attachments: [GraphQLUpload]

    func write(to object: inout ObjectWriter) { object.write("attachments", attachments) }
  }

  func write(to variables: inout ObjectWriter) {
    variables.write("file", file)
    variables.write("input", input)
  }

  struct Data: GraphQLObject {
    let uploadFile: File
    let attach: [File]

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(
        uploadFile: object.read("uploadFile", "UploadedFile!"),
        attach: object.read("attach", "[UploadedFile!]!"))
    }
    func write(to object: inout ObjectWriter) {}

    struct File: GraphQLObject {
      let filename: String

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(filename: object.read("filename", "String!"))
      }
      func write(to object: inout ObjectWriter) {}
    }
  }
}

/// The title has another type than in the schema.
struct WrongQuery: GraphQLQuery {
  static let operationName = "Wrong"
  static let document = "query Wrong{post(id:\"P_1\"){title}}"

  struct Data: GraphQLObject {
    let title: Int

    static func read(from object: inout ObjectReader) throws -> Self {
      struct Post: GraphQLObject {
        let title: Int
        static func read(from object: inout ObjectReader) throws -> Self {
          try Self(title: object.read("title", "Int!"))
        }
        func write(to object: inout ObjectWriter) {}
      }
      let post: Post = try object.read("post", "Post")
      return Self(title: post.title)
    }
    func write(to object: inout ObjectWriter) {}
  }
}

@Suite("PipelineClient: operations with generated types", .timeLimit(.minutes(10)))
struct TypedOperationTests {
  @Test("results of the server and the cache have the same type and data")
  func fetch() async throws {
    try await withClient { client, server in
      let sent = try await client.fetch(PostQuery(id: "P_1"))
      let cached = try await client.fetch(PostQuery(id: "P_1"))
      #expect(sent.source == .server && cached.source == .cache)
      #expect(sent.data?.post?.id == "P_1")
      #expect(cached.data?.post == sent.data?.post)
      #expect(server.requestCount == 1)
      var sources: [GraphQLResponse.Source] = []
      for try await result in client.results(PostQuery(id: "P_1")) { sources.append(result.source) }
      #expect(sources == [.cache, .server])
    }
  }

  @Test("files in variables are sent, and one that cannot be read is an error")
  func uploads() async throws {
    try await withClient { client, server in
      let folder = try Folder()
      let path = try folder.write("a,b", to: "rows.csv")
      let bytes = GraphQLUpload(bytes: [1, 2, 3], fileName: "raw.bin")
      func mutation(_ path: String) -> UploadMutation {
        UploadMutation(
          file: GraphQLUpload(path: path), input: .init(attachments: [bytes, .init(bytes: [])]))
      }
      let result = try await client.perform(mutation(path))
      #expect(result.errors.isEmpty, "\(result.errors)")
      #expect(result.data?.uploadFile.filename == "rows.csv")
      #expect(result.data?.attach.map(\.filename) == ["raw.bin", "blob"])
      let requests = server.requestCount
      let error = await #expect(throws: ChainError.self) {
        try await client.perform(mutation(path + ".missing"))
      }
      #expect(error?.code == .uploadFailed)
      #expect(server.requestCount == requests)
      withExtendedLifetime(folder) {}
    }
  }

  @Test("data of another type is an error with the path, the type and what came")
  func mismatch() async throws {
    try await withClient { client, _ in
      let error = await #expect(throws: ChainError.self) { try await client.fetch(WrongQuery()) }
      #expect(error?.code == .undecodableData)
      #expect(error?.cause is TypeMismatch)
      let text = String(describing: error?.cause as? TypeMismatch)
      #expect(text.contains("post.title: expected Int!, found the string"))
    }
  }

  @Test("a watch shows the expected result of a mutation, and its answer")
  func optimistic() async throws {
    try await withClient { client, _ in
      var updates = client.watch(PostQuery(id: "P_1")).makeAsyncIterator()
      let before = try #require(try await updates.next()?.result?.data?.post?.likeCount)
      async let like = client.perform(
        LikeMutation(id: "P_1"), optimistic: .init(likePost: .init(id: "P_1", likeCount: 1_000_000))
      )
      var likes = 0
      while likes != before + 1 {
        likes = try #require(try await updates.next()?.result?.data?.post?.likeCount)
        #expect(likes == 1_000_000 || likes == before + 1)
      }
      #expect(try await like.data?.likePost.likeCount == before + 1)
    }
  }

  @Test("a subscription has an event for each like, and a watched query follows it")
  func subscribe() async throws {
    try await withClient { client, _ in
      var updates = client.watch(PostQuery(id: "P_1")).makeAsyncIterator()
      let before = try #require(try await updates.next()?.result?.data?.post?.likeCount)
      var events = client.subscribe(LikesSubscription(id: "P_1")).makeAsyncIterator()
      let first = try await events.next()
      #expect(first?.data?.likesChanged.likeCount == before)
      try await client.perform(LikeMutation(id: "P_1"))
      let second = try await events.next()
      #expect(second?.data?.likesChanged.likeCount == before + 1)
      #expect(second?.data?.likesChanged.id == "P_1" && second?.gap == nil)
      let watched = try await updates.next()?.result?.data?.post?.likeCount
      #expect(watched == before + 1)
    }
  }

  @Test("data is read, written and updated in the store")
  func store() async throws {
    try await withClient { client, server in
      let query = PostQuery(id: "new")
      #expect(try await client.read(query)?.post == nil)
      try await client.write(
        .init(post: .init(id: "new", title: "Draft", likeCount: 0)), for: query)
      try await client.update(query) { data in
        .init(
          post: data.post.map { .init(id: $0.id, title: "Edited", likeCount: $0.likeCount + 1) })
      }
      let post = try #require(await client.read(query)?.post)
      #expect(post == .init(id: "new", title: "Edited", likeCount: 1))
      await #expect(throws: CacheMiss.self) {
        try await client.update(PostQuery(id: "none")) { $0 }
      }
      let error = await #expect(throws: CacheError.self) {
        try await client.update(PostTitleQuery(id: "new")) { $0 }
      }
      #expect(error?.code == .invalidData)
      #expect(error?.message.hasPrefix("cannot update Post:new: ") == true)
      #expect(try await client.read(query)?.post == post)
      #expect(server.requestCount == 0)
    }
  }

  @Test("an observer has the data of the cache at once, follows changes, and ends with its owner")
  func observer() async throws {
    try await withClient { client, server in try await Self.observer(client, server) }
  }

  @MainActor private static func observer(
    _ client: PipelineClient, _ server: LiveDemoServer
  ) async throws {
    _ = try await client.fetch(PostQuery(id: "P_1"))
    var observer: QueryObserver? = QueryObserver(PostQuery(id: "P_1"), client: client)
    weak let released = observer
    var loading: [Bool] = []
    var likes: Int?
    for await state in observing(
      observer, { ($0?.isLoading ?? false, $0?.data?.post?.likeCount) })
    {
      loading.append(state.0)
      likes = state.1
      if likes != nil { break }
    }
    #expect(!loading.contains(true))
    let before = try #require(likes)
    try await client.perform(LikeMutation(id: "P_1"))
    for await state in observing(observer, { $0?.data?.post?.likeCount })
    where state == before + 1 {
      break
    }
    #expect(server.requestCount == 2)
    observer = nil
    while released != nil { await Task.yield() }
  }

  @Test("an observer without cached data is loading until the server has answered")
  func loading() async throws {
    try await withClient { client, server in try await Self.loading(client, server) }
  }

  @MainActor private static func loading(
    _ client: PipelineClient, _ server: LiveDemoServer
  ) async throws {
    let observer = QueryObserver(PostQuery(id: "P_1"), client: client)
    var states: [Bool] = []
    for await state in observing(
      observer, { ($0?.isLoading ?? false, $0?.data != nil) })
    {
      states.append(state.0)
      if state.1 { break }
    }
    #expect(states.contains(true))
    #expect(!observer.isLoading && observer.failure == nil && observer.errors.isEmpty)
  }

  /// The values of an expression: the current one, and one after each change.
  ///
  /// `Observations` keep their closure until the next change of what it has read, so the subject is weak.
  @MainActor private static func observing<Subject: AnyObject & Sendable, Value: Sendable>(
    _ subject: Subject?, _ value: @escaping @MainActor (Subject?) -> Value
  ) -> Observations<Value, Never> {
    Observations { [weak subject] in value(subject) }
  }
}
