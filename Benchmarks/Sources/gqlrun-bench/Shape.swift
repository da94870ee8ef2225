import Foundation

/// The responses made here: each strains another part of the engine.
enum Shape: String, CaseIterable {
  /// Posts with authors, tags and comments, ids counted up.
  case feed
  /// The same with random ids (UUIDs), so that records arrive in no order.
  case uuid
  /// The same without any ids: one large record whose lists are cut into segments.
  case anonymous
  /// Objects with ids, nested 100 deep.
  case deep
  /// One list of small objects.
  case list
  /// Long texts: ASCII, raw UTF-8, and `\uXXXX` escapes.
  case ascii
  case unicode
  case escaped
  /// The same list as one response, and as one that arrives in parts of one element or of a hundred.
  case stream1 = "stream-1"
  case stream100 = "stream-100"
  /// Whole numbers, fractions, exponents, and lists of them.
  case numbers

  static func unknown(_ name: String) -> BenchError {
    BenchError(
      "there is no shape \"\(name)\"; the shapes are "
        + allCases.map(\.rawValue).joined(separator: ", "), isUsage: true)
  }

  /// Whether it has the fields that a changed response differs in.
  var hasChanges: Bool {
    switch self {
    case .feed, .uuid, .anonymous: true
    default: false
    }
  }

  /// The number of elements in a part of a response with `@stream`; `nil` for other shapes.
  var elementsPerPart: Int? {
    switch self {
    case .stream1: 1
    case .stream100: 100
    default: nil
    }
  }

  static let deepLevels = 100

  /// The operation that the response answers.
  var document: String {
    switch self {
    case .feed, .uuid: Self.feedDocument(id: "id")
    case .anonymous: Self.feedDocument(id: "")
    case .deep:
      "query Deep { chains "
        + String(repeating: "{ __typename id name next ", count: Self.deepLevels) + "{ id }"
        + String(repeating: " }", count: Self.deepLevels) + " }\n"
    case .list: "query List { items { __typename id n } }\n"
    case .stream1, .stream100: "query Stream { items @stream { __typename id n } }\n"
    case .ascii, .unicode, .escaped: "query Texts { items { __typename id title body } }\n"
    case .numbers: "query Numbers { items { __typename id a b c d e f g h series } }\n"
    }
  }

  /// The operation of the small responses.
  static let smallDocument =
    "query Small { items { __typename id title count ratio isPinned } }\n"

  private static func feedDocument(id: String) -> String {
    """
    query Feed($first: Int!, $after: String) {
      feed(first: $first, after: $after) {
        __typename
        totalCount
        edges {
          __typename
          cursor
          node {
            __typename \(id) title body publishedAt likeCount ratio isPinned
            author { ...UserFields }
            tags { __typename \(id) name color }
            comments(first: 10) {
              __typename
              totalCount
              edges {
                __typename
                cursor
                node { __typename \(id) body createdAt score author { ...UserFields } }
              }
              pageInfo { __typename hasNextPage endCursor }
            }
          }
        }
        pageInfo { __typename hasNextPage endCursor }
      }
    }
    fragment UserFields on User {
      __typename \(id) login name bio avatarUrl followers reputation
    }

    """
  }

  /// Writes a response of about `bytes` bytes, the same for every call.
  func generate(bytes: Int, response: String) throws {
    switch self {
    case .feed, .uuid, .anonymous:
      // A post with all that belongs to it takes about 4,500 bytes.
      try FeedWriter(ids: self, posts: max(1, bytes / 4500)).write(to: response)
    default:
      try write(bytes: bytes, to: response)
      if let elementsPerPart {
        try writeParts(of: elementsPerPart, bytes: bytes, to: Files.parts(of: response))
      }
    }
  }

  /// Writes the list of the response as the body of one in parts, in the format with ids.
  private func writeParts(of size: Int, bytes: Int, to path: String) throws {
    var file = try OutputFile(path)
    var random = Random(seed: 7)
    func message(_ json: String) throws {
      try file.append("\r\n---\r\nContent-Type: application/json; charset=utf-8\r\n\r\n\(json)")
    }
    try message(
      #"{"data":{"items":[]},"pending":[{"id":"0","path":["items"]}],"hasNext":true}"#)
    var number = 0
    // What the list has beside the elements: its start, and commas.
    var count = #"{"data":{"items":["#.utf8.count
    while count < bytes {
      var items: [String] = []
      while items.count < size, count < bytes {
        items.append(item(number, &random))
        count += items[items.count - 1].utf8.count + (number > 0 ? 1 : 0)
        number += 1
      }
      try message(
        #"{"incremental":[{"id":"0","items":["# + items.joined(separator: ",")
          + #"]}],"hasNext":true}"#)
    }
    try message(#"{"completed":[{"id":"0"}],"hasNext":false}"#)
    try file.append("\r\n-----\r\n")
    try file.flush()
  }

  private func write(bytes: Int, to path: String) throws {
    var file = try OutputFile(path)
    var random = Random(seed: 7)
    try file.append(self == .deep ? "{\"data\":{\"chains\":[" : "{\"data\":{\"items\":[")
    var number = 0
    while file.count < bytes {
      if number > 0 { try file.append(",") }
      try file.append(item(number, &random))
      number += 1
    }
    try file.append("]}}")
    try file.flush()
  }

  private func item(_ number: Int, _ random: inout Random) -> String {
    switch self {
    case .deep:
      let levels = (0..<Self.deepLevels).map { level in
        "{\"__typename\":\"Link\",\"id\":\"\(number)-\(level)\",\"name\":\"link \(level)\",\"next\":"
      }
      return levels.joined() + "null" + String(repeating: "}", count: Self.deepLevels)
    case .list, .stream1, .stream100:
      return "{\"__typename\":\"Item\",\"id\":\"\(number)\",\"n\":\(random.below(1000))}"
    case .numbers:
      let series = (0..<20).map { _ in String(random.unit()) }.joined(separator: ",")
      return "{\"__typename\":\"Item\",\"id\":\(number),\"a\":\(random.below(10)),"
        + "\"b\":-\(random.below(1 << 20)),\"c\":\(random.next() >> 1),\"d\":0.5,"
        + "\"e\":\(random.unit()),\"f\":1.5e300,\"g\":\(random.below(1_000_000)).25,\"h\":0,"
        + "\"series\":[\(series)]}"
    default:
      let title = text(8, &random)
      return "{\"__typename\":\"Item\",\"id\":\"\(number)\",\"title\":\"\(title)\",\"body\":\""
        + "\(text(80, &random))\"}"
    }
  }

  private func text(_ words: Int, _ random: inout Random) -> String {
    let source = self == .ascii ? Self.asciiWords : Self.unicodeWords
    let text = (0..<words).map { _ in source[random.below(source.count)] }.joined(separator: " ")
    guard self == .escaped else { return text }
    return text.utf16.map { $0 < 0x80 ? String(UnicodeScalar(UInt8($0))) : Self.escape($0) }
      .joined()
  }

  private static func escape(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  private static let asciiWords = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "elit"]
  private static let unicodeWords = [
    "café", "東京", "Ωmega", "naïve", "данные", "🚀", "lorem", "größe",
  ]
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct Random {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// A fraction from 0 up to 1.
  mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
