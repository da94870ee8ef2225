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
