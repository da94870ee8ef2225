extension Schema {
  /// Types that are the root of several kinds of operations: newer versions of the reference
  /// implementation refuse them, but no operation goes wrong for it.
  func rootTypeWarnings() -> [SchemaError.Issue] {
    let places = parts.flatMap(\.operationTypes)
    var uses: [String: [OperationType]] = [:]
    for operation in [OperationType.query, .mutation, .subscription] {
      guard let type = rootType(for: operation) else { continue }
      uses[type.name, default: []].append(operation)
    }
    return uses.filter { $0.value.count > 1 }.map { name, operations in
      let list = operations.map(\.rawValue)
      let text =
        list.count == 2
        ? list.joined(separator: " and ") : "\(list[0]), \(list[1]), and \(list[2])"
      return SchemaError.Issue(
        message:
          "All root types must be different, '\(name)' type is used as \(text) root types.",
        locations: operations.compactMap { operation in
          places.first { $0.operation == operation }?.type.location
        })
    }
  }
}

extension SchemaBuilder {
  /// The root types as the schema definition names them, or as they are by default.
  func rootTypes() -> [OperationType: String] {
    var roots: [OperationType: Name] = [:]
    for root in schemaParts.flatMap(\.operationTypes) { roots[root.operation] = root.type }
    if !schemaParts.contains(where: { !$0.isExtension }) {
      // By default the types named so are the roots.
      // https://spec.graphql.org/September2025/#sec-Root-Operation-Types.Default-Root-Operation-Type-Names
      for (operation, name) in [
        (OperationType.query, "Query"), (.mutation, "Mutation"), (.subscription, "Subscription"),
      ] {
        if let definition = parts[name]?.first?.name { roots[operation] = definition }
      }
    }
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
