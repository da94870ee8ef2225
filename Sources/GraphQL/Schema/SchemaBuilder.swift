extension Schema {
  /// Builds a schema from the type system definitions and extensions of a document.
  ///
  /// Operations and fragments are ignored. Definitions of standard directives replace the built-in
  /// ones; definitions of standard scalars and introspection types are ignored.
  ///
  /// Three errors of published schemas are tolerated and listed in ``warnings``: a field that is
  /// repeated with the same type and arguments, a default value that is not valid for its type, and
  /// one type as the root of several operation types.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - edition: The edition that it must follow. A construct of a newer one is an issue.
  /// - Throws: ``SchemaError`` if the document violates a rule for type system documents
  ///   (``Document/validateTypeSystem(extending:options:)``) or for types (``validate(edition:)``).
  public init(sdl document: Document, edition: Edition = .newest) throws(SchemaError) {
    try self.init(sdl: document, edition: edition, ignoring: [])
  }

  /// - Parameter ignored: Rules for type system documents that are not checked.
  init(
    sdl document: Document, edition: Edition, ignoring ignored: Set<ValidationRule>
  ) throws(SchemaError) {
    let schema = try Schema(unchecked: document, edition: edition, ignoring: ignored)
    let issues = schema.validate(edition: edition)
    guard issues.isEmpty else { throw SchemaError(issues: issues) }
    self = schema
  }

  /// Builds a schema without the checks of ``validate(edition:)``, for callers that call it themselves.
  package init(
    unchecked document: Document, edition: Edition = .newest,
    ignoring ignored: Set<ValidationRule> = []
  ) throws(SchemaError) {
    var builder = SchemaBuilder(document: document)
    builder.build()
    try builder.checkDocument(edition: edition, ignoring: ignored)
    self = builder.schema()
  }
}

/// Collects definitions by name and merges their extensions. The first of several definitions is
/// used.
struct SchemaBuilder {
  let document: Document
  private(set) var warnings: [SchemaError.Issue] = []

  /// The definition and extensions of each type, in source order.
  private(set) var parts: [String: [TypeSystemDefinition]] = [:]
  private(set) var typeNames: [String] = []
  private(set) var types: [String: SchemaType] = [:]
  private(set) var directives: [String: DirectiveDefinition] = [:]
  private(set) var directiveNames: [String] = []
  private(set) var directiveExtensions: [DirectiveDefinition] = []
  private(set) var schemaParts: [SchemaDefinition] = []
  /// Introspection refers to the other standard scalars.
  var unreferencedScalars: Set<String> = ["Int", "Float", "ID"]

  mutating func build() {
    collect()
    for name in typeNames { types[name] = merged(parts[name] ?? []) }
    unreferencedScalars.subtract(typeNames)
    collectReferences()
    for definition in BuiltIns.definitions { addBuiltIn(definition) }
    for part in directiveExtensions { directives[part.name.value]?.directives += part.directives }
  }

  func schema() -> Schema {
    let (possible, subtypes) = relations()
    var schema = Schema(
      description: schemaParts.first { !$0.isExtension }?.description?.value,
      directives: schemaParts.flatMap(\.directives), warnings: warnings, typeNames: typeNames,
      types: types, definitions: parts, parts: schemaParts,
      unreferencedScalars: unreferencedScalars, directiveDefinitions: directives,
      directiveNamesInOrder: directiveNames, rootTypeNames: rootTypes(), possible: possible,
      subtypes: subtypes)
    schema.warnings += schema.rootTypeWarnings()
    schema.removeInvalidDefaultValues()
    return schema
  }

  /// Validates the document against the rules for type system documents.
  func checkDocument(edition: Edition, ignoring ignored: Set<ValidationRule>) throws(SchemaError) {
    let tolerated = Set(warnings.flatMap(\.locations))
    let rules = ValidationRule.typeSystem.filter { !ignored.contains($0) }
    let problems = document.validateTypeSystem(options: ValidationOptions(rules: rules)).filter {
      error in
      switch error.rule {
      case .limit: false
      case .uniqueFieldDefinitionNames:
        error.locations.last.map(tolerated.contains) != true
      case .knownDirectives:
        !Self.wellKnownDirectives.contains { error.message == "Unknown directive '@\($0)'." }
      default: true
      }
    }
    var issues = problems.map { SchemaError.Issue(message: $0.message, locations: $0.locations) }
    issues += document.additions(after: edition).map { addition, location in
      SchemaError.Issue(message: addition.message(in: edition), location: location)
    }
    if issues.isEmpty { issues = standardDirectiveIssues() }
    guard issues.isEmpty else { throw SchemaError(issues: issues.listed()) }
  }

  /// Directives that schemas of common tools apply without a definition, for example the cache keys
  /// of Apollo Kotlin.
  private static let wellKnownDirectives = ["typePolicy", "fieldPolicy", "link"]

  /// Updates the set of unreferenced scalars.
  private mutating func collectReferences() {
    func collect(_ type: TypeReference) {
      if !unreferencedScalars.isEmpty { unreferencedScalars.remove(type.namedType.value) }
    }
    for type in types.values {
      if unreferencedScalars.isEmpty { return }
      for field in type.fields ?? NamedList([]) {
        collect(field.type)
        for argument in field.arguments { collect(argument.type) }
      }
      if case .inputObject(let input) = type { for field in input.fields { collect(field.type) } }
    }
    for directive in directives.values {
      for argument in directive.arguments { collect(argument.type) }
    }
  }

  // MARK: - Collecting

  private mutating func collect() {
    var extensions: [TypeSystemDefinition] = []
    for case .typeSystem(let definition) in document.definitions {
      switch definition {
      case .schema(let schema):
        if schema.isExtension || !schemaParts.contains(where: { !$0.isExtension }) {
          schemaParts.append(schema)
        }
      case .directive(let directive): collect(directive)
      default:
        guard let name = definition.name, !BuiltIns.typeNames.contains(name.value) else { continue }
        if definition.isExtension {
          extensions.append(definition)
        } else if parts[name.value] == nil {
          parts[name.value] = [definition]
          typeNames.append(name.value)
        }
      }
    }
    for definition in extensions {
      guard let name = definition.name?.value,
        parts[name]?.first?.directiveLocation == definition.directiveLocation
      else { continue }
      parts[name]?.append(definition)
    }
  }

  private mutating func collect(_ directive: DirectiveDefinition) {
    let name = directive.name
    if directive.isExtension {
      directiveExtensions.append(directive)
    } else if directives[name.value] == nil {
      directives[name.value] = directive
      directiveNames.append(name.value)
    }
  }

  private mutating func addBuiltIn(_ definition: TypeSystemDefinition) {
    if case .directive(let directive) = definition {
      collect(directive)
    } else if let name = definition.name?.value, types[name] == nil {
      types[name] = merged([definition])
    }
  }

  // MARK: - Merging

  /// The type that results from a definition and its extensions.
  private mutating func merged(_ parts: [TypeSystemDefinition]) -> SchemaType? {
    guard let first = parts.first, let name = first.name?.value else { return nil }
    let description = first.description?.value
    let directives = parts.flatMap(\.directives)
    switch first {
    case .scalar:
      return .scalar(ScalarType(name: name, description: description, directives: directives))
    case .object, .interface:
      let fields = parts.flatMap(\.fieldDefinitions)
      warnAboutRepeated(fields, of: name)
      let interfaces = parts.flatMap(\.interfaces)
      if case .interface = first {
        return .interface(
          InterfaceType(
            name: name, description: description, directives: directives, interfaces: interfaces,
            fields: NamedList(fields)))
      }
      return .object(
        ObjectType(
          name: name, description: description, directives: directives, interfaces: interfaces,
          fields: NamedList(fields)))
    case .union:
      let types = parts.flatMap(\.memberTypes)
      return .union(
        UnionType(name: name, description: description, directives: directives, types: types))
    case .enumeration:
      let values = parts.flatMap(\.enumValues)
      return .enumeration(
        EnumType(
          name: name, description: description, directives: directives, values: NamedList(values)))
    case .inputObject:
      let fields = parts.flatMap(\.inputFields)
      return .inputObject(
        InputObjectType(
          name: name, description: description, directives: directives, fields: NamedList(fields)))
    case .schema, .directive:
      return nil
    }
  }

  /// Adds a warning for fields that are repeated with the same type and arguments.
  private mutating func warnAboutRepeated(_ fields: [FieldDefinition], of type: String) {
    guard fields.count > 1 else { return }
    var seen: [String: Int] = [:]
    seen.reserveCapacity(fields.count)
    for (index, field) in fields.enumerated() {
      let name = field.name.value
      guard let first = seen[name] else {
        seen[name] = index
        continue
      }
      guard warnings.count < 100, FieldDefinition.haveSameSignature(fields[first], field) else {
        continue
      }
      warnings.append(
        SchemaError.Issue(
          message: "Field '\(type).\(name)' can only be defined once.",
          location: field.name.location))
    }
  }
}

extension FieldDefinition {
  /// Whether both have the same type and the same arguments in the same order.
  fileprivate static func haveSameSignature(_ a: FieldDefinition, _ b: FieldDefinition) -> Bool {
    a.type.isSameType(as: b.type) && a.arguments.count == b.arguments.count
      && zip(a.arguments, b.arguments).allSatisfy { first, second in
        first.name.value == second.name.value && first.type.isSameType(as: second.type)
          && first.defaultValue?.printed() == second.defaultValue?.printed()
      }
  }
}

extension Schema {
  /// Warnings for types that are the root of several operation types: an error in newer versions of
  /// the reference implementation, but harmless.
  func rootTypeWarnings() -> [SchemaError.Issue] {
    let rootTypes = parts.flatMap(\.operationTypes)
    var uses: [String: [OperationType]] = [:]
    for operation in OperationType.allCases {
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
      for operation in OperationType.allCases {
        if let name = parts[operation.defaultRootName]?.first?.name { roots[operation] = name }
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

extension SchemaBuilder {
  /// Issues with the arguments of the standard directives that the schema uses.
  func standardDirectiveIssues() -> [SchemaError.Issue] {
    var issues: [SchemaError.Issue] = []
    func check(_ applied: [Directive]) {
      for directive in applied {
        let expected: (argument: String, isRequired: Bool)
        switch directive.name.value {
        case "deprecated": expected = ("reason", false)
        case "specifiedBy": expected = ("url", true)
        default: continue
        }
        for argument in directive.arguments where argument.name.value == expected.argument {
          let problem: String
          switch argument.value {
          case .string: continue
          case .null where !expected.isRequired: continue
          case .null: problem = "of non-null type 'String!' must not be null."
          default: problem = "has invalid value \(argument.value.printed())."
          }
          issues.append(
            SchemaError.Issue(
              message: "Argument '\(expected.argument)' \(problem)",
              location: argument.value.location))
        }
      }
    }
    for type in types.values {
      switch type {
      case .scalar(let scalar): check(scalar.directives)
      case .object, .interface:
        for field in type.fields ?? NamedList([]) {
          check(field.directives)
          for argument in field.arguments { check(argument.directives) }
        }
      case .enumeration(let enumeration):
        for value in enumeration.values { check(value.directives) }
      case .inputObject(let input): for field in input.fields { check(field.directives) }
      case .union: break
      }
    }
    for directive in directives.values {
      check(directive.directives)
      for argument in directive.arguments { check(argument.directives) }
    }
    return issues
  }
}

extension [TypeSystemDefinition] {
  /// The definitions of directives, by name.
  var directivesByName: [String: DirectiveDefinition] {
    var directives: [String: DirectiveDefinition] = [:]
    for case .directive(let directive) in self { directives[directive.name.value] = directive }
    return directives
  }
}

/// The definitions of every schema: standard scalars and directives, introspection types and
/// fields.
///
/// https://spec.graphql.org/September2026/#sec-Schema-Introspection
enum BuiltIns {
  static let definitions: [TypeSystemDefinition] = parsed(source)

  /// The standard directives by name.
  static let directives = definitions.directivesByName

  /// The names of the standard scalars and the introspection types.
  static let typeNames: Set<String> = Set(
    definitions.compactMap { definition in
      if case .directive = definition { nil } else { definition.name?.value }
    })

  private static let introspectionNames = typeNames.filter { $0.hasPrefix("__") }

  static func isIntrospection(_ name: String) -> Bool { introspectionNames.contains(name) }

  static let typenameField = rootField("__typename")
  static let schemaField = rootField("__schema")
  static let typeField = rootField("__type")

  private static let rootFields: NamedList<FieldDefinition> = {
    let definitions = parsed(
      "type Root { __typename: String! __schema: __Schema! __type(name: String!): __Type }")
    guard case .object(let root)? = definitions.first else { return NamedList([]) }
    return NamedList(root.fields)
  }()

  private static func rootField(_ name: String) -> FieldDefinition {
    guard let field = rootFields[name] else { preconditionFailure("no field \(name)") }
    return field
  }

  /// The definitions of a text that is known to be valid.
  static func parsed(_ source: String) -> [TypeSystemDefinition] {
    do throws(GraphQLSyntaxError) {
      return try Document(parsing: source).definitions.compactMap { definition in
        if case .typeSystem(let definition) = definition { definition } else { nil }
      }
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private static let source = """
    scalar Int
    scalar Float
    scalar String
    scalar Boolean
    scalar ID

    directive @skip(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @include(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @deprecated(reason: String! = "No longer supported")
      on FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE
        | DIRECTIVE_DEFINITION
    directive @specifiedBy(url: String!) on SCALAR
    directive @oneOf on INPUT_OBJECT

    type __Schema {
      description: String
      types: [__Type!]!
      queryType: __Type!
      mutationType: __Type
      subscriptionType: __Type
      directives(includeDeprecated: Boolean! = false): [__Directive!]!
    }
    type __Type {
      kind: __TypeKind!
      name: String
      description: String
      specifiedByURL: String
      fields(includeDeprecated: Boolean! = false): [__Field!]
      interfaces: [__Type!]
      possibleTypes: [__Type!]
      enumValues(includeDeprecated: Boolean! = false): [__EnumValue!]
      inputFields(includeDeprecated: Boolean! = false): [__InputValue!]
      ofType: __Type
      isOneOf: Boolean
    }
    enum __TypeKind { SCALAR OBJECT INTERFACE UNION ENUM INPUT_OBJECT LIST NON_NULL }
    type __Field {
      name: String!
      description: String
      args(includeDeprecated: Boolean! = false): [__InputValue!]!
      type: __Type!
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __InputValue {
      name: String!
      description: String
      type: __Type!
      defaultValue: String
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __EnumValue {
      name: String!
      description: String
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __Directive {
      name: String!
      description: String
      isRepeatable: Boolean!
      locations: [__DirectiveLocation!]!
      args(includeDeprecated: Boolean! = false): [__InputValue!]!
      isDeprecated: Boolean!
      deprecationReason: String
    }
    enum __DirectiveLocation {
      QUERY MUTATION SUBSCRIPTION FIELD FRAGMENT_DEFINITION FRAGMENT_SPREAD INLINE_FRAGMENT
      VARIABLE_DEFINITION SCHEMA SCALAR OBJECT FIELD_DEFINITION ARGUMENT_DEFINITION INTERFACE
      UNION ENUM ENUM_VALUE INPUT_OBJECT INPUT_FIELD_DEFINITION DIRECTIVE_DEFINITION
    }
    """
}
