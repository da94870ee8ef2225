import GQLRunSupport

/// A pattern for paths: `*` and `?` within a folder, `**` across folders, `[a-z]`, `{a,b}`.
struct Glob: Sendable, Hashable {
  /// The pattern, without `./` at its beginning.
  let text: String
  private let segments: [[Character]]

  private init(_ text: String) {
    var text = text[...]
    while text.hasPrefix("./") { text = text.dropFirst(2) }
    self.text = String(text)
    segments = text.split(separator: "/", omittingEmptySubsequences: false).map { Array($0) }
  }

  /// The patterns that the braces of `pattern` expand to; at most 1,000.
  static func alternatives(of pattern: String) -> [Glob] {
    var open = [Array(pattern)]
    var done: [Glob] = []
    while let text = open.popLast(), done.count + open.count < 1_000 {
      guard let (range, choices) = firstBraces(in: text) else {
        done.append(Glob(String(text)))
        continue
      }
      for choice in choices.reversed() {
        open.append(Array(text[..<range.lowerBound] + choice + text[range.upperBound...]))
      }
    }
    return done
  }

  /// Whether it matches exactly one path.
  var isLiteral: Bool { literal.endIndex == text.endIndex }

  /// The folder that contains all matching files, with a slash at its end; empty if that is any folder.
  var folder: String {
    let fixed = literal
    guard let slash = fixed.lastIndex(of: "/") else { return "" }
    return String(fixed[...slash])
  }

  /// The most names that a matching path has below ``folder``.
  var maxDepth: Int {
    segments.contains(["*", "*"]) ? .max : segments.count - folder.count { $0 == "/" }
  }

  /// The text in front of the first wildcard.
  private var literal: Substring { text.prefix { !"*?[".contains($0) } }

  /// Whether it matches a path. Takes time proportional to the product of the lengths.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { Array($0) }
    return Wildcards.match(segments.count, parts.count) {
      segments[$0] == ["*", "*"]
    } accepts: {
      Self.matchesName(segments[$0], parts[$1])
    }
  }

  private static func matchesName(_ pattern: [Character], _ name: [Character]) -> Bool {
    // A name that begins with a dot is hidden and must be matched explicitly.
    if name.first == ".", pattern.first != "." { return false }
    let tokens = tokens(of: pattern)
    return Wildcards.match(tokens.count, name.count) {
      if case .any = tokens[$0] { true } else { false }
    } accepts: { part, element in
      switch tokens[part] {
      case .any, .one: true
      case .exactly(let own): own == name[element]
      case .among(let ranges, let isNegated):
        ranges.contains { $0.contains(name[element]) } != isNegated
      }
    }
  }

  private enum Token {
    case any
    case one
    case exactly(Character)
    case among([ClosedRange<Character>], isNegated: Bool)
  }

  private static func tokens(of pattern: [Character]) -> [Token] {
    var tokens: [Token] = []
    var index = 0
    while index < pattern.count {
      let character = pattern[index]
      index += 1
      switch character {
      case "*": tokens.append(.any)
      case "?": tokens.append(.one)
      case "[":
        guard let end = pattern[index...].dropFirst().firstIndex(of: "]") else {
          tokens.append(.exactly(character))
          continue
        }
        var set = pattern[index..<end]
        let isNegated = set.first == "!" || set.first == "^"
        if isNegated { set = set.dropFirst() }
        tokens.append(.among(ranges(of: Array(set)), isNegated: isNegated))
        index = end + 1
      default: tokens.append(.exactly(character))
      }
    }
    return tokens
  }

  private static func ranges(of set: [Character]) -> [ClosedRange<Character>] {
    var ranges: [ClosedRange<Character>] = []
    var index = 0
    while index < set.count {
      if index + 2 < set.count, set[index + 1] == "-", set[index] <= set[index + 2] {
        ranges.append(set[index]...set[index + 2])
        index += 3
      } else {
        ranges.append(set[index]...set[index])
        index += 1
      }
    }
    return ranges
  }

  /// The first innermost pair of braces, with the texts between its commas.
  private static func firstBraces(
    in text: [Character]
  ) -> (range: Range<Int>, choices: [ArraySlice<Character>])? {
    guard let start = text.firstIndex(of: "{") else { return nil }
    var depth = 0
    var from = start + 1
    var choices: [ArraySlice<Character>] = []
    for index in start..<text.count {
      switch text[index] {
      case "{": depth += 1
      case "}":
        depth -= 1
        guard depth == 0 else { continue }
        return (start..<index + 1, choices + [text[from..<index]])
      case "," where depth == 1:
        choices.append(text[from..<index])
        from = index + 1
      default: continue
      }
    }
    return nil
  }
}
