import GQLRunJSON

/// A comparison such as `errors == null`, `count(emit) >= 1` or `p95_ms < 500`.
struct BatchCondition: Sendable, CustomStringConvertible {
  enum Operand: Sendable {
    case literal(JSONValue)
    /// A share such as `5%`.
    case share(Double)
    case path(ResultPath)
    case count(ResultPath)
  }

  enum Comparison: String, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case less = "<"
    case greater = ">"
  }

  var left: Operand
  var comparison: Comparison
  var right: Operand
  let description: String

  /// A condition that is always true.
  init() {
    (left, comparison, right) = (.literal(.null), .equal, .literal(.null))
    description = ""
  }

  /// Parses a condition: two operands around a comparison operator that has a space on both sides.
  /// Returns `nil` if the text is not a condition.
  init?(_ text: String) {
    description = text
    guard
      let (comparison, range) = Comparison.allCases.lazy.compactMap({ comparison in
        text.firstRange(of: " \(comparison.rawValue) ").map { (comparison, $0) }
      }).first,
      let left = Self.operand(text[..<range.lowerBound]),
      let right = Self.operand(text[range.upperBound...])
    else { return nil }
    self.left = left
    self.comparison = comparison
    self.right = right
  }

  private static func operand(_ text: Substring) -> Operand? {
    let text = String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    if let literal = try? JSONValue(parsing: text) { return .literal(literal) }
    if text.hasSuffix("%"), let share = Double(text.dropLast()) { return .share(share / 100) }
    if text.hasPrefix("count("), text.hasSuffix(")") {
      return ResultPath(String(text.dropFirst(6).dropLast())).map { .count($0) }
    }
    return ResultPath(text).map { .path($0) }
  }

  /// The first keys of the condition's paths.
  var roots: [String] { paths.compactMap(\.keys.first) }

  /// The paths of the condition.
  var paths: [ResultPath] {
    [left, right].compactMap {
      switch $0 {
      case .path(let path), .count(let path): path
      default: nil
      }
    }
  }

  /// The first path of the condition that does not fit the shape of the data; `nil` if all fit.
  func mismatch(in facts: JSONValue) -> PathMismatch? {
    for path in paths where path.keys.first == "data" {
      if case .mismatch(let mismatch) = path.look(in: facts) { return mismatch }
    }
    return nil
  }

  /// Whether the condition is true for `facts`, an object with the names that conditions may use.
  ///
  /// - Parameter whole: The number that a share such as `5%` is a share of.
  func holds(for facts: JSONValue, whole: Double = 1) -> Bool {
    let left = value(left, facts: facts, whole: whole)
    let right = value(right, facts: facts, whole: whole)
    switch comparison {
    case .equal: return Self.equal(left, right)
    case .notEqual: return !Self.equal(left, right)
    default: break
    }
    if let left = left.doubleValue, let right = right.doubleValue {
      return compare(left, right)
    }
    guard let left = left.stringValue, let right = right.stringValue else { return false }
    return compare(left, right)
  }

  private func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
    switch comparison {
    case .less: left < right
    case .greater: left > right
    case .lessOrEqual: left <= right
    case .greaterOrEqual: left >= right
    case .equal, .notEqual: false
    }
  }

  private static func equal(_ left: JSONValue, _ right: JSONValue) -> Bool {
    if let left = left.doubleValue, let right = right.doubleValue { return left == right }
    return left == right
  }

  private func value(_ operand: Operand, facts: JSONValue, whole: Double) -> JSONValue {
    switch operand {
    case .literal(let value): value
    case .share(let share): JSONNumber(share * whole).map { .number($0) } ?? .null
    case .path(let path): path.value(in: facts) ?? .null
    case .count(let path):
      .number(
        JSONNumber(
          path.values(in: facts).reduce(0) { sum, value in
            switch value {
            case .array(let elements): sum + elements.count
            case .null: sum
            default: sum + 1
            }
          }))
    }
  }

  /// The left operand's value as JSON text, for messages; at most 80 characters.
  func found(in facts: JSONValue, whole: Double = 1) -> String {
    String(value(left, facts: facts, whole: whole).jsonText().prefix(80))
  }
}
