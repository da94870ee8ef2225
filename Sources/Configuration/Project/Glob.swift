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

  /// The patterns that `pattern` stands for, one for each choice of its braces; at most 1,000.
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

  /// Whether it names one path and no other.
  var isLiteral: Bool { !text.contains { "*?[".contains($0) } }

  /// Takes time proportional to the product of the lengths.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { Array($0) }
    return Self.match(segments[...], parts[...]) { pattern, part in
      pattern == ["*", "*"] ? nil : Self.matchesName(pattern, part)
    }
  }

  private static func matchesName(_ pattern: [Character], _ name: [Character]) -> Bool {
    // A name that begins with a dot is hidden: it must be meant.
    if name.first == ".", pattern.first != "." { return false }
    return match(tokens(of: pattern)[...], name[...]) { token, character in
      switch token {
      case .any: nil
      case .one: true
      case .exactly(let own): own == character
      case .among(let ranges, let isNegated):
        ranges.contains { $0.contains(character) } != isNegated
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

  /// Whether the pattern's elements match the text's; `nil` from `accepts` stands for any number of
  /// elements. Goes back to the last such only, which is enough.
  private static func match<Pattern, Element>(
    _ pattern: ArraySlice<Pattern>, _ text: ArraySlice<Element>,
    accepts: (Pattern, Element) -> Bool?
  ) -> Bool {
    var place = pattern.startIndex
    var index = text.startIndex
    var retry: (place: Int, index: Int)?
    while index < text.endIndex {
      if place < pattern.endIndex {
        switch accepts(pattern[place], text[index]) {
        case nil:
          retry = (place, index)
          place += 1
          continue
        case true?:
          place += 1
          index += 1
          continue
        case false?: break
        }
      }
      guard let last = retry else { return false }
      retry = (last.place, last.index + 1)
      place = last.place + 1
      index = last.index + 1
    }
    // What is left of the pattern must be able to stand for nothing.
    while place < pattern.endIndex, let some = text.last,
      accepts(pattern[place], some) == nil
    {
      place += 1
    }
    return place == pattern.endIndex
  }

  /// The first innermost-closed pair of braces and what stands between its commas.
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
