import GQLRunSupport

/// Reads sections of a pipeline file or manifest, and collects all diagnostics.
package final class OptionDecoder {
  /// The folder that paths are relative to; `nil` for the folder of the file that contains them.
  private let fixedFolder: String?
  let environment: PipelineFileEnvironment
  package var findings: [PipelineDiagnostic] = []
  /// The source locations of literal secrets.
  package var secretLocations: [FileLocation] = []
  /// The commands of `${exec:…}`, even if they were not run.
  package var programs: [FileProgram] = []
  /// The files that options name for writing.
  package var outputs: [FileOutput] = []
  /// The values of variables, files and commands in options of type text, and those of URL queries.
  package var secretValues: [SecretString] = []
  /// The number of values that were left out, because they depend on a command that was not run, or because they are
  /// invalid elements of a list of groups. What contains them is incomplete.
  package var gaps = 0

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
}

extension OptionDecoder {
  /// The options that a node gives to a section. Reports all errors.
  package func section<Section: Configurable>(
    _ type: Section.Type, _ node: YAMLNode, owner: Owner, location: FileLocation
  ) -> Section {
    let gapsBefore = gaps
    let (section, errors) = read(type, node, owner: owner, location: location)
    for error in errors { report(error, in: node, owner: owner, location: location) }
    if errors.isEmpty, gaps == gapsBefore {
      do throws(OptionError) { try section.validateAll() } catch {
        report(error, in: node, owner: owner, location: location)
      }
    }
    return section
  }

  /// The options that a node gives to a section, and the errors of values that have the right form.
  ///
  /// Reports all others: unknown names, missing options, and values of another form. An option that has no valid value has
  /// its default.
  package func read<Section: Configurable>(
    _ type: Section.Type, _ node: YAMLNode, owner: Owner, location: FileLocation
  ) -> (Section, [OptionError]) {
    let reader = OptionSectionReader(of: type, owner: owner, location: location, decoder: self)
    _ = reader.takeMembers(of: node)
    return reader.section(type)
  }

  /// The text of a scalar with `${…}` expanded; `nil` if it cannot be, which is reported.
  package func text(_ node: YAMLNode, label: String) -> String? {
    try? String(
      option: GivenOption(
        node: node, type: .string, label: label, name: "", secrecy: .open, noun: "option",
        decoder: self))
  }

  private func report(
    _ error: OptionError, in node: YAMLNode, owner: Owner, location: FileLocation
  ) {
    let nodes = node.nodes(along: error.option)
    let label = Self.label(nodes, owner)
    findings.report(
      error.code, message: label.isEmpty ? error.message : "\(label): \(error.message)",
      location: nodes.last?.node.location ?? location, hint: error.remedy)
  }

  /// "`rate` of `rate_limit`" for `rate_limit.rate`, "`emit` of the operation `a`" for
  /// `operations.0.emit`.
  private static func label(_ nodes: [(name: String, node: YAMLNode)], _ owner: Owner) -> String {
    var label = owner.isRoot ? "" : owner.subject
    var subject = label
    var list: String?
    for (name, node) in nodes {
      if let list {
        if let id = node.elementName { (subject, label) = ("the \(list) `\(id)`", "") }
      } else {
        label = subject.isEmpty ? "`\(name)`" : "`\(name)` of \(subject)"
        subject = "`\(name)`"
      }
      if label.isEmpty { label = subject }
      list = if case .sequence = node.content { String(name.dropLast()) } else { nil }
    }
    return label
  }

  /// The members of a mapping, of which those with other names are reported; none for an empty node; `nil` for others,
  /// which is reported.
  func members(of node: YAMLNode, names: [String], owner: Owner) -> [YAMLNode.Member]? {
    guard !node.isNull else { return [] }
    let names = names + owner.otherNames
    guard let members = node.members else {
      let example = names.first.map { "`{ \($0): … }`" } ?? "nothing"
      findings.append(
        PipelineDiagnostic(
          .wrongValue, "\(owner.subject) takes \(owner.noun)s, not \(node.kind)",
          at: node.location, hint: "write \(example)",
          notes: [.init("\(owner.noun)s", names.isEmpty ? "none" : names.joined(separator: ", "))]))
      return nil
    }
    for member in members where !names.contains(member.key) {
      findings.reportUnknown(
        member.key, among: names, "\(owner.noun)s",
        message: "\(owner.subject) has no \(owner.noun) `\(member.key)`",
        location: member.keyLocation)
    }
    return members
  }
}

extension YAMLNode {
  /// The nodes that a dotted path leads through, as far as there are nodes: members of mappings, and elements of lists by
  /// index.
  func nodes(along path: String) -> [(name: String, node: YAMLNode)] {
    var rest = path.split(separator: ".").map(String.init)[...]
    var found: [(name: String, node: YAMLNode)] = []
    while let next = (found.last?.node ?? self).next(&rest) { found.append(next) }
    return found
  }

  private func next(_ rest: inout ArraySlice<String>) -> (name: String, node: YAMLNode)? {
    guard let name = rest.first else { return nil }
    switch content {
    case .scalar: return nil
    case .sequence(let elements):
      rest = rest.dropFirst()
      return Int(name).flatMap { elements.indices.contains($0) ? (name, elements[$0]) : nil }
    case .mapping(let members):
      for member in members {
        // Names that the user chooses may contain dots.
        let parts = member.key.split(separator: ".").map(String.init)
        guard !parts.isEmpty, rest.starts(with: parts) else { continue }
        rest = rest.dropFirst(parts.count)
        return (member.key, member.value)
      }
      return nil
    }
  }

  /// The id or name of a group in a list.
  var elementName: String? {
    members?.first { $0.key == "id" || $0.key == "name" }?.value.quotedText
  }
}

extension YAMLNode.Member {
  /// The source location of a value in this one, or else of the key.
  ///
  /// - Parameter path: The option's name; a dotted path for members of groups and maps and, by
  ///   index, elements of lists: `rules.0.message`.
  package func location(of path: String) -> FileLocation {
    value.nodes(along: path).last?.node.location ?? keyLocation
  }
}
