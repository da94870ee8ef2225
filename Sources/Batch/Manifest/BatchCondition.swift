import GQLRunJSON

/// A comparison such as `errors == null`, `count(emit) >= 1` or `p95_ms < 500`.
struct BatchCondition: Sendable, CustomStringConvertible {
  enum Operand: Sendable {
    case literal(JSONValue)
    /// A share such as `5%`.
    case share(Double)
    case path(ResultPath)
    case count(ResultPath)

    /// The path of the values; `nil` for a value of the condition itself.
    var path: ResultPath? {
      switch self {
      case .literal, .share: nil
      case .path(let path), .count(let path): path
      }
    }
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
    // Text in quotes may have other operators.
    let found = Comparison.allCases.lazy.flatMap { comparison in
      text.ranges(of: " \(comparison.rawValue) ").map { (comparison, $0) }
    }.compactMap {
      comparison, range -> (comparison: Comparison, left: Operand, right: Operand)? in
      guard let left = Self.operand(text[..<range.lowerBound]),
        let right = Self.operand(text[range.upperBound...])
      else { return nil }
      return (comparison, left, right)
    }
    guard let (comparison, left, right) = found.first else { return nil }
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
  var paths: [ResultPath] { [left, right].compactMap(\.path) }

  /// Whether only a response without data meets the condition, such as `data == null`.
  var requiresNoData: Bool {
    comparison == .equal && paths.map(\.description) == ["data"] && holds(for: ["data": .null])
  }

  /// The first path of the condition that does not fit the shape of the data; `nil` if all fit.
  func mismatch(in facts: JSONValue) -> PathMismatch? {
    for path in paths where path.keys.first == "data" {
      if case .mismatch(let mismatch) = path.look(in: facts) { return mismatch }
    }
    return nil
  }

  /// Whether the condition is true for `facts`, an object with the names that conditions may use. A path with `[*]` has
  /// several values, and the condition has to be true for each.
  ///
  /// - Parameter whole: The number that a share such as `5%` is a share of.
  func holds(for facts: JSONValue, whole: Double = 1) -> Bool {
    failing(for: facts, whole: whole) == nil
  }

  /// The first values of the operands that the condition is not true for; `nil` if it is true.
  private func failing(
    for facts: JSONValue, whole: Double
  ) -> (left: JSONValue, right: JSONValue)? {
    let lefts = values(left, facts: facts, whole: whole)
    let rights = values(right, facts: facts, whole: whole)
    /// A single value is compared with all of the other operand.
    func element(_ values: [JSONValue], _ index: Int) -> JSONValue {
      if values.count == 1 { return values[0] }
      return index < values.count ? values[index] : .null
    }
    for index in 0..<max(lefts.count, rights.count) {
      let (left, right) = (element(lefts, index), element(rights, index))
      if !isTrue(left, right) { return (left, right) }
    }
    return nil
  }

  private func isTrue(_ left: JSONValue, _ right: JSONValue) -> Bool {
    // Integers that differ may have the same `Double`.
    if let left = left.intValue, let right = right.intValue { return compare(left, right) }
    if let left = left.doubleValue, let right = right.doubleValue {
      return compare(left, right)
    }
    switch comparison {
    case .equal: return left == right
    case .notEqual: return left != right
    default: break
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
    case .equal: left == right
    case .notEqual: left != right
    }
  }

  /// The values of an operand: at least one.
  private func values(_ operand: Operand, facts: JSONValue, whole: Double) -> [JSONValue] {
    switch operand {
    case .literal(let value): return [value]
    case .share(let share): return [JSONNumber(share * whole).map { .number($0) } ?? .null]
    case .path(let path):
      let found = path.values(in: facts, countsNull: true)
      return found.isEmpty ? [.null] : found
    case .count(let path):
      let count = path.values(in: facts).reduce(0) { sum, value in
        switch value {
        case .array(let elements): sum + elements.count
        case .null: sum
        default: sum + 1
        }
      }
      return [.number(JSONNumber(count))]
    }
  }

  /// The left operand's value as JSON text, or that of the right one if only it is not in the condition itself, for
  /// messages; at most 80 characters. If the condition is not true, it is the first value that it is not true for.
  func found(in facts: JSONValue) -> String {
    let isRight = left.path == nil && right.path != nil
    let failing = failing(for: facts, whole: 1)
    let value =
      (isRight ? failing?.right : failing?.left)
      ?? values(isRight ? right : left, facts: facts, whole: 1)[0]
    return String(value.jsonText().prefix(80))
  }
}
