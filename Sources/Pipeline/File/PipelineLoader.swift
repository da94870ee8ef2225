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
  private(set) var diagnostics: PipelineDiagnostics
  var decoder: OptionDecoder
  /// Reads the schema that the file names, to check the rules against it; `nil` skips this check.
  var readSchema: ((_ path: String) throws -> Schema)?

  init(file: String, registry: PluginRegistry, environment: PipelineFileEnvironment) {
    self.file = file
    self.registry = registry
    self.environment = environment
    diagnostics = PipelineDiagnostics([], source: SourceText(file: file, lines: []))
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

  mutating func report(
    _ code: PipelineDiagnostic.Code, _ message: String, _ location: FileLocation, _ hint: String?
  ) {
    decoder.findings.append(PipelineDiagnostic(code, message, at: location, hint: hint))
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
      YAMLNode(content: .mapping(settings), location: root.location), table: PipelineFile.options,
      owner: .init(
        subject: "a pipeline file", noun: "key", otherNames: ["chain"], isRoot: true),
      location: root.location)
    checkVersion(options)
    checkRules(options)
    checkGroups(options)
    let endpoint = options.object(ifGiven: "endpoint").flatMap { self.endpoint($0) }
    let store = store(options)
    var keys = KeyRules(options)
    let ages = AgeRules(types: typeRules(options), fields: addFieldRules(options, to: &keys))
    let drafts = drafts(chain, root)
    if let chain, let drafts {
      var features: Set<PipelineFeature> = []
      if store.kind != .none { features.insert(.store) }
      if store.kind == .memory { features.insert(.memoryStore) }
      if !ages.isEmpty { features.insert(.ages) }
      if settings.contains(where: { $0.key == "endpoint" }) { features.insert(.endpoint) }
      var rules = ChainRules(
        drafts.known, features: features, hasUnknown: drafts.hasUnknown, location: chain.keyLocation
      )
      rules.check()
      decoder.findings += rules.findings
    }
    var pipeline = Pipeline(
      name: options.string(ifGiven: "name"), endpoint: endpoint,
      schema: options.string(ifGiven: "schema"), store: store, keys: keys,
      ages: ages,
      entries: entries(drafts?.known ?? [], name: options.string(ifGiven: "name")))
    pipeline.file = file
    pipeline.shown = options
    pipeline.tests = tests(options, drafts)
    pipeline.secrets = decoder.secretValues
    let hiding = SecretHiding(pipeline.secrets)
    pipeline.programs =
      decoder.programs
      + pipeline.entries.flatMap { entry in
        entry.programs.map {
          FileProgram(
            origin: entry.id, command: hiding.text($0),
            location: entry.options?.location ?? root.location)
        }
      }
    return hasErrors ? nil : pipeline
  }

  private mutating func checkVersion(_ options: PluginOptions) {
    guard let version = options.int(ifGiven: "version"), version != 1 else { return }
    report(
      .wrongValue, "this program reads version 1 of pipeline files",
      options.location(of: "version"),
      version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
  }

  private mutating func endpoint(_ options: PluginOptions) -> Endpoint? {
    let headers = headers(options)
    guard let url = options.string(ifGiven: "url") else { return nil }
    let isPlaceholder = environment.showsPlaceholders && url.contains("${exec:")
    do throws(Endpoint.InvalidURL) {
      return try Endpoint(
        url: isPlaceholder ? "http://exec.invalid/" : url, headers: headers,
        method: options.choice(ifGiven: "method", as: Endpoint.Method.self) ?? .post)
    } catch {
      report(
        .wrongValue, "`url` of `endpoint` is not an http or https URL",
        options.location(of: "url"), error.reason)
      return nil
    }
  }

  private mutating func headers(_ options: PluginOptions) -> HTTPFields {
    var fields = HTTPFields()
    guard case .map(let entries)? = options["headers"]?.content else { return fields }
    for entry in entries {
      guard let name = HTTPField.Name(entry.name) else {
        report(
          .wrongValue, "`\(entry.name)` is not the name of an HTTP field", entry.nameLocation,
          "use letters, digits and `-`")
        continue
      }
      guard case .string(let value) = entry.value.content else { continue }
      guard HTTPField.isValidValue(value) else {
        report(
          .wrongValue, "the value of `\(entry.name)` cannot be sent in an HTTP field",
          entry.value.location, "line breaks and control characters are not allowed")
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
    if options["kind"]?.isUnknown == true { return StoreConfiguration(kind: kind, path: path) }
    if kind == .sqlite, path == nil, options["path"] == nil {
      report(
        .wrongValue, "a store of kind `sqlite` requires a `path`", options.location(of: "kind"),
        "add `path: cache.db`")
    }
    if kind != .sqlite, options["path"] != nil {
      report(
        .wrongValue, "a store of kind `\(kind.rawValue)` has no `path`",
        options.location(of: "path"), "write `kind: sqlite`, or remove the path")
    }
    if kind != .sqlite, options["memory"] != nil {
      report(
        .wrongValue, "a store of kind `\(kind.rawValue)` has no memory tier (`memory`)",
        options.location(of: "memory"),
        kind == .memory
          ? "write `max_size` to limit it, or `kind: sqlite` for a file with a memory tier"
          : "write `kind: sqlite`, or remove it")
    }
    return StoreConfiguration(
      kind: kind, path: path, maximumSize: options.size(ifGiven: "max_size"),
      memory: options.size(ifGiven: "memory"), isRequired: options.bool("required"))
  }

  private mutating func tests(_ options: PluginOptions, _ drafts: Drafts?) -> [PipelineTest] {
    guard options["tests"] != nil else { return [] }
    let tests = options.objects("tests").map(PipelineTest.init)
    guard let drafts, !drafts.hasUnknown else { return tests }
    let ids = drafts.known.map(\.id)
    let known = Set(ids)
    var unknown = 0
    for expectation in tests.flatMap(\.expectations) {
      guard case .passes(let entry, _) = expectation.kind, !known.contains(entry) else { continue }
      unknown += 1
      // A file may have as many unknown entries as lines; only the first ones get suggestions.
      let suggests = unknown <= 20
      decoder.findings.append(
        PipelineDiagnostic(
          .unknownStage, "a test names the entry `\(entry)`, which the chain does not have",
          at: expectation.location,
          hint: suggests
            ? suggestion(for: entry, in: ids).map { "did you mean `\($0)`?" } : nil,
          notes: suggests ? [.init("entries", ids.joined(separator: ", "))] : []))
    }
    return tests
  }
}
