import GQLRunJSON
import GQLRunSupport

/// Decodes nodes of a pipeline file with tables of options, and collects all diagnostics.
package struct OptionDecoder {
  /// The folder that paths are relative to; `nil` for the folder of the file that contains them.
  private let fixedFolder: String?
  let environment: PipelineFileEnvironment
  package var findings: [PipelineDiagnostic] = []
  /// The source locations of literal secrets.
  package var secretLocations: [FileLocation] = []
  /// The commands of `${exec:…}`, even if they were not run.
  package var programs: [FileProgram] = []
  /// The values of variables, files and commands in options of type text, and those of URL queries.
  package var secretValues: [SecretString] = []
  /// The options that are being decoded, for messages.
  private var noun = "option"

  package init(folder: String? = nil, environment: PipelineFileEnvironment) {
    fixedFolder = folder
    self.environment = environment
  }

  /// The folder that a path at `location` is relative to.
  func folder(of location: FileLocation) -> String {
    fixedFolder ?? FilePath.folder(of: location.file)
  }

  /// The owner of the options that are being decoded, for messages.
  package struct Owner {
    /// The owner: "`max-retry`", "`backoff` of `max-retry`", "a pipeline file".
    var subject: String
    /// The word for one of the options: "option" or "key".
    var noun: String
    /// Further valid names, which are decoded elsewhere.
    var otherNames: [String] = []
    /// Whether messages omit the owner, because there is only one of its kind.
    var isRoot = false

    package init(
      subject: String, noun: String, otherNames: [String] = [], isRoot: Bool = false
    ) {
      self.subject = subject
      self.noun = noun
      self.otherNames = otherNames
      self.isRoot = isRoot
    }

    func label(_ name: String) -> String {
      isRoot ? "`\(name)`" : "`\(name)` of \(subject)"
    }
  }

  /// The options of `table` in `node`, with defaults for those that it does not set.
  ///
  /// Invalid options are reported and omitted.
  package mutating func options(
    _ node: YAMLNode?, table: [OptionDescription], owner: Owner, location: FileLocation
  ) -> PluginOptions {
    let outerNoun = noun
    noun = owner.noun
    defer { noun = outerNoun }
    let members = members(of: node, owner: owner, table: table)
    for member in members { reportUnknown(member, table: table, owner: owner) }
    var values: [(name: String, value: OptionValue)] = []
    for option in table {
      let label = owner.label(option.name)
      if let member = members.first(where: { $0.key == option.name }) {
        if let value = value(
          member.value, option: option, type: option.type, label: label, name: option.name)
        {
          var value = placeholder(value, option, label: label)
          value.keyLocation = member.keyLocation
          values.append((option.name, value))
        }
      } else if let text = option.defaultText {
        values.append((option.name, defaultValue(text, option, label: label, location: location)))
      } else if option.isRequired {
        findings.append(
          PipelineDiagnostic(
            .wrongValue,
            "\(owner.subject) requires the \(owner.noun) `\(option.name)`", at: location,
            hint: "add `\(option.name)`: \(option.type.expectation)"))
      }
    }
    return PluginOptions(
      values: values, known: Set(table.map(\.name)), given: Set(members.map(\.key)),
      location: location)
  }

  /// Replaces a value that depends on a command that was not run by the default, if there is one
  /// and the file is only inspected.
  private func placeholder(
    _ value: OptionValue, _ option: OptionDescription, label: String
  ) -> OptionValue {
    guard environment.showsPlaceholders, value.isUnknown, let text = option.defaultText else {
      return value
    }
    var result = defaultValue(text, option, label: label, location: value.location)
    result.shownText = value.shownText
    result.isDefault = false
    return result
  }

  /// The members of a mapping; none if the node is absent, empty or, which is reported, not a
  /// mapping.
  private mutating func members(
    of node: YAMLNode?, owner: Owner, table: [OptionDescription]
  ) -> [YAMLNode.Member] {
    guard let node, !node.isNull else { return [] }
    if node.members == nil { reportNoMapping(node, owner: owner, table: table) }
    return node.members ?? []
  }

  private mutating func reportNoMapping(
    _ node: YAMLNode, owner: Owner, table: [OptionDescription]
  ) {
    let example = table.first.map { "`{ \($0.name): … }`" } ?? "nothing"
    findings.append(
      PipelineDiagnostic(
        .wrongValue, "\(owner.subject) takes \(owner.noun)s, not \(node.kind)", at: node.location,
        hint: "write \(example)", notes: notes(table, owner)))
  }

  private mutating func reportUnknown(
    _ member: YAMLNode.Member, table: [OptionDescription], owner: Owner
  ) {
    let names = table.map(\.name) + owner.otherNames
    guard !names.contains(member.key) else { return }
    let meant = suggestion(for: member.key, in: names)
    findings.append(
      PipelineDiagnostic(
        .unknownName, "\(owner.subject) has no \(owner.noun) `\(member.key)`",
        at: member.keyLocation,
        hint: meant.map { "did you mean `\($0)`?" }, notes: notes(table, owner)))
  }

  private func notes(_ table: [OptionDescription], _ owner: Owner) -> [PipelineDiagnostic.Note] {
    let names = table.map(\.name) + owner.otherNames
    return [.init("\(owner.noun)s", names.isEmpty ? "none" : names.joined(separator: ", "))]
  }

  private func defaultValue(
    _ text: String, _ option: OptionDescription, label: String, location: FileLocation
  ) -> OptionValue {
    guard var value = Self.defaultValue(of: option, text, location: location) else {
      preconditionFailure("the default of \(label) is not \(option.type.expectation)")
    }
    value.isDefault = true
    return value
  }

  /// The default, decoded as the option's type; `nil` if it is not valid.
  package static func defaultValue(
    of option: OptionDescription, _ text: String, location: FileLocation
  ) -> OptionValue? {
    var decoder = OptionDecoder(folder: ".", environment: PipelineFileEnvironment())
    var node = YAMLNode(content: .scalar(text, isPlain: false), location: location)
    switch option.type {
    case .list, .map, .object:
      var composer = YAMLComposer(text, source: SourceText(file: location.file, text: text))
      guard let composed = composer.compose() else { return nil }
      node = composed
    default: break
    }
    let value = decoder.value(
      node, option: option, type: option.type, label: option.name, name: option.name)
    guard var value, decoder.findings.isEmpty else { return nil }
    value.location = location
    return value
  }
}

extension OptionDecoder {
  /// The value of a node; `nil` if it is not valid, which is reported.
  private mutating func value(
    _ node: YAMLNode, option: OptionDescription, type: OptionType, label: String, name: String
  ) -> OptionValue? {
    if case .json = type {
      let json = node.json
      return OptionValue(
        content: .json(json), location: node.location, shownText: json.jsonText(), isDefault: false,
        node: node)
    }
    if case .jsonTemplate = type {
      switch node.content {
      case .mapping: return value(node, option: option, type: .map(type), label: label, name: name)
      case .sequence:
        return value(node, option: option, type: .list(type), label: label, name: name)
      case .scalar:
        let isText = if case .string = node.json { true } else { false }
        return value(
          node, option: option, type: isText ? .template : .json, label: label, name: name)
      }
    }
    if node.isNull {
      switch type {
      case .object: break
      // The word `null`, not a missing value.
      case .choice(let words) where words.contains(node.quotedText ?? ""): break
      default: return mismatch(node.location, label: label, type: type, hint: "write a value")
      }
    }
    switch (type, node.content) {
    case (.object(let table), _):
      let owner = Owner(subject: label, noun: noun)
      guard node.isNull || node.members != nil else {
        reportNoMapping(node, owner: owner, table: table.options)
        return nil
      }
      let options = options(node, table: table.options, owner: owner, location: node.location)
      return OptionValue(
        content: .object(options), location: node.location, shownText: "", isDefault: false)
    case (.list(let element), .sequence(let nodes)):
      let values = nodes.compactMap {
        value(
          $0, option: option, type: element, label: self.label(ofElement: $0, name, label),
          name: name)
      }
      return OptionValue(
        content: .list(values), location: node.location,
        shownText: "[\(values.map(\.shownText).joined(separator: ", "))]", isDefault: false)
    case (.map(let element), .mapping(let members)):
      let entries = members.compactMap { member in
        value(
          member.value, option: option, type: element, label: "`\(member.key)` in \(label)",
          name: member.key
        )
        .map {
          OptionValue.Entry(name: member.key, nameLocation: member.keyLocation, value: $0)
        }
      }
      let shown = entries.map { "\($0.name): \($0.value.shownText)" }.joined(separator: ", ")
      return OptionValue(
        content: .map(entries), location: node.location,
        shownText: shown.isEmpty ? "{}" : "{ \(shown) }", isDefault: false)
    case (.variant(let noun, let kinds), _):
      return variant(node, noun: noun, kinds: kinds)
    case (_, .scalar(let text, _)):
      return scalar(text, node: node, option: option, type: type, label: label, name: name)
    default:
      return mismatch(node.location, label: label, type: type, hint: "this is \(node.kind)")
    }
  }

  /// "the operation `a`" for an element of `operations` with an id or a name.
  private func label(ofElement node: YAMLNode, _ name: String, _ label: String) -> String {
    guard name.hasSuffix("s"), case .mapping(let members) = node.content,
      let id = members.first(where: { $0.key == "id" || $0.key == "name" })?.value.quotedText
    else { return "an element of \(label)" }
    return "the \(name.dropLast()) `\(id)`"
  }

  /// `name: {options}` or `name`.
  private mutating func variant(
    _ node: YAMLNode, noun: String, kinds: [OptionVariant]
  ) -> OptionValue? {
    let member: YAMLNode.Member
    switch node.content {
    case .scalar(let name, _):
      let nothing = YAMLNode(content: .scalar("", isPlain: true), location: node.location)
      member = YAMLNode.Member(key: name, keyLocation: node.location, value: nothing)
    case .mapping(let members) where members.count == 1: member = members[0]
    default:
      findings.append(
        PipelineDiagnostic(
          .wrongValue, "a \(noun) is one kind with its options, not \(node.kind)",
          at: node.location, hint: kinds.first.map { "write `- \($0.example)`" }))
      return nil
    }
    guard let kind = kinds.first(where: { $0.name == member.key }) else {
      let names = kinds.map(\.name)
      findings.append(
        PipelineDiagnostic(
          .unknownName, "there is no \(noun) `\(member.key)`", at: member.keyLocation,
          hint: suggestion(for: member.key, in: names).map { "did you mean `\($0)`?" },
          notes: [.init("\(noun)s", names.joined(separator: ", "))]))
      return nil
    }
    let options = options(
      member.value, table: kind.options, owner: Owner(subject: "`\(kind.name)`", noun: "option"),
      location: member.keyLocation)
    return OptionValue(
      content: .variant(kind.name, options), location: member.keyLocation, shownText: kind.name,
      isDefault: false)
  }

  /// The text of a scalar with `${…}` expanded; `nil` if it cannot be, which is reported.
  package mutating func text(_ node: YAMLNode, label: String) -> String? {
    let option = OptionDescription("text", type: .string, summary: "Any text")
    guard
      case .string(let text)? = value(node, option: option, type: .string, label: label, name: "")?
        .content
    else { return nil }
    return text
  }

  private mutating func scalar(
    _ text: String, node: YAMLNode, option: OptionDescription, type: OptionType,
    label: String, name: String
  ) -> OptionValue? {
    let expansion: Expansion
    do throws(Expansion.Failure) {
      expansion = try Expansion(text)
    } catch {
      reportMalformed(error, location: node.location, label: label)
      return nil
    }
    let isSecret = isSecret(option, name)
    reportLiteralSecret(expansion, isSecret: isSecret, location: node.location, label: label)
    let shown = isSecret || SecretText.looksSecret(text) ? SecretString.redacted : text
    guard let expanded = expanded(expansion, location: node.location, label: label) else {
      return nil
    }
    guard let parts = expanded.known, !expanded.hasPlaceholder || type.isText else {
      return OptionValue(
        content: .unresolved, location: node.location, shownText: shown, isDefault: false)
    }
    noteSecrets(expanded, type: type, secrecy: option.secrecy)
    let content: OptionValue.Content?
    if case .template = type {
      content = .template(Template(parts: parts))
    } else {
      // A relative path in a variable is relative to the working directory of the user who set it.
      content = self.content(
        parts, node: node, type: type, expansion: expansion,
        folder: expanded.beginsWithVariable ? "." : folder(of: node.location), label: label)
    }
    return content.map {
      OptionValue(content: $0, location: node.location, shownText: shown, isDefault: false)
    }
  }

  private mutating func content(
    _ parts: [Template.Part], node: YAMLNode, type: OptionType, expansion: Expansion,
    folder: String, label: String
  ) -> OptionValue.Content? {
    var text = ""
    for part in parts {
      switch part {
      case .text(let part): text += part
      case .context(let name, _):
        findings.append(
          PipelineDiagnostic(
            .wrongValue, "\(label) is expanded once, so it cannot contain `${context:\(name)}`",
            at: node.location, hint: "only options expanded per request can"))
        return nil
      }
    }
    do throws(OptionReader.Mismatch) {
      return try OptionReader.content(of: text, as: type, folder: folder)
    } catch {
      // The text of an expansion may be secret, so messages do not contain it.
      let hint =
        expansion.isLiteral
        ? error.hint
        : "\(sources(of: expansion)) has \(error.isOutOfRange ? "a value that is out of range" : "another value")"
      _ = mismatch(node.location, label: label, type: type, hint: hint)
      return nil
    }
  }

  private mutating func mismatch(
    _ location: FileLocation, label: String, type: OptionType, hint: String
  ) -> OptionValue? {
    findings.append(
      PipelineDiagnostic(
        .wrongValue, "\(label) takes \(type.expectation)", at: location, hint: hint))
    return nil
  }
}

extension OptionDecoder {
  /// The options that a node gives to a section, as properties. Reports all errors.
  package mutating func section<Section: Configurable>(
    _ type: Section.Type, _ node: YAMLNode?, owner: Owner, location: FileLocation
  ) -> (Section, PluginOptions) {
    let options = options(
      node, table: Section.optionDescriptions, owner: owner, location: location)
    let (section, errors) = Section.read(from: options)
    report(errors, in: options, owner)
    if errors.isEmpty, !options.isUnresolved {
      do throws(OptionError) { try section.validateAll() } catch {
        report([error], in: options, owner)
      }
    }
    return (section, options)
  }

  private mutating func report(
    _ errors: [OptionError], in options: PluginOptions, _ owner: Owner
  ) {
    for error in errors {
      let label = Self.label(error.option, in: options, owner)
      findings.append(
        PipelineDiagnostic(
          error.code, label.isEmpty ? error.message : "\(label): \(error.message)",
          at: options.location(of: error.option), hint: error.remedy))
    }
  }

  /// "`rate` of `rate_limit`" for `rate_limit.rate`, "`emit` of the operation `a`" for
  /// `operations.0.emit`.
  private static func label(_ path: String, in options: PluginOptions, _ owner: Owner) -> String {
    var label = owner.isRoot ? "" : owner.subject
    var subject = label
    var list: String?
    for (name, value) in options.values(along: path) {
      if let list {
        if let id = value.elementName { (subject, label) = ("the \(list) `\(id)`", "") }
      } else {
        label = subject.isEmpty ? "`\(name)`" : "`\(name)` of \(subject)"
        subject = "`\(name)`"
      }
      if label.isEmpty { label = subject }
      list = if case .list = value.content { String(name.dropLast()) } else { nil }
    }
    return label
  }
}

extension OptionValue {
  /// The id or name of a group in a list.
  fileprivate var elementName: String? {
    guard case .object(let options) = content else { return nil }
    return options.values.first { $0.name == "id" || $0.name == "name" }?.value.shownText
  }
}
