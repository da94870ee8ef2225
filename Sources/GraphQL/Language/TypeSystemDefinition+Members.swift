/// A field of an object or interface type.
///
/// https://spec.graphql.org/September2025/#FieldDefinition
public struct FieldDefinition: Sendable, Hashable {
  public var description: StringValue?
  public var name: Name
  public var arguments: [InputValueDefinition]
  public var type: TypeReference
  public var directives: [Directive]
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var type: TypeReference
  public var defaultValue: Value?
  public var directives: [Directive]
  public var location: SourceLocation

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
  public var description: StringValue?
  public var name: Name
  public var directives: [Directive]
  public var location: SourceLocation

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

/// https://spec.graphql.org/September2025/#sec-Type-System.Directives
public struct DirectiveDefinition: Sendable, Hashable {
  public var description: StringValue?
  /// The name without `@`.
  public var name: Name
  public var arguments: [InputValueDefinition]
  public var isRepeatable: Bool
  /// Where it may stand, in source order.
  public var locations: [DirectiveLocation]
  public var location: SourceLocation

  public init(
    description: StringValue? = nil, name: Name, arguments: [InputValueDefinition] = [],
    isRepeatable: Bool = false, locations: [DirectiveLocation] = [], location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.arguments = arguments
    self.isRepeatable = isRepeatable
    self.locations = locations
    self.location = location
  }
}
