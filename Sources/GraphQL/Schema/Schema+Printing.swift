extension Schema {
  /// The schema in the schema definition language, in the layout of graphql-core's `print_schema`,
  /// without a trailing newline.
  ///
  /// Extensions are merged into their types. Of the applied directives, only the standard ones are
  /// printed (`@deprecated`, `@specifiedBy`, `@oneOf`), as in introspection.
  public func printed() -> String {
    var parts: [String] = []
    if let definition = SchemaPrinter.schemaDefinition(self) { parts.append(definition) }
    let printer = SchemaPrinter(schema: self)
    for name in directiveNamesInOrder where BuiltIns.directives[name] == nil {
      if let directive = directiveDefinitions[name] { parts.append(printer.directive(directive)) }
    }
    for name in typeNames where !BuiltIns.typeNames.contains(name) {
      if let type = types[name] { parts.append(printer.type(type)) }
    }
    return parts.joined(separator: "\n\n")
  }
}

private struct SchemaPrinter {
  let schema: Schema

  /// The schema definition; `nil` if the root types have their default names.
  static func schemaDefinition(_ schema: Schema) -> String? {
    let usual: [OperationType: String] = [
      .query: "Query", .mutation: "Mutation", .subscription: "Subscription",
    ]
    let roots = [OperationType.query, .mutation, .subscription].compactMap { operation in
      schema.rootType(for: operation).map { (operation, $0.name) }
    }
    if schema.description == nil, roots.allSatisfy({ usual[$0.0] == $0.1 }) { return nil }
    return description(schema.description) + "schema {\n"
      + roots.map { "  \($0.0.rawValue): \($0.1)" }.joined(separator: "\n") + "\n}"
  }

  func type(_ type: SchemaType) -> String {
    let description = SchemaPrinter.description(type.description)
    switch type {
    case .scalar(let scalar):
      let url = scalar.specifiedByURL.map { " @specifiedBy(url: \(SchemaPrinter.quoted($0)))" }
      return description + "scalar \(scalar.name)" + (url ?? "")
    case .object(let object):
      return description + "type \(object.name)" + interfaces(object.interfaces)
        + fields(object.fields)
    case .interface(let interface):
      return description + "interface \(interface.name)" + interfaces(interface.interfaces)
        + fields(interface.fields)
    case .union(let union):
      let members = union.types.map(\.value).joined(separator: " | ")
      return description + "union \(union.name)" + (members.isEmpty ? "" : " = \(members)")
    case .enumeration(let enumeration):
      return description + "enum \(enumeration.name)"
        + block(enumeration.values) { value in
          (value.description, value.name.value + deprecated(value.deprecationReason))
        }
    case .inputObject(let input):
      return description + "input \(input.name)" + (input.isOneOf ? " @oneOf" : "")
        + block(input.fields) { ($0.description, inputValue($0)) }
    }
  }

  func directive(_ directive: DirectiveDefinition) -> String {
    SchemaPrinter.description(directive.description?.value)
      + "directive @\(directive.name.value)" + arguments(directive.arguments, "")
      + (directive.isRepeatable ? " repeatable" : "") + " on "
      + directive.locations.map(\.rawValue).joined(separator: " | ")
  }

  private func interfaces(_ names: [Name]) -> String {
    names.isEmpty ? "" : " implements " + names.map(\.value).joined(separator: " & ")
  }

  private func fields(_ fields: NamedList<FieldDefinition>) -> String {
    block(fields) { field in
      (
        field.description,
        field.name.value + arguments(field.arguments, "  ") + ": " + field.type.printed()
          + deprecated(field.deprecationReason)
      )
    }
  }

  private func block<Item>(
    _ items: NamedList<Item>, _ text: (Item) -> (description: StringValue?, String)
  ) -> String {
    guard !items.isEmpty else { return "" }
    let lines = items.enumerated().map { index, item in
      let (description, text) = text(item)
      return SchemaPrinter.description(description?.value, "  ", isFirst: index == 0) + "  " + text
    }
    return " {\n" + lines.joined(separator: "\n") + "\n}"
  }

  private func arguments(_ arguments: [InputValueDefinition], _ indentation: String) -> String {
    guard !arguments.isEmpty else { return "" }
    guard arguments.contains(where: { $0.description?.value.isEmpty == false }) else {
      return "(" + arguments.map(inputValue).joined(separator: ", ") + ")"
    }
    let inner = "  " + indentation
    let lines = arguments.enumerated().map { index, argument in
      SchemaPrinter.description(argument.description?.value, inner, isFirst: index == 0) + inner
        + inputValue(argument)
    }
    return "(\n" + lines.joined(separator: "\n") + "\n\(indentation))"
  }

  private func inputValue(_ value: InputValueDefinition) -> String {
    let defaultValue = schema.defaultValue(of: value).map { " = " + $0.printed() } ?? ""
    return "\(value.name.value): \(value.type.printed())" + defaultValue
      + deprecated(value.deprecationReason)
  }

  private func deprecated(_ reason: String?) -> String {
    guard let reason else { return "" }
    return reason == "No longer supported"
      ? " @deprecated" : " @deprecated(reason: \(SchemaPrinter.quoted(reason)))"
  }

  private static func quoted(_ text: String) -> String {
    let noLocation = SourceLocation(line: 1, column: 1, offset: 0)
    return Value.string(StringValue(text, at: noLocation)).printed()
  }

  /// A description on its own lines, inside a block after an empty line.
  private static func description(
    _ text: String?, _ indentation: String = "", isFirst: Bool = true
  ) -> String {
    guard let text else { return "" }
    let printed = BlockString.isPrintable(text) ? BlockString.printed(text) : quoted(text)
    let prefix = indentation.isEmpty || isFirst ? indentation : "\n" + indentation
    guard !indentation.isEmpty else { return printed + "\n" }
    let lines = printed.split(separator: "\n", omittingEmptySubsequences: false)
    return prefix + lines.joined(separator: "\n" + indentation) + "\n"
  }
}

extension BlockString {
  /// Whether the reference implementation prints the text as a block string.
  fileprivate static func isPrintable(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    var isEmptyLine = true
    var hasIndent = false
    var hasCommonIndent = true
    var hasLines = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\n"):
        if isEmptyLine, !hasLines { return false }
        hasLines = true
        isEmptyLine = true
        hasIndent = false
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        hasIndent = hasIndent || isEmptyLine
      case 0...0x0F:
        return false
      default:
        hasCommonIndent = hasCommonIndent && hasIndent
        isEmptyLine = false
      }
    }
    return !isEmptyLine && !(hasCommonIndent && hasLines)
  }
}
