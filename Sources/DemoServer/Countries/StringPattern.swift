import Foundation
import GQLRunSupport

/// A regular expression or glob from a request.
///
/// Regular expressions are those of `NSRegularExpression`, which backtracks. Matching stops after a
/// bounded number of steps, and a pattern that has reached the bound is not matched again, so that
/// no request can stall the server.
final class StringPattern: Sendable {
  /// An invalid pattern.
  struct Failure: Error, Hashable {
    var message: String
  }

  private enum Kind: Sendable {
    case regex(NSRegularExpression)
    case glob([Unicode.Scalar])
  }

  /// The maximum length of a pattern, in Unicode scalars.
  static let maxLength = 1000
  /// The number of progress reports that end a match. The engine reports each start position in the
  /// text, and roughly every ten thousand steps.
  private static let maxReports = 20

  private let kind: Kind
  private let isTooExpensive = Locked(false)

  /// Compiles a regular expression that may match anywhere in a text.
  init(regex: String) throws(Failure) {
    try Self.requireLength(of: regex)
    do {
      // Foundation rejects the empty pattern, which matches everywhere.
      let pattern = regex.isEmpty ? "(?:)" : regex
      kind = .regex(try NSRegularExpression(pattern: pattern, options: .dotMatchesLineSeparators))
    } catch {
      throw Failure(message: "The pattern is not a regular expression.")
    }
  }

  /// Compiles a glob for a whole text: `*` matches any text, `?` one character.
  init(glob: String) throws(Failure) {
    try Self.requireLength(of: glob)
    kind = .glob(Array(glob.unicodeScalars))
  }

  /// Whether the pattern matches the text; `false` if matching takes too many steps.
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
