extension Schema {
  /// Validates the types of the schema against the specification's rules for type systems.
  ///
  /// Checks what concerns several types at once: root types, names, implemented interfaces, empty
  /// types, cycles of input objects and of default values. Messages and source locations are those
  /// of graphql-core's `validate_schema`.
  ///
  /// - Returns: At most a hundred issues, in source order; empty if the schema is valid.
  ///
  /// https://spec.graphql.org/September2025/#sec-Schema
  public func validate() -> [SchemaError.Issue] {
    var validator = SchemaValidator(schema: self)
    validator.checkAll()
    return validator.issues.listed()
  }
}

/// Validates the types of a schema.
struct SchemaValidator {
  let schema: Schema
  private(set) var issues: [SchemaError.Issue] = []
  /// The number of comparisons of members and interfaces; for tests of the cost.
  var comparisons = 0

  init(schema: Schema) { self.schema = schema }

  mutating func checkAll() {
    checkRoots()
    for name in schema.directiveNamesInOrder {
      if let directive = schema.directiveDefinitions[name] { check(directive) }
    }
    for name in schema.typeNames {
      if let type = schema.types[name] { check(type) }
    }
    checkInputCycles()
    checkDefaultCycles()
  }

  mutating func report(_ message: String, _ locations: [SourceLocation]) {
    // Limits the list for a text that is not a schema at all.
    guard issues.count < 1_000 else { return }
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
    for operation in [OperationType.query, .mutation, .subscription] {
      guard let name = schema.rootTypeNames[operation] else { continue }
      if case .object? = schema.types[name] { continue }
      let title = operation.rawValue.prefix(1).uppercased() + operation.rawValue.dropFirst()
      let location =
        rootTypes.first { $0.operation == operation }?.type.location ?? locations(of: name).first
      report(
        "\(title) root type must be Object type\(operation == .query ? "" : " if provided"), it "
          + "cannot be \(name).", location.map { [$0] } ?? [])
    }
  }

  /// https://spec.graphql.org/September2025/#sec-Type-System.Directives.Type-Validation
  mutating func check(_ directive: DirectiveDefinition) {
    checkName(directive.name, directive.location)
    let name = "@\(directive.name.value)"
    for argument in directive.arguments {
      checkArgument(argument, "\(name)(\(argument.name.value):)", typePlace: argument.location)
    }
  }

  private mutating func checkArgument(
    _ argument: InputValueDefinition, _ coordinate: @autoclosure () -> String,
    typePlace: SourceLocation
  ) {
    checkName(argument.name, argument.location)
    if schema.namedType(of: argument.type)?.isInput != true {
      report(
        "The type of \(coordinate()) must be Input Type but got: \(argument.type.printed()).",
        [typePlace])
    }
    if argument.isRequired, argument.deprecationReason != nil {
      report("Required argument \(coordinate()) cannot be deprecated.", deprecation(of: argument))
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
        checkArgument(
          argument, "\(type.name).\(field.name.value)(\(argument.name.value):)",
          typePlace: argument.type.location)
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
      checkName(field.name, field.location)
      let coordinate = "\(input.name).\(field.name.value)"
      if schema.namedType(of: field.type)?.isInput != true {
        report(
          "The type of \(coordinate) must be Input Type but got: \(field.type.printed()).",
          [field.type.location])
      }
      if field.isRequired, field.deprecationReason != nil {
        report("Required input field \(coordinate) cannot be deprecated.", deprecation(of: field))
      }
      guard input.isOneOf else { continue }
      if field.type.isNonNull {
        report("OneOf input field \(coordinate) must be nullable.", [field.type.location])
      }
      if field.defaultValue != nil {
        report("OneOf input field \(coordinate) cannot have a default value.", [field.location])
      }
    }
  }

  // MARK: - Cycles of input objects

  /// https://spec.graphql.org/September2025/#sec-Input-Objects.Circular-References
  mutating func checkInputCycles() {
    var visited: Set<String> = []
    for name in schema.typeNames {
      guard case .inputObject(let input)? = schema.types[name], !visited.contains(name) else {
        continue
      }
      checkCycles(from: input, &visited)
    }
  }

  /// Traverses without recursion, because a cycle can have as many types as the schema.
  private mutating func checkCycles(from input: InputObjectType, _ visited: inout Set<String>) {
    var open: [(input: InputObjectType, next: Int)] = [(input, 0)]
    var depths = [input.name: 0]
    var path: [InputValueDefinition] = []
    visited.insert(input.name)
    while let (current, index) = open.last {
      guard index < current.fields.count else {
        depths[current.name] = nil
        open.removeLast()
        if !path.isEmpty { path.removeLast() }
        continue
      }
      open[open.count - 1].next += 1
      let field = current.fields[index]
      guard case .nonNull(.named(let name)) = field.type,
        case .inputObject(let target)? = schema.types[name.value]
      else { continue }
      if let start = depths[target.name] {
        let cycle = path[start...] + [field]
        report(
          "Cannot reference Input Object '\(target.name)' within itself through a series of "
            + "non-null fields: '\(cycle.map(\.name.value).joined(separator: "."))'.",
          cycle.map(\.location))
      } else if visited.insert(target.name).inserted {
        depths[target.name] = path.count + 1
        path.append(field)
        open.append((target, 0))
      }
    }
  }
}
