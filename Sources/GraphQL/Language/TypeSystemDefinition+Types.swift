/// The root operation types of a schema.
///
/// https://spec.graphql.org/September2025/#sec-Schema
public struct SchemaDefinition: Sendable, Hashable {
  public var description: StringValue?
  public var directives: [Directive]
  public var operationTypes: [OperationTypeDefinition]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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

/// Which type is the root of one kind of operation.
public struct OperationTypeDefinition: Sendable, Hashable {
  public var operation: OperationType
  public var type: Name
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var directives: [Directive]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var interfaces: [Name]
  public var directives: [Directive]
  public var fields: [FieldDefinition]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var interfaces: [Name]
  public var directives: [Directive]
  public var fields: [FieldDefinition]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var directives: [Directive]
  public var types: [Name]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var directives: [Directive]
  public var values: [EnumValueDefinition]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var directives: [Directive]
  public var fields: [InputValueDefinition]
  /// Whether it is written with `extend`; then it has no description.
  public var isExtension: Bool
  public var location: SourceLocation

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
