/// A type system: what a server can be asked, and of what shape its answers are.
///
/// Every schema also has the built-in scalars and directives and the introspection types. All
/// look-ups take constant time.
///
/// https://spec.graphql.org/September2025/#sec-Schema
public struct Schema: Sendable {
  public let description: String?
  /// The directives applied to the schema itself.
  public let directives: [Directive]
  /// What was wrong with the document, but harmless: of two equal definitions the first counts, a
  /// default value that its type does not allow is left out, root types may be the same.
  public internal(set) var warnings: [SchemaError.Issue]
  /// The names of the types the document defines, in source order, built-in ones left out.
  public let typeNames: [String]

  var types: [String: SchemaType]
  /// By type: its definition, then its extensions, in source order; built-in types have none.
  let definitions: [String: [TypeSystemDefinition]]
  /// The schema definition and its extensions, in source order.
  let parts: [SchemaDefinition]
  /// Standard scalars that nothing in the schema uses. The reference implementation does not know
  /// them.
  let unreferencedScalars: Set<String>
  var directiveDefinitions: [String: DirectiveDefinition]
  /// The names of all directives: those of the document in source order, then standard ones.
  let directiveNamesInOrder: [String]
  let rootTypeNames: [OperationType: String]
  /// By interface or union: the object types that can stand in for it, in source order.
  let possible: [String: [String]]
  /// By interface or union: the objects and interfaces that implement or belong to it.
  let subtypes: [String: Set<String>]

  public func type(named name: String) -> SchemaType? { types[name] }

  /// The definition of the directive of that name, which is without `@`.
  public func directive(named name: String) -> DirectiveDefinition? { directiveDefinitions[name] }

  /// The names of all directives, in alphabetical order.
  public var directiveNames: [String] { directiveDefinitions.keys.sorted() }

  /// The object type whose fields an operation selects from; `nil` when the schema does not
  /// support operations of that type.
  public func rootType(for operation: OperationType) -> ObjectType? {
    guard let name = rootTypeNames[operation], case .object(let type) = types[name] else {
      return nil
    }
    return type
  }

  /// The names of the object types that a value of the type may have: those that implement the
  /// interface or belong to the union, in source order; for an object type itself.
  public func possibleTypes(of name: String) -> [String] {
    if case .object = types[name] { return [name] }
    return possible[name] ?? []
  }

  /// Whether every value of the type `name` is one of the type `supertype`: they are the same, or
  /// the first implements or belongs to the second.
  public func isSubtype(_ name: String, of supertype: String) -> Bool {
    name == supertype || subtypes[supertype]?.contains(name) == true
  }

  /// Whether some object type can stand in for both types.
  public func doTypesOverlap(_ first: String, _ second: String) -> Bool {
    if first == second { return true }
    switch (possible[first], possible[second]) {
    case (nil, nil): return false
    case (_?, nil): return isSubtype(second, of: first)
    case (nil, _?): return isSubtype(first, of: second)
    case (let few?, let many?):
      let (shorter, longer) = few.count <= many.count ? (few, second) : (many, first)
      return shorter.contains { isSubtype($0, of: longer) }
    }
  }

  /// The field of that name on a type, `__typename` on composite types and `__schema` and
  /// `__type` on the query root included.
  public func field(_ name: String, on typeName: String) -> FieldDefinition? {
    guard let type = types[typeName] else { return nil }
    if let field = type.fields?[name] { return field }
    switch name {
    case "__typename": return type.isComposite ? BuiltIns.typenameField : nil
    case "__schema": return rootTypeNames[.query] == typeName ? BuiltIns.schemaField : nil
    case "__type": return rootTypeNames[.query] == typeName ? BuiltIns.typeField : nil
    default: return nil
    }
  }

  /// The names of the scalars every schema has.
  public static let builtInScalars: Set<String> = ["Int", "Float", "String", "Boolean", "ID"]
}
