extension SchemaBuilder {
  /// The root types as the schema definition names them, or as they are by default.
  mutating func rootTypes() -> [OperationType: String] {
    var roots: [OperationType: Name] = [:]
    for part in schemaParts {
      for root in part.operationTypes
      where roots.updateValue(root.type, forKey: root.operation) != nil {
        report("There can be only one \(root.operation.rawValue) type in schema.", root.location)
      }
    }
    if !schemaParts.contains(where: { !$0.isExtension }) {
      // By default the types named so are the roots.
      // https://spec.graphql.org/September2025/#sec-Root-Operation-Types.Default-Root-Operation-Type-Names
      for (operation, name) in [
        (OperationType.query, "Query"), (.mutation, "Mutation"), (.subscription, "Subscription"),
      ] where roots[operation] == nil {
        if case .object? = types[name], let definition = parts[name]?.first?.name {
          roots[operation] = definition
        }
      }
    }
    for (operation, name) in roots {
      guard let type = types[name.value] else {
        let hint = hint(for: name.value, in: Array(types.keys))
        report("Unknown type '\(name.value)'." + hint, name.location)
        continue
      }
      if case .object = type { continue }
      let title = operation.rawValue.prefix(1).uppercased() + operation.rawValue.dropFirst()
      let condition = operation == .query ? "" : " if provided"
      report(
        "\(title) root type must be Object type\(condition), it cannot be \(name.value).",
        name.location)
    }
    if roots[.query] == nil { report("Query root type must be provided.", nil) }
    return roots.mapValues(\.value)
  }

  /// Which objects and interfaces stand in for which interfaces and unions.
  func relations() -> (possible: [String: [String]], subtypes: [String: Set<String>]) {
    var possible: [String: [String]] = [:]
    var subtypes: [String: Set<String>] = [:]
    for name in typeNames {
      switch types[name] {
      case .object(let object):
        for interface in object.interfaces
        where subtypes[interface.value, default: []].insert(name).inserted {
          possible[interface.value, default: []].append(name)
        }
      case .interface(let type):
        possible[name, default: []] += []
        for interface in type.interfaces {
          subtypes[interface.value, default: []].insert(name)
        }
      case .union(let union):
        possible[name] = union.types.map(\.value)
        subtypes[name] = Set(union.types.map(\.value))
      default:
        break
      }
    }
    return (possible, subtypes)
  }
}
