import Feed
import Testing

/// Screens are tested with posts that need no client.
private actor FakeRepository: PostRepository {
  private var pages: [Result<Page, FeedError>]

  init(_ pages: [Result<Page, FeedError>]) { self.pages = pages }

  func page(after cursor: String?) throws -> Page { try pages.removeFirst().get() }
  func details(of id: String) -> PostDetails? { nil }
  nonisolated func changes(of id: String) -> any AsyncSequence<PostDetails, any Error> & Sendable {
    AsyncThrowingStream<PostDetails, any Error> { nil }
  }
  func like(_ post: Post) {}
  nonisolated func followLikes(of id: String) -> any AsyncSequence<Int, any Error> & Sendable {
    AsyncThrowingStream<Int, any Error> { nil }
  }
}

@Suite("The list of posts") @MainActor
struct FeedModelTests {
  private let posts = ["1", "2", "3"].map {
    Post(id: $0, title: "Post \($0)", author: "Ada", likes: 0)
  }

  @Test("pages are appended until the last one")
  func pages() async {
    let model = FeedModel(
      repository: FakeRepository([
        .success(Page(posts: Array(posts[..<2]), next: "b")),
        .success(Page(posts: [posts[2]], next: nil)),
      ]))
    await model.loadMore()
    #expect(model.posts == Array(posts[..<2]) && model.status == .more)
    await model.loadMore()
    #expect(model.posts == posts && model.status == .complete)
    await model.loadMore()
    #expect(model.posts == posts)
  }

  @Test("after a failure the posts stay, and the page can be loaded again")
  func failure() async {
    let model = FeedModel(
      repository: FakeRepository([
        .success(Page(posts: [posts[0]], next: "b")), .failure(.loginRequired),
        .success(Page(posts: [posts[1]], next: nil)),
      ]))
    await model.loadMore()
    await model.loadMore()
    #expect(model.posts == [posts[0]] && model.status == .failed(.loginRequired))
    await model.loadMore()
    #expect(model.posts == Array(posts[..<2]) && model.status == .complete)
  }
}
