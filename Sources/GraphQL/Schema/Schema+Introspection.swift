extension Schema {
  /// Builds a schema from the result of an introspection query: the response, its `data`, or the
  /// value of `__schema`.
  ///
  /// What the query did not ask for, such as descriptions, is missing from the schema; the names
  /// and references must be all there.
  public init(introspection result: IntrospectionValue) throws(SchemaError) {
    var reader = IntrospectionReader()
    let document = reader.document(result)
    guard reader.issues.isEmpty else { throw SchemaError(issues: reader.issues) }
    self = try Schema(sdl: document)
  }
}

/// Turns an introspection result into the type system definitions it stands for.
private struct IntrospectionReader {
  private(set) var issues: [SchemaError.Issue] = []
  private let nowhere = SourceLocation(line: 1, column: 1, offset: 0)

  private mutating func report(_ message: String) {
    if issues.count < 100 { issues.append(SchemaError.Issue(message: message, location: nil)) }
  }

  mutating func document(_ result: IntrospectionValue) -> Document {
    let data = result["data"] ?? result
    let schema = data["__schema"] ?? data
    guard let types = schema["types"]?.list else {
      report(
        "The introspection result has no \"__schema\" with \"types\"; expected the response to an "
          + "introspection query, without errors.")
      return Document(definitions: [])
    }
    var definitions = [TypeSystemDefinition.schema(schemaDefinition(schema))]
    for directive in schema["directives"]?.list ?? [] {
      if let definition = self.directive(directive) { definitions.append(.directive(definition)) }
    }
    for type in types {
      if let definition = self.type(type) { definitions.append(definition) }
    }
    return Document(definitions: definitions.map(Definition.typeSystem))
  }

  // MARK: - Definitions

  private mutating func schemaDefinition(_ schema: IntrospectionValue) -> SchemaDefinition {
    var roots: [OperationTypeDefinition] = []
    for (operation, key) in [
      (OperationType.query, "queryType"), (.mutation, "mutationType"),
      (.subscription, "subscriptionType"),
    ] {
      guard let type = schema[key], let name = name(of: type, "the \(key)") else { continue }
      roots.append(OperationTypeDefinition(operation: operation, type: name, location: nowhere))
    }
    return SchemaDefinition(
      description: description(schema), operationTypes: roots, location: nowhere)
  }

  private mutating func type(_ type: IntrospectionValue) -> TypeSystemDefinition? {
    guard let name = name(of: type, "a type") else { return nil }
    // These every schema has.
    if BuiltIns.typeNames.contains(name.value) { return nil }
    let description = description(type)
    switch type["kind"]?.string {
    case "SCALAR":
      var directives: [Directive] = []
      if let url = type["specifiedByURL"]?.string {
        directives.append(directive("specifiedBy", ["url": url]))
      }
      return .scalar(
        ScalarTypeDefinition(
          description: description, name: name, directives: directives, location: nowhere))
    case "OBJECT":
      return .object(
        ObjectTypeDefinition(
          description: description, name: name, interfaces: names(type["interfaces"], name),
          fields: fields(type["fields"], name), location: nowhere))
    case "INTERFACE":
      return .interface(
        InterfaceTypeDefinition(
          description: description, name: name, interfaces: names(type["interfaces"], name),
          fields: fields(type["fields"], name), location: nowhere))
    case "UNION":
      return .union(
        UnionTypeDefinition(
          description: description, name: name, types: names(type["possibleTypes"], name),
          location: nowhere))
    case "ENUM":
      return .enumeration(
        EnumTypeDefinition(
          description: description, name: name, values: enumValues(type["enumValues"], name),
          location: nowhere))
    case "INPUT_OBJECT":
      return .inputObject(
        InputObjectTypeDefinition(
          description: description, name: name,
          directives: type["isOneOf"]?.boolean == true ? [directive("oneOf")] : [],
          fields: inputValues(type["inputFields"], "input object \(name.value)"),
          location: nowhere))
    case let kind:
      report(
        "The type \(name.value) has the unknown kind \(kind.map { "\"\($0)\"" } ?? "null").")
      return nil
    }
  }

  private mutating func directive(_ value: IntrospectionValue) -> DirectiveDefinition? {
    guard let name = name(of: value, "a directive") else { return nil }
    var locations: [DirectiveLocation] = []
    for location in value["locations"]?.list ?? [] {
      if let known = location.string.flatMap(DirectiveLocation.init) {
        locations.append(known)
      } else {
        report("The directive @\(name.value) has an unknown location.")
      }
    }
    return DirectiveDefinition(
      description: description(value), name: name,
      arguments: inputValues(value["args"], "directive @\(name.value)"),
      isRepeatable: value["isRepeatable"]?.boolean == true, locations: locations,
      location: nowhere)
  }

  // MARK: - Members

  private mutating func fields(
    _ values: IntrospectionValue?, _ type: Name
  ) -> [FieldDefinition] {
    guard let values = values?.list else {
      report("The type \(type.value) has no \"fields\".")
      return []
    }
    return values.compactMap { value in
      guard let name = name(of: value, "a field of \(type.value)") else { return nil }
      let place = "\(type.value).\(name.value)"
      guard let reference = reference(value["type"], place) else { return nil }
      return FieldDefinition(
        description: description(value), name: name,
        arguments: inputValues(value["args"], place), type: reference,
        directives: deprecation(value), location: nowhere)
    }
  }

  private mutating func inputValues(
    _ values: IntrospectionValue?, _ owner: String
  ) -> [InputValueDefinition] {
    (values?.list ?? []).compactMap { value in
      guard let name = name(of: value, "an input value of \(owner)") else { return nil }
      let place = "\(owner)(\(name.value):)"
      guard let reference = reference(value["type"], place) else { return nil }
      return InputValueDefinition(
        description: description(value), name: name, type: reference,
        defaultValue: value["defaultValue"]?.string.flatMap { defaultValue($0, place) },
        directives: deprecation(value), location: nowhere)
    }
  }

  private mutating func enumValues(
    _ values: IntrospectionValue?, _ type: Name
  ) -> [EnumValueDefinition] {
    (values?.list ?? []).compactMap { value in
      guard let name = name(of: value, "a value of \(type.value)") else { return nil }
      return EnumValueDefinition(
        description: description(value), name: name, directives: deprecation(value),
        location: nowhere)
    }
  }

  private mutating func names(_ values: IntrospectionValue?, _ type: Name) -> [Name] {
    (values?.list ?? []).compactMap { name(of: $0, "a type that \(type.value) refers to") }
  }

  private mutating func defaultValue(_ text: String, _ place: String) -> Value? {
    do throws(GraphQLSyntaxError) {
      let value = try Value(parsing: text)
      if value.isConstant { return value }
      report("The default value of \(place) has a variable in it: \(text)")
    } catch {
      report("The default value of \(place) is not a GraphQL value: \(error.message)")
    }
    return nil
  }

  private mutating func reference(
    _ value: IntrospectionValue?, _ place: String
  ) -> TypeReference? {
    var wrappers: [Bool] = []
    var current = value
    while let kind = current?["kind"]?.string, kind == "LIST" || kind == "NON_NULL" {
      wrappers.append(kind == "LIST")
      current = current?["ofType"]
      if wrappers.count > 256 { current = nil }
    }
    guard let current else {
      report(
        wrappers.isEmpty
          ? "The type of \(place) is missing."
          : "The type of \(place) is wrapped deeper than the introspection query asked for.")
      return nil
    }
    guard let name = name(of: current, "the type of \(place)") else { return nil }
    var reference = TypeReference.named(name)
    for isList in wrappers.reversed() {
      if isList {
        reference = .list(reference, nowhere)
      } else if reference.isNonNull {
        report("The type of \(place) is non-null twice.")
      } else {
        reference = .nonNull(reference)
      }
    }
    return reference
  }

  private func description(_ value: IntrospectionValue) -> StringValue? {
    value["description"]?.string.map { StringValue($0, isBlock: true, at: nowhere) }
  }

  private func deprecation(_ value: IntrospectionValue) -> [Directive] {
    if let reason = value["deprecationReason"]?.string {
      return [directive("deprecated", ["reason": reason])]
    }
    return value["isDeprecated"]?.boolean == true ? [directive("deprecated")] : []
  }

  private func directive(_ name: String, _ arguments: [String: String] = [:]) -> Directive {
    Directive(
      name: Name(name, at: nowhere),
      arguments: arguments.map { key, text in
        Argument(
          name: Name(key, at: nowhere), value: .string(StringValue(text, at: nowhere)),
          location: nowhere)
      },
      location: nowhere)
  }

  /// The name of something, which must be one: names come back out in queries and files.
  private mutating func name(of value: IntrospectionValue, _ what: String) -> Name? {
    guard let text = value["name"]?.string else {
      report("The name of \(what) is missing from the introspection result.")
      return nil
    }
    guard Name.isValid(text) else {
      let literal = Value.string(StringValue(text, at: nowhere)).printed()
      report("The name of \(what) is not a GraphQL name: \(literal)")
      return nil
    }
    return Name(text, at: nowhere)
  }
}

extension Name {
  /// https://spec.graphql.org/September2025/#Name
  static func isValid(_ text: String) -> Bool {
    guard let first = text.utf8.first, !first.isDigit else { return false }
    return text.utf8.allSatisfy { $0.isDigit || $0.isNameStart }
  }
}
