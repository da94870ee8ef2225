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
  mutating func add(_ options: PipelineFileOptions) {
    if let keys = options.keys { addKeys(keys) }
    let joined = KeyRules(options.keys).joined(with: schema).rules
    for entry in options.fields.entries {
      addField(entry, hasSchema: options.schema != nil, joined)
    }
    for entry in options.types.entries { report(check.type(entry.name), entry.nameLocation) }
  }

  private mutating func addKeys(_ keys: KeyOptions) {
    if keys.$default.isGiven {
      for field in keys.default { report(check.defaultKeyField(field.value), field.location) }
    }
    for entry in keys.types.entries {
      if let problem = check.type(entry.name) {
        report(problem, entry.nameLocation)
        continue
      }
      for field in entry.value {
        report(check.keyField(field.value, of: entry.name), field.location)
      }
    }
    for entry in keys.groups.entries { report(check.type(entry.name), entry.nameLocation) }
  }

  /// Checks a rule for `Type.field`; a name in another form is reported when the file is read.
  private mutating func addField(
    _ entry: OptionMap<FieldRuleOptions>.Entry, hasSchema: Bool, _ keys: KeyRules
  ) {
    let parts = entry.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { return }
    if let problem = check.field(parts[1], of: parts[0]) {
      return report(problem, entry.nameLocation)
    }
    let options = entry.value
    let redirect = FieldRule(options, hasSchema: hasSchema).redirect
    if let redirect {
      for (part, problem) in check.redirect(redirect, of: parts[1], in: parts[0], keys: keys) {
        let location =
          switch part {
          case .argument(let index): options.keyArgs?[index].location
          case .arguments: options.$keyArgs.location
          case .type: options.$type.location
          }
        report(problem, location)
      }
    }
    for argument in (options.fieldKeyArgs ?? []) + (redirect == nil ? options.keyArgs ?? [] : []) {
      report(check.argument(argument.value, of: parts[1], in: parts[0]), argument.location)
    }
    if let policy = options.merge {
      report(check.merge(policy, of: parts[1], in: parts[0]), options.$merge.location)
    }
  }

  private mutating func report(_ problem: RuleCheck.Problem?, _ location: FileLocation?) {
    guard let problem, let location else { return }
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
    if let options { rules.add(options) }
    return PipelineDiagnostics(rules.findings, sources: sources)
  }
}
