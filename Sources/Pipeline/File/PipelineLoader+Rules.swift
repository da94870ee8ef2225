import GQLRunCache
import GQLRunLanguage

/// The rules of a pipeline file: `keys`, `fields` and `types`.
extension PipelineLoader {
  /// Adds the rules of `fields` for field keys, redirects and pages.
  ///
  /// - Returns: The max ages by type and field.
  mutating func addFieldRules(
    _ given: PipelineFileOptions, to keys: inout KeyRules
  ) -> [String: [String: Duration]] {
    var ages: [String: [String: Duration]] = [:]
    for entry in given.fields.entries {
      let parts = entry.name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy(Self.isName) else {
        report(
          .wrongValue, "`\(entry.name)` in `fields` does not name a field of a type",
          entry.nameLocation ?? given.$fields.location, "write `Type.field`, such as `Query.feed`")
        continue
      }
      let (type, field) = (String(parts[0]), String(parts[1]))
      let rule = FieldRule(entry.value, hasSchema: given.schema != nil)
      decoder.findings += rule.findings(entry.name)
      keys.fieldKeyArguments[type, default: [:]][field] = rule.fieldKeyArguments
      keys.redirects[type, default: [:]][field] = rule.redirect
      keys.pages[type, default: [:]][field] = entry.value.merge
      ages[type, default: [:]][field] = entry.value.maxAge?.duration
    }
    keys.dropEmpty()
    return ages.filter { !$0.value.isEmpty }
  }

  /// The max ages by type.
  mutating func typeRules(_ given: PipelineFileOptions) -> [String: Duration] {
    var ages: [String: Duration] = [:]
    for entry in given.types.entries {
      guard Self.isName(entry.name[...]) else {
        let isField = entry.name.contains(".")
        report(
          .wrongValue, "`\(entry.name)` in `types` does not name a type",
          entry.nameLocation ?? given.$types.location,
          isField ? "rules for fields belong in `fields`" : "write a name, such as `User`")
        continue
      }
      ages[entry.name] = entry.value.maxAge.duration
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
  mutating func checkGroups(_ given: PipelineFileOptions) {
    for group in given.keys?.groups.entries ?? [] where !Self.isName(group.value.value[...]) {
      report(
        .wrongValue, "`\(group.value.value)` in `groups` cannot be the prefix of keys",
        group.value.location, "write a name, such as `Animal`")
    }
  }

  /// Checks the rules against the schema that the file names.
  mutating func checkRules(_ given: PipelineFileOptions) {
    guard let readSchema, let path = given.schema?.path else { return }
    do {
      var rules = SchemaRules(try readSchema(path))
      rules.add(given)
      decoder.findings += rules.findings
    } catch {
      let text = (error as? PipelineFileEnvironment.Failure)?.reason ?? "\(error)"
      let reason = text.split(separator: "\n").first.map { String($0) }
      report(
        .schemaRule, "the schema cannot be used, so rules are not checked against it",
        given.$schema.location, reason)
    }
  }
}
