/// A definition or extension of the type system language (SDL).
///
/// https://spec.graphql.org/September2025/#sec-Type-System
public enum TypeSystemDefinition: Sendable, Hashable {
  case schema(SchemaDefinition)
  case scalar(ScalarTypeDefinition)
  case object(ObjectTypeDefinition)
  case interface(InterfaceTypeDefinition)
  case union(UnionTypeDefinition)
  case enumeration(EnumTypeDefinition)
  case inputObject(InputObjectTypeDefinition)
  case directive(DirectiveDefinition)

  /// The name defined or extended; `nil` for `schema`. That of a directive is without `@`.
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

  /// The directives applied to it; none for a directive definition.
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

  /// Whether it is written with `extend` and adds to a definition that stands elsewhere.
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

  /// Where it starts: at its description if it has one.
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
