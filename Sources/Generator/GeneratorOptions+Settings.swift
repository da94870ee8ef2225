/// Why settings cannot be used, or generated files cannot be written.
package struct GenerationFailure: Error, CustomStringConvertible {
  /// What was found, and what would work.
  package var description: String

  package init(_ description: String) { self.description = description }
}

extension GeneratorOptions {
  /// Creates the options that a project file has.
  ///
  /// - Parameter settings: The values of each key of `extensions.gqlrun`; a scalar is `Name=Type`.
  /// - Throws: ``GenerationFailure`` for a value that a key does not have.
  package init(settings: [String: [String]]) throws(GenerationFailure) {
    self.init(
      access: try Self.choice(settings, "access") ?? .internal,
      fields: try Self.choice(settings, "fields") ?? .verbatim,
      enumCases: try Self.choice(settings, "enum_cases") ?? .camel,
      imports: settings["imports"] ?? [], schemaModule: settings["schema_module"]?.first)
    for text in settings["conformances"] ?? [] {
      conformances.insert(try Self.value(text, "conformances"))
    }
    for text in settings["scalars"] ?? [] { try map(scalar: text) }
    try checkModules()
  }

  /// Checks that the names of modules are names.
  ///
  /// - Throws: ``GenerationFailure`` for a text that is none: it would be written into the generated files.
  package func checkModules() throws(GenerationFailure) {
    for name in imports + [schemaModule].compactMap(\.self) where !SwiftNames.isPath(name) {
      throw GenerationFailure(
        "\"\(name)\" is not the name of a Swift module; write a name such as ShopTypes")
    }
  }

  /// Adds the Swift type of a scalar: `DateTime=Date`.
  ///
  /// - Throws: ``GenerationFailure`` if the text is not a name, `=` and a type.
  package mutating func map(scalar text: String) throws(GenerationFailure) {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else {
      throw GenerationFailure("cannot read --scalar \(text): write --scalar DateTime=Date")
    }
    guard SwiftNames.isType(parts[1]) else {
      throw GenerationFailure(
        "cannot read --scalar \(text): \"\(parts[1])\" is not a Swift type; write one such as Date, Shop.Money or "
          + "[String: Int]")
    }
    scalars[parts[0]] = Self.foundation.contains(parts[1]) ? "Foundation.\(parts[1])" : parts[1]
  }

  /// Types of Foundation that the runtime can decode.
  private static let foundation: Set<String> = ["Date", "Decimal", "URL", "UUID"]

  private static func choice<Value: CaseIterable & RawRepresentable<String>>(
    _ settings: [String: [String]], _ key: String
  ) throws(GenerationFailure) -> Value? {
    guard let text = settings[key]?.first else { return nil }
    return try value(text, key)
  }

  private static func value<Value: CaseIterable & RawRepresentable<String>>(
    _ text: String, _ key: String
  ) throws(GenerationFailure) -> Value {
    guard let value = Value(rawValue: text) else {
      throw GenerationFailure(
        "`\(key)` cannot be \"\(text)\"; use "
          + Value.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return value
  }
}
