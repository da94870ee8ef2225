import Foundation
import GQLRunSupport

/// A regular expression or glob of a request.
///
/// Regular expressions are those of `NSRegularExpression`, which backtracks. Matching a text ends after a bounded
/// number of steps, and a pattern that reached the bound once is not tried again: no request can stall the server.
final class StringPattern: Sendable {
  /// What is wrong with a pattern.
  struct Failure: Error, Hashable {
    var message: String
  }

  private enum Kind: Sendable {
    case regex(NSRegularExpression)
    case glob([Unicode.Scalar])
  }

  /// The longest pattern, in Unicode scalars.
  static let maxLength = 1000
  /// How many reports of progress end a match. The engine reports each start of a match in the text, and every
  /// ten thousand steps or so.
  private static let maxReports = 20

  private let kind: Kind
  private let isTooExpensive = Locked(false)

  /// Compiles a regular expression that matches somewhere in a text.
  init(regex: String) throws(Failure) {
    try Self.requireLength(of: regex)
    do {
      // Foundation refuses the empty pattern, which matches everywhere.
      let pattern = regex.isEmpty ? "(?:)" : regex
      kind = .regex(try NSRegularExpression(pattern: pattern, options: .dotMatchesLineSeparators))
    } catch {
      throw Failure(message: "The pattern is not a regular expression.")
    }
  }

  /// Takes a glob for a whole text: `*` is any text, `?` one character, all else itself.
  init(glob: String) throws(Failure) {
    try Self.requireLength(of: glob)
    kind = .glob(Array(glob.unicodeScalars))
  }

  /// Whether the pattern matches in the text; `false` when it takes too many steps to find out.
  func matches(_ text: String) -> Bool {
    switch kind {
    case .regex(let expression): return matches(expression, text)
    case .glob(let pattern):
      let scalars = Array(text.unicodeScalars)
      return Wildcards.match(pattern.count, scalars.count) {
        pattern[$0] == "*"
      } accepts: {
        pattern[$0] == "?" || pattern[$0] == scalars[$1]
      }
    }
  }

  private func matches(_ expression: NSRegularExpression, _ text: String) -> Bool {
    guard !isTooExpensive.withLock({ $0 }) else { return false }
    let range = NSRange(text.startIndex..., in: text)
    var found = false
    var reports = 0
    expression.enumerateMatches(in: text, options: .reportProgress, range: range) {
      match, _, stop in
      reports += 1
      found = match != nil
      let isOver = reports > range.length + Self.maxReports
      if isOver, !found { self.isTooExpensive.withLock { $0 = true } }
      if isOver || found { stop.pointee = true }
    }
    return found
  }

  private static func requireLength(of pattern: String) throws(Failure) {
    guard pattern.unicodeScalars.count <= maxLength else {
      throw Failure(message: "The pattern is longer than \(maxLength) characters.")
    }
  }
}
