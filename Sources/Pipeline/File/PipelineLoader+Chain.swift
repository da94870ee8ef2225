import GQLRunLanguage
import GQLRunSupport

extension PipelineLoader {
  struct Drafts {
    var known: [ChainDraft] = []
    /// Whether an entry has an unknown plugin, so that another entry may not really be missing.
    var hasUnknown = false
  }

  mutating func drafts(_ chain: YAMLNode.Member?, _ root: YAMLNode) -> Drafts? {
    guard let chain else {
      guard !decoder.findings.contains(where: { $0.hint == "did you mean `chain`?" }) else {
        return nil
      }
      report(
        .wrongValue, "a pipeline file requires the key `chain`", root.location,
        "add `chain:` and a list of plugins")
      return nil
    }
    guard case .sequence(let nodes) = chain.value.content, !nodes.isEmpty else {
      report(
        .wrongValue, "`chain` is a list of plugins",
        chain.value.isNull ? chain.keyLocation : chain.value.location, "write `- plugin` lines")
      return nil
    }
    guard nodes.count <= ChainEntry.mostEntries else {
      report(
        .wrongValue,
        "`chain` has \(nodes.count) entries; at most \(ChainEntry.mostEntries) are allowed",
        chain.keyLocation, "remove entries, or split the file into several pipelines")
      return nil
    }
    var drafts = Drafts()
    var ids: [String: FileLocation] = [:]
    for node in nodes {
      if let draft = draft(node, ids: &ids) {
        drafts.known.append(draft)
      } else {
        drafts.hasUnknown = true
      }
    }
    return drafts
  }

  private mutating func draft(
    _ node: YAMLNode, ids: inout [String: FileLocation]
  ) -> ChainDraft? {
    let entry = ChainEntry(node, registry)
    guard !entry.members.isEmpty else {
      report(
        .wrongValue, "an entry of `chain` is `- plugin` or `- plugin: {options}`, not \(node.kind)",
        node.location, "name a plugin")
      return nil
    }
    guard let named = entry.plugin else {
      report(
        .wrongValue, "this entry has no plugin", node.location, "write `- plugin: {options}`")
      return nil
    }
    let members = entry.members
    guard let plugin = registry[named.key], let description = registry.description(of: named.key)
    else {
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownName, "unknown plugin `\(named.key)`", at: named.keyLocation,
          hint: registry.suggestion(for: named.key).map { "did you mean `\($0)`?" },
          notes: [.init("plugins", registry.names.joined(separator: ", "))]))
      return nil
    }
    for member in members
    where member.key != named.key && !ChainEntry.neighbours.contains(member.key) {
      reportNeighbour(member, of: description)
    }
    let errorsBefore = decoder.findings.count
    let programsBefore = decoder.programs.count
    let options = decoder.options(
      named.value, table: description.options,
      owner: .init(subject: "`\(named.key)`", noun: "option"), location: named.keyLocation)
    let (configured, errors) = plugin.read(from: options)
    for error in errors { report(error, named.key, options) }
    return ChainDraft(
      name: named.key, location: named.keyLocation,
      id: id(members.first { $0.key == "id" }, named, &ids), plugin: configured, options: options,
      condition: condition(members.first { $0.key == "when" }),
      isSound: decoder.findings.count == errorsBefore,
      hasCommands: decoder.programs.count > programsBefore)
  }

  private mutating func report(_ error: OptionError, _ name: String, _ options: PluginOptions) {
    report(
      .wrongValue, "`\(name)`: \(error.message)", options.location(of: error.option), error.remedy)
  }

  /// Reports a key next to a plugin that is not valid there.
  private mutating func reportNeighbour(_ member: YAMLNode.Member, of plugin: PluginDescription) {
    if registry[member.key] != nil {
      report(
        .wrongValue, "an entry of `chain` has one plugin", member.keyLocation,
        "begin a new entry: `- \(member.key)`")
    } else if plugin.options.contains(where: { $0.name == member.key }) {
      report(
        .unknownName, "`\(member.key)` is next to `\(plugin.name)` instead of in it",
        member.keyLocation, "indent it further, or write `\(plugin.name): { \(member.key): … }`")
    } else if ChainEntry.changes.contains(member.key) {
      report(
        .wrongValue, "`\(member.key)` changes the chain of a file that this one extends",
        member.keyLocation, "add `extends: ./other.pipeline.yaml`, or remove this")
    } else {
      let meant = suggestion(for: member.key, in: ChainEntry.neighbours)
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownName, "an entry of `chain` has no key `\(member.key)`", at: member.keyLocation,
          hint: meant.map { "did you mean `\($0)`?" },
          notes: [.init("keys", "a plugin, id, when")]))
    }
  }

  private mutating func id(
    _ member: YAMLNode.Member?, _ plugin: YAMLNode.Member, _ ids: inout [String: FileLocation]
  ) -> String {
    if let member {
      guard case .scalar(let id, _) = member.value.content, !member.value.isNull,
        id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) })
      else {
        report(
          .wrongValue, "`id` is a word", member.value.location,
          "letters, digits, `-`, `_` and `.`")
        return plugin.key
      }
      if let first = ids[id] {
        report(
          .duplicateKey, "the id `\(id)` is repeated", member.value.location,
          "first used in line \(first.line)")
      }
      ids[id] = member.value.location
      return id
    }
    var id = plugin.key
    var number = 2
    while ids[id] != nil {
      id = "\(plugin.key)-\(number)"
      number += 1
    }
    ids[id] = plugin.keyLocation
    return id
  }

  private mutating func condition(_ member: YAMLNode.Member?) -> OperationCondition {
    guard let member else { return .always }
    let (given, _) = decoder.section(
      ConditionOptions.self, member.value, owner: .init(subject: "`when`", noun: "key"),
      location: member.keyLocation)
    return OperationCondition(operations: given.operation.map { Set($0) }, type: given.type)
  }
}

extension PipelineLoader {
  /// The entries with their interceptors; those whose options are wrong or unknown are left out.
  mutating func entries(_ drafts: [ChainDraft], name: String?) -> [PipelineEntry] {
    let firstHTTP = drafts.firstIndex(where: \.placement.isBelowCache)
    return drafts.indices.compactMap { index in
      let draft = drafts[index]
      guard draft.isSound else { return nil }
      // If the options are unknown, only the description can be shown.
      let opaque = PipelineEntry(
        id: draft.id, [], when: draft.condition, plugin: draft.plugin, options: draft.options)
      guard !draft.options.isUnresolved else {
        return self.environment.showsPlaceholders ? opaque : nil
      }
      let environment = PluginEnvironment(
        pipelineName: name, entryID: draft.id, folder: FilePath.folder(of: draft.location.file),
        variable: environment.variable)
      do throws(OptionError) {
        try draft.plugin.validateAll()
        var parts = try draft.plugin.parts(environment)
        if let firstHTTP, index > firstHTTP, draft.placement.stages.contains(.http) {
          keepHTTPParts(&parts, draft, below: drafts[firstHTTP])
        }
        return PipelineEntry(
          id: draft.id, parts, when: draft.condition, plugin: draft.plugin, options: draft.options)
      } catch {
        // The option may be wrong because it has a placeholder.
        if self.environment.showsPlaceholders, draft.hasCommands { return opaque }
        report(error, draft.name, draft.options)
        return nil
      }
    }
  }

  /// A plugin of both stages among those of the HTTP stage takes part in that one only.
  private mutating func keepHTTPParts(
    _ parts: inout [ChainPart], _ draft: ChainDraft, below first: ChainDraft
  ) {
    let others = parts.filter { if case .graphQL = $0 { false } else { true } }
    let isReported = decoder.findings.contains {
      $0.location == draft.location && $0.code == .stageOrder
    }
    if others.isEmpty, !parts.isEmpty, !isReported {
      report(
        .stageOrder, "`\(draft.name)`, with these options, works in the GraphQL stage",
        draft.location,
        "move it above `\(first.name)` (line \(first.location.line))")
    }
    parts = others
  }
}
