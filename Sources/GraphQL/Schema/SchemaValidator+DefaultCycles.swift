/// Cycles in the default values of input fields, for which no finite value exists.
///
/// https://spec.graphql.org/September2025/#InputObjectDefaultValueHasCycle()
extension SchemaValidator {
  mutating func checkDefaultCycles() {
    var search = DefaultCycleSearch(schema: schema)
    for name in schema.typeNames {
      guard case .inputObject? = schema.types[name] else { continue }
      search.visit(name)
    }
    for issue in search.issues { report(issue.message, issue.locations) }
  }
}

/// Follows default values from field to field without recursion, because a cycle can have as many
/// fields as the schema.
private struct DefaultCycleSearch {
  let schema: Schema
  private(set) var issues: [SchemaError.Issue] = []
  private var visited: Set<String> = []
  /// The fields on the current path, and the index of each in `path`.
  private var path: [(field: String, location: SourceLocation)] = []
  private var positions: [String: Int] = [:]

  private enum Step {
    /// A value of an input object type, or a list of them.
    case value(Value, String)
    /// A field that a value omits, so that its default value applies.
    case absent(InputValueDefinition, String)
    case leave(String)
  }

  init(schema: Schema) { self.schema = schema }

  /// Checks an input object with all fields omitted.
  mutating func visit(_ name: String) {
    var open = [Step.value(.object([], SourceLocation(line: 1, column: 1, offset: 0)), name)]
    while let step = open.popLast() {
      switch step {
      case .value(.list(let items, _), let type):
        open += items.reversed().map { .value($0, type) }
      case .value(.object(let fields, _), let type):
        open += steps(fields, type).reversed()
      case .value: break
      case .absent(let field, let coordinate):
        guard let value = field.defaultValue else { continue }
        if let position = positions[coordinate] {
          report(coordinate, from: position)
        } else if visited.insert(coordinate).inserted {
          positions[coordinate] = path.count
          path.append((coordinate, value.location))
          open += [.leave(coordinate), .value(value, field.type.namedType.value)]
        }
      case .leave(let coordinate):
        positions[coordinate] = nil
        path.removeLast()
      }
    }
  }

  private func steps(_ given: [ObjectField], _ type: String) -> [Step] {
    guard case .inputObject(let input)? = schema.types[type] else { return [] }
    var values: [String: Value] = [:]
    for field in given { values[field.name.value] = field.value }
    return input.fields.compactMap { field in
      guard case .inputObject? = schema.namedType(of: field.type) else { return nil }
      if let value = values[field.name.value] { return .value(value, field.type.namedType.value) }
      return .absent(field, "\(type).\(field.name.value)")
    }
  }

  private mutating func report(_ coordinate: String, from position: Int) {
    let others = path[(position + 1)...].map(\.field)
    issues.append(
      SchemaError.Issue(
        message:
          "Invalid circular reference. The default value of Input Object field \(coordinate) "
          + "references itself"
          + (others.isEmpty
            ? "" : " via the default values of: \(others.joined(separator: ", "))") + ".",
        locations: path[position...].map(\.location)))
  }
}
