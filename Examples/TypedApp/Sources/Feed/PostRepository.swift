import GQLRun

/// The posts of the app, wherever they come from: screens use this, and their tests a fake.
public protocol PostRepository: Sendable {
  /// Returns a page of the list.
  ///
  /// - Parameter cursor: The cursor of the page before; `nil` for the first page.
  func page(after cursor: String?) async throws -> Page
  /// Returns a post; `nil` if there is none with this id.
  func details(of id: String) async throws -> PostDetails?
  /// Returns a post now and after each change of it, also by ``like(_:)`` and ``followLikes(of:)``.
  func changes(of id: String) -> any AsyncSequence<PostDetails, any Error> & Sendable
  /// Likes a post. Readers see one more like at once, and the old number again if the server refuses.
  func like(_ post: Post) async throws
  /// Returns the number of likes of a post now and after each like of any user.
  func followLikes(of id: String) -> any AsyncSequence<Int, any Error> & Sendable
}

/// Why the app cannot show something.
public enum FeedError: Error, Sendable, Hashable {
  /// There is no token, or the server rejects it.
  case loginRequired
  /// Another failure, as a text for the user.
  case failed(String)

  init(_ error: any Error) {
    switch error {
    case let error as FeedError: self = error
    case let error as ChainError where error.code == .missingToken || error.http?.status == 401:
      self = .loginRequired
    default: self = .failed("\(error)")
    }
  }
}

/// The posts of a GraphQL server, with the cache of a client.
public struct GraphQLPostRepository: PostRepository {
  private let client: PipelineClient
  private let pageSize: Int

  /// Creates a repository.
  ///
  /// - Parameters:
  ///   - client: The client; its pipeline has a store.
  ///   - pageSize: The number of posts on a page; 10 by default.
  public init(client: PipelineClient, pageSize: Int = 10) {
    self.client = client
    self.pageSize = pageSize
  }

  public func page(after cursor: String?) async throws -> Page {
    let query = FeedQuery(first: pageSize, after: GraphQLNullable(cursor))
    guard let feed = try await data(of: query)?.feed else {
      throw FeedError.failed("The server has sent no posts.")
    }
    return Page(feed)
  }

  public func details(of id: String) async throws -> PostDetails? {
    try await data(of: PostDetailsQuery(id: id))?.post.map(PostDetails.init)
  }

  public func changes(of id: String) -> any AsyncSequence<PostDetails, any Error> & Sendable {
    client.watch(PostDetailsQuery(id: id), refetches: true).compactMap { update in
      switch update {
      case .result(let result): result.data?.post.map(PostDetails.init)
      case .missing: nil
      case .failure(let error): throw FeedError(error)
      }
    }
  }

  public func like(_ post: Post) async throws {
    do {
      try await client.perform(
        LikePostMutation(id: post.id),
        optimistic: .init(likePost: .init(id: post.id, likeCount: post.likes + 1)),
        onErrors: .firstError)
    } catch {
      throw FeedError(error)
    }
  }

  public func followLikes(of id: String) -> any AsyncSequence<Int, any Error> & Sendable {
    client.subscribe(LikesChangedSubscription(id: id)).compactMap { event in
      event.data?.likesChanged.likeCount
    }
  }

  private func data<Query: GraphQLQuery>(of query: Query) async throws -> Query.Data? {
    do {
      return try await client.fetch(query, onErrors: .firstError).data
    } catch {
      throw FeedError(error)
    }
  }
}
