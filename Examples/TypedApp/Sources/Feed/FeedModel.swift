import Observation

/// The state of the screen with the list of posts.
@MainActor @Observable
public final class FeedModel {
  /// What the screen shows below the list.
  public enum Status: Sendable, Hashable {
    /// There are further pages, or all posts are shown.
    case more, complete
    /// A page is being loaded.
    case loading
    /// A page could not be loaded.
    case failed(FeedError)
  }

  /// The posts of all pages so far.
  public private(set) var posts: [Post] = []
  /// What the screen shows below the list.
  public private(set) var status = Status.more
  private let repository: any PostRepository
  @ObservationIgnored private var cursor: String?

  /// Creates the state of an empty list.
  public init(repository: any PostRepository) {
    self.repository = repository
  }

  /// Appends the next page. Does nothing while a page is being loaded, and after the last one.
  public func loadMore() async {
    guard status != .loading, status != .complete else { return }
    status = .loading
    do {
      let page = try await repository.page(after: cursor)
      posts += page.posts
      cursor = page.next
      status = page.next == nil ? .complete : .more
    } catch {
      status = .failed(FeedError(error))
    }
  }
}
