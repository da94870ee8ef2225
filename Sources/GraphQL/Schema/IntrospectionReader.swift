/// Turns an introspection result into the type system definitions it stands for.
struct IntrospectionReader {
  private(set) var issues: [SchemaError.Issue] = []
  private let nowhere = SourceLocation(line: 1, column: 1, offset: 0)
  /// The types the result tells of, and the built-in ones it refers to.
  private var listed: Set<String> = []
  private var referred: Set<String> = []

  /// What is told, but does not keep the result from being a schema.
  private(set) var warnings: [SchemaError.Issue] = []

  private mutating func note(_ message: String) {
    if warnings.count < 100 {
      warnings.append(SchemaError.Issue(message: message, locations: []))
    }
  }

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
    definitions += directives(schema).map(TypeSystemDefinition.directive)
    for type in unique(types) {
      if let definition = self.type(type) { definitions.append(definition) }
    }
    for name in referred.subtracting(listed).sorted() {
      report("The result refers to the type \(name), but does not tell of it.")
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
    listed.insert(name.value)
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
          description: description, name: name,
          interfaces: names("interfaces", of: type, name.value),
          fields: fields(type, name.value), location: nowhere))
    case "INTERFACE":
      return .interface(
        InterfaceTypeDefinition(
          description: description, name: name,
          // Servers older than interfaces of interfaces say nothing.
          interfaces: type["interfaces"] == nil ? [] : names("interfaces", of: type, name.value),
          fields: fields(type, name.value), location: nowhere))
    case "UNION":
      return .union(
        UnionTypeDefinition(
          description: description, name: name,
          types: names("possibleTypes", of: type, name.value), location: nowhere))
    case "ENUM":
      return .enumeration(
        EnumTypeDefinition(
          description: description, name: name, values: enumValues(type, name.value),
          location: nowhere))
    case "INPUT_OBJECT":
      return .inputObject(
        InputObjectTypeDefinition(
          description: description, name: name,
          directives: type["isOneOf"]?.boolean == true ? [directive("oneOf")] : [],
          fields: inputValues("inputFields", of: type, name.value),
          location: nowhere))
    case let kind:
      report(
        "The type \(name.value) has the unknown kind \(kind.map { "\"\($0)\"" } ?? "null").")
      return nil
    }
  }

  private mutating func directives(_ schema: IntrospectionValue) -> [DirectiveDefinition] {
    // Servers older than the question for them say nothing.
    guard schema["directives"] != nil else { return [] }
    var names: Set<String> = []
    return list("directives", of: schema, "the schema").compactMap { value in
      guard let definition = directive(value) else { return nil }
      if names.insert(definition.name.value).inserted { return definition }
      note("The directive @\(definition.name.value) is told twice; the first one counts.")
      return nil
    }
  }

  private mutating func directive(_ value: IntrospectionValue) -> DirectiveDefinition? {
    guard let name = name(of: value, "a directive") else { return nil }
    var locations: [DirectiveLocation] = []
    var newer: [String] = []
    for location in list("locations", of: value, "@\(name.value)") {
      guard let text = location.string, Name.isValid(text) else {
        report("The directive @\(name.value) has a location that is no name.")
        continue
      }
      if let known = DirectiveLocation(rawValue: text) {
        locations.append(known)
      } else {
        newer.append(text)
      }
    }
    if !newer.isEmpty, BuiltIns.directives[name.value] == nil {
      note(
        "The directive @\(name.value) may stand at \(newer.joined(separator: ", ")), which is newer than "
          + "this program, and left out.")
    }
    if locations.isEmpty {
      if newer.isEmpty {
        note("The directive @\(name.value) may stand nowhere, and is left out.")
      }
      return nil
    }
    return DirectiveDefinition(
      description: description(value), name: name,
      arguments: inputValues("args", of: value, "@\(name.value)"),
      isRepeatable: value["isRepeatable"]?.boolean == true, locations: locations,
      location: nowhere)
  }

  // MARK: - Members

  /// The members of something, which must be told, be it as an empty list.
  private mutating func list(
    _ key: String, of value: IntrospectionValue, _ owner: String
  ) -> [IntrospectionValue] {
    if let list = value[key]?.list { return list }
    report(
      "The introspection result does not tell the \"\(key)\" of \(owner); a full introspection query "
        + "asks for them.")
    return []
  }

  /// Of members with the same name the last counts, as for the reference implementation.
  private func unique(_ members: [IntrospectionValue]) -> [IntrospectionValue] {
    var positions: [String: Int] = [:]
    var kept: [IntrospectionValue] = []
    for member in members {
      if let name = member["name"]?.string {
        if let position = positions[name] {
          kept[position] = member
          continue
        }
        positions[name] = kept.count
      }
      kept.append(member)
    }
    return kept
  }

  private mutating func fields(_ type: IntrospectionValue, _ owner: String) -> [FieldDefinition] {
    unique(list("fields", of: type, owner)).compactMap { value in
      guard let name = name(of: value, "a field of \(owner)") else { return nil }
      let place = "\(owner).\(name.value)"
      guard let reference = reference(value["type"], place) else { return nil }
      return FieldDefinition(
        description: description(value), name: name,
        arguments: inputValues("args", of: value, place), type: reference,
        directives: deprecation(value), location: nowhere)
    }
  }

  private mutating func inputValues(
    _ key: String, of owner: IntrospectionValue, _ ownerName: String
  ) -> [InputValueDefinition] {
    unique(list(key, of: owner, ownerName)).compactMap { value in
      guard let name = name(of: value, "an input value of \(ownerName)") else { return nil }
      let place =
        key == "args" ? "\(ownerName)(\(name.value):)" : "\(ownerName).\(name.value)"
      guard let reference = reference(value["type"], place) else { return nil }
      return InputValueDefinition(
        description: description(value), name: name, type: reference,
        defaultValue: value["defaultValue"].flatMap { defaultValue($0, place) },
        directives: deprecation(value), location: nowhere)
    }
  }

  private mutating func enumValues(
    _ type: IntrospectionValue, _ owner: String
  ) -> [EnumValueDefinition] {
    unique(list("enumValues", of: type, owner)).compactMap { value in
      guard let name = name(of: value, "a value of \(owner)") else { return nil }
      return EnumValueDefinition(
        description: description(value), name: name, directives: deprecation(value),
        location: nowhere)
    }
  }

  private mutating func names(
    _ key: String, of type: IntrospectionValue, _ owner: String
  ) -> [Name] {
    list(key, of: type, owner).compactMap { value in
      if let kind = value["kind"]?.string, kind == "LIST" || kind == "NON_NULL" {
        report("The \"\(key)\" of \(owner) are to be types, but one has the kind \(kind).")
      }
      return name(of: value, "a type that \(owner) refers to")
    }
  }

  private mutating func defaultValue(_ told: IntrospectionValue, _ place: String) -> Value? {
    guard let text = told.string else {
      report(
        "The default value of \(place) is not told as text; expected a string with a GraphQL value "
          + "in it.")
      return nil
    }
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
    if BuiltIns.typeNames.contains(name.value) { referred.insert(name.value) }
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
