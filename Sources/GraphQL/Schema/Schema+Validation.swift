extension Schema {
  /// Validates the types of the schema against the specification's rules for type systems.
  ///
  /// Checks what concerns several types at once: root types, names, implemented interfaces, empty
  /// types, cycles of input objects and of default values. Messages and source locations are those
  /// of graphql-core's `validate_schema`; those about inputs without a finite value, of graphql-js 17.
  ///
  /// - Parameter edition: The edition whose rules are checked.
  /// - Returns: At most a hundred issues, in source order; empty if the schema is valid.
  ///
  /// https://spec.graphql.org/September2026/#sec-Schema
  public func validate(edition: Edition = .newest) -> [SchemaError.Issue] {
    var validator = SchemaValidator(schema: self, edition: edition)
    validator.checkAll()
    return validator.issues.listed()
  }
}

/// Validates the types of a schema.
struct SchemaValidator {
  let schema: Schema
  var edition = Edition.newest
  private(set) var issues: [SchemaError.Issue] = []
  /// Limits the list for a text that is not a schema at all.
  private static let maxIssues = 1_000
  /// The number of comparisons of members and interfaces; for tests of the cost.
  var comparisons = 0

  mutating func checkAll() {
    checkRoots()
    for name in schema.directiveNamesInOrder {
      if let directive = schema.directiveDefinitions[name] { check(directive) }
    }
    for name in schema.typeNames {
      if let type = schema.types[name] { check(type) }
    }
    checkNullability()
    checkFiniteInputs()
    // A rule of this edition.
    if edition >= .september2025 { checkDefaultCycles() }
  }

  mutating func report(_ message: String, _ locations: [SourceLocation]) {
    guard issues.count < Self.maxIssues else { return }
    issues.append(SchemaError.Issue(message: message, locations: locations))
  }

  private mutating func checkName(_ name: Name, _ location: SourceLocation) {
    guard name.value.hasPrefix("__") else { return }
    report(
      "Name '\(name.value)' must not begin with '__', which is reserved by GraphQL introspection.",
      [location])
  }

  /// The source locations of a type's definition and extensions.
  func locations(of name: String) -> [SourceLocation] {
    (schema.definitions[name] ?? []).map(\.location)
  }

  // MARK: - Roots and directives

  /// https://spec.graphql.org/September2025/#sec-Root-Operation-Types
  mutating func checkRoots() {
    let rootTypes = schema.parts.flatMap(\.operationTypes)
    if schema.rootTypeNames[.query] == nil {
      report(
        "Query root type must be provided.",
        schema.parts.first { !$0.isExtension }.map { [$0.location] } ?? [])
    }
    for operation in OperationType.allCases {
      guard let name = schema.rootTypeNames[operation] else { continue }
      if case .object? = schema.types[name] { continue }
      let location =
        rootTypes.first { $0.operation == operation }?.type.location ?? locations(of: name).first
      report(
        "\(operation.defaultRootName) root type must be Object type"
          + "\(operation == .query ? "" : " if provided"), it cannot be \(name).",
        location.map { [$0] } ?? [])
    }
  }

  /// https://spec.graphql.org/September2025/#sec-Type-System.Directives.Type-Validation
  mutating func check(_ directive: DirectiveDefinition) {
    checkName(directive.name, directive.location)
    let name = "@\(directive.name.value)"
    for argument in directive.arguments {
      checkInput(
        argument, "argument", coordinate: "\(name)(\(argument.name.value):)",
        typeLocation: argument.location)
    }
  }

  /// - Parameter title: `argument` or `input field`.
  private mutating func checkInput(
    _ value: InputValueDefinition, _ title: String, coordinate: @autoclosure () -> String,
    typeLocation: SourceLocation
  ) {
    checkName(value.name, value.location)
    if schema.namedType(of: value.type)?.isInput != true {
      report(
        "The type of \(coordinate()) must be Input Type but got: \(value.type.printed()).",
        [typeLocation])
    }
    if value.isRequired, value.deprecationReason != nil {
      report("Required \(title) \(coordinate()) cannot be deprecated.", deprecation(of: value))
    }
  }

  private func deprecation(of value: InputValueDefinition) -> [SourceLocation] {
    let directive = value.directives.first { $0.name.value == "deprecated" }
    return [directive?.location, value.type.location].compactMap { $0 }
  }

  // MARK: - Types

  mutating func check(_ type: SchemaType) {
    if let definition = schema.definitions[type.name]?.first, let name = definition.name {
      checkName(name, definition.location)
    }
    switch type {
    case .object, .interface:
      checkFields(of: type)
      checkInterfaces(of: type)
    case .union(let union): check(union)
    case .enumeration(let enumeration): check(enumeration)
    case .inputObject(let input): check(input)
    case .scalar: break
    }
  }

  private mutating func checkFields(of type: SchemaType) {
    let fields = type.fields ?? NamedList([])
    if fields.isEmpty {
      report("Type \(type.name) must define one or more fields.", locations(of: type.name))
    }
    for field in fields {
      checkName(field.name, field.location)
      if schema.namedType(of: field.type)?.isOutput != true {
        report(
          "The type of \(type.name).\(field.name.value) must be Output Type but got: "
            + "\(field.type.printed()).", [field.type.location])
      }
      for argument in field.arguments {
        checkInput(
          argument, "argument",
          coordinate: "\(type.name).\(field.name.value)(\(argument.name.value):)",
          typeLocation: argument.type.location)
      }
    }
  }

  /// https://spec.graphql.org/September2025/#sec-Unions.Type-Validation
  private mutating func check(_ union: UnionType) {
    if union.types.isEmpty {
      report(
        "Union type \(union.name) must define one or more member types.", locations(of: union.name))
    }
    var seen: Set<String> = []
    let locations = union.types.locationsByName
    for member in union.types {
      comparisons += 1
      let all = locations[member.value] ?? []
      guard case .object? = schema.types[member.value] else {
        report(
          "Union type \(union.name) can only include Object types, it cannot include "
            + "\(member.value).", all)
        continue
      }
      if !seen.insert(member.value).inserted {
        report("Union type \(union.name) can only include type \(member.value) once.", all)
      }
    }
  }

  private mutating func check(_ enumeration: EnumType) {
    if enumeration.values.isEmpty {
      report(
        "Enum type \(enumeration.name) must define one or more values.",
        locations(of: enumeration.name))
    }
    for value in enumeration.values { checkName(value.name, value.location) }
  }

  /// https://spec.graphql.org/September2025/#sec-Input-Objects.Type-Validation
  private mutating func check(_ input: InputObjectType) {
    if input.fields.isEmpty {
      report(
        "Input Object type \(input.name) must define one or more fields.", locations(of: input.name)
      )
    }
    for field in input.fields {
      let coordinate = "\(input.name).\(field.name.value)"
      checkInput(
        field, "input field", coordinate: coordinate, typeLocation: field.type.location)
      guard input.isOneOf else { continue }
      if field.type.isNonNull {
        report("OneOf input field \(coordinate) must be nullable.", [field.type.location])
      }
      if field.defaultValue != nil {
        report("OneOf input field \(coordinate) cannot have a default value.", [field.location])
      }
    }
  }
}

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

/// Cycles in the default values of input fields, for which no finite value exists.
///
/// https://spec.graphql.org/September2025/#InputObjectDefaultValueHasCycle()
extension SchemaValidator {
  mutating func checkDefaultCycles() {
    var search = CycleSearch<OmittedField>()
    for name in schema.typeNames {
      guard case .inputObject? = schema.types[name] else { continue }
      search.visit(
        nil, edges: omittedFields(in: .object([], .generated), of: name),
        target: { $0.field.defaultValue == nil ? nil : $0.coordinate },
        successors: { omitted in
          guard let value = omitted.field.defaultValue else { return [] }
          return omittedFields(in: value, of: omitted.field.type.namedType.value)
        },
        onCycle: { via, last in
          // The last edge leads back to the first field.
          let fields = [last] + via
          let others = fields.dropFirst().map(\.coordinate).joined(separator: ", ")
          report(
            "Invalid circular reference. The default value of Input Object field "
              + "\(fields[0].coordinate) references itself"
              + (others.isEmpty ? "" : " via the default values of: \(others)") + ".",
            fields.compactMap { $0.field.defaultValue?.location })
          return issues.count < Self.maxIssues
        })
    }
  }

  /// A field that a value omits, so that its default value applies.
  private struct OmittedField {
    var coordinate: String
    var field: InputValueDefinition
  }

  /// The omitted fields of input objects in a value of the type `type`, or in a list of them.
  private func omittedFields(in value: Value, of type: String) -> [OmittedField] {
    switch value {
    case .list(let items, _): return items.flatMap { omittedFields(in: $0, of: type) }
    case .object(let given, _):
      guard case .inputObject(let input)? = schema.types[type] else { return [] }
      var values: [String: Value] = [:]
      for field in given { values[field.name.value] = field.value }
      return input.fields.flatMap { field in
        guard case .inputObject? = schema.namedType(of: field.type) else { return [OmittedField]() }
        guard let value = values[field.name.value] else {
          return [OmittedField(coordinate: "\(type).\(field.name.value)", field: field)]
        }
        return omittedFields(in: value, of: field.type.namedType.value)
      }
    default: return []
    }
  }
}

extension Schema {
  /// Removes default values that are not valid for their type, like graphql-core 3.2, with a
  /// warning for each of the first hundred.
  mutating func removeInvalidDefaultValues() {
    var checker = DefaultValueChecker(schema: self)
    var found: [SchemaError.Issue] = []
    /// The definitions without invalid default values; `nil` if all are valid.
    func cleaned(
      _ definitions: some RandomAccessCollection<InputValueDefinition>,
      _ coordinate: (String) -> String
    ) -> [InputValueDefinition]? {
      var result: [InputValueDefinition]?
      for (index, definition) in definitions.enumerated() {
        guard let value = definition.defaultValue, !checker.isAllowed(value, type: definition.type)
        else {
          continue
        }
        if result == nil { result = Array(definitions) }
        result?[index].defaultValue = nil
        if found.count < 100 {
          found.append(
            SchemaError.Issue(
              message:
                "The default value of \(coordinate(definition.name.value)) is not a value of its "
                + "type \(definition.type.printed()), and is ignored: \(value.printed())",
              location: value.location))
        }
      }
      return result
    }

    var changedDirectives: [String: DirectiveDefinition] = [:]
    var changedTypes: [String: SchemaType] = [:]
    for name in directiveNamesInOrder {
      guard var directive = directiveDefinitions[name],
        let arguments = cleaned(directive.arguments, { "@\(name)(\($0):)" })
      else { continue }
      directive.arguments = arguments
      changedDirectives[name] = directive
    }
    for name in typeNames {
      if case .inputObject(var input)? = types[name] {
        guard let fields = cleaned(input.fields, { "\(name).\($0)" }) else { continue }
        input.fields = NamedList(fields)
        changedTypes[name] = .inputObject(input)
      } else if let fields = types[name]?.fields {
        var changed: [FieldDefinition]?
        for (index, field) in fields.enumerated() {
          let owner = "\(name).\(field.name.value)"
          guard let arguments = cleaned(field.arguments, { "\(owner)(\($0):)" }) else { continue }
          if changed == nil { changed = Array(fields) }
          changed?[index].arguments = arguments
        }
        if let changed { changedTypes[name] = types[name]?.with(fields: NamedList(changed)) }
      }
    }
    guard !found.isEmpty else { return }
    types.merge(changedTypes) { $1 }
    directiveDefinitions.merge(changedDirectives) { $1 }
    warnings += found
  }
}

extension SchemaType {
  fileprivate func with(fields: NamedList<FieldDefinition>) -> SchemaType {
    switch self {
    case .object(var object):
      object.fields = fields
      return .object(object)
    case .interface(var interface):
      interface.fields = fields
      return .interface(interface)
    default: return self
    }
  }
}

/// Checks whether constants are valid values of a type.
///
/// https://spec.graphql.org/September2025/#sec-Input-Values
private struct DefaultValueChecker {
  let schema: Schema
  /// Whether a field of an input object has a valid default value.
  var validity: [String: Bool] = [:]

  mutating func isAllowed(_ value: Value, type: TypeReference, depth: Int = 0) -> Bool {
    guard depth < 64 else { return true }
    switch (type, value) {
    case (.nonNull, .null): return false
    case (.nonNull(let inner), _): return isAllowed(value, type: inner, depth: depth + 1)
    case (_, .null), (_, .variable): return true
    case (.list(let item, _), .list(let values, _)):
      return values.allSatisfy { isAllowed($0, type: item, depth: depth + 1) }
    case (.list(let item, _), _): return isAllowed(value, type: item, depth: depth + 1)
    case (.named(let name), _):
      switch schema.types[name.value] {
      case .enumeration(let enumeration)?:
        guard case .enumeration(let name) = value else { return false }
        return enumeration.values[name.value] != nil
      case .inputObject(let input)?: return isAllowed(value, input: input, depth: depth)
      case .scalar(let scalar)?: return scalar.problem(of: value) == nil
      default: return true
      }
    }
  }

  private mutating func isAllowed(_ value: Value, input: InputObjectType, depth: Int) -> Bool {
    guard case .object(let fields, _) = value else { return false }
    var given: [String: Value] = [:]
    for field in fields { given[field.name.value] = field.value }
    for field in input.fields {
      if let value = given[field.name.value] {
        guard isAllowed(value, type: field.type, depth: depth + 1) else { return false }
      } else if field.type.isNonNull, !hasValidDefault(field, of: input, depth + 1) {
        return false
      }
    }
    guard input.isOneOf else { return true }
    // Unknown fields are ignored, as in the reference implementation.
    let known = given.filter { input.fields[$0.key] != nil }
    guard known.count == 1, let only = known.first else { return false }
    if case .null = only.value { return false }
    return true
  }

  /// Whether the field has a default value that is valid for its type.
  mutating func hasValidDefault(
    _ field: InputValueDefinition, of input: InputObjectType, _ depth: Int
  ) -> Bool {
    guard let value = field.defaultValue else { return false }
    let coordinate = "\(input.name).\(field.name.value)"
    if let known = validity[coordinate] { return known }
    let result = isAllowed(value, type: field.type, depth: depth)
    validity[coordinate] = result
    return result
  }
}
