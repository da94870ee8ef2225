/// A parsed GraphQL document: its definitions in source order.
///
/// https://spec.graphql.org/September2025/#sec-Document
public struct Document: Sendable, Hashable {
  public var definitions: [Definition]

  public init(definitions: [Definition]) {
    self.definitions = definitions
  }

  /// The operations of the document, in source order.
  public var operations: [OperationDefinition] {
    definitions.compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
  }

  /// The fragments of the document, in source order.
  public var fragments: [FragmentDefinition] {
    definitions.compactMap { if case .fragment(let fragment) = $0 { fragment } else { nil } }
  }
}

/// One top-level definition.
public enum Definition: Sendable, Hashable {
  case operation(OperationDefinition)
  case fragment(FragmentDefinition)
  case typeSystem(TypeSystemDefinition)
}

public enum OperationType: String, Sendable, Hashable, CaseIterable {
  case query, mutation, subscription
}

/// A name with the place where it stands.
public struct Name: Sendable, Hashable {
  public var value: String
  public var location: SourceLocation

  public init(_ value: String, at location: SourceLocation) {
    self.value = value
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Language.Operations
public struct OperationDefinition: Sendable, Hashable {
  public var description: StringValue?
  public var type: OperationType
  /// `nil` for an anonymous operation.
  public var name: Name?
  public var variables: [VariableDefinition]
  public var directives: [Directive]
  public var selectionSet: SelectionSet
  /// Whether the operation is written in the short form `{ … }`.
  public var isShorthand: Bool
  public var location: SourceLocation

  public init(
    description: StringValue? = nil, type: OperationType, name: Name?,
    variables: [VariableDefinition], directives: [Directive], selectionSet: SelectionSet,
    isShorthand: Bool = false, location: SourceLocation
  ) {
    self.description = description
    self.type = type
    self.name = name
    self.variables = variables
    self.directives = directives
    self.selectionSet = selectionSet
    self.isShorthand = isShorthand
    self.location = location
  }
}

public struct VariableDefinition: Sendable, Hashable {
  public var description: StringValue?
  /// The name without `$`; its location is that of the `$`.
  public var name: Name
  public var type: TypeReference
  public var defaultValue: Value?
  public var directives: [Directive]
  public var location: SourceLocation

  public init(
    description: StringValue? = nil, name: Name, type: TypeReference, defaultValue: Value?,
    directives: [Directive], location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.directives = directives
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Type-References
public indirect enum TypeReference: Sendable, Hashable {
  case named(Name)
  case list(TypeReference, SourceLocation)
  /// The wrapped reference is never itself non-null.
  case nonNull(TypeReference)
}

public struct FragmentDefinition: Sendable, Hashable {
  public var description: StringValue?
  public var name: Name
  public var typeCondition: Name
  public var directives: [Directive]
  public var selectionSet: SelectionSet
  public var location: SourceLocation

  public init(
    description: StringValue? = nil, name: Name, typeCondition: Name, directives: [Directive],
    selectionSet: SelectionSet, location: SourceLocation
  ) {
    self.description = description
    self.name = name
    self.typeCondition = typeCondition
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }
}

/// https://spec.graphql.org/September2025/#sec-Selection-Sets
public struct SelectionSet: Sendable, Hashable {
  public var selections: [Selection]
  public var location: SourceLocation

  public init(selections: [Selection], location: SourceLocation) {
    self.selections = selections
    self.location = location
  }
}

public indirect enum Selection: Sendable, Hashable {
  case field(Field)
  case fragmentSpread(FragmentSpread)
  case inlineFragment(InlineFragment)
}

public struct Field: Sendable, Hashable {
  public var alias: Name?
  public var name: Name
  public var arguments: [Argument]
  public var directives: [Directive]
  public var selectionSet: SelectionSet?
  public var location: SourceLocation

  public init(
    alias: Name? = nil, name: Name, arguments: [Argument] = [], directives: [Directive] = [],
    selectionSet: SelectionSet? = nil, location: SourceLocation
  ) {
    self.alias = alias
    self.name = name
    self.arguments = arguments
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }

  /// The key under which the field's value stands in a response: its alias, else its name.
  public var responseKey: String { alias?.value ?? name.value }
}

public struct FragmentSpread: Sendable, Hashable {
  public var name: Name
  public var directives: [Directive]
  public var location: SourceLocation

  public init(name: Name, directives: [Directive], location: SourceLocation) {
    self.name = name
    self.directives = directives
    self.location = location
  }
}

public struct InlineFragment: Sendable, Hashable {
  public var typeCondition: Name?
  public var directives: [Directive]
  public var selectionSet: SelectionSet
  public var location: SourceLocation

  public init(
    typeCondition: Name?, directives: [Directive], selectionSet: SelectionSet,
    location: SourceLocation
  ) {
    self.typeCondition = typeCondition
    self.directives = directives
    self.selectionSet = selectionSet
    self.location = location
  }
}

public struct Directive: Sendable, Hashable {
  /// The name without `@`.
  public var name: Name
  public var arguments: [Argument]
  public var location: SourceLocation

  public init(name: Name, arguments: [Argument] = [], location: SourceLocation) {
    self.name = name
    self.arguments = arguments
    self.location = location
  }
}

public struct Argument: Sendable, Hashable {
  public var name: Name
  public var value: Value
  public var location: SourceLocation

  public init(name: Name, value: Value, location: SourceLocation) {
    self.name = name
    self.value = value
    self.location = location
  }
}

/// An input value literal or a variable.
///
/// https://spec.graphql.org/September2025/#sec-Input-Values
public indirect enum Value: Sendable, Hashable {
  case variable(Name)
  /// The literal's text, so that integers of any size stay exact.
  case int(String, SourceLocation)
  /// The literal's text, so that decimals stay exact.
  case float(String, SourceLocation)
  case string(StringValue)
  case boolean(Bool, SourceLocation)
  case null(SourceLocation)
  case enumeration(Name)
  case list([Value], SourceLocation)
  case object([ObjectField], SourceLocation)
}

/// A string literal: the value it denotes, and how it was written.
public struct StringValue: Sendable, Hashable {
  /// The text after escapes and block-string indentation are resolved.
  public var value: String
  /// Whether it was written as a block string (`"""`).
  public var isBlock: Bool
  public var location: SourceLocation

  public init(_ value: String, isBlock: Bool = false, at location: SourceLocation) {
    self.value = value
    self.isBlock = isBlock
    self.location = location
  }
}

public struct ObjectField: Sendable, Hashable {
  public var name: Name
  public var value: Value
  public var location: SourceLocation

  public init(name: Name, value: Value, location: SourceLocation) {
    self.name = name
    self.value = value
    self.location = location
  }
}
