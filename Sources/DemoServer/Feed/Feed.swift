import Foundation
import GQLRunJSON

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

  private func draw(_ field: Int) -> SplitMix64 { SplitMix64(.post, number, field: field) }
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

  private func draw(_ field: Int) -> SplitMix64 { SplitMix64(.comment, number, field: field) }
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

  private func draw(_ field: Int) -> SplitMix64 { SplitMix64(.user, number, field: field) }
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

extension SplitMix64 {
  fileprivate init(_ topic: FeedTopic, _ number: Int, field: Int) {
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

/// A position in a list of posts or comments: base64 of `p:17` or `c:103`.
struct Cursor: Sendable, Hashable {
  enum Kind: String {
    case post = "p"
    case comment = "c"
    case addedComment = "n"
  }

  let kind: Kind
  let number: Int
}

extension Cursor {
  /// Parses a cursor; `nil` unless it has this server's canonical form.
  init?(_ text: String) {
    guard text.utf8.count <= 40, let bytes = Data(base64Encoded: text) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":")
    guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])),
      let number = Int(parts[1]), number >= 0
    else { return nil }
    self.init(kind: kind, number: number)
    guard self.text == text else { return nil }
  }

  var text: String { Data("\(kind.rawValue):\(number)".utf8).base64EncodedString() }
}

/// A text of random words, in pairs.
///
/// The words have characters that exercise JSON parsers: quotes, backslashes, line breaks, tabs,
/// letters of two, three and four bytes.
struct FeedText: Sendable, Hashable {
  /// The number of pairs of words.
  let pairs: Int
  let draw: SplitMix64

  /// - Parameter words: The number of words; must be even.
  init(words: Int, draw: SplitMix64) {
    pairs = words / 2
    self.draw = draw
  }

  /// The text as a string.
  var text: String {
    var draw = draw
    return (0..<pairs).map { _ in Words.pairs[draw.next(Words.pairs.count)] }
      .joined(separator: " ")
  }

  /// Appends the text as it is escaped inside a JSON string, without creating a string.
  func appendEscaped(to bytes: inout [UInt8]) {
    var draw = draw
    let escaped = Words.escapedPairs
    for position in 0..<pairs {
      if position > 0 { bytes.append(UInt8(ascii: " ")) }
      bytes.append(contentsOf: escaped[draw.next(escaped.count)])
    }
  }
}

extension SplitMix64 {
  /// One word.
  var word: String { Words.single[below(Words.single.count)] }
}

private enum Words {
  static let single = [
    "lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do",
    "eiusmod", "tempor", "incididunt", "ut", "labore", "et", "dolore", "magna", "aliqua", "café",
    "naïve", "東京", "Ωmega", "\"quoted\"", "path\\to\\file", "line\nbreak", "tab\tstop", "🚀",
  ]

  static let pairs = single.flatMap { first in single.map { "\(first) \($0)" } }

  static let escapedPairs: [[UInt8]] = pairs.map { pair in
    var writer = JSONWriter()
    writer.writeString(pair)
    return Array(writer.bytes.dropFirst().dropLast())
  }
}

/// Pseudo-random numbers from a seed (SplitMix64).
struct SplitMix64: Sendable, Hashable {
  private var state: UInt64

  init(_ seed: UInt64) {
    // Adjacent seeds must not give the same sequence shifted by one.
    state = Self.mixed(seed &* 0xD134_2543_DE82_EF95 &+ 1)
  }

  /// The next number, from 0 and below a bound.
  mutating func next(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// The first number, from 0 and below a bound.
  func below(_ bound: Int) -> Int {
    var copy = self
    return copy.next(bound)
  }

  /// The first number as a fraction, from 0 and below 1.
  var fraction: Double {
    var copy = self
    return Double(copy.next() >> 11) / Double(1 << 53)
  }

  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
