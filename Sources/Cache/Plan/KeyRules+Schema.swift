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
/// Several names are separated by spaces or commas. `keyArgs` declares a ``CacheRedirect``, and `paginationArgs` the
/// arguments that are not part of the field key.
///
/// https://www.apollographql.com/docs/kotlin/caching/declarative-ids
/// https://www.apollographql.com/docs/ios/caching/cache-key-resolution
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
    rules.dropMisfits(own: self, RuleCheck(schema), &warnings)
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
    let arguments = directive.names("keyArgs")
    if !arguments.isEmpty {
      let given = own.redirects[type.name]?[name]
      warn(given?.arguments, arguments, "key arguments of \(type.name).\(name)", &warnings)
      if given == nil {
        redirects[type.name, default: [:]][name] = CacheRedirect(arguments)
      }
    }
    let paging = directive.names("paginationArgs").map(Self.head)
    guard !paging.isEmpty else { return }
    let others = field.arguments.map(\.name.value).filter { !paging.contains($0) }
    let given = own.fieldKeyArguments[type.name]?[name]
    warn(given, others, "field key arguments of \(type.name).\(name)", &warnings)
    if given == nil { fieldKeyArguments[type.name, default: [:]][name] = others }
  }

  /// Warns if arguments of the given rules differ from those of the schema.
  private func warn(
    _ given: [String]?, _ found: [String], _ what: String, _ warnings: inout [String]
  ) {
    guard let given, Set(given) != Set(found) else { return }
    warnings.append(
      "the \(what) are (\(given.joined(separator: ", "))) by the rules given, and "
        + "(\(found.joined(separator: ", "))) by @fieldPolicy of the schema; the former are used")
  }

  /// Removes redirects of the schema's directives that cannot find a record. For a field whose pages are
  /// merged, `keyArgs` keeps its former meaning: the arguments of the field key.
  private mutating func dropMisfits(
    own: KeyRules, _ check: RuleCheck, _ warnings: inout [String]
  ) {
    for (type, fields) in redirects.sorted(by: { $0.key < $1.key }) {
      for (field, redirect) in fields.sorted(by: { $0.key < $1.key })
      where own.redirects[type]?[field] == nil {
        let coordinate = "\(type).\(field)"
        if pages[type]?[field] != nil {
          redirects[type]?[field] = nil
          if fieldKeyArguments[type]?[field] == nil {
            fieldKeyArguments[type, default: [:]][field] = redirect.arguments.map(Self.head)
          }
          warnings.append(
            "@fieldPolicy of \(coordinate) has `keyArgs` for pages, which is deprecated; write "
              + "`paginationArgs` with the arguments that select a page")
        } else if let problem = check.redirect(redirect, of: field, in: type, keys: self).first {
          redirects[type]?[field] = nil
          warnings.append(
            "@fieldPolicy of \(coordinate): \(problem.problem.message); it is ignored")
        }
      }
      if redirects[type]?.isEmpty == true { redirects[type] = nil }
    }
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
