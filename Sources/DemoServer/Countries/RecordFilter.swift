import GQLRunJSON

/// The `filter` argument of a list: conditions on the values of fields.
struct RecordFilter: Sendable {
  private var fields: [(name: String, filter: StringFilter)] = []

  /// Compiles the argument; omits invalid conditions, which ``failure(in:)`` reports.
  init(_ arguments: Arguments) {
    for member in arguments["filter"]?.objectValue ?? [:] {
      guard let conditions = member.value.objectValue else { continue }
      if let filter = try? StringFilter(conditions) { fields.append((member.key, filter)) }
    }
  }

  /// The error of the argument; `nil` if it is valid.
  @Sendable static func failure(in arguments: Arguments) -> RequestError? {
    for member in arguments["filter"]?.objectValue ?? [:] {
      do throws(StringPattern.Failure) {
        if let conditions = member.value.objectValue { _ = try StringFilter(conditions) }
      } catch {
        return wrong(member.key, error)
      }
    }
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
