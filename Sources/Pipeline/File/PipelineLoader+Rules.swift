import GQLRunCache
import GQLRunLanguage

/// The rules of a pipeline file: `keys`, `fields` and `types`.
extension PipelineLoader {
  /// Adds the rules of `fields` for field keys, redirects and pages.
  ///
  /// - Returns: The max ages by type and field.
  mutating func addFieldRules(
    _ options: PluginOptions, to keys: inout KeyRules
  ) -> [String: [String: Duration]] {
    guard case .map(let entries)? = options["fields"]?.content else { return [:] }
    let hasSchema = options["schema"] != nil
    var ages: [String: [String: Duration]] = [:]
    for entry in entries {
      let parts = entry.name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy(Self.isName) else {
        report(
          .wrongValue, "`\(entry.name)` in `fields` does not name a field of a type",
          entry.nameLocation, "write `Type.field`, such as `Query.feed`")
        continue
      }
      guard case .object(let options) = entry.value.content else { continue }
      let (type, field) = (String(parts[0]), String(parts[1]))
      let rule = FieldRule(options, hasSchema: hasSchema)
      decoder.findings += rule.findings(entry.name)
      keys.fieldKeyArguments[type, default: [:]][field] = rule.fieldKeyArguments
      keys.redirects[type, default: [:]][field] = rule.redirect
      keys.pages[type, default: [:]][field] = rule.pages
      if let age = options.duration(ifGiven: "max_age") { ages[type, default: [:]][field] = age }
      if options.values.isEmpty, !hasFinding(from: entry.nameLocation, in: entries) {
        report(
          .wrongValue, "the rule for `\(entry.name)` is empty", entry.nameLocation,
          "give `key_args`, `field_key_args`, `merge` or `max_age`")
      }
    }
    keys.dropEmpty()
    return ages
  }

  /// Whether an error was reported between `start`, the location of an entry, and the next entry.
  private func hasFinding(
    from start: FileLocation, in entries: [OptionValue.Entry]
  ) -> Bool {
    let end = entries.map(\.nameLocation).filter { $0 > start }.min()
    return decoder.findings.contains { finding in
      finding.severity == .error && finding.location >= start
        && end.map { finding.location < $0 } ?? true
    }
  }

  /// The max ages by type.
  mutating func typeRules(_ options: PluginOptions) -> [String: Duration] {
    guard case .map(let entries)? = options["types"]?.content else { return [:] }
    var ages: [String: Duration] = [:]
    for entry in entries {
      guard Self.isName(entry.name[...]) else {
        let isField = entry.name.contains(".")
        report(
          .wrongValue, "`\(entry.name)` in `types` does not name a type", entry.nameLocation,
          isField ? "rules for fields belong in `fields`" : "write a name, such as `User`")
        continue
      }
      guard case .object(let rule) = entry.value.content else { continue }
      ages[entry.name] = rule.duration(ifGiven: "max_age")
    }
    return ages
  }

  /// https://spec.graphql.org/September2025/#Name
  static func isName(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
    }
  }

  /// A group must be a prefix of keys, as the name of a type is; other text could be the beginning
  /// of another key.
  mutating func checkGroups(_ options: PluginOptions) {
    guard case .map(let groups)? = options.object(ifGiven: "keys")?["groups"]?.content else {
      return
    }
    for entry in groups {
      guard case .string(let name) = entry.value.content, !Self.isName(name[...]) else { continue }
      report(
        .wrongValue, "`\(name)` in `groups` cannot be the prefix of keys", entry.value.location,
        "write a name, such as `Animal`")
    }
  }

  /// Checks the rules against the schema that the file names.
  mutating func checkRules(_ options: PluginOptions) {
    guard let readSchema, let path = options.string(ifGiven: "schema") else { return }
    do {
      var rules = SchemaRules(try readSchema(path))
      rules.add(options)
      decoder.findings += rules.findings
    } catch {
      let text = (error as? PipelineFileEnvironment.Failure)?.reason ?? "\(error)"
      let reason = text.split(separator: "\n").first.map { String($0) }
      report(
        .schemaRule, "the schema cannot be used, so rules are not checked against it",
        options.location(of: "schema"), reason)
    }
  }
}
