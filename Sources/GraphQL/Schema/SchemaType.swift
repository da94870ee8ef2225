/// A named type of a schema, with its extensions merged.
///
/// https://spec.graphql.org/September2025/#sec-Types
public enum SchemaType: Sendable, Hashable {
  /// A scalar type.
  case scalar(ScalarType)
  /// An object type.
  case object(ObjectType)
  /// An interface type.
  case interface(InterfaceType)
  /// A union type.
  case union(UnionType)
  /// An enum type.
  case enumeration(EnumType)
  /// An input object type.
  case inputObject(InputObjectType)

  /// The name.
  public var name: String {
    switch self {
    case .scalar(let type): type.name
    case .object(let type): type.name
    case .interface(let type): type.name
    case .union(let type): type.name
    case .enumeration(let type): type.name
    case .inputObject(let type): type.name
    }
  }

  /// The description; `nil` if there is none.
  public var description: String? {
    switch self {
    case .scalar(let type): type.description
    case .object(let type): type.description
    case .interface(let type): type.description
    case .union(let type): type.description
    case .enumeration(let type): type.description
    case .inputObject(let type): type.description
    }
  }

  /// The directives applied to the type and its extensions.
  public var directives: [Directive] {
    switch self {
    case .scalar(let type): type.directives
    case .object(let type): type.directives
    case .interface(let type): type.directives
    case .union(let type): type.directives
    case .enumeration(let type): type.directives
    case .inputObject(let type): type.directives
    }
  }

  /// The fields of an object or interface type; `nil` for other types.
  public var fields: NamedList<FieldDefinition>? {
    switch self {
    case .object(let type): type.fields
    case .interface(let type): type.fields
    case .scalar, .union, .enumeration, .inputObject: nil
    }
  }

  /// The interfaces that an object or interface type implements; empty for other types.
  public var interfaces: [Name] {
    switch self {
    case .object(let type): type.interfaces
    case .interface(let type): type.interfaces
    case .scalar, .union, .enumeration, .inputObject: []
    }
  }

  /// Where directives are applied to its definition, which is its kind.
  var directiveLocation: DirectiveLocation {
    switch self {
    case .scalar: .scalar
    case .object: .object
    case .interface: .interface
    case .union: .union
    case .enumeration: .enumeration
    case .inputObject: .inputObject
    }
  }

  /// Whether it is a scalar or enum type, whose values have no selection set.
  public var isLeaf: Bool {
    switch self {
    case .scalar, .enumeration: true
    case .object, .interface, .union, .inputObject: false
    }
  }

  /// Whether it is an object, interface or union type, whose values require a selection set.
  public var isComposite: Bool {
    switch self {
    case .object, .interface, .union: true
    case .scalar, .enumeration, .inputObject: false
    }
  }

  /// Whether it is an interface or union type, whose values are of one of several object types.
  public var isAbstract: Bool {
    switch self {
    case .interface, .union: true
    case .scalar, .object, .enumeration, .inputObject: false
    }
  }

  /// Whether arguments and variables can have the type.
  /// https://spec.graphql.org/September2025/#IsInputType()
  public var isInput: Bool {
    switch self {
    case .scalar, .enumeration, .inputObject: true
    case .object, .interface, .union: false
    }
  }

  /// Whether fields can have the type. https://spec.graphql.org/September2025/#IsOutputType()
  public var isOutput: Bool {
    if case .inputObject = self { false } else { true }
  }
}

/// A scalar type.
public struct ScalarType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// Whether it is a standard scalar: `Int`, `Float`, `String`, `Boolean` or `ID`.
  public var isBuiltIn: Bool { Schema.builtInScalars.contains(name) }
}

/// An object type.
public struct ObjectType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// The names of the interfaces it implements, in source order.
  public let interfaces: [Name]
  /// The fields, in source order.
  public internal(set) var fields: NamedList<FieldDefinition>
}

/// An interface type.
public struct InterfaceType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// The names of the interfaces it implements, in source order.
  public let interfaces: [Name]
  /// The fields, in source order.
  public internal(set) var fields: NamedList<FieldDefinition>
}

/// A union type.
public struct UnionType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// The names of the member object types, in source order.
  public let types: [Name]
}

/// An enum type.
public struct EnumType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// The values, in source order.
  public let values: NamedList<EnumValueDefinition>
}

/// An input object type.
public struct InputObjectType: Sendable, Hashable {
  /// The name.
  public let name: String
  /// The description; `nil` if there is none.
  public let description: String?
  /// The applied directives, in source order.
  public let directives: [Directive]
  /// The input fields, in source order.
  public internal(set) var fields: NamedList<InputValueDefinition>
  /// Whether values have exactly one field.
  /// https://spec.graphql.org/September2025/#sec-OneOf-Input-Objects
  public var isOneOf: Bool { directives.contains { $0.name.value == "oneOf" } }
}
