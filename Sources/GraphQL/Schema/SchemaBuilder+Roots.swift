extension Schema {
  /// Warnings for types that are the root of several operation types: an error in newer versions of
  /// the reference implementation, but harmless.
  func rootTypeWarnings() -> [SchemaError.Issue] {
    let rootTypes = parts.flatMap(\.operationTypes)
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
          rootTypes.first { $0.operation == operation }?.type.location
        })
    }
  }
}

extension SchemaBuilder {
  /// The root operation types: those of the schema definition, or the default ones.
  func rootTypes() -> [OperationType: String] {
    var roots: [OperationType: Name] = [:]
    for root in schemaParts.flatMap(\.operationTypes) { roots[root.operation] = root.type }
    if !schemaParts.contains(where: { !$0.isExtension }) {
      // The default root types have these names.
      // https://spec.graphql.org/September2025/#sec-Root-Operation-Types.Default-Root-Operation-Type-Names
      for (operation, name) in [
        (OperationType.query, "Query"), (.mutation, "Mutation"), (.subscription, "Subscription"),
      ] {
        if let definition = parts[name]?.first?.name { roots[operation] = definition }
      }
    }
    return roots.mapValues(\.value)
  }

  /// The possible object types of each interface and union, and their subtypes.
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
