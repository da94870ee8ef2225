import GQLRunLanguage

/// Writes the Swift type of an operation.
struct OperationWriter {
  let builder: SelectionModelBuilder
  let operationText: OperationText
  private var options: GeneratorOptions { builder.options }
  private var access: String { options.access.prefix }

  /// Writes the structure of `operation`.
  ///
  /// - Throws: ``GeneratorError`` for a comment directive that does not fit.
  func write(
    _ operation: OperationDefinition, document: String, name: String, to text: inout SwiftText
  ) throws {
    let root = builder.types.schema.rootType(for: operation.type)?.name ?? ""
    let part = ConditionalSelections(selections: operation.selectionSet.selections, type: root)
    let data = try builder.model(
      "Data", parts: [part], scope: builder.scope(root), hasTypename: false)
    let variables = variables(of: operation)
    let writer = SelectionWriter(options: options, conformances: builder.conformances)
    text.documentation(operation.description?.value)
    text.block("\(access)struct \(name): GraphQL\(SwiftNames.type(operation.type.rawValue))") {
      text in
      text.line("\(access)static let operationName = \"\(operation.name?.value ?? "")\"")
      text.line("\(access)static let document = \(SwiftText.literal(document))")
      if operationText.catchesErrors(operation) {
        text.line("\(access)static let catchesErrors = true")
      }
      for variable in variables {
        text.documentation(variable.documentation)
        text.line("\(access)var \(InputWriter.declaration(of: variable, access))")
      }
      InputWriter.writeInitializer(variables, access: access, text: &text)
      writeConditions(of: operation, variables, to: &text)
      InputWriter.writeFunction(variables, parameter: "variables", access: access, text: &text)
      text.line()
      writer.write(data, to: &text)
    }
  }

  private func variables(of operation: OperationDefinition) -> [InputProperty] {
    var taken: Set<String> = ["Data", "variables", "conditions"]
    return operation.variables.map { variable in
      let name = variable.name.value
      var property = InputProperty(
        name, variable.type, hasDefault: variable.defaultValue != nil,
        name: SwiftNames.member(name, options.fields, avoiding: &taken), used: builder.used,
        isInputObject: false)
      property.documentation = variable.description?.value
      return property
    }
  }

  private func writeConditions(
    of operation: OperationDefinition, _ variables: [InputProperty], to text: inout SwiftText
  ) {
    let conditions = operationText.conditions(of: operation)
    guard !conditions.isEmpty else { return }
    let entries = operation.variables.compactMap { variable -> String? in
      let key = variable.name.value
      guard conditions.contains(key), let property = variables.first(where: { $0.key == key })
      else {
        return nil
      }
      var value = SwiftNames.escaped(property.name)
      if property.type.hasPrefix("GraphQLNullable") { value += ".value" }
      if property.defaultValue != nil {
        var isTrue = false
        if case .boolean(true, _)? = variable.defaultValue { isTrue = true }
        value += " ?? \(isTrue)"
      }
      return "\"\(key)\": \(value)"
    }
    text.line("\(access)var conditions: [String: Bool] { [\(entries.joined(separator: ", "))] }")
  }
}

/// Writes what variables and input objects have in common.
enum InputWriter {
  /// The name and type of a property, with the default value for the initializer of Swift.
  static func declaration(of property: InputProperty, _ access: String) -> String {
    let name = SwiftNames.escaped(property.name)
    let value = access.isEmpty && property.deprecation == nil ? property.defaultValue : nil
    return "\(name): \(property.type)" + (value.map { " = \($0)" } ?? "")
  }

  static func writeInitializer(
    _ properties: [InputProperty], access: String, text: inout SwiftText
  ) {
    if !properties.isEmpty || !access.isEmpty { text.line() }
    text.initializer(of: properties, access: access)
  }

  static func writeFunction(
    _ properties: [InputProperty], parameter: String, access: String, text: inout SwiftText
  ) {
    guard !properties.isEmpty else { return }
    text.function(
      "\(access)func write(to \(parameter): inout ObjectWriter)",
      properties.map {
        "\(parameter).\($0.method)(\"\($0.key)\", \($0.stored(beside: parameter)))"
      })
  }
}

/// A property of a generated structure.
protocol GeneratedProperty {
  var name: String { get }
  var type: String { get }
  /// The default value of the parameter; `nil` if it is required.
  var defaultValue: String? { get }
  var deprecation: String? { get }
  /// The private property with the value of a deprecated field; see `nameStorage()`.
  var storage: String? { get set }
}

extension GeneratedProperty {
  /// The property that stores the value; that of a deprecated field can be used without a warning.
  var stored: String { storage ?? SwiftNames.escaped(name) }

  /// The stored property in a function that has a parameter of this name.
  func stored(beside parameter: String) -> String {
    stored == parameter ? "self.\(parameter)" : stored
  }
}

extension Array where Element: GeneratedProperty {
  /// Names the private properties of deprecated fields: `_name`, with more underscores if that name is taken.
  mutating func nameStorage() {
    // A body that begins with one of these two has an accessor in Swift.
    var taken = Set(map(\.name) + ["_read", "_modify"])
    for index in indices where self[index].deprecation != nil {
      var name = "_\(self[index].name)"
      while !taken.insert(name).inserted { name = "_" + name }
      self[index].storage = name
    }
  }
}

extension SwiftText {
  /// Adds the initializer of a structure, unless Swift has one: an internal one, if no property is private.
  mutating func initializer(of properties: [some GeneratedProperty], access: String) {
    guard !access.isEmpty || properties.contains(where: { $0.deprecation != nil }) else { return }
    let parameters = properties.map { property in
      "\(SwiftNames.parameter(property.name)): \(property.type)"
        + (property.defaultValue.map { " = \($0)" } ?? "")
    }
    initializer(
      "\(access)init", parameters: parameters,
      statements: properties.map { "self.\($0.stored) = \(SwiftNames.escaped($0.name))" })
  }
}
