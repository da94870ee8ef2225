import GQLRunCache

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
    return PipelineLoader.isName(name[...]) ? (name, isList) : nil
  }

  /// What is wrong with the rule for `name`, without regard to a schema.
  func findings(_ name: String) -> [PipelineDiagnostic] {
    var findings: [PipelineDiagnostic] = []
    if isFormer {
      let arguments = options.keyArgs?.map(\.value) ?? []
      let list = "`field_key_args: [\(arguments.joined(separator: ", "))]`"
      let isRedirect = options.merge == nil && !arguments.isEmpty
      findings.append(
        PipelineDiagnostic(
          .formerName,
          "`key_args` of `\(name)` is read as `field_key_args`, its former meaning"
            + (isRedirect ? ": it has no `type`, and the file no `schema`" : ""),
          severity: .warning, at: options.$keyArgs.location,
          hint: "write \(list)" + (isRedirect ? ", or add `type` for a cache redirect" : "")))
    } else if redirect != nil, options.merge != nil {
      findings.append(
        PipelineDiagnostic(
          .wrongValue, "the pages of `\(name)` are merged, so the field has no cache redirect",
          at: options.$keyArgs.location,
          hint: "`field_key_args` names the arguments of the field key"))
    }
    if let type = options.type {
      let hint: String? =
        options.keyArgs == nil
        ? "add `key_args` for a cache redirect"
        : Self.returned(type) == nil ? "write `Country` or `\"[Country]\"`" : nil
      if let hint {
        findings.append(
          PipelineDiagnostic(
            .wrongValue, "`type` of `\(name)` is not the type of a redirect",
            at: options.$type.location, hint: hint))
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
