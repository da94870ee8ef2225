import GQLRunSupport

/// What a file gives for an option: a node of the file with the type of the option.
///
/// The initializer of an ``ExpressibleByOption`` type decodes it, most easily as another such type:
/// `try Int(option: option)`.
public struct GivenOption {
  /// The node of the file.
  package let node: YAMLNode
  /// The type of the option, with bounds.
  let type: OptionType
  /// The option in messages: "`rate` of `rate_limit`".
  let label: String
  /// The name of the option, or that of the member of its map.
  let name: String
  let secrecy: OptionSecrecy
  /// The word for an option of a group: "option" or "key".
  let noun: String
  package let decoder: OptionDecoder

  /// The source location of the value.
  public var location: FileLocation { node.location }

  /// An element or member of the value.
  private func part(
    _ node: YAMLNode, type: OptionType, label: String, name: String
  ) -> GivenOption {
    GivenOption(
      node: node, type: type, label: label, name: name, secrecy: secrecy, noun: noun,
      decoder: decoder)
  }

  /// Reports that the value has another form than the type of the option.
  private func mismatch(hint: String) -> OptionError {
    refused("\(label) takes \(type.expectation)", hint: hint)
  }

  /// Reports that there is no value, and why.
  func refused(
    _ message: String, hint: String?, code: PipelineDiagnostic.Code = .wrongValue
  ) -> OptionError {
    decoder.findings.report(code, message: message, location: location, hint: hint)
    return .reported
  }
}

// MARK: Scalars

extension GivenOption {
  /// The value of the text, with `${…}` expanded.
  ///
  /// - Parameter parse: Parses the text.
  func scalar<Value>(
    _ parse: (_ text: String) throws(OptionTextError) -> Value
  ) throws(OptionError) -> Value {
    let expanded = try expanded()
    let text = try constantText(expanded)
    do throws(OptionTextError) { return try parse(text) } catch {
      // The text of an expansion may be secret, so messages do not contain it.
      throw mismatch(
        hint: expanded.expansion.isLiteral
          ? error.hint
          : "\(sources(of: expanded.expansion)) has "
            + (error.isOutOfRange ? "a value that is out of range" : "another value"))
    }
  }

  /// The value of the text, if it is within bounds.
  func scalar<Value: Comparable>(
    in range: ClosedRange<Value>?, text: (Value) -> String,
    parse: (_ text: String) throws(OptionTextError) -> Value
  ) throws(OptionError) -> Value {
    try scalar { given throws(OptionTextError) in
      let value = try parse(given)
      guard let range, !range.contains(value) else { return value }
      throw OptionTextError(
        hint: value < range.lowerBound
          ? "at least \(text(range.lowerBound))" : "at most \(text(range.upperBound))",
        isOutOfRange: true)
    }
  }

  /// The text as a path.
  ///
  /// - Parameter isWritten: Whether the file is written. The decoder collects these, except for those
  ///   that the user names with a variable.
  func path(isWritten: Bool = false) throws(OptionError) -> String {
    let expanded = try expanded()
    let text = try constantText(expanded)
    guard !text.isEmpty else { throw mismatch(hint: "it is empty") }
    // A relative path in a variable is relative to the working directory of the user who set it.
    let folder = expanded.beginsWithVariable ? "." : decoder.folder(of: location)
    let path = FilePath.resolve(text, in: folder)
    if isWritten, !expanded.beginsWithVariable || expanded.expansion.parts.count > 1 {
      let written = if case .scalar(let written, _) = node.content { written } else { path }
      decoder.outputs.append(
        FileOutput(path: path, text: written, option: label, location: location))
    }
    return path
  }

  /// The text as a template, which is expanded for each request.
  func template() throws(OptionError) -> Template {
    Template(parts: try expanded().parts)
  }

  /// The text with its expansions.
  private func expanded() throws(OptionError) -> ExpandedText {
    guard case .scalar(let text, _) = node.content else {
      throw mismatch(hint: "this is \(node.kind)")
    }
    if node.isNull, !type.hasWord(text) { throw mismatch(hint: "write a value") }
    return try expanded(text)
  }

  private func constantText(_ expanded: ExpandedText) throws(OptionError) -> String {
    var text = ""
    for part in expanded.parts {
      switch part {
      case .text(let part): text += part
      case .context(let name, _):
        throw refused(
          "\(label) is expanded once, so it cannot contain `${context:\(name)}`",
          hint: "only options expanded per request can")
      }
    }
    return text
  }
}

extension OptionType {
  /// Whether an unquoted `null` is one of the words, and not a missing value.
  fileprivate func hasWord(_ text: String) -> Bool {
    if case .choice(let words) = self { words.contains(text) } else { false }
  }

  /// The type of the elements of a list, or of the values of a map.
  var inner: OptionType? {
    switch self {
    case .list(let type), .map(let type): type
    case .jsonTemplate: self
    default: nil
    }
  }
}

// MARK: Lists, maps and groups

extension GivenOption {
  /// An element of a list, or a member of a map.
  private struct Part {
    /// The name of a member, or the index of an element.
    var name: String
    var nameLocation: FileLocation?
    var option: GivenOption
  }

  /// The elements of a list, without those that are unknown or have another form.
  ///
  /// - Throws: ``OptionError`` with the errors of all that are not valid.
  func elements<Value: ExpressibleByOption>(
    of _: Value.Type
  ) throws(OptionError) -> [Value] {
    guard let inner = type.inner else { throw .mismatch([Value].self) }
    guard case .sequence(let nodes) = node.content else {
      try refuse { "write a list: `[\($0)]`" }
    }
    let entries: [OptionMap<Value>.Entry] = try values(
      of: nodes.enumerated().map { index, node in
        Part(
          name: "\(index)",
          option: part(node, type: inner, label: label(ofElement: node), name: name))
      })
    // The indices of further groups are then not those of the file.
    if case .object = inner, entries.count < nodes.count { decoder.gaps += 1 }
    return entries.map(\.value)
  }

  /// The members of a map, without those that are unknown or have another form.
  ///
  /// - Throws: ``OptionError`` with the errors of all that are not valid.
  func entries<Value: ExpressibleByOption>() throws(OptionError) -> [OptionMap<Value>.Entry] {
    guard let inner = type.inner else { throw .mismatch(OptionMap<Value>.self) }
    guard case .mapping(let members) = node.content else {
      try refuse { _ in "write `name: value` pairs" }
    }
    return try values(
      of: members.map { member in
        Part(
          name: member.key, nameLocation: member.keyLocation,
          option: part(
            member.value, type: inner, label: "`\(member.key)` in \(label)", name: member.key))
      })
  }

  private func values<Value: ExpressibleByOption>(
    of parts: [Part]
  ) throws(OptionError) -> [OptionMap<Value>.Entry] {
    var entries: [OptionMap<Value>.Entry] = []
    var errors: [OptionError] = []
    for part in parts {
      do throws(OptionError) {
        let value = try Value(option: part.option)
        entries.append(.init(name: part.name, value: value, nameLocation: part.nameLocation))
      } catch {
        errors.append(error.within(part.name))
        if error.cause == .unknown { decoder.gaps += 1 }
      }
    }
    if let error = OptionError(errors) { throw error }
    return entries
  }

  /// Reports a value that is not a list or a map.
  private func refuse(_ hint: (_ text: String) -> String) throws(OptionError) -> Never {
    try scalar { text throws(OptionTextError) -> Never in throw OptionTextError(hint: hint(text)) }
  }

  /// "the operation `a`" for an element of `operations` with an id or a name.
  private func label(ofElement node: YAMLNode) -> String {
    guard name.hasSuffix("s"), let id = node.elementName else { return "an element of \(label)" }
    return "the \(name.dropLast()) `\(id)`"
  }

  /// The options of a group.
  package func group<Section: Configurable>(_ type: Section.Type) throws(OptionError) -> Section {
    let reader = reader(of: type)
    guard reader.takeMembers(of: node) else { throw .reported }
    let (section, errors) = reader.section(type)
    if let error = OptionError(errors) { throw error }
    return section
  }

  /// The options of a group; `nil` for the word that the option of type ``OptionType/objectOrWord(_:word:)`` takes instead.
  package func groupOrWord<Section: Configurable>(
    _ type: Section.Type
  ) throws(OptionError) -> Section? {
    guard case .objectOrWord(_, let word) = self.type else { throw .mismatch(Section.self) }
    guard case .scalar(let text, _) = node.content, !node.isNull else { return try group(type) }
    guard text == word else { throw mismatch(hint: "write `\(word)`, or `name: value` pairs") }
    return nil
  }

  /// The options of a kind; those without a valid value have their defaults.
  ///
  /// - Parameter kind: The result of ``variant()``.
  package func options<Section: Configurable>(
    of kind: YAMLNode.Member, as type: Section.Type
  ) throws(OptionError) -> Section {
    let (section, errors) = decoder.read(
      type, kind.value, owner: .init(subject: "`\(kind.key)`", noun: "option"),
      location: kind.keyLocation)
    if let error = OptionError(errors) { throw error.within(kind.key) }
    return section
  }

  private func reader<Section: Configurable>(of type: Section.Type) -> OptionSectionReader {
    OptionSectionReader(of: type, owner: owner, location: location, decoder: decoder)
  }

  private var owner: OptionDecoder.Owner { OptionDecoder.Owner(subject: label, noun: noun) }

  /// The members of a group, of which those with other names are reported.
  package func members(named names: [String]) throws(OptionError) -> [YAMLNode.Member] {
    guard let members = decoder.members(of: node, names: names, owner: owner) else {
      throw .reported
    }
    return members
  }

  /// The options of a section that shares the mapping of the group with others, and their errors. Reports no missing ones.
  ///
  /// - Parameter rest: The members of the mapping; those of the section are removed.
  package func part<Section: Configurable>(
    _ type: Section.Type, from rest: inout [YAMLNode.Member]
  ) -> (Section, [OptionError]) {
    let reader = reader(of: type)
    reader.takeMembers(from: &rest)
    return reader.section(type)
  }

  /// The kind of an option of type ``OptionType/variant(noun:_:)``, with its options: `name: {options}`, or `name`.
  package func variant() throws(OptionError) -> YAMLNode.Member {
    guard case .variant(let noun, let kinds) = type else { throw .mismatch(OptionVariant.self) }
    let member: YAMLNode.Member
    switch node.content {
    case .scalar where node.isNull: throw mismatch(hint: "write a value")
    case .scalar(let name, _):
      member = YAMLNode.Member(
        key: name, keyLocation: location, value: YAMLNode(emptyAt: location))
    case .mapping(let members) where members.count == 1: member = members[0]
    default:
      throw refused(
        "a \(noun) is one kind with its options, not \(node.kind)",
        hint: kinds.first.map { "write `- \($0.example)`" })
    }
    let names = kinds.map(\.name)
    guard names.contains(member.key) else {
      decoder.findings.reportUnknown(
        member.key, among: names, "\(noun)s", message: "there is no \(noun) `\(member.key)`",
        location: member.keyLocation)
      throw .reported
    }
    return member
  }
}
