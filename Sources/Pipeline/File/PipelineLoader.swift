import GraphQL
import HTTPTypes

/// Turns the bytes of one pipeline file into a pipeline, collecting everything that is wrong with
/// it.
struct PipelineLoader {
  let file: String
  let registry: PluginRegistry
  private(set) var diagnostics: PipelineDiagnostics
  private var decoder: OptionDecoder

  init(file: String, registry: PluginRegistry, environment: PipelineFileEnvironment) {
    self.file = file
    self.registry = registry
    diagnostics = PipelineDiagnostics([], source: SourceText(file: file, lines: []))
    decoder = OptionDecoder(folder: FilePath.folder(of: file), environment: environment)
  }

  /// The pipeline, or `nil` when something is wrong or was not to be found out.
  mutating func load(_ bytes: [UInt8]) -> Pipeline? {
    guard let (root, source) = read(bytes) else { return nil }
    guard case .mapping(let members) = root.content else {
      report(
        .wrongValue, "a pipeline file is a mapping, not \(root.kind)", root.place,
        "begin with `version: 1`")
      finish(source)
      return nil
    }
    let pipeline = pipeline(of: members, root)
    finish(source)
    return pipeline
  }

  private mutating func read(_ bytes: [UInt8]) -> (YAMLNode, SourceText)? {
    let start = SourcePlace(file: file, line: 1, column: 1)
    guard bytes.count <= PipelineFile.maximumBytes else {
      report(.unreadable, "the file is larger than 1 MiB", start, "no pipeline file is that long")
      finish(SourceText(file: file, lines: []))
      return nil
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let line =
        1
        + String(decoding: bytes, as: UTF8.self).prefix { $0 != "\u{FFFD}" }
        .filter(\.isNewline).count
      report(
        .unreadable, "the file is not UTF-8 text",
        SourcePlace(file: file, line: line, column: 1), "save it as UTF-8")
      finish(SourceText(file: file, lines: []))
      return nil
    }
    let source = SourceText(file: file, text: text)
    var composer = YAMLComposer(text, source: source)
    let root = composer.compose()
    decoder.findings += composer.findings
    guard let root else {
      finish(source)
      return nil
    }
    return (root, source)
  }

  private mutating func finish(_ source: SourceText) {
    var source = source
    source.secrets = decoder.secretPlaces
    diagnostics = PipelineDiagnostics(decoder.findings, source: source)
  }

  private mutating func report(
    _ code: PipelineDiagnostic.Code, _ message: String, _ place: SourcePlace, _ hint: String?
  ) {
    decoder.findings.append(PipelineDiagnostic(code, message, at: place, hint: hint))
  }

  private var hasErrors: Bool {
    decoder.findings.contains { $0.severity == .error }
  }
}

extension PipelineLoader {
  private mutating func pipeline(of members: [YAMLNode.Member], _ root: YAMLNode) -> Pipeline? {
    let chain = members.first { $0.key == "chain" }
    let settings = members.filter { $0.key != "chain" }
    let options = decoder.options(
      YAMLNode(content: .mapping(settings), place: root.place), table: PipelineFile.options,
      owner: .init(
        subject: "a pipeline file", noun: "key", otherNames: ["chain"], isRoot: true),
      place: root.place)
    checkVersion(options)
    let endpoint = options.object(ifGiven: "endpoint").flatMap { self.endpoint($0) }
    let store = store(options)
    let keys = options.object(ifGiven: "keys").map {
      KeyRules(
        defaultFields: $0.strings("default"),
        types: Dictionary($0.stringListMap("types").map { ($0.name, $0.value) }) { $1 })
    }
    let drafts = drafts(chain, root)
    if let chain, let drafts {
      var rules = ChainRules(
        drafts.known, store: store, hasUnknown: drafts.hasUnknown, place: chain.keyPlace)
      rules.check()
      decoder.findings += rules.findings
      if let fetch = drafts.known.first(where: { $0.description.roles.contains(.fetch) }),
        !settings.contains(where: { $0.key == "endpoint" })
      {
        report(
          .wrongValue, "`\(fetch.name)` needs the key `endpoint`", fetch.place,
          "add `endpoint: { url: … }` to the file")
      }
    }
    var pipeline = Pipeline(
      name: options.string(ifGiven: "name"), endpoint: endpoint,
      schema: options.string(ifGiven: "schema"), store: store, keys: keys ?? KeyRules(),
      entries: entries(drafts?.known ?? [], name: options.string(ifGiven: "name")))
    pipeline.file = file
    pipeline.shown = options
    return hasErrors ? nil : pipeline
  }

  private mutating func checkVersion(_ options: PluginOptions) {
    guard let version = options.int(ifGiven: "version"), version != 1 else { return }
    report(
      .wrongValue, "this program reads version 1 of pipeline files",
      options.place(of: "version"),
      version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
  }

  private mutating func endpoint(_ options: PluginOptions) -> Endpoint? {
    let headers = headers(options)
    guard let url = options.string(ifGiven: "url") else { return nil }
    do throws(Endpoint.InvalidURL) {
      return try Endpoint(
        url: url, headers: headers,
        method: options.choice(ifGiven: "method", as: Endpoint.Method.self) ?? .post)
    } catch {
      report(
        .wrongValue, "`url` of `endpoint` is not the URL of a server",
        options.place(of: "url"), error.reason)
      return nil
    }
  }

  private mutating func headers(_ options: PluginOptions) -> HTTPFields {
    var fields = HTTPFields()
    guard case .map(let entries)? = options["headers"]?.content else { return fields }
    for entry in entries {
      guard let name = HTTPField.Name(entry.name) else {
        report(
          .wrongValue, "`\(entry.name)` is not a name for an HTTP field", entry.namePlace,
          "letters, digits and `-`")
        continue
      }
      guard case .string(let value) = entry.value.content else { continue }
      guard HTTPField.isValidValue(value) else {
        report(
          .wrongValue, "the value of `\(entry.name)` cannot be sent in an HTTP field",
          entry.value.place, "line breaks and control characters are not allowed")
        continue
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }

  private mutating func store(_ options: PluginOptions) -> StoreConfiguration {
    guard let options = options.object(ifGiven: "store") else { return StoreConfiguration() }
    let kind = options.choice(ifGiven: "kind", as: StoreConfiguration.Kind.self) ?? .memory
    let path = options.string(ifGiven: "path")
    if kind == .sqlite, path == nil, options["path"] == nil {
      report(
        .wrongValue, "a store of kind `sqlite` needs a `path`", options.place(of: "kind"),
        "add `path: cache.db`")
    }
    if kind != .sqlite, options["path"] != nil {
      report(
        .wrongValue, "a store of kind `\(kind.rawValue)` has no `path`",
        options.place(of: "path"), "write `kind: sqlite`, or remove the path")
    }
    return StoreConfiguration(
      kind: kind, path: path, maximumSize: options.size(ifGiven: "max_size"))
  }
}

extension PipelineLoader {
  private struct Drafts {
    var known: [ChainDraft] = []
    /// Whether an entry names no known plugin, so that something else may not really be missing.
    var hasUnknown = false
  }

  private mutating func drafts(_ chain: YAMLNode.Member?, _ root: YAMLNode) -> Drafts? {
    guard let chain else {
      guard !decoder.findings.contains(where: { $0.hint == "did you mean `chain`?" }) else {
        return nil
      }
      report(
        .wrongValue, "a pipeline file needs the key `chain`", root.place,
        "add `chain:` and a list of plugins")
      return nil
    }
    guard case .sequence(let nodes) = chain.value.content, !nodes.isEmpty else {
      report(
        .wrongValue, "`chain` takes a list of plugins",
        chain.value.isNull ? chain.keyPlace : chain.value.place, "write `- plugin` lines")
      return nil
    }
    var drafts = Drafts()
    var ids: [String: SourcePlace] = [:]
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
    _ node: YAMLNode, ids: inout [String: SourcePlace]
  ) -> ChainDraft? {
    let members: [YAMLNode.Member]
    switch node.content {
    case .scalar(let name, _) where !node.isNull:
      let nothing = YAMLNode(content: .scalar("", isPlain: true), place: node.place)
      members = [.init(key: name, keyPlace: node.place, value: nothing)]
    case .mapping(let pairs) where !pairs.isEmpty: members = pairs
    default:
      report(
        .wrongValue, "an entry of `chain` is `- plugin` or `- plugin: {options}`, not \(node.kind)",
        node.place, "name a plugin")
      return nil
    }
    let named =
      members.first { registry[$0.key] != nil }
      ?? members.first { !["id", "when"].contains($0.key) }
    guard let named else {
      report(.wrongValue, "this entry names no plugin", node.place, "write `- plugin: {options}`")
      return nil
    }
    guard let plugin = registry[named.key] else {
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownName, "there is no plugin `\(named.key)`", at: named.keyPlace,
          hint: registry.suggestion(for: named.key).map { "did you mean `\($0)`?" },
          notes: [.init("plugins", registry.names.joined(separator: ", "))]))
      return nil
    }
    let description = plugin.description
    for member in members where member.key != named.key && !["id", "when"].contains(member.key) {
      reportNeighbour(member, of: description)
    }
    let errorsBefore = decoder.findings.count
    let options = decoder.options(
      named.value, table: description.options,
      owner: .init(subject: "`\(named.key)`", noun: "option"), place: named.keyPlace)
    let isSound = decoder.findings.count == errorsBefore
    return ChainDraft(
      name: named.key, place: named.keyPlace,
      id: id(members.first { $0.key == "id" }, named, &ids), plugin: plugin,
      description: description, options: options,
      condition: condition(members.first { $0.key == "when" }), isSound: isSound)
  }

  /// A key that stands beside a plugin and does not belong there.
  private mutating func reportNeighbour(_ member: YAMLNode.Member, of plugin: PluginDescription) {
    if registry[member.key] != nil {
      report(
        .wrongValue, "an entry of `chain` names one plugin", member.keyPlace,
        "begin a new entry: `- \(member.key)`")
    } else if plugin.options.contains(where: { $0.name == member.key }) {
      report(
        .unknownName, "`\(member.key)` stands beside `\(plugin.name)`, not in it",
        member.keyPlace, "indent it further, or write `\(plugin.name): { \(member.key): … }`")
    } else {
      let meant = Suggestion.closest(to: member.key, among: ["id", "when"])
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownName, "an entry of `chain` has no key `\(member.key)`", at: member.keyPlace,
          hint: meant.map { "did you mean `\($0)`?" },
          notes: [.init("keys", "a plugin, id, when")]))
    }
  }

  private mutating func id(
    _ member: YAMLNode.Member?, _ plugin: YAMLNode.Member, _ ids: inout [String: SourcePlace]
  ) -> String {
    if let member {
      guard case .scalar(let id, _) = member.value.content, !member.value.isNull,
        id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) })
      else {
        report(
          .wrongValue, "`id` takes a word", member.value.place, "letters, digits, `-`, `_` and `.`")
        return plugin.key
      }
      if let first = ids[id] {
        report(
          .duplicateKey, "the id `\(id)` is given twice", member.value.place,
          "first given in line \(first.line)")
      }
      ids[id] = member.value.place
      return id
    }
    var id = plugin.key
    var number = 2
    while ids[id] != nil {
      id = "\(plugin.key)-\(number)"
      number += 1
    }
    ids[id] = plugin.keyPlace
    return id
  }

  private mutating func condition(_ member: YAMLNode.Member?) -> OperationCondition {
    guard let member else { return .always }
    let options = decoder.options(
      member.value, table: PipelineFile.conditionOptions,
      owner: .init(subject: "`when`", noun: "key"), place: member.keyPlace)
    return OperationCondition(
      operations: options["operation"].map { _ in Set(options.strings("operation")) },
      type: options.choice(ifGiven: "type", as: OperationType.self))
  }
}

extension PipelineLoader {
  /// The entries with their interceptors; those whose options are not right or not known are left
  /// out.
  private mutating func entries(_ drafts: [ChainDraft], name: String?) -> [PipelineEntry] {
    let firstHTTP = drafts.firstIndex {
      !$0.description.stages.contains(.graphQL) && !$0.description.stages.contains(.cache)
    }
    return drafts.indices.compactMap { index in
      let draft = drafts[index]
      guard draft.isSound, !draft.options.isUnresolved else { return nil }
      let environment = PluginEnvironment(
        pipelineName: name, entryID: draft.id, folder: decoder.folder)
      do throws(PluginOptionError) {
        var instance = try draft.plugin.make(options: draft.options, environment: environment)
        if let firstHTTP, index > firstHTTP, draft.description.stages.contains(.http) {
          keepHTTPParts(of: &instance, draft, below: drafts[firstHTTP])
        }
        return PipelineEntry(
          id: draft.id, instance, when: draft.condition, description: draft.description,
          options: draft.options)
      } catch {
        report(
          .wrongValue, "`\(draft.name)`: \(error.message)", draft.options.place(of: error.option),
          error.remedy)
        return nil
      }
    }
  }

  /// A plugin of both stages that stands among those of the HTTP stage takes part in that one only.
  private mutating func keepHTTPParts(
    of instance: inout PluginInstance, _ draft: ChainDraft, below first: ChainDraft
  ) {
    let others = instance.parts.filter { if case .graphQL = $0 { false } else { true } }
    let isReported = decoder.findings.contains { $0.place == draft.place && $0.code == .stageOrder }
    if others.isEmpty, !instance.parts.isEmpty, !isReported {
      report(
        .stageOrder, "`\(draft.name)`, with these options, works in the GraphQL stage", draft.place,
        "move it above `\(first.name)` (line \(first.place.line))")
    }
    instance.parts = others
  }
}
