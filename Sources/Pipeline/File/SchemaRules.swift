import GQLRunCache
public import GQLRunLanguage

/// Checks the rules of a pipeline file (`keys`, `fields`, `types`) against a schema, each with its
/// source location.
struct SchemaRules {
  private let check: RuleCheck
  private let schema: Schema
  private(set) var findings: [PipelineDiagnostic] = []

  init(_ schema: Schema) {
    check = RuleCheck(schema)
    self.schema = schema
  }

  /// Adds the problems of a file's options.
  mutating func add(_ options: PluginOptions) {
    if let keys = options.object(ifGiven: "keys") { addKeys(keys) }
    let joined = KeyRules(options).joined(with: schema).rules
    for entry in options["fields"]?.entries ?? [] {
      addField(entry, hasSchema: options["schema"] != nil, joined)
    }
    for entry in options["types"]?.entries ?? [] {
      report(check.type(entry.name), entry.nameLocation)
    }
  }

  private mutating func addKeys(_ keys: PluginOptions) {
    for field in keys["default"]?.elements ?? [] where keys["default"]?.isDefault == false {
      guard case .string(let name) = field.content else { continue }
      report(check.defaultKeyField(name), field.location)
    }
    for entry in keys["types"]?.entries ?? [] {
      if let problem = check.type(entry.name) {
        report(problem, entry.nameLocation)
        continue
      }
      for field in entry.value.elements {
        guard case .string(let name) = field.content else { continue }
        report(check.keyField(name, of: entry.name), field.location)
      }
    }
    for entry in keys["groups"]?.entries ?? [] {
      report(check.type(entry.name), entry.nameLocation)
    }
  }

  /// Checks a rule for `Type.field`; a name in another form is reported when the file is read.
  private mutating func addField(
    _ entry: OptionValue.Entry, hasSchema: Bool, _ keys: KeyRules
  ) {
    let parts = entry.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return }
    if let problem = check.field(parts[1], of: parts[0]) {
      return report(problem, entry.nameLocation)
    }
    guard case .object(let options) = entry.value.content else { return }
    let rule = FieldRule(options, hasSchema: hasSchema)
    if let redirect = rule.redirect {
      for (part, problem) in check.redirect(redirect, of: parts[1], in: parts[0], keys: keys) {
        let path =
          switch part {
          case .argument(let index): "key_args.\(index)"
          case .arguments: "key_args"
          case .type: "type"
          }
        report(problem, options.location(of: path))
      }
    }
    for name in ["field_key_args"] + (rule.redirect == nil ? ["key_args"] : []) {
      for argument in options[name]?.elements ?? [] {
        guard case .string(let name) = argument.content else { continue }
        report(check.argument(name, of: parts[1], in: parts[0]), argument.location)
      }
    }
    if let policy = rule.pages {
      report(check.merge(policy, of: parts[1], in: parts[0]), options.location(of: "merge"))
    }
  }

  private mutating func report(_ problem: RuleCheck.Problem?, _ location: FileLocation) {
    guard let problem else { return }
    findings.append(
      PipelineDiagnostic(.schemaRule, problem.message, at: location, hint: problem.hint))
  }
}

extension Pipeline {
  /// Checks the rules of the pipeline's file against a schema: unknown types, fields and arguments,
  /// and page rules for fields that are not lists.
  ///
  /// - Parameter schema: The schema of the endpoint.
  /// - Returns: The problems; empty for a pipeline that was created in code.
  public func ruleDiagnostics(against schema: Schema) -> PipelineDiagnostics {
    var rules = SchemaRules(schema)
    if let shown { rules.add(shown) }
    return PipelineDiagnostics(rules.findings, sources: sources)
  }
}

extension OptionValue {
  /// The entries of a map; empty for other values.
  fileprivate var entries: [Entry] {
    if case .map(let entries) = content { entries } else { [] }
  }

  /// The elements of a list; empty for other values.
  fileprivate var elements: [OptionValue] {
    if case .list(let elements) = content { elements } else { [] }
  }
}
