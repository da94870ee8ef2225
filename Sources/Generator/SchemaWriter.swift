import GQLRunLanguage

/// Writes the Swift types of enums, input objects and scalars.
struct SchemaWriter {
  let options: GeneratorOptions
  let names: GlobalNames
  let used: UsedTypes
  private var access: String { options.access.prefix }

  func write(_ type: SchemaType, to text: inout SwiftText) {
    switch type {
    case .scalar(let scalar):
      let swift = options.swiftType(ofScalar: scalar.name)
      let name = names.leaf(scalar.name)
      // A scalar without an alias is used by the name of its Swift type.
      guard name != swift else { return }
      text.line()
      text.documentation(scalar.description)
      text.line("\(access)typealias \(name) = \(swift)")
    case .enumeration(let type):
      text.line()
      write(type, to: &text)
    case .inputObject(let type):
      text.line()
      if type.isOneOf { writeOneOf(type, to: &text) } else { write(type, to: &text) }
    case .object, .interface, .union: break
    }
  }

  // MARK: Enums

  private func write(_ type: EnumType, to text: inout SwiftText) {
    var taken: Set<String> = ["unknown"]
    let cases = type.values.map { value in
      (value, SwiftNames.member(value.name.value, options.enumCases, avoiding: &taken))
    }
    text.documentation(type.description)
    text.block("\(access)enum \(names.leaf(type.name)): GraphQLEnum") { text in
      for (value, name) in cases {
        text.documentation(value.description?.value)
        text.deprecation(value.deprecationReason)
        text.line("case \(SwiftNames.escaped(name))")
      }
      text.line("/// A value that the schema did not have when this code was generated.")
      text.line("case unknown(String)")
      // Only a deprecated declaration can use deprecated cases without a warning. The initializer and
      // the property for users of the type are in the protocol.
      let isDeprecated = cases.contains { $0.0.deprecationReason != nil }
      let reason = isDeprecated ? "Use rawValue." : nil
      text.line()
      text.deprecation(reason)
      text.block("\(access)init(name: String)") { text in
        text.cases(of: "name") { text in
          for (value, name) in cases { text.line("case \"\(value.name.value)\": self = .\(name)") }
          text.line("default: self = .unknown(name)")
        }
      }
      text.line()
      text.deprecation(reason)
      text.block("\(access)var name: String") { text in
        text.cases(of: "self") { text in
          for (value, name) in cases { text.line("case .\(name): \"\(value.name.value)\"") }
          text.line("case .unknown(let name): name")
        }
      }
    }
  }

  // MARK: Input objects

  private func write(_ type: InputObjectType, to text: inout SwiftText) {
    var taken = SwiftNames.witnesses
    var properties = type.fields.map { field in
      var property = InputProperty(
        field.name.value, field.type, hasDefault: field.defaultValue != nil,
        name: SwiftNames.member(field.name.value, options.fields, avoiding: &taken), used: used,
        isInputObject: true)
      property.documentation = field.description?.value
      property.deprecation = field.deprecationReason
      return property
    }
    properties.nameStorage()
    let hashable = options.conformances.contains(.hashable) ? ", Hashable" : ""
    text.documentation(type.description)
    text.block("\(access)struct \(names.leaf(type.name)): GraphQLInputObject\(hashable)") { text in
      for property in properties {
        text.documentation(property.documentation)
        let name = SwiftNames.escaped(property.name)
        text.deprecation(property.deprecation)
        if property.deprecation == nil {
          text.line("\(access)var \(InputWriter.declaration(of: property, access))")
        } else {
          text.block("\(access)var \(name): \(property.type)") { text in
            text.line("get { \(property.stored) }")
            text.line("set { \(property.stored) = newValue }")
          }
          text.line("private var \(property.stored): \(property.type)")
        }
      }
      InputWriter.writeInitializer(properties, access: access, text: &text)
      InputWriter.writeFunction(properties, parameter: "object", access: access, text: &text)
    }
  }

  private func writeOneOf(_ type: InputObjectType, to text: inout SwiftText) {
    var taken: Set<String> = []
    let fields = type.fields.map { field in
      (
        field, SwiftNames.member(field.name.value, options.fields, avoiding: &taken),
        field.type.swiftNonNull(used.leaf(field.type.namedType.value))
      )
    }
    let hashable = options.conformances.contains(.hashable) ? ", Hashable" : ""
    text.documentation(type.description)
    text.block("\(access)indirect enum \(names.leaf(type.name)): GraphQLInputObject\(hashable)") {
      text in
      for (field, name, type) in fields {
        text.documentation(field.description?.value)
        text.line("case \(SwiftNames.escaped(name))(\(type))")
      }
      text.line()
      text.block("\(access)func write(to object: inout ObjectWriter)") { text in
        text.cases(of: "self") { text in
          for (field, name, _) in fields {
            text.line("case .\(name)(let value): object.write(\"\(field.name.value)\", value)")
          }
        }
      }
    }
  }
}
