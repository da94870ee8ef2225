import GQLRunCache

/// The rule for one field under `fields`.
struct FieldRule {
  /// The arguments of the field key; `nil` without a rule.
  private(set) var fieldKeyArguments: [String]?
  /// The cache redirect.
  private(set) var redirect: CacheRedirect?
  /// How pages are merged.
  private(set) var pages: PagePolicy?
  /// Whether `key_args` has its former meaning, which is that of `field_key_args` now: for pages, without
  /// arguments, and where the type of the field is unknown.
  private let isFormer: Bool
  private let options: PluginOptions

  /// - Parameter hasSchema: Whether the file names a schema.
  init(_ options: PluginOptions, hasSchema: Bool) {
    self.options = options
    let arguments = options.strings("key_args")
    let type = options.string(ifGiven: "type")
    pages = options.choice(ifGiven: "merge", as: PagePolicy.self)
    isFormer =
      options["key_args"] != nil && type == nil
      && (arguments.isEmpty || !hasSchema || pages != nil && options["field_key_args"] == nil)
    if options["field_key_args"] != nil {
      fieldKeyArguments = options.strings("field_key_args")
    } else if isFormer {
      fieldKeyArguments = arguments
    }
    guard !isFormer, !arguments.isEmpty else { return }
    let returned = type.flatMap(Self.returned)
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
      let list = "`field_key_args: [\(options.strings("key_args").joined(separator: ", "))]`"
      let isRedirect = pages == nil && !options.strings("key_args").isEmpty
      findings.append(
        PipelineDiagnostic(
          .formerName,
          "`key_args` of `\(name)` is read as `field_key_args`, its former meaning"
            + (isRedirect ? ": it has no `type`, and the file no `schema`" : ""),
          severity: .warning, at: options.location(of: "key_args"),
          hint: "write \(list)" + (isRedirect ? ", or add `type` for a cache redirect" : "")))
    } else if redirect != nil, pages != nil {
      findings.append(
        PipelineDiagnostic(
          .wrongValue, "the pages of `\(name)` are merged, so the field has no cache redirect",
          at: options.location(of: "key_args"),
          hint: "`field_key_args` names the arguments of the field key"))
    }
    if let type = options.string(ifGiven: "type") {
      let hint: String? =
        options["key_args"] == nil
        ? "add `key_args` for a cache redirect"
        : Self.returned(type) == nil ? "write `Country` or `\"[Country]\"`" : nil
      if let hint {
        findings.append(
          PipelineDiagnostic(
            .wrongValue, "`type` of `\(name)` is not the type of a redirect",
            at: options.location(of: "type"), hint: hint))
      }
    }
    return findings
  }
}

extension KeyRules {
  /// The rules for keys of a pipeline file.
  init(_ options: PluginOptions) {
    self.init()
    guard let keys = options.object(ifGiven: "keys") else { return }
    defaultFields = keys.strings("default")
    types = Dictionary(keys.stringListMap("types").map { ($0.name, $0.value) }) { $1 }
    groups = Dictionary(keys.stringMap("groups").map { ($0.name, $0.value) }) { $1 }
  }

  /// Removes types without rules.
  mutating func dropEmpty() {
    fieldKeyArguments = fieldKeyArguments.filter { !$0.value.isEmpty }
    redirects = redirects.filter { !$0.value.isEmpty }
    pages = pages.filter { !$0.value.isEmpty }
  }
}
