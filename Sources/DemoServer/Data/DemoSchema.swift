import GQLRunLanguage

extension Schema {
  /// The schema of the demo server.
  static let demo: Schema = {
    do {
      return try Schema(sdl: Document(parsing: SchemaSDL.text))
    } catch {
      preconditionFailure("the demo's schema is wrong: \(error)")
    }
  }()

  /// All type names: those of the schema, then the built-in ones.
  var allTypeNames: [String] { typeNames + Self.builtInTypeNames }

  private static let builtInTypeNames = [
    "Int", "Float", "String", "Boolean", "ID", "__Schema", "__Type", "__TypeKind", "__Field",
    "__InputValue", "__EnumValue", "__Directive", "__DirectiveLocation",
  ]
}
