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
      text.line()
      writeInitializer(of: object, to: &text)
      text.function(
        "\(access)init(from object: inout ObjectReader) throws",
        object.properties.map(reading))
      let typename = object.typename.map { "object.write(\"__typename\", \"\($0)\")" }
      text.function(
        "\(access)func write(to object: inout ObjectWriter)",
        [typename].compactMap { $0 } + object.properties.map(writing))
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
    text.line("\(access)var \(name): \(property.type) { \(stored(property)) }")
    text.line("private let \(stored(property)): \(property.type)")
  }

  private func stored(_ property: Property) -> String {
    property.deprecation == nil ? SwiftNames.escaped(property.name) : "_\(property.name)"
  }

  /// The stored property in a function that has a parameter `object`.
  private func own(_ property: Property) -> String {
    stored(property) == "object" ? "self.object" : stored(property)
  }

  private func writeInitializer(of object: ObjectModel, to text: inout SwiftText) {
    let parameters = object.properties.map { property in
      "\(SwiftNames.parameter(property.name)): \(property.type)"
        + (property.reading == .conditionalField ? " = nil" : "")
    }
    text.initializer(
      "\(access)init", parameters,
      object.properties.map { "self.\(stored($0)) = \(SwiftNames.escaped($0.name))" })
  }

  private func reading(_ property: Property) -> String {
    let name = own(property)
    let arguments = "(\"\(property.key)\", \"\(property.schemaType)\")"
    // Without a question mark, a type's initializer can be called.
    let type = property.isOptional ? String(property.type.dropLast()) : property.type
    return switch property.reading {
    case .field: "\(name) = try object.read\(arguments)"
    case .conditionalField: "\(name) = try object.readIfIncluded\(arguments)"
    case .part: "\(name) = try \(type)(from: &object)"
    case .conditionalPart(let condition):
      "\(name) = try \(condition) ? \(type)(from: &object) : nil"
    case .deferredPart: "\(name) = try object.deferred()"
    }
  }

  private func writing(_ property: Property) -> String {
    let name = own(property)
    return switch property.reading {
    case .field: "object.write(\"\(property.key)\", \(name))"
    case .conditionalField: "object.writeIfPresent(\"\(property.key)\", \(name))"
    case .part, .deferredPart: "\(name).write(to: &object)"
    case .conditionalPart: "\(name)?.write(to: &object)"
    }
  }

  private func write(_ variants: VariantModel, to text: inout SwiftText) {
    text.documentation(variants.documentation, isShort: true)
    text.block("\(access)enum \(variants.name): \(names(isIdentifiable: false))") { text in
      for variant in variants.cases {
        text.line("case \(SwiftNames.escaped(variant.name))(\(variant.model.name))")
      }
      text.line("case other(typename: String)")
      text.line()
      text.block("\(access)init(from object: inout ObjectReader) throws") { text in
        text.cases(of: "try object.typename()") { text in
          for variant in variants.cases {
            let types = variant.typenames.map { "\"\($0)\"" }.joined(separator: ", ")
            text.line(
              "case \(types): self = .\(variant.name)(try \(variant.model.name)(from: &object))")
          }
          text.line("case let typename: self = .other(typename: typename)")
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
