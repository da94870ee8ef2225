/// A generated feed of posts with their authors, tags and comments.
///
/// Every object is determined by its number: post 7 is the same on every page of a feed of any
/// size, so each part of a feed is generated without the rest. Authors are drawn from a number of
/// users that is a fifth of the number of posts so far, and tags from 200, so that they repeat
/// realistically.
struct Feed: Sendable {
  /// The number of posts.
  let size: Int

  static let commentsPerPost = 6
  static let tagCount = 200
  static let tagsPerPost = 3

  init(size: Int) {
    self.size = min(max(size, 0), 100_000_000)
  }

  /// The number of users.
  var userCount: Int { Self.userCount(afterPosts: size) }

  /// At most `first` posts after a cursor, which counts from 0; -1 is before the start.
  func page(after: Int, first: Int) -> Range<Int> {
    let start = min(max(after + 1, 0), size)
    return start..<(start + min(max(first, 0), size - start))
  }

  static func userCount(afterPosts count: Int) -> Int { max(10, count / 5) }
}

/// The kind of object that a number is drawn for, so that equal numbers give different texts.
enum FeedTopic: UInt64 {
  case post = 1
  case user, comment
}

/// A post of the feed, identified by its number, from 0.
struct Post: Sendable, Hashable {
  let number: Int

  var id: String { "P_\(number)" }
  var title: FeedText { FeedText(words: 6, draw: draw(0)) }
  var body: FeedText { FeedText(words: 60, draw: draw(1)) }
  var publishedAt: String { draw(2).dateTime(milliseconds: false) }
  var likeCount: Int { draw(3).below(1_000_000) }
  var ratio: Double { draw(4).fraction }
  var isPinned: Bool { draw(5).below(10) == 0 }
  var author: User { draw(6).user(asOf: number) }
  var cursor: Cursor { Cursor(kind: .post, number: number) }

  var tags: [Tag] {
    (0..<Feed.tagsPerPost).map { Tag(number: draw(7 + $0).below(Feed.tagCount)) }
  }

  func comment(_ index: Int) -> Comment {
    Comment(number: number * Feed.commentsPerPost + index + 1)
  }

  private func draw(_ field: Int) -> Draw { Draw(.post, number, field) }
}

/// A generated comment, identified by its number, from 1; a post has ``Feed/commentsPerPost``.
struct Comment: Sendable, Hashable {
  let number: Int

  var id: String { "C_\(number)" }
  var body: FeedText { FeedText(words: 14, draw: draw(0)) }
  var createdAt: String { draw(1).dateTime(milliseconds: true) }
  var score: Int { draw(2).below(5050) - 50 }
  var author: User { draw(3).user(asOf: (number - 1) / Feed.commentsPerPost) }
  var cursor: Cursor { Cursor(kind: .comment, number: number) }

  private func draw(_ field: Int) -> Draw { Draw(.comment, number, field) }
}

/// A user of the feed, identified by number, from 0.
struct User: Sendable, Hashable {
  let number: Int

  var id: String { "U_\(number)" }
  var login: String { "user\(number)" }
  /// Every seventeenth user has no name.
  var name: String? { number % 17 == 0 ? nil : "Name \(draw(0).word) \(number)" }
  var bio: FeedText { FeedText(words: 8, draw: draw(1)) }
  var avatarUrl: String { "https://cdn.example.com/avatars/\(number)/large.png?s=128" }
  var followers: Int { draw(2).below(100_000) }
  var reputation: Double { draw(3).fraction * 1000 }

  var role: String {
    switch number % 20 {
    case 0: "ADMIN"
    case 1: "GUEST"
    default: "MEMBER"
    }
  }

  private func draw(_ field: Int) -> Draw { Draw(.user, number, field) }
}

/// A tag, identified by its number, from 0.
struct Tag: Sendable, Hashable {
  let number: Int

  var id: String { "T_\(number)" }
  var name: String { "tag-\(number)" }

  /// Every fifth tag has no color.
  var color: String? {
    guard number % 5 != 0 else { return nil }
    let hex = String(number * 7919 % 0xFFFFFF, radix: 16)
    return "#" + String(repeating: "0", count: 6 - hex.count) + hex
  }
}

extension Draw {
  fileprivate init(_ topic: FeedTopic, _ number: Int, _ field: Int) {
    self.init(topic.rawValue << 56 | UInt64(field) << 48 | UInt64(number))
  }

  fileprivate func user(asOf post: Int) -> User {
    User(number: below(Feed.userCount(afterPosts: post + 1)))
  }

  fileprivate func dateTime(milliseconds: Bool) -> String {
    var draw = self
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let date = "2026-\(two(draw.next(12) + 1))-\(two(draw.next(28) + 1))"
    let time = "\(two(draw.next(24))):\(two(draw.next(60))):\(two(draw.next(60)))"
    return "\(date)T\(time)\(milliseconds ? ".123" : "")Z"
  }
}
