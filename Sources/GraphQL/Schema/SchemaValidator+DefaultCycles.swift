/// Default values of input fields that contain themselves: no value could ever be filled in for them.
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

/// Follows the default values of fields into each other, without recursion: a chain of them may be as
/// long as the schema.
private struct DefaultCycleSearch {
  let schema: Schema
  private(set) var issues: [SchemaError.Issue] = []
  private var visited: Set<String> = []
  /// The fields whose default values are being looked at, and where each stands in `path`.
  private var path: [(field: String, location: SourceLocation)] = []
  private var positions: [String: Int] = [:]

  private enum Step {
    /// A value of an input object, or a list of such.
    case value(Value, String)
    /// A field that a value leaves out: its default value counts.
    case absent(InputValueDefinition, String)
    case leave(String)
  }

  init(schema: Schema) { self.schema = schema }

  /// Looks at the input object with all its fields left out.
  mutating func visit(_ name: String) {
    var open = [Step.value(.object([], SourceLocation(line: 1, column: 1, offset: 0)), name)]
    while let step = open.popLast() {
      switch step {
      case .value(.list(let items, _), let type):
        open += items.reversed().map { .value($0, type) }
      case .value(.object(let fields, _), let type):
        open += steps(fields, type).reversed()
      case .value: break
      case .absent(let field, let place):
        guard let value = field.defaultValue else { continue }
        if let position = positions[place] {
          report(place, from: position)
        } else if visited.insert(place).inserted {
          positions[place] = path.count
          path.append((place, value.location))
          open += [.leave(place), .value(value, field.type.namedType.value)]
        }
      case .leave(let place):
        positions[place] = nil
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

  private mutating func report(_ place: String, from position: Int) {
    let others = path[(position + 1)...].map(\.field)
    issues.append(
      SchemaError.Issue(
        message: "Invalid circular reference. The default value of Input Object field \(place) "
          + "references itself"
          + (others.isEmpty
            ? "" : " via the default values of: \(others.joined(separator: ", "))") + ".",
        locations: path[position...].map(\.location)))
  }
}
