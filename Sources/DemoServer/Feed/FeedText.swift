import GQLRunJSON

/// A text of random words, in pairs.
///
/// The words have characters that exercise JSON parsers: quotes, backslashes, line breaks, tabs,
/// letters of two, three and four bytes.
struct FeedText: Sendable, Hashable {
  /// The number of pairs of words.
  let pairs: Int
  let draw: Draw

  /// - Parameter words: The number of words; must be even.
  init(words: Int, draw: Draw) {
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

extension Draw {
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
