public import Foundation
import GQLRun

/// A post in a list.
///
/// The app's own type: screens do not depend on the operations that the posts come from.
public struct Post: Sendable, Hashable, Identifiable {
  /// The id of the post.
  public var id: String
  /// The title.
  public var title: String
  /// The name of the author.
  public var author: String
  /// The number of likes.
  public var likes: Int

  /// Creates a post.
  public init(id: String, title: String, author: String, likes: Int) {
    self.id = id
    self.title = title
    self.author = author
    self.likes = likes
  }
}

/// A post with its text and first comments.
public struct PostDetails: Sendable, Hashable {
  /// The post.
  public var post: Post
  /// The text.
  public var body: String
  /// When the post was published.
  public var publishedAt: Date
  /// The first comments, with their authors.
  public var comments: [Comment]

  /// A comment.
  public struct Comment: Sendable, Hashable, Identifiable {
    /// The id of the comment.
    public var id: String
    /// The name of the author.
    public var author: String
    /// The text.
    public var body: String
  }
}

/// A page of the list.
public struct Page: Sendable, Hashable {
  /// The posts.
  public var posts: [Post]
  /// The cursor of the next page; `nil` after the last one.
  public var next: String?

  /// Creates a page.
  public init(posts: [Post], next: String?) {
    self.posts = posts
    self.next = next
  }
}

// The only code that knows the generated types besides the repository.

extension Post {
  init(_ summary: PostSummary) {
    let author = summary.author
    self.init(
      id: summary.id, title: summary.title, author: author.name ?? author.login,
      likes: summary.likeCount)
  }
}

extension PostDetails {
  init(_ post: PostDetailsQuery.Data.Post) {
    self.post = Post(post.postSummary)
    body = post.body
    publishedAt = post.publishedAt
    comments = post.comments.edges.map { edge in
      let author = edge.node.author
      return Comment(
        id: edge.node.id, author: author.name ?? author.login, body: edge.node.body)
    }
  }
}

extension Page {
  init(_ feed: FeedQuery.Data.Feed) {
    posts = feed.edges.map { Post($0.node) }
    next = feed.pageInfo.hasNextPage ? feed.pageInfo.endCursor : nil
  }
}
