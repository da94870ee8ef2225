/// A named type of a schema, its extensions merged.
///
/// https://spec.graphql.org/September2025/#sec-Types
public enum SchemaType: Sendable, Hashable {
  case scalar(ScalarType)
  case object(ObjectType)
  case interface(InterfaceType)
  case union(UnionType)
  case enumeration(EnumType)
  case inputObject(InputObjectType)

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

  /// The fields of an object or interface; `nil` for other types.
  public var fields: NamedList<FieldDefinition>? {
    switch self {
    case .object(let type): type.fields
    case .interface(let type): type.fields
    case .scalar, .union, .enumeration, .inputObject: nil
    }
  }

  /// The interfaces an object or interface declares; none for other types.
  public var interfaces: [Name] {
    switch self {
    case .object(let type): type.interfaces
    case .interface(let type): type.interfaces
    case .scalar, .union, .enumeration, .inputObject: []
    }
  }

  /// Whether it is a scalar or an enum: its values have no selection set.
  public var isLeaf: Bool {
    switch self {
    case .scalar, .enumeration: true
    case .object, .interface, .union, .inputObject: false
    }
  }

  /// Whether it is an object, interface or union: its values need a selection set.
  public var isComposite: Bool {
    switch self {
    case .object, .interface, .union: true
    case .scalar, .enumeration, .inputObject: false
    }
  }

  /// Whether it is an interface or union: an object type stands in for it in responses.
  public var isAbstract: Bool {
    switch self {
    case .interface, .union: true
    case .scalar, .object, .enumeration, .inputObject: false
    }
  }

  /// Whether arguments and variables may have it. https://spec.graphql.org/September2025/#IsInputType()
  public var isInput: Bool {
    switch self {
    case .scalar, .enumeration, .inputObject: true
    case .object, .interface, .union: false
    }
  }

  /// Whether fields may have it. https://spec.graphql.org/September2025/#IsOutputType()
  public var isOutput: Bool {
    if case .inputObject = self { false } else { true }
  }
}

public struct ScalarType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  /// One of `Int`, `Float`, `String`, `Boolean`, `ID`.
  public var isBuiltIn: Bool { Schema.builtInScalars.contains(name) }
}

public struct ObjectType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  public let interfaces: [Name]
  public internal(set) var fields: NamedList<FieldDefinition>
}

public struct InterfaceType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  public let interfaces: [Name]
  public internal(set) var fields: NamedList<FieldDefinition>
}

public struct UnionType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  /// Its member object types.
  public let types: [Name]
}

public struct EnumType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  public let values: NamedList<EnumValueDefinition>
}

public struct InputObjectType: Sendable, Hashable {
  public let name: String
  public let description: String?
  public let directives: [Directive]
  public internal(set) var fields: NamedList<InputValueDefinition>
  /// Whether exactly one field must be given. https://spec.graphql.org/September2025/#sec-OneOf-Input-Objects
  public var isOneOf: Bool { directives.contains { $0.name.value == "oneOf" } }
}
