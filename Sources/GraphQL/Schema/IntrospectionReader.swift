/// Converts an introspection result to type system definitions.
struct IntrospectionReader {
  private(set) var issues: [SchemaError.Issue] = []
  /// The types that the result defines.
  private var defined: Set<String> = []
  /// The built-in types that the result refers to.
  private var referenced: Set<String> = []

  /// The edition of the server, by the introspection types of the result; `nil` if it has none.
  private(set) var edition: Edition?

  /// The edition that added the newest of the fields that a server's introspection types have.
  private static func edition(of types: [IntrospectionValue]) -> Edition? {
    func fields(of name: String) -> [String]? {
      types.first { $0["name"]?.string == name }?["fields"]?.list?
        .compactMap { $0["name"]?.string }
    }
    guard let type = fields(of: "__Type"), let directive = fields(of: "__Directive") else {
      return nil
    }
    if directive.contains("isDeprecated") { return .september2026 }
    return type.contains("isOneOf") ? .september2025 : .october2021
  }

  /// Problems that do not prevent the result from being a schema.
  private(set) var warnings: [SchemaError.Issue] = []

  private mutating func warn(_ message: String) {
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
    edition = Self.edition(of: types)
    var definitions = [TypeSystemDefinition.schema(schemaDefinition(schema))]
    definitions += directives(schema).map(TypeSystemDefinition.directive)
    for type in unique(types) {
      if let definition = self.type(type) { definitions.append(definition) }
    }
    for name in referenced.subtracting(defined).sorted() {
      report("The result refers to the type \(name), but does not define it.")
    }
    return Document(definitions: definitions.map(Definition.typeSystem))
  }

  // MARK: - Definitions

  private mutating func schemaDefinition(_ schema: IntrospectionValue) -> SchemaDefinition {
    var roots: [OperationTypeDefinition] = []
    for operation in OperationType.allCases {
      let key = "\(operation.rawValue)Type"
      guard let type = schema[key], let name = name(of: type, "the \(key)") else { continue }
      roots.append(OperationTypeDefinition(operation: operation, type: name, location: .generated))
    }
    return SchemaDefinition(
      description: description(schema), operationTypes: roots, location: .generated)
  }

  private mutating func type(_ type: IntrospectionValue) -> TypeSystemDefinition? {
    guard let name = name(of: type, "a type") else { return nil }
    defined.insert(name.value)
    // Every schema has these, or none defines them.
    if BuiltIns.typeNames.contains(name.value) || ServiceCapabilities.types[name.value] != nil {
      return nil
    }
    let description = description(type)
    switch type["kind"]?.string {
    case "SCALAR":
      var directives: [Directive] = []
      if let url = type["specifiedByURL"]?.string {
        directives.append(Directive("specifiedBy", ["url": url]))
      }
      return .scalar(
        ScalarTypeDefinition(
          description: description, name: name, directives: directives, location: .generated))
    case "OBJECT":
      return .object(
        ObjectTypeDefinition(
          description: description, name: name,
          interfaces: names("interfaces", of: type, name.value),
          fields: fields(type, name.value), location: .generated))
    case "INTERFACE":
      return .interface(
        InterfaceTypeDefinition(
          description: description, name: name,
          // Servers older than interfaces of interfaces say nothing.
          interfaces: type["interfaces"] == nil ? [] : names("interfaces", of: type, name.value),
          fields: fields(type, name.value), location: .generated))
    case "UNION":
      return .union(
        UnionTypeDefinition(
          description: description, name: name,
          types: names("possibleTypes", of: type, name.value), location: .generated))
    case "ENUM":
      return .enumeration(
        EnumTypeDefinition(
          description: description, name: name, values: enumValues(type, name.value),
          location: .generated))
    case "INPUT_OBJECT":
      return .inputObject(
        InputObjectTypeDefinition(
          description: description, name: name,
          directives: type["isOneOf"]?.boolean == true ? [Directive("oneOf")] : [],
          fields: inputValues("inputFields", of: type, name.value),
          location: .generated))
    case let kind:
      report(
        "The type \(name.value) has the unknown kind \(kind.map { "\"\($0)\"" } ?? "null").")
      return nil
    }
  }

  private mutating func directives(_ schema: IntrospectionValue) -> [DirectiveDefinition] {
    // Older servers do not support the field.
    guard schema["directives"] != nil else { return [] }
    var names: Set<String> = []
    return list("directives", of: schema, "the schema").compactMap { value in
      guard let definition = directive(value) else { return nil }
      if names.insert(definition.name.value).inserted { return definition }
      warn(
        "The directive @\(definition.name.value) is defined twice; the first definition is used.")
      return nil
    }
  }

  private mutating func directive(_ value: IntrospectionValue) -> DirectiveDefinition? {
    guard let name = name(of: value, "a directive") else { return nil }
    var locations: [DirectiveLocation] = []
    var unknown: [String] = []
    for location in list("locations", of: value, "@\(name.value)") {
      guard let text = location.string, Name.isValid(text) else {
        report("The directive @\(name.value) has a location that is not a name.")
        continue
      }
      if let known = DirectiveLocation(rawValue: text) {
        locations.append(known)
      } else {
        unknown.append(text)
      }
    }
    if !unknown.isEmpty, BuiltIns.directives[name.value] == nil {
      warn(
        "The directive @\(name.value) has unknown locations, which are ignored: "
          + unknown.joined(separator: ", "))
    }
    if locations.isEmpty {
      if unknown.isEmpty {
        warn("The directive @\(name.value) has no locations, and is ignored.")
      }
      return nil
    }
    return DirectiveDefinition(
      description: description(value), name: name,
      arguments: inputValues("args", of: value, "@\(name.value)"),
      directives: deprecation(value), isRepeatable: value["isRepeatable"]?.boolean == true,
      locations: locations,
      location: .generated)
  }

  // MARK: - Members

  /// The list of members, which may be empty but must be present.
  private mutating func list(
    _ key: String, of value: IntrospectionValue, _ owner: String
  ) -> [IntrospectionValue] {
    if let list = value[key]?.list { return list }
    report(
      "The introspection result has no \"\(key)\" of \(owner); a full introspection query selects "
        + "them.")
    return []
  }

  /// Of members with the same name, keeps the last, like the reference implementation.
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
      let coordinate = "\(owner).\(name.value)"
      guard let reference = reference(value["type"], coordinate) else { return nil }
      return FieldDefinition(
        description: description(value), name: name,
        arguments: inputValues("args", of: value, coordinate), type: reference,
        directives: deprecation(value), location: .generated)
    }
  }

  private mutating func inputValues(
    _ key: String, of owner: IntrospectionValue, _ ownerName: String
  ) -> [InputValueDefinition] {
    unique(list(key, of: owner, ownerName)).compactMap { value in
      guard let name = name(of: value, "an input value of \(ownerName)") else { return nil }
      let coordinate =
        key == "args" ? "\(ownerName)(\(name.value):)" : "\(ownerName).\(name.value)"
      guard let reference = reference(value["type"], coordinate) else { return nil }
      return InputValueDefinition(
        description: description(value), name: name, type: reference,
        defaultValue: value["defaultValue"].flatMap { defaultValue($0, coordinate) },
        directives: deprecation(value), location: .generated)
    }
  }

  private mutating func enumValues(
    _ type: IntrospectionValue, _ owner: String
  ) -> [EnumValueDefinition] {
    unique(list("enumValues", of: type, owner)).compactMap { value in
      guard let name = name(of: value, "a value of \(owner)") else { return nil }
      if ["true", "false", "null"].contains(name.value) {
        report("The name '\(name.value)' is reserved and cannot be used for a value of \(owner).")
      }
      return EnumValueDefinition(
        description: description(value), name: name, directives: deprecation(value),
        location: .generated)
    }
  }

  private mutating func names(
    _ key: String, of type: IntrospectionValue, _ owner: String
  ) -> [Name] {
    list(key, of: type, owner).compactMap { value in
      if let kind = value["kind"]?.string, kind == "LIST" || kind == "NON_NULL" {
        report("The \"\(key)\" of \(owner) must be named types, but one has the kind \(kind).")
      }
      return name(of: value, "a type that \(owner) refers to")
    }
  }

  private mutating func defaultValue(_ json: IntrospectionValue, _ coordinate: String) -> Value? {
    guard let text = json.string else {
      report(
        "The default value of \(coordinate) is not a string; expected a string that contains a "
          + "GraphQL value.")
      return nil
    }
    do throws(GraphQLSyntaxError) {
      let value = try Value(parsing: text)
      if value.isConstant { return value }
      report("The default value of \(coordinate) contains a variable: \(text)")
    } catch {
      report("The default value of \(coordinate) is not a GraphQL value: \(error.message)")
    }
    return nil
  }

  private mutating func reference(
    _ value: IntrospectionValue?, _ coordinate: String
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
          ? "The type of \(coordinate) is missing."
          : "The type of \(coordinate) has more list and non-null wrappers than the query selected."
      )
      return nil
    }
    guard let name = name(of: current, "the type of \(coordinate)") else { return nil }
    if BuiltIns.typeNames.contains(name.value) { referenced.insert(name.value) }
    var reference = TypeReference.named(name)
    for isList in wrappers.reversed() {
      if isList {
        reference = .list(reference, .generated)
      } else if reference.isNonNull {
        report("The type of \(coordinate) has two nested non-null wrappers.")
      } else {
        reference = .nonNull(reference)
      }
    }
    return reference
  }

  private func description(_ value: IntrospectionValue) -> StringValue? {
    value["description"]?.string.map { StringValue($0, isBlock: true, at: .generated) }
  }

  private func deprecation(_ value: IntrospectionValue) -> [Directive] {
    if let reason = value["deprecationReason"]?.string {
      return [Directive("deprecated", ["reason": reason])]
    }
    return value["isDeprecated"]?.boolean == true ? [Directive("deprecated")] : []
  }

  /// The name in `value`. It must be valid, because names are printed in queries and files.
  private mutating func name(of value: IntrospectionValue, _ what: String) -> Name? {
    guard let text = value["name"]?.string else {
      report("The name of \(what) is missing from the introspection result.")
      return nil
    }
    guard Name.isValid(text) else {
      let literal = Value.string(StringValue(text, at: .generated)).printed()
      report("The name of \(what) is not a GraphQL name: \(literal)")
      return nil
    }
    return Name(text, at: .generated)
  }
}

extension Name {
  /// Whether `text` is a GraphQL name: https://spec.graphql.org/September2025/#Name
  package static func isValid(_ text: some StringProtocol) -> Bool {
    let text = String(text).utf8
    guard let first = text.first, !first.isDigit else { return false }
    return text.allSatisfy { $0.isDigit || $0.isNameStart }
  }
}

extension Schema {
  /// Builds a schema from the result of an introspection query: the response, its `data`, or the
  /// value of `__schema`.
  ///
  /// The schema lacks what the query did not select, such as descriptions, but names, members and
  /// referenced types must be complete. Issues have no source locations.
  ///
  /// - Parameters:
  ///   - result: The result.
  ///   - edition: The edition that the schema must follow. A construct of a newer one is an issue.
  /// - Throws: ``SchemaError`` with up to a hundred issues.
  public init(
    introspection result: IntrospectionValue, edition: Edition = .newest
  ) throws(SchemaError) {
    var reader = IntrospectionReader()
    let document = reader.document(result)
    guard reader.issues.isEmpty else { throw SchemaError(issues: reader.issues) }
    do throws(SchemaError) {
      // Uses this program's definitions of the introspection directives, not the server's.
      self = try Schema(
        sdl: document, edition: edition,
        ignoring: [
          .knownDirectives, .uniqueDirectivesPerLocation, .knownArgumentNamesOnDirectives,
          .providedRequiredArgumentsOnDirectives, .noDirectiveDefinitionCycles,
        ])
      serverEdition = reader.edition
      warnings =
        reader.warnings + warnings.map { SchemaError.Issue(message: $0.message, locations: []) }
    } catch {
      throw SchemaError(
        issues: error.issues.map { SchemaError.Issue(message: $0.message, locations: []) })
    }
  }
}

/// A JSON value of an introspection result.
///
/// This module has no JSON parser; callers convert the value from theirs.
public enum IntrospectionValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case boolean(Bool)
  /// A number as text. Introspection has none, but the response around it may.
  case number(String)
  /// A string.
  case string(String)
  /// A list.
  case list([IntrospectionValue])
  /// An object.
  case object([String: IntrospectionValue])

  /// The value of an object's key; `nil` for `null`, for missing keys and for values that are not
  /// objects.
  package subscript(key: String) -> IntrospectionValue? {
    guard case .object(let values) = self, let value = values[key], value != .null else {
      return nil
    }
    return value
  }

  /// The text of a string; `nil` for other values.
  package var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The elements of a list; `nil` for other values.
  package var list: [IntrospectionValue]? {
    if case .list(let values) = self { values } else { nil }
  }
  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
}
