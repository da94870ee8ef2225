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

/// https://spec.graphql.org/September2025/#sec-Type-System.Directives
public struct DirectiveDefinition: Sendable, Hashable {
  /// The description; `nil` if there is none.
  public var description: StringValue?
  /// The name without `@`.
  public var name: Name
  /// The arguments, in source order.
  public var arguments: [InputValueDefinition]
  /// Whether the directive may be applied more than once at one location.
  public var isRepeatable: Bool
  /// Where the directive may be applied, in source order.
  public var locations: [DirectiveLocation]
  /// The source location of its first token.
  public var location: SourceLocation

  /// Creates a directive definition.
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
