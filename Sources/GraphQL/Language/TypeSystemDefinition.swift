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
  public var description: StringValue? { shared.description }

  /// The directives applied to the definition, in source order.
  public var directives: [Directive] { shared.directives }

  /// Whether it is an extension (`extend …`).
  public var isExtension: Bool { shared.isExtension }

  /// The source location of its first token: the description, if it has one.
  public var location: SourceLocation { shared.location }

  private typealias Shared = (
    description: StringValue?, directives: [Directive], isExtension: Bool, location: SourceLocation
  )

  /// What the definitions of all kinds have.
  private var shared: Shared {
    switch self {
    case .schema(let one): (one.description, one.directives, one.isExtension, one.location)
    case .scalar(let one): (one.description, one.directives, one.isExtension, one.location)
    case .object(let one): (one.description, one.directives, one.isExtension, one.location)
    case .interface(let one): (one.description, one.directives, one.isExtension, one.location)
    case .union(let one): (one.description, one.directives, one.isExtension, one.location)
    case .enumeration(let one): (one.description, one.directives, one.isExtension, one.location)
    case .inputObject(let one): (one.description, one.directives, one.isExtension, one.location)
    case .directive(let one): (one.description, one.directives, one.isExtension, one.location)
    }
  }
}

/// The parts of definitions of one kind; empty for definitions of other kinds.
extension TypeSystemDefinition {
  /// Where directives are applied to it, which is its kind.
  var directiveLocation: DirectiveLocation {
    switch self {
    case .schema: .schema
    case .scalar: .scalar
    case .object: .object
    case .interface: .interface
    case .union: .union
    case .enumeration: .enumeration
    case .inputObject: .inputObject
    case .directive: .directiveDefinition
    }
  }

  var operationTypes: [OperationTypeDefinition] {
    if case .schema(let schema) = self { schema.operationTypes } else { [] }
  }

  var fieldDefinitions: [FieldDefinition] {
    switch self {
    case .object(let object): object.fields
    case .interface(let interface): interface.fields
    default: []
    }
  }

  var interfaces: [Name] {
    switch self {
    case .object(let object): object.interfaces
    case .interface(let interface): interface.interfaces
    default: []
    }
  }

  var memberTypes: [Name] {
    if case .union(let union) = self { union.types } else { [] }
  }

  var enumValues: [EnumValueDefinition] {
    if case .enumeration(let enumeration) = self { enumeration.values } else { [] }
  }

  var inputFields: [InputValueDefinition] {
    if case .inputObject(let input) = self { input.fields } else { [] }
  }

  /// The arguments of a directive definition.
  var arguments: [InputValueDefinition] {
    if case .directive(let directive) = self { directive.arguments } else { [] }
  }
}

/// The root operation types of a schema.
///
/// https://spec.graphql.org/September2025/#sec-Schema
public struct SchemaDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The root operation types, in source order.
  public var operationTypes: [OperationTypeDefinition]
  /// Whether it is an extension (`extend schema`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a schema definition or extension.
  public init(
    description: StringValue? = nil, directives: [Directive] = [],
    operationTypes: [OperationTypeDefinition] = [], isExtension: Bool = false,
    location: SourceLocation
  ) {
    self.description = description
    self.directives = directives
    self.operationTypes = operationTypes
    self.isExtension = isExtension
    self.location = location
  }
}

/// The root type of one type of operation.
public struct OperationTypeDefinition: Sendable, Hashable {
  /// The type of operation.
  public var operation: OperationType
  /// The name of the root type.
  public var type: Name
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a root operation type definition.
  public init(
    operation: OperationType, type: Name, location: SourceLocation
  ) {
    self.operation = operation
    self.type = type
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Scalars
public struct ScalarTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// Whether it is an extension (`extend scalar`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a scalar type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, directives: [Directive] = [],
    isExtension: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.directives = directives
    self.isExtension = isExtension
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Objects
public struct ObjectTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The names of the interfaces it implements, in source order.
  public var interfaces: [Name]
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The fields, in source order.
  public var fields: [FieldDefinition]
  /// Whether it is an extension (`extend type`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an object type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, interfaces: [Name] = [],
    directives: [Directive] = [], fields: [FieldDefinition] = [], isExtension: Bool = false,
    location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.interfaces = interfaces
    self.directives = directives
    self.fields = fields
    self.isExtension = isExtension
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Interfaces
public struct InterfaceTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The names of the interfaces it implements, in source order.
  public var interfaces: [Name]
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The fields, in source order.
  public var fields: [FieldDefinition]
  /// Whether it is an extension (`extend interface`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an interface type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, interfaces: [Name] = [],
    directives: [Directive] = [], fields: [FieldDefinition] = [], isExtension: Bool = false,
    location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.interfaces = interfaces
    self.directives = directives
    self.fields = fields
    self.isExtension = isExtension
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Unions
public struct UnionTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The names of the member types, in source order.
  public var types: [Name]
  /// Whether it is an extension (`extend union`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a union type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, directives: [Directive] = [], types: [Name] = [],
    isExtension: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.directives = directives
    self.types = types
    self.isExtension = isExtension
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Enums
public struct EnumTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The values, in source order.
  public var values: [EnumValueDefinition]
  /// Whether it is an extension (`extend enum`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an enum type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, directives: [Directive] = [],
    values: [EnumValueDefinition] = [], isExtension: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.directives = directives
    self.values = values
    self.isExtension = isExtension
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Input-Objects
public struct InputObjectTypeDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The input fields, in source order.
  public var fields: [InputValueDefinition]
  /// Whether it is an extension (`extend input`); an extension has no description.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an input object type definition or extension.
  public init(
    description: StringValue? = nil, name: Name, directives: [Directive] = [],
    fields: [InputValueDefinition] = [], isExtension: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.directives = directives
    self.fields = fields
    self.isExtension = isExtension
    self.location = location
  }
}

/// A field of an object or interface type.
///
/// https://spec.graphql.org/September2025/#FieldDefinition
public struct FieldDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The arguments, in source order.
  public var arguments: [InputValueDefinition]
  /// The declared type.
  public var type: TypeReference
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a field definition.
  public init(
    description: StringValue? = nil, name: Name, arguments: [InputValueDefinition] = [],
    type: TypeReference, directives: [Directive] = [], location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.arguments = arguments
    self.type = type
    self.directives = directives
    self.location = location
  }
}

/// An argument of a field or directive, or a field of an input object type.
///
/// https://spec.graphql.org/September2025/#InputValueDefinition
public struct InputValueDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The declared type.
  public var type: TypeReference
  /// The default value; `nil` if there is none.
  public var defaultValue: Value?
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an argument or input field definition.
  public init(
    description: StringValue? = nil, name: Name, type: TypeReference, defaultValue: Value? = nil,
    directives: [Directive] = [], location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.directives = directives
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#EnumValueDefinition
public struct EnumValueDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name.
  public var name: Name
  /// The applied directives, in source order.
  public var directives: [Directive]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates an enum value definition.
  public init(
    description: StringValue? = nil, name: Name, directives: [Directive] = [],
    location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.directives = directives
    self.location = location
  }
}

/// The definition of a directive, or an extension of it, which applies further directives to it.
///
/// https://spec.graphql.org/September2026/#sec-Type-System.Directives
public struct DirectiveDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name without `@`.
  public var name: Name
  /// The arguments, in source order.
  public var arguments: [InputValueDefinition]
  /// The directives applied to the definition, in source order.
  public var directives: [Directive]
  /// Whether the directive may be applied more than once at one location.
  public var isRepeatable: Bool
  /// Where the directive may be applied, in source order; empty for an extension.
  public var locations: [DirectiveLocation]
  /// Whether it is an extension (`extend directive`), which has only a name and directives.
  public var isExtension: Bool
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a directive definition or extension.
  public init(
    description: StringValue? = nil, name: Name, arguments: [InputValueDefinition] = [],
    directives: [Directive] = [], isRepeatable: Bool = false,
    locations: [DirectiveLocation] = [], isExtension: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.arguments = arguments
    self.directives = directives
    self.isRepeatable = isRepeatable
    self.locations = locations
    self.isExtension = isExtension
    self.location = location
  }
}

/// Where a directive may be applied; the raw value is the location's name in the language.
///
/// https://spec.graphql.org/September2025/#DirectiveLocation
public enum DirectiveLocation: String, Sendable, Hashable, CaseIterable {
  /// A query.
  case query = "QUERY"
  /// A mutation.
  case mutation = "MUTATION"
  /// A subscription.
  case subscription = "SUBSCRIPTION"
  /// A field of a selection set.
  case field = "FIELD"
  /// A fragment definition.
  case fragmentDefinition = "FRAGMENT_DEFINITION"
  /// A fragment spread.
  case fragmentSpread = "FRAGMENT_SPREAD"
  /// An inline fragment.
  case inlineFragment = "INLINE_FRAGMENT"
  /// A variable definition of an operation.
  case variableDefinition = "VARIABLE_DEFINITION"

  /// A schema definition.
  case schema = "SCHEMA"
  /// A scalar type.
  case scalar = "SCALAR"
  /// An object type.
  case object = "OBJECT"
  /// A field of an object or interface type.
  case fieldDefinition = "FIELD_DEFINITION"
  /// An argument of a field or directive.
  case argumentDefinition = "ARGUMENT_DEFINITION"
  /// An interface type.
  case interface = "INTERFACE"
  /// A union type.
  case union = "UNION"
  /// An enum type.
  case enumeration = "ENUM"
  /// A value of an enum type.
  case enumValue = "ENUM_VALUE"
  /// An input object type.
  case inputObject = "INPUT_OBJECT"
  /// A field of an input object type.
  case inputFieldDefinition = "INPUT_FIELD_DEFINITION"
  /// A directive definition.
  case directiveDefinition = "DIRECTIVE_DEFINITION"
}

extension DirectiveLocation {
  /// The location as error messages show it: `input object`.
  var title: String { rawValue.lowercased().split(separator: "_").joined(separator: " ") }
}
