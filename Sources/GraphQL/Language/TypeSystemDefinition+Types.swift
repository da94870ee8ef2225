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
