/// Writes the Swift types of selection sets.
struct SelectionWriter {
  let options: GeneratorOptions
  let conformances: Set<GeneratorOptions.Conformance>
  private var access: String { options.access.prefix }

  func write(_ model: SelectionModel, to text: inout SwiftText) {
    switch model {
    case .object(let object): write(object, to: &text)
    case .variants(let variants): write(variants, to: &text)
    }
  }

  private func write(_ object: ObjectModel, to text: inout SwiftText) {
    text.documentation(object.documentation, isShort: true)
    let protocols = names(isIdentifiable: object.isIdentifiable)
    text.block("\(access)struct \(object.name): \(protocols)") { text in
      for property in object.properties { declare(property, in: &text) }
      if !object.properties.isEmpty { text.line() }
      text.initializer(of: object.properties, access: access)
      text.call(
        "\(access)static func read(from object: inout ObjectReader) throws -> Self",
        callee: object.properties.isEmpty ? "Self" : "try Self",
        arguments: object.properties.map(reading))
      text.function("\(access)func write(to object: inout ObjectWriter)", writing(object))
      for type in object.types {
        text.line()
        write(type, to: &text)
      }
    }
  }

  private func declare(_ property: Property, in text: inout SwiftText) {
    text.documentation(property.documentation, isShort: true)
    let name = SwiftNames.escaped(property.name)
    guard property.deprecation != nil else {
      return text.line("\(access)let \(name): \(property.type)")
    }
    // The types below use the property without a warning.
    text.deprecation(property.deprecation)
    text.line("\(access)var \(name): \(property.type) { \(property.stored) }")
    text.line("private let \(property.stored): \(property.type)")
  }

  private func reading(_ property: Property) -> String {
    // The only keyword that does not work as the label of an argument.
    let name = property.name == "inout" ? "`inout`" : property.name
    let arguments =
      "(\"\(property.key)\", \"\(property.schemaType)\")"
      + (property.caught.map { " { \($0) }" } ?? "")
    return switch property.reading {
    case .field: "\(name): object.read\(arguments)"
    case .conditionalField: "\(name): object.readIfIncluded\(arguments)"
    case .part: "\(name): .read(from: &object)"
    case .conditionalPart(let condition):
      "\(name): \(condition) ? .read(from: &object) : nil"
    case .deferredPart: "\(name): object.deferred()"
    }
  }

  /// The statements that write an object: the fields and parts together, then those that may be absent.
  private func writing(_ object: ObjectModel) -> [String] {
    var members = object.typename.map { ["\"__typename\": \"\($0)\""] } ?? []
    var parts: [String] = []
    var others: [String] = []
    for property in object.properties {
      let name = property.stored(beside: "object")
      switch property.reading {
      case .field: members.append("\"\(property.key)\": \(name)")
      case .part: parts.append(name)
      case .conditionalField:
        others.append("object.writeIfPresent(\"\(property.key)\", \(name))")
      case .deferredPart: others.append("\(name).write(to: &object)")
      case .conditionalPart: others.append("\(name)?.write(to: &object)")
      }
    }
    if members.isEmpty { return parts.map { "\($0).write(to: &object)" } + others }
    let arguments = ["[\(members.joined(separator: ", "))]"] + parts
    return ["object.write(\(arguments.joined(separator: ", ")))"] + others
  }

  private func write(_ variants: VariantModel, to text: inout SwiftText) {
    text.documentation(variants.documentation, isShort: true)
    text.block("\(access)enum \(variants.name): \(names(isIdentifiable: false))") { text in
      for variant in variants.cases {
        text.line("case \(SwiftNames.escaped(variant.name))(\(variant.model.name))")
      }
      text.line("case other(typename: String)")
      text.line()
      text.block("\(access)static func read(from object: inout ObjectReader) throws -> Self") {
        text in
        text.cases(of: "try object.typename()") { text in
          for variant in variants.cases {
            let types = variant.typenames.map { "\"\($0)\"" }.joined(separator: ", ")
            text.line(
              "case \(types): try .\(variant.name)(.read(from: &object))")
          }
          text.line("case let typename: .other(typename: typename)")
        }
      }
      text.block("\(access)func write(to object: inout ObjectWriter)") { text in
        text.cases(of: "self") { text in
          for variant in variants.cases {
            text.line("case .\(variant.name)(let value): value.write(to: &object)")
          }
          text.line("case .other(let typename): object.write(\"__typename\", typename)")
        }
      }
      for type in variants.types + variants.cases.map(\.model) {
        text.line()
        write(type, to: &text)
      }
    }
  }

  private func names(isIdentifiable: Bool) -> String {
    let own = GeneratorOptions.Conformance.allCases.filter { conformance in
      conformances.contains(conformance) && (conformance != .identifiable || isIdentifiable)
    }
    return (["GraphQLObject"] + own.map(\.name)).joined(separator: ", ")
  }
}

extension SwiftNames {
  /// A parameter: only `inout`, `var` and `let` are keywords in front of a colon.
  static func parameter(_ name: String) -> String {
    ["inout", "var", "let"].contains(name) ? "`\(name)`" : name
  }
}
