import Foundation

/// Writes a page of posts with their authors, tags and comments: the usual response of a large client.
///
/// Users and tags come again many times, every object has its `__typename`, some texts have escapes and
/// characters beyond ASCII.
struct FeedWriter {
  private let ids: Shape
  private let posts: Int
  private static let commentsPerPost = 6

  init(ids: Shape, posts: Int) {
    self.ids = ids
    self.posts = posts
  }

  func write(to path: String) throws {
    var file = try OutputFile(path)
    var random = Random(seed: 7)
    let users = (0..<max(10, posts / 5)).map { user($0) }
    let tags = (0..<200).map { tag($0) }
    try file.append(
      "{\"data\":{\"feed\":{\"__typename\":\"PostConnection\",\"totalCount\":\(posts),\"edges\":[")
    for number in 0..<posts {
      if number > 0 { try file.append(",") }
      try file.append(post(number, users, tags, &random))
    }
    try file.append(
      "],\"pageInfo\":{\"__typename\":\"PageInfo\",\"hasNextPage\":true,\"endCursor\":\"abc\"}}}}")
    try file.flush()
  }

  private func start(_ type: String, _ number: Int) -> String {
    switch ids {
    case .anonymous: return "{\"__typename\":\"\(type)\""
    case .uuid:
      // Scattered, but the same object has the same id.
      var random = Random(seed: UInt64(number) &* 31 &+ UInt64(type.utf8.count) &* 0x1000_0000_01b3)
      let bytes = (random.next(), random.next())
      let uuid = withUnsafeBytes(of: bytes) { UUID(uuid: $0.load(as: uuid_t.self)) }
      return "{\"__typename\":\"\(type)\",\"id\":\"\(uuid.uuidString.lowercased())\""
    default: return "{\"__typename\":\"\(type)\",\"id\":\"\(type.prefix(1))_\(number)\""
    }
  }

  private func user(_ number: Int) -> String {
    var random = Random(seed: UInt64(number) &+ 7_000_021)
    let name = number % 17 == 0 ? "null" : "\"Name \(text(1, &random)) \(number)\""
    return start("User", number) + ",\"login\":\"user\(number)\",\"name\":\(name),"
      + "\"bio\":\"\(text(8, &random))\","
      + "\"avatarUrl\":\"https://cdn.example.com/avatars/\(number)/large.png?s=128\","
      + "\"followers\":\(random.below(100_000)),\"reputation\":\(random.unit() * 1000)}"
  }

  private func tag(_ number: Int) -> String {
    let color =
      number % 5 == 0 ? "null" : "\"#" + String(number * 7919 % 0xff_ffff, radix: 16) + "\""
    return start("Tag", number) + ",\"name\":\"tag-\(number)\",\"color\":\(color)}"
  }

  private func comment(_ number: Int, _ users: [String], _ random: inout Random) -> String {
    let cursor = Data("c:\(number)".utf8).base64EncodedString()
    let createdAt =
      "2026-0\(1 + random.below(9))-1\(random.below(10))T0\(random.below(10)):2\(random.below(10)):"
      + "3\(random.below(10)).123Z"
    return "{\"__typename\":\"CommentEdge\",\"cursor\":\"\(cursor)\",\"node\":"
      + start("Comment", number) + ",\"body\":\"\(text(14, &random))\","
      + "\"createdAt\":\"\(createdAt)\",\"score\":\(random.below(5050) - 50),"
      + "\"author\":\(users[random.below(users.count)])}}"
  }

  private func post(
    _ number: Int, _ users: [String], _ tags: [String], _ random: inout Random
  ) -> String {
    let cursor = Data("p:\(number)".utf8).base64EncodedString()
    let first = number * Self.commentsPerPost + 1
    let comments = (0..<Self.commentsPerPost).map { comment(first + $0, users, &random) }
    let chosen = (0..<3).map { _ in tags[random.below(tags.count)] }
    return "{\"__typename\":\"PostEdge\",\"cursor\":\"\(cursor)\",\"node\":" + start("Post", number)
      + ",\"title\":\"\(text(6, &random))\",\"body\":\"\(text(60, &random))\","
      + "\"publishedAt\":\"2026-01-01T00:00:00Z\",\"likeCount\":\(random.below(1_000_000)),"
      + "\"ratio\":\(random.unit()),\"isPinned\":\(random.below(10) == 0),"
      + "\"author\":\(users[random.below(users.count)]),\"tags\":[\(chosen.joined(separator: ","))],"
      + "\"comments\":{\"__typename\":\"CommentConnection\","
      + "\"totalCount\":\(Self.commentsPerPost),\"edges\":[\(comments.joined(separator: ","))],"
      + "\"pageInfo\":{\"__typename\":\"PageInfo\",\"hasNextPage\":false,\"endCursor\":null}}}}"
  }

  /// Words as they stand in JSON.
  private static let words = [
    "lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do",
    "eiusmod", "tempor", "incididunt", "ut", "labore", "et", "dolore", "magna", "aliqua", "café",
    "naïve", "東京", "Ωmega", "\\\"quoted\\\"", "path\\\\to\\\\file", "line\\nbreak", "tab\\tstop",
    "🚀",
  ]

  private func text(_ count: Int, _ random: inout Random) -> String {
    var text = ""
    for index in 0..<count {
      if index > 0 { text += " " }
      text += Self.words[random.below(Self.words.count)]
    }
    return text
  }
}

/// The same response some time later: another number of likes in every post, and another score in
/// every fourth comment.
enum ChangedResponse {
  static func write(from path: String, to changed: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    var file = try OutputFile(changed)
    try data.withUnsafeBytes { bytes in
      var copied = 0
      var scores = 0
      var position = 0
      while let found = next(bytes, from: position) {
        position = found
        if bytes[found - 3] == UInt8(ascii: "e") {
          // A score; those of likes end in "t":.
          scores += 1
          if scores % 4 != 0 { continue }
        }
        if bytes[found] == UInt8(ascii: "-") { position += 1 }
        let digit = bytes[position]
        guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { continue }
        try file.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[copied..<position]))
        // 9 becomes 1: a leading zero would be no number. A lone 0 becomes 1.
        try file.append(bytes: [digit == UInt8(ascii: "9") ? UInt8(ascii: "1") : digit + 1])
        copied = position + 1
      }
      // The rest in pieces, so that a large one is not held twice.
      while copied < bytes.count {
        let end = min(copied + (1 << 20), bytes.count)
        try file.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[copied..<end]))
        copied = end
      }
    }
    try file.flush()
  }

  /// Where the next value of `likeCount` or `score` begins.
  private static func next(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    var position = start
    while position < bytes.count {
      guard let quote = memchr(base + position, 0x22, bytes.count - position) else { return nil }
      let offset = base.distance(to: UnsafeRawPointer(quote))
      for name in ["likeCount", "score"] {
        let count = name.utf8.count
        guard offset + count + 4 < bytes.count, memcmp(quote + 1, name, count) == 0,
          bytes[offset + 1 + count] == 0x22, bytes[offset + 2 + count] == 0x3A
        else { continue }
        return offset + 3 + count
      }
      position = offset + 1
    }
    return nil
  }
}
