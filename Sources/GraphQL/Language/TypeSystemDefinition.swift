/// A definition or extension of the type system language (SDL).
///
/// https://spec.graphql.org/September2025/#sec-Type-System
public enum TypeSystemDefinition: Sendable, Hashable {
  /// The schema definition, or an extension of it.
  case schema(SchemaDefinition)
  /// A scalar type.
  case scalar(ScalarTypeDefinition)
  /// An object type.
  case object(ObjectTypeDefinition)
  /// An interface type.
  case interface(InterfaceTypeDefinition)
  /// A union type.
  case union(UnionTypeDefinition)
  /// An enum type.
  case enumeration(EnumTypeDefinition)
  /// An input object type.
  case inputObject(InputObjectTypeDefinition)
  /// A directive definition.
  case directive(DirectiveDefinition)

  /// The name that is defined or extended; `nil` for `schema`. The name of a directive has no `@`.
  public var name: Name? {
    switch self {
    case .schema: nil
    case .scalar(let definition): definition.name
    case .object(let definition): definition.name
    case .interface(let definition): definition.name
    case .union(let definition): definition.name
    case .enumeration(let definition): definition.name
    case .inputObject(let definition): definition.name
    case .directive(let definition): definition.name
    }
  }

  /// The description; `nil` if there is none.
  public var description: StringValue? {
    switch self {
    case .schema(let definition): definition.description
    case .scalar(let definition): definition.description
    case .object(let definition): definition.description
    case .interface(let definition): definition.description
    case .union(let definition): definition.description
    case .enumeration(let definition): definition.description
    case .inputObject(let definition): definition.description
    case .directive(let definition): definition.description
    }
  }

  /// The directives applied to the definition; none for a directive definition.
  public var directives: [Directive] {
    switch self {
    case .schema(let definition): definition.directives
    case .scalar(let definition): definition.directives
    case .object(let definition): definition.directives
    case .interface(let definition): definition.directives
    case .union(let definition): definition.directives
    case .enumeration(let definition): definition.directives
    case .inputObject(let definition): definition.directives
    case .directive: []
    }
  }

  /// Whether it is an extension (`extend …`).
  public var isExtension: Bool {
    switch self {
    case .schema(let definition): definition.isExtension
    case .scalar(let definition): definition.isExtension
    case .object(let definition): definition.isExtension
    case .interface(let definition): definition.isExtension
    case .union(let definition): definition.isExtension
    case .enumeration(let definition): definition.isExtension
    case .inputObject(let definition): definition.isExtension
    case .directive: false
    }
  }

  /// The source location of its first token: the description, if it has one.
  public var location: SourceLocation {
    switch self {
    case .schema(let definition): definition.location
    case .scalar(let definition): definition.location
    case .object(let definition): definition.location
    case .interface(let definition): definition.location
    case .union(let definition): definition.location
    case .enumeration(let definition): definition.location
    case .inputObject(let definition): definition.location
    case .directive(let definition): definition.location
    }
  }
}
