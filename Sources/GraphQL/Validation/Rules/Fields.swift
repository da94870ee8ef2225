import GQLRunSupport

/// Selected fields are defined on the enclosing type.
///
/// https://spec.graphql.org/September2025/#sec-Field-Selections
final class FieldsOnCorrectType: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) {
    guard let schema = context.schema, let type = context.types.parentType,
      context.types.field == nil
    else { return }
    let name = field.name.value
    var hint = didYouMean(
      typesWithField(name, possibleFor: type, schema), "to use an inline fragment on")
    if hint.isEmpty { hint = didYouMean(suggestions(for: name, in: type.fields?.names ?? [])) }
    context.report(
      .fieldsOnCorrectType, "Cannot query field '\(name)' on type '\(type.name)'." + hint,
      at: field.location)
  }

  /// The possible object types of an abstract type that have the field, and the interfaces of these
  /// that have it: the most frequent first, then interfaces before their implementations.
  private func typesWithField(
    _ field: String, possibleFor type: SchemaType, _ schema: Schema
  ) -> [String] {
    guard type.isAbstract else { return [] }
    var found: [String] = []
    var counts: [String: Int] = [:]
    func count(_ name: String, asFirst isFirst: Bool) {
      if counts[name] == nil { found.append(name) }
      counts[name] = isFirst ? 1 : counts[name, default: 0] + 1
    }
    for possible in schema.possibleTypes(of: type.name) {
      guard let object = schema.types[possible], object.fields?[field] != nil else { continue }
      count(possible, asFirst: true)
      for interface in object.interfaces
      where schema.types[interface.value]?.fields?[field] != nil {
        count(interface.value, asFirst: false)
      }
    }
    return insertionSorted(found) { a, b in
      let difference = counts[b, default: 0] - counts[a, default: 0]
      if difference != 0 { return difference < 0 }
      if schema.isSubtype(b, of: a) { return true }
      if schema.isSubtype(a, of: b) { return false }
      return isNaturallyOrdered(a, b)
    }
  }

  /// An insertion sort like Python's sort for short lists: the order is not transitive, so the
  /// result depends on the algorithm.
  private func insertionSorted(
    _ names: [String], _ precedes: (String, String) -> Bool
  ) -> [String] {
    guard names.count > 1, names.count < 64 else { return names.sorted(by: precedes) }
    var sorted = names
    var run = 2
    if precedes(sorted[1], sorted[0]) {
      while run < sorted.count, precedes(sorted[run], sorted[run - 1]) { run += 1 }
      sorted[..<run].reverse()
    } else {
      while run < sorted.count, !precedes(sorted[run], sorted[run - 1]) { run += 1 }
    }
    for index in run..<sorted.count {
      let pivot = sorted[index]
      var (low, high) = (0, index)
      while low < high {
        let middle = (low + high) / 2
        if precedes(pivot, sorted[middle]) { high = middle } else { low = middle + 1 }
      }
      sorted.remove(at: index)
      sorted.insert(pivot, at: low)
    }
    return sorted
  }
}

/// Fields of scalar and enum types have no selection set; fields of other types have one.
///
/// https://spec.graphql.org/September2025/#sec-Leaf-Field-Selections
final class ScalarLeafs: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) {
    guard let type = context.types.type, let named = context.namedType(of: type) else { return }
    let name = field.name.value
    if named.isLeaf {
      guard let selectionSet = field.selectionSet else { return }
      context.report(
        .scalarLeafs,
        "Field '\(name)' must not have a selection since type '\(type.printed())' has no "
          + "subfields.",
        at: selectionSet.location)
    } else if field.selectionSet == nil {
      context.report(
        .scalarLeafs,
        "Field '\(name)' of type '\(type.printed())' must have a selection of subfields."
          + " Did you mean '\(name) { ... }'?",
        at: field.location)
    }
  }
}

/// Referenced types are defined.
///
/// https://spec.graphql.org/September2025/#sec-Fragment-Spread-Type-Existence
final class KnownTypeNames: RuleVisitor {
  func enter(namedType name: Name, _ context: ValidationContext) {
    guard !context.isKnownType(name.value), context.definedTypes[name.value] == nil else { return }
    let definition = context.document.definitions[context.definitionIndex]
    let isInTypeSystem = if case .typeSystem = definition { true } else { false }
    if isInTypeSystem, BuiltIns.typeNames.contains(name.value) { return }
    let known = context.knownTypeNames + (isInTypeSystem ? Array(BuiltIns.typeNames) : [])
    context.report(
      .knownTypeNames,
      "Unknown type '\(name.value)'." + didYouMean(suggestions(for: name.value, in: known)),
      at: name.location)
  }
}

/// Warns about deprecated fields, arguments, input fields, enum values and directives.
///
/// https://spec.graphql.org/September2026/#sec--deprecated
final class NoDeprecated: RuleVisitor {
  func enter(directive: Directive, at _: DirectiveLocation, _ context: ValidationContext) {
    guard let reason = context.types.directive?.deprecationReason else { return }
    context.report(
      .noDeprecated, "The directive @\(directive.name.value) is deprecated. \(reason)",
      at: directive.location)
  }

  func enter(field: Field, _ context: ValidationContext) {
    guard let reason = context.types.field?.deprecationReason,
      let parent = context.types.parentType
    else { return }
    context.report(
      .noDeprecated, "The field \(parent.name).\(field.name.value) is deprecated. \(reason)",
      at: field.location)
  }

  func enter(argument: Argument, _ context: ValidationContext) {
    let types = context.types
    guard let reason = types.argument?.deprecationReason else { return }
    let name = argument.name.value
    if let directive = types.directive {
      context.report(
        .noDeprecated,
        "Directive '@\(directive.name.value)' argument '\(name)' is deprecated. \(reason)",
        at: argument.location)
    } else if let parent = types.parentType {
      context.report(
        .noDeprecated,
        "Field '\(parent.name).\(types.fieldName)' argument '\(name)' is deprecated. \(reason)",
        at: argument.location)
    }
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard case .inputObject(let type)? = context.namedType(of: context.types.parentInputType),
      let reason = type.fields[field.name.value]?.deprecationReason
    else { return }
    context.report(
      .noDeprecated, "The input field \(type.name).\(field.name.value) is deprecated. \(reason)",
      at: field.location)
  }

  func enter(value: Value, _ context: ValidationContext) {
    guard case .enumeration(let name) = value,
      case .enumeration(let type)? = context.namedType(of: context.types.inputType),
      let reason = type.values[name.value]?.deprecationReason
    else { return }
    context.report(
      .noDeprecated, "The enum value '\(type.name).\(name.value)' is deprecated. \(reason)",
      at: name.location)
  }
}
