import Cache
import Foundation
import GraphQL
import HTTPTypes
import JSONStream
public import Pipeline

/// Reads manifests, and finds everything that is wrong with one before anything is sent.
public struct ManifestLoader {
  /// A manifest with what was noticed about it.
  public struct Loaded: Sendable {
    public var manifest: Manifest
    /// Warnings only.
    public var warnings: PipelineDiagnostics
  }

  /// The largest manifest in YAML, and the largest of JSON lines.
  static let largestYAML = 1 << 20
  static let largestLines = 256 << 20

  let file: String
  let folder: String
  let registry: PluginRegistry
  let environment: PipelineFileEnvironment
  var decoder: OptionDecoder
  var source: SourceText
  /// Documents by path.
  var documents: [String: Document?] = [:]

  init(
    file: String, folder: String, registry: PluginRegistry, environment: PipelineFileEnvironment
  ) {
    self.file = file
    self.folder = folder
    self.registry = registry
    self.environment = environment
    decoder = OptionDecoder(folder: folder, environment: environment)
    source = SourceText(file: file, lines: [])
  }

  /// Reads the manifest at `path`; `-` is standard input, with JSON lines or YAML.
  ///
  /// - Parameter endpoint: The URL that wins over the manifest's and the pipeline's.
  /// - Throws: Every error and warning at once.
  public static func load(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process,
    endpoint: String? = nil
  ) throws(PipelineDiagnostics) -> Loaded {
    let isInput = path == "-"
    let file = isInput ? "stdin" : path
    let bytes: [UInt8]
    do {
      guard
        let handle = isInput
          ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
      else {
        throw PipelineFileEnvironment.Failure(
          FileManager.default.fileExists(atPath: path)
            ? "it cannot be opened" : "there is no such file")
      }
      bytes = [UInt8](try handle.read(upToCount: largestLines + 1) ?? Data())
    } catch {
      let reason = (error as? PipelineFileEnvironment.Failure)?.reason ?? "it is not a file"
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, "the manifest cannot be read",
            at: SourcePlace(file: file, line: 1, column: 1), hint: reason)
        ], source: SourceText(file: file, lines: []))
    }
    return try load(
      bytes, file: file, folder: isInput ? "." : FilePath.folder(of: path), registry: registry,
      environment: environment, endpoint: endpoint)
  }

  /// Reads a manifest from its bytes.
  public static func load(
    _ bytes: [UInt8], file: String, folder: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment, endpoint: String? = nil
  ) throws(PipelineDiagnostics) -> Loaded {
    var loader = ManifestLoader(
      file: file, folder: folder, registry: registry, environment: environment)
    let manifest = loader.manifest(bytes, endpoint: endpoint)
    loader.source.secrets = loader.decoder.secretPlaces
    let found = PipelineDiagnostics(loader.decoder.findings, source: loader.source)
    guard let manifest, found.errors.isEmpty else { throw found }
    return Loaded(manifest: manifest, warnings: found)
  }

  mutating func report(
    _ code: PipelineDiagnostic.Code, _ message: String, _ place: SourcePlace, _ hint: String? = nil,
    severity: PipelineDiagnostic.Severity = .error
  ) {
    decoder.findings.append(
      PipelineDiagnostic(code, message, severity: severity, at: place, hint: hint))
  }
}

// MARK: Text to nodes

extension ManifestLoader {
  private mutating func manifest(_ bytes: [UInt8], endpoint: String?) -> Manifest? {
    let start = SourcePlace(file: file, line: 1, column: 1)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      report(.unreadable, "the manifest is not UTF-8 text", start, "save it as UTF-8")
      return nil
    }
    let isLines = text.first { !$0.isWhitespace } == "{"
    guard bytes.count <= (isLines ? Self.largestLines : Self.largestYAML) else {
      report(
        .unreadable, "the manifest is larger than \(isLines ? "256" : "1") MiB", start,
        isLines ? "put rows into a file for `foreach`" : "long manifests are written as JSON lines")
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
    guard case .mapping(let members) = root.content else {
      report(
        .wrongValue, "a manifest is a mapping, not \(root.kind)", root.place,
        "begin with `version: 1`")
      return nil
    }
    return manifest(members, root, endpoint)
  }

  /// JSON lines: the first holds the manifest but for its operations, each other one an operation.
  private mutating func lines(_ text: String) -> YAMLNode? {
    var members: [YAMLNode.Member] = []
    var operations: [YAMLNode] = []
    var number = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      number += 1
      guard line.contains(where: { !$0.isWhitespace }) else { continue }
      let place = SourcePlace(
        file: file, line: number, column: 1, length: max(1, line.unicodeScalars.count))
      do {
        let node = Self.node(try JSONValue(parsing: String(line)), place)
        guard case .mapping(let found) = node.content else {
          report(.wrongValue, "a line of a manifest is a JSON object, not \(node.kind)", place)
          continue
        }
        if members.isEmpty, found.contains(where: { $0.key == "version" }) {
          members = found
        } else {
          operations.append(node)
        }
      } catch {
        report(
          .unreadable, "not valid JSON: \(error.message)",
          SourcePlace(file: file, line: number, column: error.offset + 1))
      }
    }
    let start = SourcePlace(file: file, line: 1, column: 1)
    if let place = members.firstIndex(where: { $0.key == "operations" }) {
      guard case .sequence(let own) = members[place].value.content else {
        return YAMLNode(content: .mapping(members), place: start)
      }
      members[place].value.content = .sequence(own + operations)
    } else {
      members.append(
        YAMLNode.Member(
          key: "operations", keyPlace: start,
          value: YAMLNode(content: .sequence(operations), place: start)))
    }
    return YAMLNode(content: .mapping(members), place: start)
  }

  private static func node(_ value: JSONValue, _ place: SourcePlace) -> YAMLNode {
    let content: YAMLNode.Content =
      switch value {
      case .null: .scalar("null", isPlain: true)
      case .boolean(let flag): .scalar(flag ? "true" : "false", isPlain: true)
      case .number(let number): .scalar(number.text, isPlain: true)
      case .string(let text): .scalar(text, isPlain: false)
      case .array(let elements): .sequence(elements.map { node($0, place) })
      case .object(let object):
        .mapping(
          object.map {
            YAMLNode.Member(key: $0.key, keyPlace: place, value: node($0.value, place))
          })
      }
    return YAMLNode(content: content, place: place)
  }
}

// MARK: The root

extension ManifestLoader {
  private mutating func manifest(
    _ members: [YAMLNode.Member], _ root: YAMLNode, _ endpoint: String?
  ) -> Manifest? {
    let own = ["sinks", "operations"]
    let options = decoder.options(
      YAMLNode(content: .mapping(members.filter { !own.contains($0.key) }), place: root.place),
      table: Self.rootTable,
      owner: .init(subject: "a manifest", noun: "key", otherNames: own, isRoot: true),
      place: root.place)
    if let version = options.int(ifGiven: "version"), version != 1 {
      report(
        .wrongValue, "this program reads version 1 of manifests", options.place(of: "version"),
        version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
    }
    let schema = options.string(ifGiven: "schema").flatMap {
      self.schema($0, options.place(of: "schema"))
    }
    let pipeline = pipeline(options, endpoint)
    let name =
      options.string(ifGiven: "name")
      ?? file.split(separator: "/").last.map { $0.prefix { $0 != "." } }.map { String($0) }
      ?? "batch"
    var manifest = Manifest(
      name: name, file: file, folder: folder, pipeline: pipeline ?? Pipeline(entries: []),
      schema: schema)
    manifest.settings = settings(options.object(ifGiven: "run"))
    manifest.rate = options.object(ifGiven: "rate_limit").map { rate($0) }
    if let given = options.object(ifGiven: "report") {
      manifest.report.junit = output("junit", given)
      manifest.report.html = output("html", given)
      manifest.report.json = output("json", given)
    }
    manifest.stateFile = options.object(ifGiven: "state").flatMap { output("file", $0) }
    manifest.thresholds = conditions(
      "thresholds", options,
      roots: [
        "total", "done", "failed", "unknown", "skipped", "rps", "seconds", "p50_ms", "p90_ms",
        "p95_ms", "p99_ms", "max_ms", "records", "bytes",
      ])
    manifest.operations = operations(
      members.first { $0.key == "operations" }?.value, root, schema, manifest.pipeline.keys)
    manifest.sinks = sinks(members.first { $0.key == "sinks" }?.value, manifest.operations)
    checkStandardStreams(manifest, root.place)
    return pipeline == nil ? nil : manifest
  }

  private mutating func settings(_ options: PluginOptions?) -> RunSettings {
    var settings = RunSettings()
    let base = OutputPath(folder: folder)
    settings.journalFolder = (try? base.resolve(settings.journalFolder)) ?? "runs"
    guard let options else { return settings }
    // What could not be read is reported already, and must not stop the reading of the rest.
    settings.concurrency = options.int(ifGiven: "concurrency") ?? settings.concurrency
    settings.order = options.choice(ifGiven: "order") ?? settings.order
    settings.deadline = options.duration(ifGiven: "deadline")
    settings.patience = options.duration(ifGiven: "patience") ?? settings.patience
    if let folder = output("journal", options) { settings.journalFolder = folder }
    if let text = options.string(ifGiven: "max_failures") {
      if let count = Int(text), count >= 0 {
        settings.failureLimit = .count(count)
      } else if text.hasSuffix("%"), let share = Double(text.dropLast()), (0...100).contains(share)
      {
        settings.failureLimit = .share(share / 100)
      } else {
        report(
          .wrongValue, "`max_failures` of `run` takes a count or a percentage",
          options.place(of: "max_failures"), "write `20` or `5%`")
      }
    }
    if options.bool(ifGiven: "fail_fast") == true { settings.failureLimit = .count(0) }
    return settings
  }

  private mutating func rate(_ options: PluginOptions) -> RateSettings {
    var rate = RateSettings(adapter: options.choice(ifGiven: "adapter"))
    rate.burst = options.int(ifGiven: "burst") ?? rate.burst
    rate.reserve = options.percentage(ifGiven: "reserve") ?? rate.reserve
    if let text = options.string(ifGiven: "rate") {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      let units: [Substring: Double] = ["s": 1, "m": 60, "h": 3600]
      if parts.count == 2, let count = Double(parts[0]), count > 0, let unit = units[parts[1]] {
        rate.perSecond = count / unit
      } else {
        report(
          .wrongValue, "`rate` of `rate_limit` takes requests per time",
          options.place(of: "rate"), "write `50/s`, `600/m` or `5000/h`")
      }
    }
    if rate.perSecond == nil, rate.adapter == nil, options["rate"] == nil {
      report(.wrongValue, "`rate_limit` limits nothing", options.place, "add `rate: 50/s`")
    }
    return rate
  }

  /// The path of an output, when it may be written.
  mutating func output(_ name: String, _ options: PluginOptions) -> String? {
    guard let path = options.string(ifGiven: name) else { return nil }
    do {
      return try OutputPath(folder: folder).resolve(path)
    } catch {
      report(
        .output, "`\(name)` would be written outside of the manifest's folder",
        options.place(of: name), error.reason)
      return nil
    }
  }

  private mutating func schema(_ path: String, _ place: SourcePlace) -> Schema? {
    do {
      let bytes = try Self.contents(of: path)
      return try Schema(sdl: Document(parsingUTF8: bytes))
    } catch let error as PipelineFileEnvironment.Failure {
      report(.document, "the schema `\(path)` cannot be read", place, error.reason)
    } catch let error as GraphQLSyntaxError {
      report(.document, "the schema cannot be used: \(path):\(error)", place)
    } catch let error as SchemaError {
      for issue in error.issues.prefix(20) {
        report(.document, "the schema cannot be used: \(path): \(issue.message)", place)
      }
    } catch {
      report(.document, "the schema `\(path)` cannot be used: \(error)", place)
    }
    return nil
  }

  /// The bytes of a document or schema.
  static func contents(of path: String) throws(PipelineFileEnvironment.Failure) -> [UInt8] {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw PipelineFileEnvironment.Failure(
        FileManager.default.fileExists(atPath: path)
          ? "it cannot be opened" : "there is no such file")
    }
    defer { try? handle.close() }
    let limit = 64 << 20
    guard let data = try? handle.read(upToCount: limit + 1) else {
      throw PipelineFileEnvironment.Failure("it is not a readable file")
    }
    guard data.count <= limit else {
      throw PipelineFileEnvironment.Failure("it is larger than 64 MiB")
    }
    return [UInt8](data)
  }

  /// The chain for manifests that name none: no cache, retries, five minutes for an operation.
  private static let plainPipeline = """
    version: 1
    name: batch
    endpoint: { url: "${env:GQL_URL:-http://0.0.0.0/}" }
    store: { kind: none }
    chain:
      - timeout: { total: 5m }
      - max-retry: { max_retries: 3 }
      - fetch
      - response-code
      - parse
    """

  private mutating func pipeline(_ options: PluginOptions, _ given: String?) -> Pipeline? {
    let url = given ?? options.string(ifGiven: "endpoint")
    let path = options.string(ifGiven: "pipeline")
    var pipeline: Pipeline
    do throws(PipelineDiagnostics) {
      var environment = environment
      if let url {
        // The endpoint that is given stands for the variable of ready-made files.
        let variable = environment.variable
        environment.variable = { $0 == "GQL_URL" ? url : variable($0) }
      }
      if let path {
        pipeline = try PipelineFile.load(path: path, registry: registry, environment: environment)
          .pipeline
      } else {
        pipeline = try PipelineFile.load(
          Array(Self.plainPipeline.utf8), file: "(default pipeline)", registry: registry,
          environment: environment
        ).pipeline
      }
    } catch {
      decoder.findings += error.errors
      return nil
    }
    let place = options["endpoint"] == nil ? options.place : options.place(of: "endpoint")
    if let url {
      do {
        pipeline.endpoint = try Endpoint(
          url: url, headers: pipeline.endpoint?.headers ?? [:],
          method: pipeline.endpoint?.method ?? .post)
      } catch {
        report(.wrongValue, "`endpoint` is not the URL of a server", place, error.reason)
      }
    } else if path == nil, (environment.variable("GQL_URL") ?? "").isEmpty {
      report(
        .wrongValue, "the manifest names no endpoint to send to", place,
        "add `endpoint: https://…` or `pipeline: file`, or set GQL_URL")
    }
    return pipeline
  }

  private mutating func checkStandardStreams(_ manifest: Manifest, _ place: SourcePlace) {
    let readers =
      manifest.operations.filter { $0.source?.readsStandardInput == true }.count
      + (file == "stdin" ? 1 : 0)
    if readers > 1 {
      report(
        .input, "standard input is read more than once", place,
        "put the rows of one operation into a file")
    }
  }

  mutating func conditions(
    _ name: String, _ options: PluginOptions, roots: [String]
  ) -> [BatchCondition] {
    guard case .list(let elements)? = options[name]?.content else { return [] }
    return elements.compactMap { element in
      guard case .string(let text) = element.content else { return nil }
      guard let condition = BatchCondition(text) else {
        report(
          .path, "`\(text)` in `\(name)` is no condition", element.place,
          "write two values around ==, !=, <, <=, > or >=, such as `errors == null`")
        return nil
      }
      for root in condition.roots where !roots.contains(root) {
        report(
          .path, "a condition of `\(name)` has no value `\(root)`", element.place,
          suggestion(for: root, in: roots).map { "did you mean `\($0)`?" }
            ?? roots.joined(separator: ", "))
      }
      return condition
    }
  }
}
