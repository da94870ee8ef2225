extension SchemaBuilder {
  /// Checks that every type that is referred to exists and is of the kind its place needs.
  mutating func checkReferences(typeNames: [String]) {
    for name in typeNames {
      guard let type = types[name] else { continue }
      switch type {
      case .object, .interface:
        checkInterfaces(of: type)
        for field in type.fields ?? NamedList([]) { checkField(field, of: name) }
      case .union(let union):
        checkMembers(of: union)
      case .inputObject(let input):
        for field in input.fields { checkInput(field) { "\(name).\(field.name.value)" } }
      case .scalar, .enumeration:
        break
      }
    }
    for directive in directives.values {
      for argument in directive.arguments {
        checkInput(argument) { "@\(directive.name.value)(\(argument.name.value):)" }
      }
    }
  }

  private mutating func checkField(_ field: FieldDefinition, of typeName: String) {
    if let type = known(field.type.namedType), !type.isOutput {
      report(
        "The type of \(typeName).\(field.name.value) must be Output Type but got: "
          + "\(field.type.printed()).",
        field.type.location)
    }
    for argument in field.arguments {
      checkInput(argument) { "\(typeName).\(field.name.value)(\(argument.name.value):)" }
    }
  }

  private mutating func checkInput(_ value: InputValueDefinition, _ place: () -> String) {
    guard let type = known(value.type.namedType), !type.isInput else { return }
    report(
      "The type of \(place()) must be Input Type but got: \(value.type.printed()).",
      value.type.location)
  }

  private mutating func checkInterfaces(of type: SchemaType) {
    for interface in type.interfaces {
      guard let target = known(interface) else { continue }
      if case .interface = target { continue }
      report(
        "Type \(type.name) must only implement Interface types, it cannot implement "
          + "\(interface.value).",
        interface.location)
    }
    checkOnce(type.interfaces) { "Type \(type.name) can only implement \($0) once." }
  }

  private mutating func checkMembers(of union: UnionType) {
    for member in union.types {
      guard let type = known(member) else { continue }
      if case .object = type { continue }
      report(
        "Union type \(union.name) can only include Object types, it cannot include "
          + "\(member.value).",
        member.location)
    }
    checkOnce(union.types) { "Union type \(union.name) can only include type \($0) once." }
  }

  private mutating func checkOnce(_ names: [Name], _ message: (String) -> String) {
    guard names.count > 1 else { return }
    var seen: Set<String> = []
    for name in names where !seen.insert(name.value).inserted {
      report(message(name.value), name.location)
    }
  }

  /// The type of that name, or a report that there is none.
  private mutating func known(_ name: Name) -> SchemaType? {
    if let type = types[name.value] {
      if case .scalar = type { unreferencedScalars.remove(name.value) }
      return type
    }
    let hint = hint(for: name.value, in: Array(types.keys))
    report("Unknown type '\(name.value)'." + hint, name.location)
    return nil
  }
}
