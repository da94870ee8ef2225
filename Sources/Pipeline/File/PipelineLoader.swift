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
    let (given, options) = decoder.section(
      PipelineFileOptions.self, YAMLNode(content: .mapping(settings), location: root.location),
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
        drafts.known, features: features, hasUnknown: drafts.hasUnknown, location: chain.keyLocation
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
    pipeline.shown = options
    pipeline.tests = given.tests
    checkTests(given.tests, drafts)
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
      report(
        .wrongValue, "`url` of `endpoint` is not an http, https, ws or wss URL",
        given.$url.location, error.reason)
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
      report(
        .wrongValue, "the transport \(given.transport.rawValue) has no `connection_params`",
        given.$connectionParams.location,
        "remove them, or choose a transport over WebSocket, such as `auto`")
    }
    if given.singleConnection, given.transport != .sse {
      report(
        .wrongValue,
        "the transport \(given.transport.rawValue) has no mode `single_connection`",
        given.$singleConnection.location,
        "write `transport: sse`, or remove it: subscriptions over WebSocket always share a connection"
      )
    }
    do throws(Endpoint.InvalidURL) {
      return try Endpoint.Subscriptions(
        url: isPlaceholder ? nil : given.url, transport: given.transport,
        usesSingleConnection: given.singleConnection,
        connectionParameters: given.connectionParams)
    } catch {
      report(
        .wrongValue,
        "`url` of `subscriptions` of `endpoint` is not an http, https, ws or wss URL",
        given.$url.location, error.reason)
      return nil
    }
  }

  private mutating func headers(_ given: EndpointOptions) -> HTTPFields {
    var fields = HTTPFields()
    for entry in given.headers.entries {
      guard let name = HTTPField.Name(entry.name) else {
        report(
          .wrongValue, "`\(entry.name)` is not the name of an HTTP field",
          entry.nameLocation ?? given.$headers.location, "use letters, digits and `-`")
        continue
      }
      guard HTTPField.isValidValue(entry.value.value) else {
        report(
          .wrongValue, "the value of `\(entry.name)` cannot be sent in an HTTP field",
          entry.value.location, "line breaks and control characters are not allowed")
        continue
      }
      fields.append(HTTPField(name: name, value: entry.value.value))
    }
    return fields
  }

  private mutating func store(_ given: StoreOptions) -> StoreConfiguration {
    let (kind, path) = (given.kind, given.path?.path)
    if kind == .sqlite, !given.$path.isGiven {
      report(
        .wrongValue, "a store of kind `sqlite` requires a `path`", given.$kind.location,
        "add `path: cache.db`")
    }
    if kind == .postgres, !given.$url.isGiven {
      report(
        .wrongValue, "a store of kind `postgres` requires a `url`", given.$kind.location,
        "add `url: \"postgresql://host/database\"`, or `url: \"postgresql://\"` to use the PG* variables"
      )
    }
    if kind != .postgres, given.$kind.isUsable, given.$url.isGiven {
      report(
        .wrongValue, "a store of kind `\(kind.rawValue)` has no `url`", given.$url.location,
        "write `kind: postgres`, or remove the url")
    }
    if kind != .sqlite, given.$kind.isUsable {
      if given.$path.isGiven {
        report(
          .wrongValue, "a store of kind `\(kind.rawValue)` has no `path`", given.$path.location,
          "write `kind: sqlite`, or remove the path")
      }
      if given.$memory.isGiven {
        report(
          .wrongValue, "a store of kind `\(kind.rawValue)` has no memory tier (`memory`)",
          given.$memory.location,
          kind == .memory
            ? "write `max_size` to limit it, or `kind: sqlite` for a file with a memory tier"
            : "write `kind: sqlite`, or remove it")
      }
    }
    return StoreConfiguration(
      kind: kind, path: path, url: given.url, maximumSize: given.maxSize, memory: given.memory,
      isRequired: given.required)
  }

  private mutating func checkTests(_ tests: [PipelineTest], _ drafts: Drafts?) {
    guard let drafts, !drafts.hasUnknown else { return }
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
  }
}
