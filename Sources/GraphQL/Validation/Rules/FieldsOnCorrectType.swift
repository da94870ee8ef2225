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
