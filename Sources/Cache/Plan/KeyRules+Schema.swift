public import GQLRunLanguage

/// Rules that a schema brings along.
///
/// Clients of Apollo write them as directives on types and their extensions:
/// ```graphql
/// extend type Country @typePolicy(keyFields: "code")
/// extend type Query @fieldPolicy(forField: "country", keyArgs: "code")
/// extend type User @typePolicy(keyFields: "id", connectionFields: "posts")
/// extend type Query @fieldPolicy(forField: "feed", paginationArgs: "first after")
/// ```
/// Several names are separated by spaces or commas; of a path (`input.code`) the argument counts.
///
/// https://www.apollographql.com/docs/kotlin/caching/declarative-ids
extension KeyRules {
  /// These rules, and those of the schema for what these say nothing of.
  ///
  /// - Returns: The rules, and a warning for each that the schema states otherwise.
  public func joined(with schema: Schema) -> (rules: KeyRules, warnings: [String]) {
    var rules = self
    var warnings: [String] = []
    for name in schema.typeNames {
      guard let type = schema.type(named: name) else { continue }
      for directive in type.directives {
        switch directive.name.value {
        case "typePolicy": rules.add(directive, to: type, own: self, &warnings)
        case "fieldPolicy": rules.addField(directive, to: type, own: self, &warnings)
        default: continue
        }
      }
    }
    return (rules, warnings)
  }

  private mutating func add(
    _ directive: Directive, to type: SchemaType, own: KeyRules, _ warnings: inout [String]
  ) {
    let fields = directive.names("keyFields").map(Self.head)
    if !fields.isEmpty {
      let unknown = fields.filter { type.fields?[$0] == nil }
      if type.isComposite, type.fields != nil, let first = unknown.first {
        warnings.append(
          "@typePolicy of \(type.name) names the key field \(first), which the type does not have; "
            + "it is ignored")
      } else if let given = own.types[type.name], given != fields {
        warnings.append(
          "the keys of \(type.name) are \(given.joined(separator: ", ")) by the rules given, and "
            + "\(fields.joined(separator: ", ")) by @typePolicy of the schema; the former are used")
      } else {
        types[type.name] = fields
      }
    }
    for field in directive.names("connectionFields").map(Self.head) {
      guard own.pages[type.name]?[field] == nil else { continue }
      pages[type.name, default: [:]][field] = .connection
    }
  }

  private mutating func addField(
    _ directive: Directive, to type: SchemaType, own: KeyRules, _ warnings: inout [String]
  ) {
    guard let name = directive.names("forField").first else { return }
    guard let field = type.fields?[name] else {
      warnings.append(
        "@fieldPolicy of \(type.name) is for the field \(name), which the type does not have; it is "
          + "ignored")
      return
    }
    var arguments = directive.names("keyArgs").map(Self.head)
    let paging = directive.names("paginationArgs").map(Self.head)
    if arguments.isEmpty {
      guard !paging.isEmpty else { return }
      arguments = field.arguments.map(\.name.value).filter { !paging.contains($0) }
    }
    if let given = own.keyArguments[type.name]?[name] {
      if Set(given) != Set(arguments) {
        warnings.append(
          "the key arguments of \(type.name).\(name) are (\(given.joined(separator: ", "))) "
            + "by the rules given, and (\(arguments.joined(separator: ", "))) by @fieldPolicy of the "
            + "schema; the former are used")
      }
      return
    }
    keyArguments[type.name, default: [:]][name] = arguments
  }

  /// `input` of `input.code`.
  private static func head(_ path: String) -> String {
    String(path.split(separator: ".", maxSplits: 1).first ?? "")
  }
}

extension Directive {
  /// The names in a string argument, or in a list of strings.
  fileprivate func names(_ argument: String) -> [String] {
    guard let value = arguments.first(where: { $0.name.value == argument })?.value else {
      return []
    }
    let texts: [String] =
      switch value {
      case .string(let text): [text.value]
      case .list(let values, _):
        values.compactMap { if case .string(let text) = $0 { text.value } else { nil } }
      default: []
      }
    return texts.flatMap { text in
      text.split { $0 == " " || $0 == "," || $0 == "\n" || $0 == "\t" }.map { String($0) }
    }
  }
}
