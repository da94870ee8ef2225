import GQLRunCache
import GQLRunLanguage
import GQLRunSupport
import HTTPTypes

/// Creates a pipeline from the bytes of a pipeline file and of those it extends, and collects all
/// diagnostics.
struct PipelineLoader {
  let file: String
  let registry: PluginRegistry
  let environment: PipelineFileEnvironment
  private(set) var diagnostics = PipelineDiagnostics([])
  var decoder: OptionDecoder
  /// Reads the schema that the file names, to check the rules against it; `nil` skips this check.
  var readSchema: ((_ path: String) throws -> Schema)?

  init(file: String, registry: PluginRegistry, environment: PipelineFileEnvironment) {
    self.file = file
    self.registry = registry
    self.environment = environment
    decoder = OptionDecoder(environment: environment)
  }

  /// The pipeline, or `nil` if there are errors or a value is unknown.
  mutating func load(_ bytes: [UInt8]) -> Pipeline? {
    var source = PipelineSource(registry: registry, environment: environment)
    let root = source.read(bytes, file: file)
    decoder.findings += source.findings
    var pipeline: Pipeline?
    if let root, case .mapping(let members) = root.content {
      pipeline = self.pipeline(of: members, root)
    }
    pipeline?.files = source.files
    let sources = source.sources.map { source in
      var source = source
      source.secrets = decoder.secretLocations.filter { $0.file == source.file }
      return source
    }
    diagnostics = PipelineDiagnostics(decoder.findings, sources: sources)
    pipeline?.sources = sources
    return pipeline
  }
}

extension PipelineLoader {
  private mutating func pipeline(of members: [YAMLNode.Member], _ root: YAMLNode) -> Pipeline? {
    let chain = members.first { $0.key == "chain" }
    let settings = members.filter { $0.key != "chain" }
    let shown = YAMLNode(content: .mapping(settings), location: root.location)
    let given = decoder.section(
      PipelineFileOptions.self, shown,
      owner: .init(
        subject: "a pipeline file", noun: "key", otherNames: ["chain"], isRoot: true),
      location: root.location)
    checkRules(given)
    checkGroups(given)
    let endpoint = given.endpoint.flatMap { self.endpoint($0) }
    let store = given.store.map { self.store($0) } ?? StoreConfiguration()
    var keys = KeyRules(given.keys)
    let ages = AgeRules(types: typeRules(given), fields: addFieldRules(given, to: &keys))
    let drafts = drafts(chain, root)
    let subscriptions = subscriptions(given, drafts)
    if let chain, let drafts {
      var features: Set<PipelineFeature> = []
      if store.kind != .none { features.insert(.store) }
      if store.kind == .memory { features.insert(.memoryStore) }
      if !ages.isEmpty { features.insert(.ages) }
      if given.$endpoint.isGiven { features.insert(.endpoint) }
      var rules = ChainRules(
        drafts: drafts.known, features: features, hasUnknown: drafts.hasUnknown,
        location: chain.keyLocation
      )
      rules.check()
      decoder.findings += rules.findings
    }
    var pipeline = Pipeline(
      name: given.name, endpoint: endpoint, schema: given.schema?.path, store: store,
      keys: keys, ages: ages, entries: entries(drafts?.known ?? [], name: given.name))
    pipeline.file = file
    pipeline.subscriptions = subscriptions
    pipeline.options = given
    pipeline.shown = shown
    pipeline.tests = given.tests
    checkTests(given.tests, drafts)
    pipeline.secrets = decoder.secretValues
    pipeline.outputs = decoder.outputs
    let hiding = SecretHiding(pipeline.secrets)
    pipeline.programs =
      decoder.programs
      + pipeline.entries.flatMap { entry in
        entry.programs.map {
          FileProgram(
            origin: entry.id, command: hiding.text($0),
            location: entry.given?.keyLocation ?? root.location)
        }
      }
    return decoder.findings.contains { $0.severity == .error } ? nil : pipeline
  }

  private mutating func endpoint(_ given: EndpointOptions) -> Endpoint? {
    let headers = headers(given)
    guard given.$url.isUsable else { return nil }
    let isPlaceholder = environment.showsPlaceholders && given.url.contains("${exec:")
    do throws(Endpoint.InvalidURL) {
      var endpoint = try Endpoint(
        url: isPlaceholder ? "http://exec.invalid/" : given.url, headers: headers,
        method: given.method)
      endpoint.subscriptions = given.subscriptions.flatMap { subscriptions($0) }
      return endpoint
    } catch {
      decoder.findings.refuse(
        "`url` of `endpoint` is not an http, https, ws or wss URL",
        at: given.$url.location, hint: error.reason)
      return nil
    }
  }

  private mutating func subscriptions(
    _ given: SubscriptionEndpointOptions
  ) -> Endpoint.Subscriptions? {
    let isPlaceholder =
      !given.$url.isUsable
      || environment.showsPlaceholders && given.url?.contains("${exec:") == true
    if given.$connectionParams.isGiven, given.transport == .sse || given.transport == .multipart {
      decoder.findings.refuse(
        "the transport \(given.transport.rawValue) has no `connection_params`",
        at: given.$connectionParams.location,
        hint: "remove them, or choose a transport over WebSocket, such as `auto`")
    }
    if given.singleConnection, given.transport != .sse {
      decoder.findings.refuse(
        "the transport \(given.transport.rawValue) has no mode `single_connection`",
        at: given.$singleConnection.location,
        hint:
          "write `transport: sse`, or remove it: subscriptions over WebSocket always share a connection"
      )
    }
    do throws(Endpoint.InvalidURL) {
      return try Endpoint.Subscriptions(
        url: isPlaceholder ? nil : given.url, transport: given.transport,
        usesSingleConnection: given.singleConnection,
        connectionParameters: given.connectionParams)
    } catch {
      decoder.findings.refuse(
        "`url` of `subscriptions` of `endpoint` is not an http, https, ws or wss URL",
        at: given.$url.location, hint: error.reason)
      return nil
    }
  }

  private mutating func headers(_ given: EndpointOptions) -> HTTPFields {
    var fields = HTTPFields()
    for entry in given.headers.entries {
      guard fields.count < HTTPFields.maxCount else {
        decoder.findings.refuse(
          "an endpoint has at most \(HTTPFields.maxCount) header fields",
          at: entry.nameLocation ?? given.$headers.location, hint: "leave some out")
        break
      }
      guard let name = HTTPField.Name(entry.name) else {
        decoder.findings.refuse(
          "`\(entry.name)` is not the name of an HTTP field",
          at: entry.nameLocation ?? given.$headers.location, hint: "use letters, digits and `-`")
        continue
      }
      guard !name.isOfBody else {
        decoder.findings.refuse(
          "`\(entry.name)` follows from the body that is sent",
          at: entry.nameLocation ?? given.$headers.location, hint: "leave it out")
        continue
      }
      guard HTTPField.isValidValue(entry.value.value) else {
        decoder.findings.refuse(
          "the value of `\(entry.name)` cannot be sent in an HTTP field",
          at: entry.value.location, hint: "line breaks and control characters are not allowed")
        continue
      }
      fields.append(HTTPField(name: name, value: entry.value.value))
    }
    return fields
  }

  private mutating func store(_ given: StoreOptions) -> StoreConfiguration {
    let (kind, path) = (given.kind, given.path?.path)
    if kind == .sqlite, !given.$path.isGiven {
      decoder.findings.refuse(
        "a store of kind `sqlite` requires a `path`",
        at: given.$kind.location, hint: "add `path: cache.db`")
    }
    if kind == .postgres, !given.$url.isGiven {
      decoder.findings.refuse(
        "a store of kind `postgres` requires a `url`", at: given.$kind.location,
        hint:
          "add `url: \"postgresql://host/database\"`, or `url: \"postgresql://\"` to use the PG* variables"
      )
    }
    func refuse(
      _ what: String, at location: FileLocation, hint: String,
      severity: PipelineDiagnostic.Severity = .error
    ) {
      guard given.$kind.isUsable else { return }
      decoder.findings.report(
        .wrongValue, message: "a store of kind `\(kind.rawValue)` has no \(what)",
        location: location, hint: hint, severity: severity)
    }
    if kind != .postgres, given.$url.isGiven {
      refuse("`url`", at: given.$url.location, hint: "write `kind: postgres`, or remove the url")
    }
    if kind != .sqlite, given.$path.isGiven {
      refuse("`path`", at: given.$path.location, hint: "write `kind: sqlite`, or remove the path")
    }
    if kind != .sqlite, given.$memory.isGiven {
      refuse(
        "memory tier (`memory`)", at: given.$memory.location,
        hint: kind == .memory
          ? "write `max_size` to limit it, or `kind: sqlite` for a file with a memory tier"
          : "write `kind: sqlite`, or remove it")
    }
    if kind != .memory, given.$maxSize.isGiven {
      refuse(
        "`max_size`: nothing is evicted", at: given.$maxSize.location,
        hint: kind == .sqlite
          ? "`memory` limits its memory tier, and `gqlrun cache trim` its file" : "remove it",
        severity: .warning)
    }
    return StoreConfiguration(
      kind: kind, path: path, url: given.url, maxSize: given.maxSize, memory: given.memory,
      isRequired: given.required)
  }

  private mutating func checkTests(_ tests: [PipelineTest], _ drafts: Drafts?) {
    guard let drafts, !drafts.hasUnknown else { return }
    let ids = drafts.known.map(\.id)
    let known = Set(ids)
    var unknown = 0
    for call in tests.flatMap(\.expect.calls) where !known.contains(call.entry) {
      unknown += 1
      // A file may have as many unknown entries as lines; only the first ones get suggestions.
      let suggests = unknown <= 20
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownStage, "a test names the entry `\(call.entry)`, which the chain does not have",
          at: call.location,
          hint: suggests
            ? suggestion(for: call.entry, in: ids).map { "did you mean `\($0)`?" } : nil,
          notes: suggests ? [.init("entries", ids.joined(separator: ", "))] : []))
    }
  }
}

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
      decoder.findings.refuse(
        "a pipeline file requires the key `chain`",
        at: root.location, hint: "add `chain:` and a list of plugins")
      return nil
    }
    guard case .sequence(let nodes) = chain.value.content, !nodes.isEmpty else {
      decoder.findings.refuse(
        "`chain` is a list of plugins",
        at: chain.value.isNull ? chain.keyLocation : chain.value.location,
        hint: "write `- plugin` lines")
      return nil
    }
    guard nodes.count <= ChainEntry.maxEntries else {
      decoder.findings.refuse(
        "`chain` has \(nodes.count) entries; at most \(ChainEntry.maxEntries) are allowed",
        at: chain.keyLocation, hint: "remove entries, or split the file into several pipelines")
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
      decoder.findings.refuse(
        "an entry of `chain` is `- plugin` or `- plugin: {options}`, not \(node.kind)",
        at: node.location, hint: "name a plugin")
      return nil
    }
    guard let named = entry.plugin else {
      decoder.findings.refuse(
        "this entry has no plugin", at: node.location, hint: "write `- plugin: {options}`")
      return nil
    }
    let members = entry.members
    guard let plugin = registry[named.key] else {
      decoder.findings.reportUnknown(
        named.key, among: registry.names, "plugins", message: "unknown plugin `\(named.key)`",
        location: named.keyLocation)
      return nil
    }
    for member in members
    where member.key != named.key && !ChainEntry.neighbours.contains(member.key) {
      reportNeighbour(member, of: plugin)
    }
    let errorsBefore = decoder.findings.count
    let (programsBefore, outputsBefore) = (decoder.programs.count, decoder.outputs.count)
    let gapsBefore = decoder.gaps
    let (configured, errors) = decoder.read(
      plugin, named.value, owner: .init(subject: "`\(named.key)`", noun: "option"),
      location: named.keyLocation)
    for error in errors { report(error, in: named) }
    let isUnresolved = decoder.gaps > gapsBefore
    return ChainDraft(
      id: id(of: entry, plugin: named, ids: &ids), plugin: configured,
      given: named, condition: condition(members.first { $0.key == "when" }),
      isSound: decoder.findings.count == errorsBefore, isUnresolved: isUnresolved,
      hasCommands: decoder.programs.count > programsBefore,
      outputs: Array(decoder.outputs[outputsBefore...]), traits: configured.traits,
      placement: configured.placement)
  }

  private mutating func report(_ error: OptionError, in plugin: YAMLNode.Member) {
    decoder.findings.report(
      error.code, message: "`\(plugin.key)`: \(error.message)",
      location: plugin.location(of: error.option), hint: error.remedy)
  }

  /// Reports a key next to a plugin that is not valid there.
  private mutating func reportNeighbour(_ member: YAMLNode.Member, of plugin: any Plugin.Type) {
    if registry[member.key] != nil {
      decoder.findings.refuse(
        "an entry of `chain` has one plugin",
        at: member.keyLocation, hint: "begin a new entry: `- \(member.key)`")
    } else if plugin.optionNames.contains(member.key) {
      decoder.findings.report(
        .unknownName, message: "`\(member.key)` is next to `\(plugin.name)` instead of in it",
        location: member.keyLocation,
        hint: "indent it further, or write `\(plugin.name): { \(member.key): … }`")
    } else if ChainEntry.changes.contains(member.key) {
      decoder.findings.refuse(
        "`\(member.key)` changes the chain of a file that this one extends",
        at: member.keyLocation, hint: "add `extends: ./other.pipeline.yaml`, or remove this")
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
    of entry: ChainEntry, plugin: YAMLNode.Member, ids: inout [String: FileLocation]
  ) -> String {
    if let member = entry["id"] {
      guard case .scalar(let id, _) = member.value.content, !member.value.isNull,
        id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) })
      else {
        decoder.findings.refuse(
          "`id` is a word", at: member.value.location, hint: "letters, digits, `-`, `_` and `.`")
        return plugin.key
      }
      if let first = ids[id] {
        decoder.findings.report(
          .duplicateKey, message: "the id `\(id)` is repeated", location: member.value.location,
          hint: "first used in line \(first.line)")
      }
      ids[id] = member.value.location
      return id
    }
    let id = entry.freshID { ids[$0] != nil }
    ids[id] = plugin.keyLocation
    return id
  }

  private mutating func condition(_ member: YAMLNode.Member?) -> OperationCondition {
    guard let member else { return .always }
    let given = decoder.section(
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
        id: draft.id, [], when: draft.condition, plugin: draft.plugin, given: draft.given)
      guard !draft.isUnresolved else {
        return self.environment.showsPlaceholders ? opaque : nil
      }
      let environment = PluginEnvironment(
        pipelineName: name, entryID: draft.id, folder: FilePath.folder(of: draft.location.file),
        variable: environment.variable)
      do throws(OptionError) {
        try draft.plugin.validateAll()
        var parts = try draft.plugin.parts(environment)
        if let firstHTTP, index > firstHTTP, draft.placement.kind == .wrap,
          draft.placement.stages.contains(.http)
        {
          keepHTTPParts(&parts, draft, below: drafts[firstHTTP])
        }
        return PipelineEntry(
          id: draft.id, parts, when: draft.condition, plugin: draft.plugin, given: draft.given,
          outputs: draft.outputs)
      } catch {
        // The option may be wrong because it has a placeholder.
        if self.environment.showsPlaceholders, draft.hasCommands { return opaque }
        report(error, in: draft.given)
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
      decoder.findings.report(
        .stageOrder, message: "`\(draft.name)`, with these options, works in the GraphQL stage",
        location: draft.location,
        hint: "move it above `\(first.name)` (line \(first.location.line))")
    }
    parts = others
  }
}

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
      guard parts.count == 2, parts.allSatisfy(Name.isValid) else {
        decoder.findings.refuse(
          "`\(entry.name)` in `fields` does not name a field of a type",
          at: entry.nameLocation ?? given.$fields.location,
          hint: "write `Type.field`, such as `Query.feed`")
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
      guard Name.isValid(entry.name) else {
        let isField = entry.name.contains(".")
        decoder.findings.refuse(
          "`\(entry.name)` in `types` does not name a type",
          at: entry.nameLocation ?? given.$types.location,
          hint: isField ? "rules for fields belong in `fields`" : "write a name, such as `User`")
        continue
      }
      ages[entry.name] = entry.value.maxAge.duration
    }
    return ages
  }

  /// A group must be a prefix of keys, as the name of a type is; other text could be the beginning
  /// of another key.
  mutating func checkGroups(_ given: PipelineFileOptions) {
    for group in given.keys?.groups.entries ?? [] where !Name.isValid(group.value.value) {
      decoder.findings.refuse(
        "`\(group.value.value)` in `groups` cannot be the prefix of keys",
        at: group.value.location, hint: "write a name, such as `Animal`")
    }
  }

  /// Checks the rules against the schema that the file names.
  mutating func checkRules(_ given: PipelineFileOptions) {
    guard let readSchema, let path = given.schema?.path else { return }
    do {
      decoder.findings += SchemaRules(of: given, try readSchema(path)).findings
    } catch {
      let reason = "\(error)".split(separator: "\n").first.map { String($0) }
      decoder.findings.report(
        .schemaRule, message: "the schema cannot be used, so rules are not checked against it",
        location: given.$schema.location, hint: reason)
    }
  }
}

extension PipelineLoader {
  /// Reads the section `subscriptions`, and checks the chain for settings that make no sense for them.
  mutating func subscriptions(
    _ given: PipelineFileOptions, _ drafts: Drafts?
  ) -> SubscriptionSettings {
    var settings = SubscriptionSettings()
    if let options = given.subscriptions {
      settings.overflow = options.overflow
      if options.overflow == .block, options.$overflow.isUsable {
        for (name, isGiven, location) in [
          ("max_waiting", options.$maxWaiting.isGiven, options.$maxWaiting.location),
          ("max_waiting_size", options.$maxWaitingSize.isGiven, options.$maxWaitingSize.location),
        ] where isGiven {
          decoder.findings.report(
            .subscriptions,
            message: "`\(name)` has no effect: with `overflow: block`, no events wait to be read",
            location: location,
            hint: "write `overflow: drop-oldest` or `fail`, or remove it")
        }
      }
      settings.maxWaiting = options.maxWaiting ?? settings.maxWaiting
      settings.maxWaitingBytes = options.maxWaitingSize ?? settings.maxWaitingBytes
      settings.patience = options.patience
      let location = options.$catchUp.location
      if let declared = options.catchUp {
        settings.catchUp = catchUp(declared, location)
        if let drafts { check(declared, location: location, drafts: drafts) }
      }
      if let drafts { checkCachePolicy(given.$subscriptions.location, drafts) }
    }
    if let drafts { checkConditions(drafts) }
    return settings
  }

  private mutating func catchUp(
    _ options: CatchUpOptions, _ location: FileLocation
  ) -> SubscriptionSettings.CatchUp? {
    let (query, path) = (options.query, options.file?.path)
    guard query != nil || path != nil else {
      decoder.findings.refuse(
        "`catch_up` names no query", at: location,
        hint:
          "add `query: NAME` for a query of the subscription's document, or `file: feed.graphql`")
      return nil
    }
    var declared = SubscriptionSettings.CatchUp(
      query: query, file: path, isDelivered: options.deliver)
    guard let path else { return declared }
    do {
      let document = try Document(
        parsing: String(decoding: try environment.readFile(path), as: UTF8.self))
      let operation = try document.operation(named: query)
      guard operation.type == .query else {
        let name = operation.name.map { " `\($0.value)`" } ?? ""
        decoder.findings.refuse(
          "the operation\(name) of \(path) is a \(operation.type.rawValue)",
          at: query == nil ? options.$file.location : options.$query.location, hint: "name a query")
        return nil
      }
      declared.document = document
      return declared
    } catch {
      decoder.findings.refuse(
        "the query of `catch_up` cannot be read from \(path)", at: options.$file.location,
        hint: (error as? OperationSelectionError)?.message ?? "\(error)")
      return nil
    }
  }

  private mutating func warn(_ message: String, location: FileLocation, hint: String) {
    decoder.findings.report(
      .subscriptions, message: message, location: location, hint: hint, severity: .warning)
  }

  /// Warns of a catch-up query that never runs or has no effect.
  private mutating func check(
    _ catchUp: CatchUpOptions, location: FileLocation, drafts: Drafts
  ) {
    guard !drafts.hasUnknown else { return }
    let traits = drafts.known.map(\.traits)
    if !traits.contains(where: { $0.intersects([.boundsRestarts, .restarts]) }) {
      warn(
        "`catch_up` never runs: no plugin of the chain opens a lost connection again",
        location: location, hint: "add `- max-retry` at the top of the chain")
    }
    if !catchUp.deliver, !traits.contains(where: { $0.contains(.writesCache) }) {
      warn(
        "`catch_up` has no effect: its result is neither delivered nor stored", location: location,
        hint: "add `deliver: true`, or `- cache-write` below the parser")
    }
  }

  /// Reports a chain that never sends the subscriptions that the file has settings for.
  private mutating func checkCachePolicy(_ location: FileLocation, _ drafts: Drafts) {
    guard let entry = drafts.known.first(where: { $0.traits.contains(.cacheOnly) }) else { return }
    decoder.findings.report(
      .subscriptions,
      message: "the chain sends no subscription: `\(entry.id)` never uses the network",
      location: location, hint: "choose another policy, or remove `subscriptions`")
  }

  /// Warns of entries for subscriptions alone whose plugin passes them unchanged.
  private mutating func checkConditions(_ drafts: Drafts) {
    for entry in drafts.known
    where entry.condition.type == .subscription && entry.traits.contains(.passesSubscriptions) {
      warn(
        "`\(entry.id)` has no effect: it passes subscriptions unchanged, and its condition selects only them",
        location: entry.location, hint: "remove the entry, or its `when`")
    }
  }
}
