import Foundation
import GQLRunJSON
import GQLRunSupport

/// The `filter` argument of a list: conditions on the values of fields.
struct RecordFilter: Sendable {
  private var fields: [(name: String, filter: StringFilter)] = []

  init(_ arguments: Arguments) throws(RequestError) {
    for member in arguments["filter"]?.objectValue ?? [:] {
      guard let conditions = member.value.objectValue else { continue }
      do throws(StringPattern.Failure) {
        fields.append((member.key, try StringFilter(conditions)))
      } catch {
        throw Self.wrong(member.key, error)
      }
    }
  }

  /// The error of the argument; `nil` if it is valid.
  @Sendable static func failure(in arguments: Arguments) -> RequestError? {
    do throws(RequestError) { _ = try Self(arguments) } catch { return error }
    return nil
  }

  /// The records that pass the filter.
  ///
  /// - Parameter values: The values of a record's fields; each may have any number.
  /// - Throws: ``RequestError`` if a pattern takes too many steps.
  func select<Record>(
    _ records: [Record], values: (Record) -> [String: [String]]
  ) throws(RequestError) -> [Record] {
    var selected: [Record] = []
    for record in records {
      if try holds(for: values(record)) { selected.append(record) }
    }
    return selected
  }

  private func holds(for values: [String: [String]]) throws(RequestError) -> Bool {
    for field in fields {
      do throws(StringPattern.Failure) {
        guard try field.filter.holds(for: values[field.name] ?? []) else { return false }
      } catch {
        throw Self.wrong(field.name, error)
      }
    }
    return true
  }

  private static func wrong(_ field: String, _ failure: StringPattern.Failure) -> RequestError {
    RequestError(.badUserInput, "The filter of \"\(field)\" is wrong: \(failure.message)")
  }
}

/// The conditions of a `StringQueryOperatorInput`.
struct StringFilter: Sendable {
  private var equal: String?
  private var unequal: String?
  private var oneOf: Set<String>?
  private var noneOf: Set<String>?
  private var patterns: [StringPattern] = []

  init(_ conditions: JSONObject) throws(StringPattern.Failure) {
    equal = conditions["eq"]?.stringValue
    unequal = conditions["ne"]?.stringValue
    oneOf = conditions["in"]?.arrayValue.map { Set($0.compactMap(\.stringValue)) }
    noneOf = conditions["nin"]?.arrayValue.map { Set($0.compactMap(\.stringValue)) }
    if let regex = conditions["regex"]?.stringValue {
      patterns.append(try StringPattern(regex: regex))
    }
    if let glob = conditions["glob"]?.stringValue {
      patterns.append(try StringPattern(glob: glob))
    }
  }

  /// Whether all conditions are met: positive ones by some value, negative ones by every value.
  func holds(for values: [String]) throws(StringPattern.Failure) -> Bool {
    if let equal, !values.contains(equal) { return false }
    if let unequal, values.contains(unequal) { return false }
    if let oneOf, !values.contains(where: oneOf.contains) { return false }
    if let noneOf, values.contains(where: noneOf.contains) { return false }
    for pattern in patterns {
      var isFound = false
      for value in values where !isFound { isFound = try pattern.matches(value) }
      if !isFound { return false }
    }
    return true
  }
}

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
