extension Schema {
  /// Builds a schema from the type system definitions and extensions of a document.
  ///
  /// Operations and fragments in it are left out. Names must be unique and defined, and types
  /// must be of the kind that their place needs; the finer rules of the specification, such as
  /// what an implementation of an interface owes, are not checked. Definitions of built-in
  /// scalars and directives replace them; those of introspection types are left out.
  ///
  /// A field that is repeated with the same type and arguments is tolerated, against the letter
  /// of the specification, and listed in `warnings`: published schemas have them (GitHub's did).
  public init(sdl document: Document) throws(SchemaError) {
    self = try SchemaBuilder(document).schema()
  }
}

/// Collects definitions by name, joins extensions to them, then checks what they refer to.
struct SchemaBuilder {
  private let document: Document
  private(set) var issues: [SchemaError.Issue] = []
  private var warnings: [SchemaError.Issue] = []

  /// By type: its definition, then its extensions, in source order.
  private(set) var parts: [String: [TypeSystemDefinition]] = [:]
  private(set) var typeNames: [String] = []
  private(set) var types: [String: SchemaType] = [:]
  private(set) var directives: [String: DirectiveDefinition] = [:]
  private var directiveNames: [String] = []
  private(set) var schemaParts: [SchemaDefinition] = []
  /// Those introspection uses are always referred to.
  var unreferencedScalars: Set<String> = ["Int", "Float", "ID"]

  init(_ document: Document) {
    self.document = document
  }

  consuming func schema() throws(SchemaError) -> Schema {
    collect()
    for name in typeNames { types[name] = merged(parts[name] ?? []) }
    unreferencedScalars.subtract(typeNames)
    for definition in BuiltIns.definitions { addBuiltIn(definition) }
    let roots = rootTypes()
    checkReferences(typeNames: typeNames)
    guard issues.isEmpty else {
      issues.sort { ($0.location?.offset ?? .max) < ($1.location?.offset ?? .max) }
      throw SchemaError(issues: issues)
    }
    let (possible, subtypes) = relations()
    return Schema(
      description: schemaParts.first { !$0.isExtension }?.description?.value,
      directives: schemaParts.flatMap(\.directives), warnings: warnings, typeNames: typeNames,
      types: types, unreferencedScalars: unreferencedScalars,
      directiveDefinitions: directives, directiveNamesInOrder: directiveNames,
      rootTypeNames: roots, possible: possible,
      subtypes: subtypes)
  }

  // MARK: - Issues

  mutating func report(_ message: String, _ location: SourceLocation?) {
    // A text that is no schema at all would be one long list.
    if issues.count < 100 { issues.append(SchemaError.Issue(message: message, location: location)) }
  }

  /// The hint for a misspelt type; only for the first issues, since it compares with all types.
  func hint(for name: String, in names: [String]) -> String {
    issues.count < 10 ? didYouMean(suggestions(for: name, in: names)) : ""
  }

  // MARK: - Collecting

  private mutating func collect() {
    var extensions: [TypeSystemDefinition] = []
    for case .typeSystem(let definition) in document.definitions {
      switch definition {
      case .schema(let schema): collect(schema)
      case .directive(let directive): collect(directive)
      default:
        guard let name = definition.name, !BuiltIns.isIntrospection(name.value) else { continue }
        if definition.isExtension {
          extensions.append(definition)
        } else if parts[name.value] == nil {
          parts[name.value] = [definition]
          typeNames.append(name.value)
        } else {
          report("There can be only one type named '\(name.value)'.", name.location)
        }
      }
    }
    for definition in extensions { collect(extension: definition) }
  }

  private mutating func collect(_ schema: SchemaDefinition) {
    if !schema.isExtension, schemaParts.contains(where: { !$0.isExtension }) {
      report("Must provide only one schema definition.", schema.location)
    } else {
      schemaParts.append(schema)
    }
  }

  private mutating func collect(_ directive: DirectiveDefinition) {
    let name = directive.name
    if directives.updateValue(directive, forKey: name.value) != nil {
      report("There can be only one directive named '@\(name.value)'.", name.location)
    } else {
      directiveNames.append(name.value)
    }
    checkUnique(directive.arguments) { "Argument '@\(name.value)(\($0):)'" }
  }

  private mutating func collect(extension definition: TypeSystemDefinition) {
    guard let name = definition.name else { return }
    guard let base = parts[name.value]?.first else {
      if Schema.builtInScalars.contains(name.value) {
        // A built-in scalar, to which directives may be added.
        if case .scalar = definition { return }
        report(
          "Cannot extend non-\(definition.kindName) type '\(name.value)'.", definition.location)
        return
      }
      let hint = hint(for: name.value, in: typeNames)
      report(
        "Cannot extend type '\(name.value)' because it is not defined." + hint, name.location)
      return
    }
    guard base.kindName == definition.kindName else {
      report("Cannot extend non-\(definition.kindName) type '\(name.value)'.", definition.location)
      return
    }
    parts[name.value]?.append(definition)
  }

  private mutating func addBuiltIn(_ definition: TypeSystemDefinition) {
    if case .directive(let directive) = definition {
      guard directives[directive.name.value] == nil else { return }
      directives[directive.name.value] = directive
      directiveNames.append(directive.name.value)
    } else if let name = definition.name?.value, types[name] == nil {
      types[name] = merged([definition])
    }
  }

  // MARK: - Merging

  /// The type that a definition and its extensions make.
  private mutating func merged(_ parts: [TypeSystemDefinition]) -> SchemaType? {
    guard let first = parts.first, let name = first.name?.value else { return nil }
    let description = first.description?.value
    let directives = parts.flatMap(\.directives)
    switch first {
    case .scalar:
      return .scalar(ScalarType(name: name, description: description, directives: directives))
    case .object, .interface:
      let fields = parts.flatMap(\.fieldDefinitions)
      checkUnique(fields, tolerating: FieldDefinition.haveSameSignature) { "Field '\(name).\($0)'" }
      for field in fields where field.arguments.count > 1 {
        checkUnique(field.arguments) { "Argument '\(name).\(field.name.value)(\($0):)'" }
      }
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
      checkUnique(values) { "Enum value '\(name).\($0)'" }
      return .enumeration(
        EnumType(
          name: name, description: description, directives: directives, values: NamedList(values)))
    case .inputObject:
      let fields = parts.flatMap(\.inputFields)
      checkUnique(fields) { "Field '\(name).\($0)'" }
      return .inputObject(
        InputObjectType(
          name: name, description: description, directives: directives, fields: NamedList(fields)))
    case .schema, .directive:
      return nil
    }
  }

  /// Reports names that stand twice; only warns of those whose definitions are tolerated.
  private mutating func checkUnique<Element: NamedDefinition>(
    _ elements: [Element], tolerating isTolerated: (Element, Element) -> Bool = { _, _ in false },
    _ what: (String) -> String
  ) {
    guard elements.count > 1 else { return }
    var seen: [String: Int] = [:]
    seen.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      guard let first = seen.updateValue(index, forKey: element.name.value) else { continue }
      let message = "\(what(element.name.value)) can only be defined once."
      if !isTolerated(elements[first], element) {
        report(message, element.name.location)
      } else if warnings.count < 100 {
        warnings.append(SchemaError.Issue(message: message, location: element.name.location))
      }
    }
  }
}

extension BuiltIns {
  private static let introspectionNames = Set(
    definitions.compactMap(\.name?.value).filter { $0.hasPrefix("__") })

  static func isIntrospection(_ name: String) -> Bool { introspectionNames.contains(name) }
}

extension FieldDefinition {
  /// Whether both have the same type and the same arguments, in the same order.
  fileprivate static func haveSameSignature(_ a: FieldDefinition, _ b: FieldDefinition) -> Bool {
    a.type.isSameType(as: b.type) && a.arguments.count == b.arguments.count
      && zip(a.arguments, b.arguments).allSatisfy { first, second in
        first.name.value == second.name.value && first.type.isSameType(as: second.type)
          && first.defaultValue?.printed() == second.defaultValue?.printed()
      }
  }
}

extension TypeSystemDefinition {
  /// The kind as messages name it.
  var kindName: String {
    switch self {
    case .schema: "schema"
    case .scalar: "scalar"
    case .object: "object"
    case .interface: "interface"
    case .union: "union"
    case .enumeration: "enum"
    case .inputObject: "input object"
    case .directive: "directive"
    }
  }

  fileprivate var fieldDefinitions: [FieldDefinition] {
    switch self {
    case .object(let object): object.fields
    case .interface(let interface): interface.fields
    default: []
    }
  }

  fileprivate var interfaces: [Name] {
    switch self {
    case .object(let object): object.interfaces
    case .interface(let interface): interface.interfaces
    default: []
    }
  }

  fileprivate var memberTypes: [Name] {
    if case .union(let union) = self { union.types } else { [] }
  }

  fileprivate var enumValues: [EnumValueDefinition] {
    if case .enumeration(let enumeration) = self { enumeration.values } else { [] }
  }

  fileprivate var inputFields: [InputValueDefinition] {
    if case .inputObject(let input) = self { input.fields } else { [] }
  }
}
