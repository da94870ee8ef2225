/// The requirements of the interfaces that a type implements.
///
/// https://spec.graphql.org/September2025/#IsValidImplementation()
extension SchemaValidator {
  mutating func checkInterfaces(of type: SchemaType) {
    guard !type.interfaces.isEmpty else { return }
    var seen: Set<String> = []
    let own = type.interfaces.locationsByName
    for name in type.interfaces {
      comparisons += 1
      let locations = own[name.value] ?? []
      guard case .interface(let interface)? = schema.types[name.value] else {
        report(
          "Type \(type.name) must only implement Interface types, it cannot implement "
            + "\(name.value).", locations)
        continue
      }
      if name.value == type.name {
        report(
          "Type \(type.name) cannot implement itself because it would create a circular reference.",
          locations)
      }
      guard seen.insert(name.value).inserted else {
        report("Type \(type.name) can only implement \(name.value) once.", locations)
        continue
      }
      checkAncestors(of: type, through: interface, own)
      check(type, implements: interface)
    }
  }

  /// - Parameter own: The source locations of the type's interfaces by name.
  private mutating func checkAncestors(
    of type: SchemaType, through interface: InterfaceType, _ own: [String: [SourceLocation]]
  ) {
    comparisons += interface.interfaces.count
    for ancestor in interface.interfaces where own[ancestor.value] == nil {
      report(
        ancestor.value == type.name
          ? "Type \(type.name) cannot implement \(interface.name) because it would create a circular "
            + "reference."
          : "Type \(type.name) must implement \(ancestor.value) because it is implemented by "
            + "\(interface.name).",
        interface.interfaces.filter { $0.value == ancestor.value }.map(\.location)
          + (own[interface.name] ?? []))
    }
  }

  private mutating func check(_ type: SchemaType, implements interface: InterfaceType) {
    comparisons += interface.fields.count
    for expected in interface.fields {
      let name = expected.name.value
      guard let field = type.fields?[name] else {
        report(
          "Interface field \(interface.name).\(name) expected but \(type.name) does not provide it.",
          [expected.location] + locations(of: type.name))
        continue
      }
      if !schema.isSubtype(field.type, of: expected.type) {
        report(
          "Interface field \(interface.name).\(name) expects type \(expected.type.printed()) but "
            + "\(type.name).\(name) is type \(field.type.printed()).",
          [expected.type.location, field.type.location])
      }
      checkArguments(
        of: field, expected, "\(type.name).\(name)", interface: "\(interface.name).\(name)")
    }
  }

  private mutating func checkArguments(
    of field: FieldDefinition, _ expected: FieldDefinition, _ coordinate: String, interface: String
  ) {
    for argument in expected.arguments {
      let name = argument.name.value
      guard let own = field.argument(named: name) else {
        report(
          "Interface field argument \(interface)(\(name):) expected but \(coordinate) does not provide "
            + "it.", [argument.location, field.location])
        continue
      }
      if !argument.type.isSameType(as: own.type) {
        report(
          "Interface field argument \(interface)(\(name):) expects type "
            + "\(argument.type.printed()) but \(coordinate)(\(name):) is type \(own.type.printed()).",
          [argument.type.location, own.type.location])
      }
    }
    for argument in field.arguments
    where argument.isRequired && expected.argument(named: argument.name.value) == nil {
      report(
        "Object field \(coordinate) includes required argument \(argument.name.value) that is missing "
          + "from the Interface field \(interface).", [argument.location, expected.location])
    }
  }
}

extension [Name] {
  /// The source locations of each name.
  var locationsByName: [String: [SourceLocation]] {
    Dictionary(grouping: self, by: \.value).mapValues { $0.map(\.location) }
  }
}
