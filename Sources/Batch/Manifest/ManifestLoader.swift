import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// Loads batch manifests and reports all their errors before a request is sent.
public struct ManifestLoader {
  /// A loaded manifest with its warnings.
  public struct Loaded: Sendable {
    /// The manifest.
    public var manifest: Manifest
    /// The diagnostics of the manifest; only warnings.
    public var warnings: PipelineDiagnostics
  }

  /// The maximum size of a manifest in bytes: as YAML, and as JSON lines.
  static let largestYAML = 1 << 20
  static let largestLines = 256 << 20

  let file: String
  let folder: String
  let registry: PluginRegistry
  let environment: PipelineFileEnvironment
  var decoder: OptionDecoder
  var source: SourceText
  /// The lines of the pipeline file and those that it extends, for excerpts.
  private var pipelineSources: [SourceText] = []
  /// How many more unknown names get a suggestion. A manifest may have as many unknown names as
  /// operations, and each search takes time in proportion to the number of operations.
  private var suggestionsLeft = 100
  /// The parsed documents by path; `nil` for unreadable ones.
  var documents: [String: Document?] = [:]
  /// Whether the journal is a database that several workers share.
  var hasQueue = false
  /// The members of the state file that templates read.
  var stateNames: Set<String> = []
  /// The names of the bookmarks of the operations that were read so far.
  private var bookmarkNames: Set<String> = []
  /// The files that were read so far.
  let inputs = InputRecorder()
  /// What a program gives instead of files; `nil` for a manifest in a file.
  var made: Extraction?

  init(
    file: String, folder: String, registry: PluginRegistry, environment: PipelineFileEnvironment
  ) {
    self.file = file
    self.folder = folder
    self.registry = registry
    var environment = environment
    let (readFile, inputs) = (environment.readFile, inputs)
    environment.readFile = { path in
      inputs.add(path, "a file that the pipeline reads")
      return try readFile(path)
    }
    self.environment = environment
    decoder = OptionDecoder(folder: folder, environment: environment)
    source = SourceText(file: file, lines: [])
  }

  /// Loads the manifest at `path`, in YAML or JSON lines.
  ///
  /// - Parameters:
  ///   - path: The path of the manifest; `-` for standard input.
  ///   - registry: The plugins that the pipeline may use.
  ///   - environment: The environment variables and files that the manifest may use.
  ///   - endpoint: Overrides the endpoint of the manifest and of the pipeline.
  /// - Throws: All errors and warnings of the manifest if it has at least one error.
  public static func load(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process,
    endpoint: String? = nil
  ) throws(PipelineDiagnostics) -> Loaded {
    try load(
      bytes(of: path), path: path, registry: registry, environment: environment, endpoint: endpoint)
  }

  /// Loads a manifest from its bytes; see ``bytes(of:)``.
  ///
  /// - Parameters:
  ///   - bytes: The text of the manifest.
  ///   - path: The path of the manifest, whose folder paths are relative to; `-` for standard input.
  ///   - registry: The plugins that the pipeline may use.
  ///   - environment: The environment variables and files that the manifest may use.
  ///   - endpoint: Overrides the endpoint of the manifest and of the pipeline.
  /// - Throws: All errors and warnings of the manifest if it has at least one error.
  public static func load(
    _ bytes: [UInt8], path: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment, endpoint: String? = nil
  ) throws(PipelineDiagnostics) -> Loaded {
    let file = path == "-" ? "stdin" : path
    var loader = ManifestLoader(
      file: file, folder: path == "-" ? "." : FilePath.folder(of: path), registry: registry,
      environment: environment)
    let manifest = loader.manifest(bytes, endpoint: endpoint)
    loader.source.secrets = loader.decoder.secretLocations
    let found = PipelineDiagnostics(
      loader.decoder.findings, sources: [loader.source] + loader.pipelineSources)
    guard var manifest, found.errors.isEmpty else { throw found }
    manifest.pipeline.secrets += loader.decoder.secretValues
    manifest.pipeline.programs = loader.decoder.programs + manifest.pipeline.programs
    manifest.pipeline.files = [(file, bytes)] + manifest.pipeline.files
    return Loaded(manifest: manifest, warnings: found)
  }

  /// The bytes of the manifest at `path`; `-` reads standard input.
  ///
  /// - Throws: A diagnostic if the file cannot be read.
  public static func bytes(of path: String) throws(PipelineDiagnostics) -> [UInt8] {
    do throws(PipelineFileEnvironment.Failure) {
      guard path == "-" else {
        return try PipelineFileEnvironment.contents(of: path, limit: largestLines)
      }
      guard let data = try? FileHandle.standardInput.read(upToCount: largestLines + 1) else {
        throw PipelineFileEnvironment.Failure("standard input cannot be read")
      }
      return [UInt8](data)
    } catch {
      let location = FileLocation(file: path == "-" ? "stdin" : path)
      let meant = path == "-" ? nil : FilePath.yamlFile(meantBy: path, kind: "batch")
      throw PipelineDiagnostics([
        PipelineDiagnostic(
          .unreadable, "the manifest cannot be read", at: location,
          hint: error.reason + (meant.map { "; did you mean \($0)?" } ?? ""))
      ])
    }
  }

  /// The hint for an unknown name: the most similar known name, or the beginnings of the first twelve known names.
  mutating func hint(
    for name: String, among names: @autoclosure () -> [String]
  ) -> String? {
    guard suggestionsLeft > 0 else { return nil }
    suggestionsLeft -= 1
    let names = names()
    if let meant = suggestion(for: name, in: names) { return "did you mean `\(meant)`?" }
    guard !names.isEmpty else { return nil }
    // The header of a file that is no CSV may be the whole file.
    let shown = names.prefix(12).map { $0.count > 60 ? "\($0.prefix(60))…" : $0 }
    return "there are \(shown.joined(separator: ", "))\(names.count > 12 ? ", …" : "")"
  }

  /// Reports outputs that would overwrite an input or another output.
  mutating func checkOutputs(_ manifest: Manifest, _ sinks: FileLocation) {
    let plan: SinkPlan
    do {
      plan = try SinkPlan(manifest)
    } catch {
      return report(.output, message: error.message, location: sinks)
    }
    for problem in OutputCheck(manifest, plan).conflicts() {
      report(
        .output, message: problem.message, location: problem.location ?? sinks, hint: problem.hint)
    }
  }

  /// Adds diagnostics of the pipeline's files, with the lines that their excerpts show.
  mutating func add(_ found: [PipelineDiagnostic], of pipeline: PipelineDiagnostics) {
    decoder.findings += found
    pipelineSources += pipeline.sources
  }

  mutating func report(
    _ code: PipelineDiagnostic.Code, message: String, location: FileLocation,
    hint: String? = nil,
    severity: PipelineDiagnostic.Severity = .error
  ) {
    decoder.findings.append(
      PipelineDiagnostic(code, message, severity: severity, at: location, hint: hint))
  }
}

/// Records the files that are read while a manifest is loaded.
final class InputRecorder: Sendable {
  private let found = Locked([InputFile]())

  var files: [InputFile] { found.withLock { $0 } }

  func add(_ path: String, _ role: String) {
    found.withLock { found in
      if !found.contains(where: { $0.path == path }) {
        found.append(InputFile(path: path, role: role))
      }
    }
  }
}

/// The manifest without its operations and sinks.
extension ManifestLoader {
  mutating func manifest(_ root: YAMLNode, _ endpoint: String?) -> Manifest? {
    let given = decoder.section(
      ManifestFile.self, root, owner: .init(subject: "a manifest", noun: "key", isRoot: true),
      location: root.location)
    var pipeline = made?.pipeline ?? pipeline(given, endpoint)
    let schema: Schema? =
      if let made { made.operation.template.schema } else { self.schema(given, pipeline) }
    if let schema { checkRules(of: &pipeline, against: schema, given) }
    let name =
      given.name
      ?? file.split(separator: "/").last.map { $0.prefix { $0 != "." } }.map { String($0) }
      ?? "batch"
    var manifest = Manifest(
      name: name, file: file, folder: folder, pipeline: pipeline ?? Pipeline(entries: []),
      schema: schema)
    manifest.namesPipeline = made?.namesPipeline ?? (given.pipeline != nil)
    if let made {
      manifest.isMade = true
      if let path = made.documentPath { inputs.add(path, "the document") }
    } else if file != "stdin" {
      inputs.add(file, "the manifest")
    }
    manifest.settings = given.run
    if given.run.$patience.isGiven {
      manifest.pipeline.subscriptions.patience = min(
        manifest.pipeline.subscriptions.patience, given.run.patience)
    }
    setJournal(of: &manifest, given.run)
    manifest.rate = given.rateLimit
    manifest.report.junit = output(given.report.$junit)
    manifest.report.html = output(given.report.$html)
    manifest.report.json = output(given.report.$json)
    manifest.stateFile = given.state.flatMap { output($0.$file) }
    manifest.outputLocations = [
      "journal": given.run.$journal.location, "report.junit": given.report.$junit.location,
      "report.html": given.report.$html.location, "report.json": given.report.$json.location,
    ]
    manifest.outputLocations["state"] = given.state?.$file.location
    manifest.thresholds = conditions(
      given.thresholds, "thresholds",
      roots: [
        "total", "done", "failed", "unknown", "skipped", "rps", "seconds", "p50_ms", "p90_ms",
        "p95_ms", "p99_ms", "max_ms", "records", "bytes",
      ])
    manifest.operations = operations(given, schema: schema, keys: manifest.pipeline.keys)
    if let entries = given.sinks {
      manifest.sinks = sinks(entries, operations: manifest.operations)
    } else if !given.operations.allSatisfy({ $0.value.$tables.isGiven }) {
      manifest.sinks = [SinkSettings(sink: NDJSONSink(), path: "-")]
    }
    checkStandardStreams(manifest, root.location)
    if pipeline != nil { checkPipeline(&manifest, given) }
    manifest.inputs = inputs.files
    manifest.stateNames = stateNames
    checkQueue(manifest, given.run.$journal.location)
    if !manifest.operations.isEmpty { checkOutputs(manifest, given.$sinks.keyLocation) }
    return pipeline == nil ? nil : manifest
  }

  /// The resolved path of an output; reports it and returns `nil` if it is outside the manifest's
  /// folder.
  mutating func output(_ option: OptionProperty<String>, isFolder: Bool = false) -> String? {
    guard option.isUsable else { return nil }
    return output(
      option.wrappedValue, name: option.name, location: option.location, isFolder: isFolder)
  }

  private mutating func output(_ option: OptionProperty<String?>) -> String? {
    option.wrappedValue.flatMap { output($0, name: option.name, location: option.location) }
  }

  mutating func output(
    _ path: String, name: String, location: FileLocation, sink: (any Sink.Type)? = nil,
    isFolder: Bool = false
  ) -> String? {
    let compresses = sink?.fileExtensions.contains { $0.hasSuffix(".gz") } ?? false
    if path.hasSuffix(".gz"), !compresses, !isFolder {
      report(
        .wrongValue,
        message: sink.map { "the sink `\($0.name)` does not compress its file" }
          ?? "the output `\(name)` is not compressed",
        location: location,
        hint: sink == nil
          ? "choose a path without `.gz`"
          : "use the sink `ndjson`, which compresses it, or a path without `.gz`")
    }
    do {
      return try OutputPath(folder: folder).resolve(path)
    } catch {
      report(
        .output, message: "`\(name)` would be written outside of the manifest's folder",
        location: location,
        hint: error.reason)
      return nil
    }
  }

  /// The schema that the manifest names, or else its pipeline.
  private mutating func schema(_ file: ManifestFile, _ pipeline: Pipeline?) -> Schema? {
    guard let path = file.schema?.path ?? pipeline?.schema else { return nil }
    let location = schemaLocation(file)
    do {
      inputs.add(path, "the schema")
      return try Schema(file: try Self.contents(of: path))
    } catch let error as PipelineFileEnvironment.Failure {
      report(
        .document, message: "the schema `\(path)` cannot be read", location: location,
        hint: error.reason)
    } catch let error as GraphQLSyntaxError {
      report(.document, message: "the schema cannot be used: \(path):\(error)", location: location)
    } catch let error as SchemaError {
      for issue in error.issues.prefix(20) {
        report(
          .document, message: "the schema cannot be used: \(path): \(issue.message)",
          location: location)
      }
    } catch {
      report(
        .document, message: "the schema `\(path)` cannot be used: \(error)", location: location)
    }
    return nil
  }

  private func schemaLocation(_ file: ManifestFile) -> FileLocation {
    file.schema == nil ? file.$pipeline.location : file.$schema.location
  }

  /// Checks the pipeline's rules against the schema, whose directives complete them, as in `gqlrun run`.
  private mutating func checkRules(
    of pipeline: inout Pipeline?, against schema: Schema, _ file: ManifestFile
  ) {
    guard let given = pipeline else { return }
    let found = given.ruleDiagnostics(against: schema)
    add(found.all, of: found)
    // The rules of an extraction are complete.
    guard made == nil, found.all.isEmpty else { return }
    let (rules, warnings) = given.keys.joined(with: schema)
    pipeline?.keys = rules
    for warning in warnings.prefix(20) {
      report(.schemaRule, message: warning, location: schemaLocation(file), severity: .warning)
    }
  }

  /// The bytes of a document or schema of at most 64 MiB.
  static func contents(of path: String) throws(PipelineFileEnvironment.Failure) -> [UInt8] {
    let limit = 64 << 20
    let bytes = try PipelineFileEnvironment.contents(of: path, limit: limit)
    guard bytes.count <= limit else {
      throw PipelineFileEnvironment.Failure("it is larger than 64 MiB")
    }
    return bytes
  }

  /// The pipeline of manifests that name none: the ready-made pipeline `plain` without its log,
  /// because a run reports its failures itself.
  package static let defaultPipeline = """
    version: 1
    name: batch
    extends: plain
    chain:
      - remove: logging
    """

  private mutating func pipeline(_ file: ManifestFile, _ given: String?) -> Pipeline? {
    let url = given ?? file.endpoint
    let path = file.pipeline?.path
    var pipeline: Pipeline
    do throws(PipelineDiagnostics) {
      var environment = environment
      if let url {
        // The given endpoint overrides the variable of ready-made pipelines.
        let variable = environment.variable
        environment.variable = { $0 == "GQL_URL" ? url : variable($0) }
      }
      if let path {
        pipeline = try PipelineFile.load(path: path, registry: registry, environment: environment)
          .pipeline
      } else {
        let (readFile, lastResort) = (environment.readFile, environment.lastResort)
        environment.readFile = { path in
          guard path == "plain", let text = ReadyMade.file(path) else { return try readFile(path) }
          return Array(text.utf8)
        }
        // A missing endpoint is reported below.
        environment.lastResort = { $0 == "GQL_URL" ? "http://0.0.0.0/" : lastResort($0) }
        pipeline = try PipelineFile.load(
          Array(Self.defaultPipeline.utf8), file: "(default pipeline)", registry: registry,
          environment: environment
        ).pipeline
      }
    } catch {
      add(error.errors, of: error)
      return nil
    }
    let location = file.$endpoint.location
    if let url {
      do throws(Endpoint.InvalidURL) {
        if let endpoint = pipeline.endpoint {
          pipeline.endpoint = try endpoint.at(url: url)
        } else {
          pipeline.endpoint = try Endpoint(url: url)
        }
      } catch {
        report(
          .wrongValue, message: "`endpoint` is not the URL of a server", location: location,
          hint: error.reason)
      }
    } else if path == nil, (environment.variable("GQL_URL") ?? "").isEmpty {
      report(
        .wrongValue, message: "the manifest has no endpoint", location: location,
        hint: "add `endpoint: https://…` or `pipeline: file`, or set GQL_URL")
    }
    return pipeline
  }

  /// Validates the pipeline against the requirements of the manifest.
  private mutating func checkPipeline(_ manifest: inout Manifest, _ file: ManifestFile) {
    let pipeline = manifest.pipeline
    if manifest.rate != nil,
      let entry = pipeline.entries.first(where: { $0.traits.contains(.limitsRate) })
    {
      report(
        .wrongValue,
        message: "the rate is limited twice: here, and by `\(entry.id)` of the pipeline",
        location: file.$rateLimit.keyLocation, hint: "remove one of them")
    }
    guard manifest.keepsInCache else { return }
    let hasWrite = pipeline.entries.flatMap(\.parts).contains(where: \.isCacheWrite)
    if ![.sqlite, .postgres].contains(pipeline.store.kind) || !hasWrite {
      report(
        .wrongValue,
        message: "the sink `cache` needs a pipeline with a store that outlives the run",
        location: file.$sinks.keyLocation,
        hint:
          "use a pipeline with `store: { kind: sqlite, path: cache.db }` or a store of kind `postgres`, and the step "
          + "`cache-write`")
    }
    // A task whose records cannot be stored must not count as done.
    manifest.pipeline.store.isRequired = true
  }

  private mutating func checkStandardStreams(_ manifest: Manifest, _ location: FileLocation) {
    let readers =
      manifest.operations.filter { $0.source?.input.readsStandardInput == true }.count
      + (file == "stdin" ? 1 : 0)
    if readers > 1 {
      report(
        .input, message: "standard input is read more than once", location: location,
        hint: "put the rows of one operation into a file")
    }
  }
}

extension ManifestLoader {
  /// Reads the options that refer to the data: `emit`, `capture`, `bookmark`, `paginate`.
  mutating func readPaths(
    _ draft: Draft, operation: inout BatchOperation
  ) {
    let settings = draft.settings
    let shape = operation.shape
    operation.emit = settings.emit
    if let emit = settings.emit {
      check(emit, name: "emit", location: settings.$emit.location, shape: shape, endsAt: .record)
    }
    operation.columns = RecordColumns(paths: shape.tree.columns(at: operation.emit?.keys ?? []))
    for entry in settings.capture.entries {
      check(
        entry.value.value, name: "capture", location: entry.value.location, shape: shape,
        endsAt: .value)
      operation.capture.append((entry.name, entry.value.value))
    }
    for entry in settings.bookmark.entries {
      check(
        entry.value.path, name: "bookmark", location: entry.value.location, shape: shape,
        below: operation.emit,
        endsAt: .record)
      // The state file has one value of a name, which is saved if its operation has no failure.
      if !bookmarkNames.insert(entry.name).inserted {
        report(
          .duplicateKey, message: "another operation has a bookmark `\(entry.name)`, too",
          location: entry.nameLocation ?? entry.value.location,
          hint: "give each a name of its own")
      }
      operation.bookmarks.append((entry.name, entry.value.value))
    }
    if case .pages(let paginate)? = settings.paginate {
      readPagination(
        paginate, location: settings.$paginate.location, shape: shape, operation: &operation)
      checkCaptures(settings, operation)
    }
    checkCompleteness(settings, operation: &operation)
  }

  /// Validates the paths of the `expect` conditions.
  mutating func checkExpectations(_ settings: OperationSettings, _ shape: PathShape) {
    let judgesErrors = Expectations(settings.expect.map(\.value)).judgeErrors
    for condition in settings.expect {
      if condition.value.requiresNoData, !judgesErrors {
        report(
          .path,
          message: "`expect` is never met: a response without data has errors, which are a failure",
          location: condition.location, hint: "add `errors != null`, which accepts them")
      }
      for problem in condition.value.pathProblems(in: shape) {
        report(
          .path, message: "`expect` \(problem.message)", location: condition.location,
          hint: problem.hint)
      }
    }
  }

  private mutating func check(
    _ path: ResultPath, name: String, location: FileLocation, shape: PathShape,
    below base: ResultPath? = nil, endsAt end: PathShape.End
  ) {
    guard let problem = shape.problem(of: path, below: base, endsAt: end) else { return }
    report(.path, message: "`\(name)` \(problem.message)", location: location, hint: problem.hint)
  }

  // MARK: Pages

  /// Reports captured values of a list whose pages are followed: those of a page replace those of the page before.
  private mutating func checkCaptures(_ settings: OperationSettings, _ operation: BatchOperation) {
    let list: [String]
    /// The lists of a connection, which are in pages; empty if they have other names.
    var lists: [String] = []
    switch operation.pagination?.style {
    case .connection(let path, _)?:
      list = path.keys
      lists = operation.shape.tree.lists(at: list)
    case .offset(_, let items)?: list = items.keys
    case nil: return
    }
    for entry in settings.capture.entries {
      let path = entry.value.value
      // Each page has the other lists of a connection, such as facets.
      let isInPages =
        path.keys.dropFirst(list.count).first.map { key in
          lists.isEmpty ? path.steps.contains(.each) : lists.contains(key)
        } ?? true
      guard path.keys.starts(with: list), isInPages else { continue }
      report(
        .path, message: "`capture` has `\(path)` of the last page only",
        location: entry.value.location,
        hint:
          "write the records to a sink `sqlite`, and read them with `foreach: { sqlite: FILE, query: … }` in an "
          + "operation that needs this one")
    }
  }

  private mutating func readPagination(
    _ settings: PaginateSettings, location: FileLocation, shape: PathShape,
    operation: inout BatchOperation
  ) {
    let declared = operation.template.definition.variables.map(\.name.value)
    var style: Pagination.Style?
    if let path = settings.connection {
      let location = settings.$connection.location
      check(path, name: "connection", location: location, shape: shape, endsAt: .connection)
      for field in ["hasNextPage", "endCursor"] {
        guard let info = ResultPath("\(path).pageInfo.\(field)"),
          shape.problem(of: path, endsAt: .connection) == nil,
          shape.problem(of: info, endsAt: .value) != nil
        else { continue }
        report(
          .path, message: "the document does not select `pageInfo.\(field)` of `\(path)`",
          location: location,
          hint: "select `pageInfo { hasNextPage endCursor }` there")
      }
      style = .connection(path, cursor: settings.cursor)
      checkVariable(settings.cursor, declared: declared, location: settings.$cursor.location)
    } else if let offset = settings.offset {
      checkVariable(offset.variable, declared: declared, location: offset.$variable.location)
      if offset.$items.isUsable {
        check(
          offset.items, name: "items", location: offset.$items.location, shape: shape, endsAt: .list
        )
        style = .offset(variable: offset.variable, items: offset.items)
      }
    } else if !settings.$connection.isGiven, !settings.$offset.isGiven, !settings.$nested.isGiven {
      report(
        .wrongValue, message: "`paginate` needs a `connection`, an `offset` or `nested`",
        location: location,
        hint: "add `connection: path.to.connection`, or write `paginate: none`")
    }
    guard style != nil || !settings.nested.isEmpty else { return }
    var pagination = Pagination(style: style, maxPages: settings.maxPages)
    if let size = settings.pageSize, size.$start.isUsable {
      checkVariable(size.variable, declared: declared, location: size.$variable.location)
      pagination.pageSize = size
    }
    for nested in settings.nested where nested.$path.isUsable && nested.$type.isUsable {
      if let nested = self.nested(nested, shape: shape, of: operation) {
        pagination.nested.append(nested)
      }
    }
    // Those in others come after them, so that they are completed on all their pages.
    pagination.nested.sort { $0.path.keys.count < $1.path.keys.count }
    operation.pagination = pagination
  }

  /// A connection of `nested`; `nil` for one that cannot be completed, which is reported.
  private mutating func nested(
    _ settings: NestedSettings, shape: PathShape, of operation: BatchOperation
  ) -> NestedConnection? {
    let location = settings.$path.location
    let path = settings.path
    let problems = decoder.findings.count
    guard case .key(let key)? = path.steps.last else {
      report(
        .path, message: "`nested` names the elements of `\(path)`", location: location,
        hint: "write the path of the connection, such as `orders.nodes[*].lines`")
      return nil
    }
    let object = String(path.description.dropLast(key.count))
    for text in ["\(path).pageInfo.hasNextPage", "\(path).pageInfo.endCursor", "\(object)id"] {
      guard decoder.findings.count == problems, let path = ResultPath(text) else { continue }
      check(
        path, name: "nested", location: location, shape: shape, below: operation.emit,
        endsAt: .value)
    }
    guard decoder.findings.count == problems else { return nil }
    guard
      let nested = NestedConnection(
        path, below: operation.emit, of: operation.template, shape.tree,
        through: .node(type: settings.type))
    else {
      report(
        .path, message: "the connection `\(path)` of `nested` cannot be requested by itself",
        location: location, hint: "it must be a field of the emitted record")
      return nil
    }
    guard !nested.lists.isEmpty else {
      report(
        .path, message: "`nested` completes `nodes` and `edges`, and `\(path)` selects neither",
        location: location, hint: "select one of them there")
      return nil
    }
    if let problem = nested.documents.problem(of: Continuation(connection: 0)) {
      report(
        .path,
        message: "the connection `\(path)` cannot be requested through `node(id:)`: \(problem)",
        location: settings.$type.location,
        hint: "`type` is the type of the object with the connection, which `node(id:)` must find; "
          + "otherwise request the connection in another operation, with the objects as its rows")
      return nil
    }
    return nested
  }

  /// Finds connections whose further pages would be left out.
  private mutating func checkCompleteness(
    _ settings: OperationSettings, operation: inout BatchOperation
  ) {
    if case .firstPage? = settings.paginate { return }
    guard operation.template.type != .subscription, settings.$paginate.isUsable else { return }
    operation.completeness = CompletenessCheck(operation)
    let location =
      settings.query == nil ? settings.$document.location : settings.$query.location
    if operation.isMutation, let path = operation.completeness?.openPaths.first {
      report(
        .wrongValue,
        message:
          "the mutation `\(operation.id)` selects `hasNextPage` of `\(path)`, and would be sent again for "
          + "further pages", location: location,
        hint:
          "add `paginate: none`, or request the connection in a query that `needs` the mutation")
    }
    for keys in operation.template.connectionsWithoutPageInfo() {
      if case .offset(_, let items)? = operation.pagination?.style,
        CompletenessCheck.lists(items, of: keys)
      {
        continue
      }
      report(
        .path,
        message: "`\(operation.id)` does not select `pageInfo` of the connection "
          + "`\(keys.joined(separator: "."))`, so pages after the first one are left out without an error",
        location: location,
        hint: "select `pageInfo { hasNextPage endCursor }` there", severity: .warning)
    }
  }

  private mutating func checkVariable(
    _ name: String, declared: [String], location: FileLocation
  ) {
    guard !declared.contains(name) else { return }
    report(
      .variable,
      message: "`paginate` sets the variable `\(name)`, which the operation does not declare",
      location: location, hint: suggestion(for: name, in: declared).map { "did you mean `\($0)`?" })
  }
}

/// Parses the text of a manifest into nodes.
extension ManifestLoader {
  mutating func manifest(_ bytes: [UInt8], endpoint: String?) -> Manifest? {
    let start = FileLocation(file: file)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      report(
        .unreadable, message: "the manifest is not UTF-8 text", location: start,
        hint: "save it as UTF-8")
      return nil
    }
    let isLines = text.first { !$0.isWhitespace } == "{"
    guard bytes.count <= (isLines ? Self.largestLines : Self.largestYAML) else {
      report(
        .unreadable, message: "the manifest is larger than \(isLines ? "256" : "1") MiB",
        location: start,
        hint: isLines
          ? "put rows into a file for `foreach`" : "long manifests are written as JSON lines")
      return nil
    }
    source = SourceText(file: file, text: text)
    source.kind = .manifest
    let root: YAMLNode?
    if isLines {
      root = lines(text)
    } else {
      var composer = YAMLComposer(text, source: source)
      root = composer.compose()
      decoder.findings += composer.findings
    }
    guard let root else { return nil }
    guard root.members != nil else {
      report(
        .wrongValue, message: "a manifest is a mapping, not \(root.kind)", location: root.location,
        hint: "begin with `version: 1`")
      return nil
    }
    var result = Self.without("sinks", root)
    guard case .mapping(var members) = result.content else { return nil }
    for index in members.indices where members[index].key == "operations" {
      guard case .sequence(let operations) = members[index].value.content else { continue }
      members[index].value.content = .sequence(operations.map { Self.without("variables", $0) })
    }
    result.content = .mapping(members)
    return manifest(result, endpoint)
  }

  /// The node without a key that has no value: all entries below it may be comments.
  private static func without(_ key: String, _ node: YAMLNode) -> YAMLNode {
    guard let members = node.members else { return node }
    var node = node
    node.content = .mapping(members.filter { $0.key != key || !$0.value.isNull })
    return node
  }

  /// Parses JSON lines: the line with `version` has the manifest's keys, each other line an
  /// operation.
  private mutating func lines(_ text: String) -> YAMLNode? {
    var members: [YAMLNode.Member] = []
    var operations: [YAMLNode] = []
    // A line may end with CR LF, which is one `Character`. Other line ends of YAML are in texts, or errors.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.last == "\r" ? $0.dropLast() : $0 }
    source = SourceText(file: file, lines: lines.map { Array($0) })
    source.kind = .manifest
    for (index, line) in lines.enumerated() {
      guard line.contains(where: { !$0.properties.isWhitespace }) else { continue }
      let (number, text) = (index + 1, String(line))
      let location = FileLocation(
        file: file, line: number, column: 1, length: max(1, line.count))
      do {
        let node = YAMLNode(try JSONValue(parsing: text), at: location)
        guard case .mapping(let found) = node.content else {
          report(
            .wrongValue, message: "a line of a manifest is a JSON object, not \(node.kind)",
            location: location)
          continue
        }
        if members.isEmpty, found.contains(where: { $0.key == "version" }) {
          members = found
        } else {
          operations.append(node)
        }
      } catch {
        let before = String(decoding: text.utf8.prefix(error.offset), as: UTF8.self)
        report(
          .unreadable, message: "not valid JSON: \(error.message)",
          location: FileLocation(
            file: file, line: number, column: before.unicodeScalars.count + 1))
      }
    }
    let start = FileLocation(file: file)
    if let location = members.firstIndex(where: { $0.key == "operations" }) {
      guard case .sequence(let own) = members[location].value.content else {
        return YAMLNode(content: .mapping(members), location: start)
      }
      members[location].value.content = .sequence(own + operations)
    } else {
      members.append(
        YAMLNode.Member(
          key: "operations", keyLocation: start,
          value: YAMLNode(content: .sequence(operations), location: start)))
    }
    return YAMLNode(content: .mapping(members), location: start)
  }
}
