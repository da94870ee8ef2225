extension Schema {
  /// The schema in the schema definition language, in the layout of graphql-core's `print_schema`,
  /// without a trailing newline.
  ///
  /// Extensions are merged into their types. Of the applied directives, only the standard ones are
  /// printed (`@deprecated`, `@specifiedBy`, `@oneOf`), as in introspection.
  public func printed() -> String {
    let directives = directiveNamesInOrder.filter { BuiltIns.directives[$0] == nil }
      .compactMap { directiveDefinitions[$0].map(TypeSystemDefinition.directive) }
    let types = typeNames.filter { !BuiltIns.typeNames.contains($0) }
      .compactMap { self.types[$0]?.definition }
    let definitions = (schemaDefinition.map { [.schema($0)] } ?? []) + directives + types
    return Printer.print(self) { printer in
      printer.document(Document(definitions: definitions.map(Definition.typeSystem)))
    }
  }

  /// The schema definition; `nil` if the root types have their default names.
  private var schemaDefinition: SchemaDefinition? {
    let roots = OperationType.allCases.compactMap { operation in
      rootType(for: operation).map { type in
        OperationTypeDefinition(
          operation: operation, type: Name(type.name, at: .generated), location: .generated)
      }
    }
    let isUsual = roots.allSatisfy { $0.operation.defaultRootName == $0.type.value }
    if description == nil, isUsual { return nil }
    return SchemaDefinition(
      description: description.map { StringValue($0, at: .generated) }, operationTypes: roots,
      location: .generated)
  }
}

extension SchemaType {
  /// A definition of the type with its extensions.
  fileprivate var definition: TypeSystemDefinition {
    let name = Name(self.name, at: .generated)
    let description = self.description.map { StringValue($0, at: .generated) }
    return switch self {
    case .scalar(let type):
      .scalar(
        ScalarTypeDefinition(
          description: description, name: name, directives: type.directives, location: .generated))
    case .object(let type):
      .object(
        ObjectTypeDefinition(
          description: description, name: name, interfaces: type.interfaces,
          directives: type.directives, fields: Array(type.fields), location: .generated))
    case .interface(let type):
      .interface(
        InterfaceTypeDefinition(
          description: description, name: name, interfaces: type.interfaces,
          directives: type.directives, fields: Array(type.fields), location: .generated))
    case .union(let type):
      .union(
        UnionTypeDefinition(
          description: description, name: name, directives: type.directives, types: type.types,
          location: .generated))
    case .enumeration(let type):
      .enumeration(
        EnumTypeDefinition(
          description: description, name: name, directives: type.directives,
          values: Array(type.values), location: .generated))
    case .inputObject(let type):
      .inputObject(
        InputObjectTypeDefinition(
          description: description, name: name, directives: type.directives,
          fields: Array(type.fields), location: .generated))
    }
  }
}

extension [Directive] {
  /// The standard directives, with only the arguments that introspection represents.
  var standard: [Directive] {
    compactMap { directive in
      switch directive.name.value {
      case "deprecated":
        deprecationReason.map { reason in
          Directive(
            "deprecated", reason == Self.defaultDeprecationReason ? [:] : ["reason": reason])
        }
      case "specifiedBy": directive.text(of: "url").map { Directive("specifiedBy", ["url": $0]) }
      case "oneOf": Directive("oneOf")
      default: nil
      }
    }
  }
}

extension Directive {
  /// Creates a directive with arguments that are strings.
  init(_ name: String, _ arguments: [String: String] = [:]) {
    self.init(
      name: Name(name, at: .generated),
      arguments: arguments.map { key, text in
        Argument(
          name: Name(key, at: .generated), value: .string(StringValue(text, at: .generated)),
          location: .generated)
      },
      location: .generated)
  }

  /// The value of an argument; `nil` if there is none.
  package func value(of argument: String) -> Value? {
    arguments.first { $0.name.value == argument }?.value
  }

  /// The text of an argument; `nil` if there is none, or its value is not a string.
  package func text(of argument: String) -> String? {
    guard case .string(let text)? = value(of: argument) else { return nil }
    return text.value
  }
}
