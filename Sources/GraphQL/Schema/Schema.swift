/// A type system: the operations that a server supports and the types of their results.
///
/// Every schema contains the standard scalars and directives and the introspection types. Lookups
/// take constant time.
///
/// https://spec.graphql.org/September2025/#sec-Schema
public struct Schema: Sendable {
  /// The description; `nil` if there is none.
  public let description: String?
  /// The directives applied to the schema definition.
  public let directives: [Directive]
  /// Harmless problems of the document: a repeated definition (the first is used), an invalid
  /// default value (removed), or one type as the root of several operation types.
  public internal(set) var warnings: [SchemaError.Issue]
  /// The names of the document's types in source order, without the standard ones.
  public let typeNames: [String]

  var types: [String: SchemaType]
  /// The definition and extensions of each type, in source order; empty for standard types.
  let definitions: [String: [TypeSystemDefinition]]
  /// The schema definition and its extensions, in source order.
  let parts: [SchemaDefinition]
  /// Standard scalars that the schema does not refer to; the reference implementation excludes
  /// them.
  let unreferencedScalars: Set<String>
  var directiveDefinitions: [String: DirectiveDefinition]
  /// The names of all directives: the document's in source order, then the standard ones.
  let directiveNamesInOrder: [String]
  let rootTypeNames: [OperationType: String]
  /// The possible object types of each interface and union, in source order.
  let possible: [String: [String]]
  /// The object types and interfaces that implement each interface or belong to each union.
  let subtypes: [String: Set<String>]

  /// The type with that name, standard types included; `nil` if there is none.
  public func type(named name: String) -> SchemaType? { types[name] }

  /// The directive with that name (without `@`); `nil` if there is none.
  public func directive(named name: String) -> DirectiveDefinition? { directiveDefinitions[name] }

  /// The names of all directives, in alphabetical order.
  public var directiveNames: [String] { directiveDefinitions.keys.sorted() }

  /// The root operation type; `nil` if the schema does not support that type of operation.
  public func rootType(for operation: OperationType) -> ObjectType? {
    guard let name = rootTypeNames[operation], case .object(let type) = types[name] else {
      return nil
    }
    return type
  }

  /// The names of the possible object types: those that implement the interface or belong to the
  /// union, in source order; an object type's own name.
  public func possibleTypes(of name: String) -> [String] {
    if case .object = types[name] { return [name] }
    return possible[name] ?? []
  }

  /// Whether `name` is a subtype of `supertype`: the same type, an implementation or a member of
  /// it.
  public func isSubtype(_ name: String, of supertype: String) -> Bool {
    name == supertype || subtypes[supertype]?.contains(name) == true
  }

  /// Whether an object type exists that is possible for both types.
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

  /// The field with that name on a type, including `__typename` on composite types and `__schema`
  /// and `__type` on the query root.
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

  /// The names of the standard scalars.
  public static let builtInScalars: Set<String> = ["Int", "Float", "String", "Boolean", "ID"]
}
