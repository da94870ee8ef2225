import GQLRunCache
public import GQLRunLanguage

/// The rule for one field under `fields`.
struct FieldRule {
  /// The arguments of the field key; `nil` without a rule.
  private(set) var fieldKeyArguments: [String]?
  /// The cache redirect.
  private(set) var redirect: CacheRedirect?
  /// Whether `key_args` has its former meaning, which is that of `field_key_args` now: for pages, without
  /// arguments, and where the type of the field is unknown.
  private let isFormer: Bool
  private let options: FieldRuleOptions

  /// - Parameter hasSchema: Whether the file names a schema.
  init(_ options: FieldRuleOptions, hasSchema: Bool) {
    self.options = options
    let arguments = options.keyArgs?.map(\.value) ?? []
    isFormer =
      options.keyArgs != nil && options.type == nil
      && (arguments.isEmpty || !hasSchema || options.merge != nil && options.fieldKeyArgs == nil)
    fieldKeyArguments = options.fieldKeyArgs?.map(\.value) ?? (isFormer ? arguments : nil)
    guard !isFormer, !arguments.isEmpty else { return }
    let returned = options.type.flatMap(Self.returned)
    redirect = CacheRedirect(
      arguments, type: returned?.name, isList: returned?.isList ?? false)
  }

  /// The type of `Country` and `[Country!]!`; `nil` for other text.
  private static func returned(_ text: String) -> (name: String, isList: Bool)? {
    var name = text.filter { $0 != "!" && $0 != " " }
    let isList = name.hasPrefix("[") && name.hasSuffix("]")
    if isList { name = String(name.dropFirst().dropLast()) }
    return Name.isValid(name) ? (name, isList) : nil
  }

  /// What is wrong with the rule for `name`, without regard to a schema.
  func findings(_ name: String) -> [PipelineDiagnostic] {
    var findings: [PipelineDiagnostic] = []
    if isFormer {
      let arguments = options.keyArgs?.map(\.value) ?? []
      let list = "`field_key_args: [\(arguments.joined(separator: ", "))]`"
      let isRedirect = options.merge == nil && !arguments.isEmpty
      findings.report(
        .formerName,
        message: "`key_args` of `\(name)` is read as `field_key_args`, its former meaning"
          + (isRedirect ? ": it has no `type`, and the file no `schema`" : ""),
        location: options.$keyArgs.location,
        hint: "write \(list)" + (isRedirect ? ", or add `type` for a cache redirect" : ""),
        severity: .warning)
    } else if redirect != nil, options.merge != nil {
      findings.refuse(
        "the pages of `\(name)` are merged, so the field has no cache redirect",
        at: options.$keyArgs.location,
        hint: "`field_key_args` names the arguments of the field key")
    }
    if let type = options.type {
      let hint: String? =
        options.keyArgs == nil
        ? "add `key_args` for a cache redirect"
        : Self.returned(type) == nil ? "write `Country` or `\"[Country]\"`" : nil
      if let hint {
        findings.refuse(
          "`type` of `\(name)` is not the type of a redirect",
          at: options.$type.location, hint: hint)
      }
    }
    return findings
  }
}

extension KeyRules {
  /// The rules for keys of a pipeline file.
  init(_ options: KeyOptions?) {
    self.init()
    guard let options else { return }
    defaultFields = options.default.map(\.value)
    types = options.types.dictionary.mapValues { $0.map(\.value) }
    groups = options.groups.dictionary.mapValues(\.value)
  }

  /// Removes types without rules.
  mutating func dropEmpty() {
    fieldKeyArguments = fieldKeyArguments.filter { !$0.value.isEmpty }
    redirects = redirects.filter { !$0.value.isEmpty }
    pages = pages.filter { !$0.value.isEmpty }
  }
}

/// Checks the rules of a pipeline file (`keys`, `fields`, `types`) against a schema, each with its
/// source location.
struct SchemaRules {
  private let check: RuleCheck
  private(set) var findings: [PipelineDiagnostic] = []

  init(of options: PipelineFileOptions, _ schema: Schema) {
    check = RuleCheck(schema)
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
    findings.report(
      .schemaRule, message: problem.message, location: location, hint: problem.hint)
  }
}

extension Pipeline {
  /// Checks the rules of the pipeline's file against a schema: unknown types, fields and arguments,
  /// and page rules for fields that are not lists.
  ///
  /// - Parameter schema: The schema of the endpoint.
  /// - Returns: The problems; empty for a pipeline that was created in code.
  public func ruleDiagnostics(against schema: Schema) -> PipelineDiagnostics {
    let findings = options.map { SchemaRules(of: $0, schema).findings }
    return PipelineDiagnostics(findings ?? [], sources: sources)
  }
}
