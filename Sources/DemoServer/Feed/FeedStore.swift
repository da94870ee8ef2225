import GQLRunSupport

/// The changes to the feed, shared by all operations.
final class FeedStore: Sendable {
  /// The number of likes of a post that are kept for a subscriber that is behind; older ones are
  /// dropped.
  static let maxBufferedLikes = 256

  private struct Contents {
    var edits = FeedEdits()
    var subscribers: [Int: [Int: AsyncStream<Int>.Continuation]] = [:]
    var subscriptions = 0
  }

  private let contents = Locked(Contents())

  /// The changes so far.
  var snapshot: FeedEdits { contents.withLock { $0.edits } }

  /// The number of current subscribers.
  var subscriberCount: Int {
    contents.withLock { $0.subscribers.values.reduce(0) { $0 + $1.count } }
  }

  /// Changes the feed; returns the result of `change` with all changes so far.
  func change<T: Sendable>(
    _ change: @Sendable (inout FeedEdits) throws(RequestError) -> T
  ) throws(RequestError) -> (T, FeedEdits) {
    try contents.withLock { (contents) throws(RequestError) in
      (try change(&contents.edits), contents.edits)
    }
  }

  /// Adds a like to a post, and sends the number to its subscribers; returns all changes so far.
  func like(_ post: Int) throws(RequestError) -> FeedEdits {
    try contents.withLock { (contents) throws(RequestError) in
      try contents.edits.like(post)
      // While the lock is held, so that the numbers arrive in order.
      for subscriber in contents.subscribers[post, default: [:]].values {
        subscriber.yield(contents.edits.likes(of: post))
      }
      return contents.edits
    }
  }

  /// The number of likes added to a post: now, and after each like until the stream is cancelled.
  func likes(of post: Int) -> AsyncStream<Int> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: .bufferingNewest(Self.maxBufferedLikes))
    let id = contents.withLock { contents in
      contents.subscriptions += 1
      contents.subscribers[post, default: [:]][contents.subscriptions] = continuation
      continuation.yield(contents.edits.likes(of: post))
      return contents.subscriptions
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id, of: post) }
    return stream
  }

  private func remove(_ id: Int, of post: Int) {
    contents.withLock { contents in
      contents.subscribers[post]?[id] = nil
      if contents.subscribers[post]?.isEmpty == true { contents.subscribers[post] = nil }
    }
  }
}

/// The changes by mutations since the server started, in memory.
struct FeedEdits: Sendable {
  /// A comment added by a mutation.
  struct AddedComment: Sendable, Hashable {
    /// From 0, across all posts.
    let number: Int
    let post: Int
    let body: String

    var id: String { "C_new\(number)" }
    var cursor: Cursor { Cursor(kind: .addedComment, number: number) }
  }

  /// The maximum numbers of liked posts and comments, and the maximum length of a comment in bytes.
  static let maxLikedPosts = 100_000
  static let maxComments = 10_000
  static let maxBody = 10_000

  /// The changes of customers and issues.
  var lists = ListEdits()

  private var likes: [Int: Int] = [:]
  private var comments: [AddedComment] = []
  private var commentsByPost: [Int: [Int]] = [:]

  /// The likes of a post at the time of an event.
  private var pinned: (post: Int, likes: Int)?

  /// The number of likes added to those that the post was generated with.
  func likes(of post: Int) -> Int {
    if let pinned, pinned.post == post { return pinned.likes }
    return likes[post] ?? 0
  }

  /// The changes, with the likes of one post as they were at the time of an event.
  func pinning(_ likes: Int, of post: Int) -> Self {
    var copy = self
    copy.pinned = (post, likes)
    return copy
  }

  /// The comments added to a post, oldest first.
  func comments(of post: Int) -> [AddedComment] {
    (commentsByPost[post] ?? []).map { comments[$0] }
  }

  /// The added comment with this id.
  func comment(id: String) -> AddedComment? {
    guard id.hasPrefix("C_new"), let number = Int(id.dropFirst(5)),
      comments.indices.contains(number), comments[number].id == id
    else { return nil }
    return comments[number]
  }

  mutating func like(_ post: Int) throws(RequestError) {
    guard likes[post] != nil || likes.count < Self.maxLikedPosts else {
      throw RequestError(
        .badUserInput, "The demo server keeps likes of \(Self.maxLikedPosts) posts only.")
    }
    likes[post, default: 0] = min(likes(of: post) + 1, 1_000_000_000)
  }

  mutating func addComment(to post: Int, body: String) throws(RequestError) -> AddedComment {
    guard comments.count < Self.maxComments else {
      throw RequestError(.badUserInput, "The demo server keeps \(Self.maxComments) comments only.")
    }
    guard body.utf8.count <= Self.maxBody else {
      throw RequestError(.badUserInput, "A comment has at most \(Self.maxBody) bytes.")
    }
    let comment = AddedComment(number: comments.count, post: post, body: body)
    comments.append(comment)
    commentsByPost[post, default: []].append(comment.number)
    return comment
  }
}
