import Foundation
import GQLRunSupport

/// A regular expression or glob from a request.
///
/// Regular expressions are those of `NSRegularExpression`, which backtracks. Matching fails after a
/// bounded number of steps, so that no request can stall the server.
struct StringPattern: Sendable {
  /// An invalid pattern, or one that takes too many steps.
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

  /// Whether the pattern matches the text.
  ///
  /// - Throws: ``Failure`` if matching takes too many steps.
  func matches(_ text: String) throws(Failure) -> Bool {
    switch kind {
    case .regex(let expression): return try Self.matches(expression, text)
    case .glob(let pattern):
      let scalars = Array(text.unicodeScalars)
      return Wildcards.match(pattern.count, scalars.count) {
        pattern[$0] == "*"
      } accepts: {
        pattern[$0] == "?" || pattern[$0] == scalars[$1]
      }
    }
  }

  private static func matches(
    _ expression: NSRegularExpression, _ text: String
  ) throws(Failure) -> Bool {
    let range = NSRange(text.startIndex..., in: text)
    var found = false
    var reports = 0
    expression.enumerateMatches(in: text, options: .reportProgress, range: range) {
      match, _, stop in
      reports += 1
      found = match != nil
      if found || reports > range.length + maxReports { stop.pointee = true }
    }
    if !found, reports > range.length + maxReports {
      throw Failure(message: "The pattern takes too many steps; use a simpler one.")
    }
    return found
  }

  private static func requireLength(of pattern: String) throws(Failure) {
    guard pattern.unicodeScalars.count <= maxLength else {
      throw Failure(message: "The pattern is longer than \(maxLength) characters.")
    }
  }
}
