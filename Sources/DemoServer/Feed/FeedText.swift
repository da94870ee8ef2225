/// A text of random words, as long as it takes to make a megabyte out of 250 posts.
///
/// The words hold what makes a JSON reader earn its bread: quotes, backslashes, line breaks, tabs,
/// letters of two, three and four bytes.
struct FeedText: Sendable, Hashable {
  let words: Int
  let draw: Draw

  /// The text as a string.
  var text: String {
    var draw = draw
    return (0..<words).map { _ in Words.plain[draw.next(Words.plain.count)] }
      .joined(separator: " ")
  }

  /// Appends the text as it stands inside a JSON string, without making the string.
  func appendEscaped(to bytes: inout [UInt8]) {
    var draw = draw
    for place in 0..<words {
      if place > 0 { bytes.append(UInt8(ascii: " ")) }
      bytes.append(contentsOf: Words.escaped[draw.next(Words.escaped.count)])
    }
  }
}

extension Draw {
  /// One word.
  var word: String { Words.plain[below(Words.plain.count)] }
}

private enum Words {
  static let plain = [
    "lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do",
    "eiusmod", "tempor", "incididunt", "ut", "labore", "et", "dolore", "magna", "aliqua", "café",
    "naïve", "東京", "Ωmega", "\"quoted\"", "path\\to\\file", "line\nbreak", "tab\tstop", "🚀",
  ]

  static let escaped: [[UInt8]] = plain.map { word in
    Array(
      word.unicodeScalars.map { scalar in
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\t": "\\t"
        default: String(scalar)
        }
      }.joined().utf8)
  }
}
