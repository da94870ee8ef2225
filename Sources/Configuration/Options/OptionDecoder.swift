import GQLRunJSON
import GQLRunSupport

/// Reads nodes of a pipeline file by tables of options, collecting everything that is wrong with
/// them.
package struct OptionDecoder {
  /// The folder that paths are taken relative to; `nil` takes each relative to its own file.
  private let fixedFolder: String?
  let environment: PipelineFileEnvironment
  package var findings: [PipelineDiagnostic] = []
  /// Where secrets stand literally.
  package var secretLocations: [FileLocation] = []
  /// The commands of `${exec:…}`, run or not.
  package var programs: [FileProgram] = []
  /// The values that came from variables, files and commands into text, and those of URLs' queries.
  package var secretValues: [SecretString] = []
  /// What the options being read are called: "option" or "key".
  private var noun = "option"

  package init(folder: String? = nil, environment: PipelineFileEnvironment) {
    fixedFolder = folder
    self.environment = environment
  }

  /// The folder that what is written at `location` is relative to.
  func folder(of location: FileLocation) -> String {
    fixedFolder ?? FilePath.folder(of: location.file)
  }

  /// Whose options are being read, for messages.
  package struct Owner {
    /// "`max-retry`", "`backoff` of `max-retry`", "a pipeline file".
    var subject: String
    /// "option" or "key".
    var noun: String
    /// Names that are allowed and read elsewhere.
    var otherNames: [String] = []
    /// Whether an option is called by its name alone, since there is only one owner of this kind.
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

  /// The options of `table` as written in `node`, with defaults for the others.
  ///
  /// What could not be read is left out and reported.
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
        if let value = value(member.value, option, option.type, label: label, name: option.name) {
          values.append((option.name, placeholder(value, option, label: label)))
        }
      } else if let text = option.defaultText {
        values.append((option.name, defaultValue(text, option, label: label, location: location)))
      } else if option.isRequired {
        findings.append(
          PipelineDiagnostic(
            .wrongValue, "\(owner.subject) needs the \(owner.noun) `\(option.name)`", at: location,
            hint: "add `\(option.name)`: \(option.type.expectation)"))
      }
    }
    return PluginOptions(values: values, known: Set(table.map(\.name)), location: location)
  }

  /// For a value that is not known because no command was run, the default in its place, as far as a file is
  /// only looked at and there is one.
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

  /// A mapping's members; nothing when the node is absent, empty or, which is reported, no mapping.
  private mutating func members(
    of node: YAMLNode?, owner: Owner, table: [OptionDescription]
  ) -> [YAMLNode.Member] {
    guard let node, !node.isNull else { return [] }
    guard case .mapping(let members) = node.content else {
      let example = table.first.map { "`{ \($0.name): … }`" } ?? "nothing"
      findings.append(
        PipelineDiagnostic(
          .wrongValue, "\(owner.subject) takes \(owner.noun)s, not \(node.kind)", at: node.location,
          hint: "write \(example)", notes: notes(table, owner)))
      return []
    }
    return members
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

  /// A default read by the option's own type, or `nil` when the description is wrong.
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
    let value = decoder.value(node, option, option.type, label: option.name, name: option.name)
    guard var value, decoder.findings.isEmpty else { return nil }
    value.location = location
    return value
  }
}

extension OptionDecoder {
  /// A value of the given type; `nil` when it could not be read, which is then reported.
  private mutating func value(
    _ node: YAMLNode, _ option: OptionDescription, _ type: OptionType, label: String, name: String
  ) -> OptionValue? {
    if case .json = type {
      let json = node.json
      return OptionValue(
        content: .json(json), location: node.location, shownText: json.jsonText(), isDefault: false)
    }
    if node.isNull {
      if case .object = type {
      } else {
        return mismatch(node.location, label, type, hint: "no value is given")
      }
    }
    switch (type, node.content) {
    case (.object(let table), _):
      let owner = Owner(subject: label, noun: noun)
      let options = options(node, table: table, owner: owner, location: node.location)
      return OptionValue(
        content: .object(options), location: node.location, shownText: "", isDefault: false)
    case (.list(let element), .sequence(let nodes)):
      let values = nodes.compactMap {
        value($0, option, element, label: "an element of \(label)", name: name)
      }
      return OptionValue(
        content: .list(values), location: node.location,
        shownText: "[\(values.map(\.shownText).joined(separator: ", "))]", isDefault: false)
    case (.map(let element), .mapping(let members)):
      let entries = members.compactMap { member in
        value(member.value, option, element, label: "`\(member.key)` in \(label)", name: member.key)
          .map {
            OptionValue.Entry(name: member.key, nameLocation: member.keyLocation, value: $0)
          }
      }
      let shown = entries.map { "\($0.name): \($0.value.shownText)" }.joined(separator: ", ")
      return OptionValue(
        content: .map(entries), location: node.location,
        shownText: shown.isEmpty ? "{}" : "{ \(shown) }", isDefault: false)
    case (_, .scalar(let text, _)):
      return scalar(text, node, option, type, label: label, name: name)
    default:
      return mismatch(node.location, label, type, hint: "this is \(node.kind)")
    }
  }

  private mutating func scalar(
    _ text: String, _ node: YAMLNode, _ option: OptionDescription, _ type: OptionType,
    label: String, name: String
  ) -> OptionValue? {
    let expansion: Expansion
    do throws(Expansion.Failure) {
      expansion = try Expansion(text)
    } catch {
      reportMalformed(error, node.location, label)
      return nil
    }
    let isSecret = isSecret(option, name)
    reportLiteralSecret(expansion, isSecret: isSecret, node.location, label)
    let shown = isSecret || SecretText.looksSecret(text) ? SecretString.redacted : text
    guard let expanded = expanded(expansion, node.location, label) else { return nil }
    guard let parts = expanded.known, !expanded.hasPlaceholder || type.isText else {
      return OptionValue(
        content: .unresolved, location: node.location, shownText: shown, isDefault: false)
    }
    noteSecrets(expanded, type, option.secrecy)
    let content: OptionValue.Content?
    if case .template = type {
      content = .template(Template(parts: parts))
    } else {
      // A path in a variable was given by the user of the file, in the user's working directory.
      content = self.content(
        parts, node, type, expansion,
        folder: expanded.beginsWithVariable ? "." : folder(of: node.location), label: label)
    }
    return content.map {
      OptionValue(content: $0, location: node.location, shownText: shown, isDefault: false)
    }
  }

  private mutating func content(
    _ parts: [Template.Part], _ node: YAMLNode, _ type: OptionType, _ expansion: Expansion,
    folder: String, label: String
  ) -> OptionValue.Content? {
    var text = ""
    for part in parts {
      switch part {
      case .text(let part): text += part
      case .context(let name, _):
        findings.append(
          PipelineDiagnostic(
            .wrongValue, "\(label) is read once, so it cannot hold `${context:\(name)}`",
            at: node.location, hint: "only options expanded per request can"))
        return nil
      }
    }
    do throws(OptionReader.Mismatch) {
      return try OptionReader.content(of: text, as: type, folder: folder)
    } catch {
      // The text of an expansion may be secret: it is not repeated.
      let hint =
        expansion.isLiteral
        ? error.hint
        : "this expands to something else" + (error.isOutOfRange ? ": out of range" : "")
      _ = mismatch(node.location, label, type, hint: hint)
      return nil
    }
  }

  private mutating func mismatch(
    _ location: FileLocation, _ label: String, _ type: OptionType, hint: String
  ) -> OptionValue? {
    findings.append(
      PipelineDiagnostic(
        .wrongValue, "\(label) takes \(type.expectation)", at: location, hint: hint))
    return nil
  }
}
