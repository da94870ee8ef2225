import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// The manifest without its operations and sinks.
extension ManifestLoader {
  mutating func manifest(_ root: YAMLNode, _ endpoint: String?) -> Manifest? {
    let (given, _) = decoder.section(
      ManifestFile.self, root, owner: .init(subject: "a manifest", noun: "key", isRoot: true),
      location: root.location)
    let schema = given.schema.flatMap { self.schema($0.path, given.$schema.location) }
    let pipeline = pipeline(given, endpoint)
    if let schema, let pipeline {
      let found = pipeline.ruleDiagnostics(against: schema)
      add(found.all, of: found)
    }
    let name =
      given.name
      ?? file.split(separator: "/").last.map { $0.prefix { $0 != "." } }.map { String($0) }
      ?? "batch"
    var manifest = Manifest(
      name: name, file: file, folder: folder, pipeline: pipeline ?? Pipeline(entries: []),
      schema: schema)
    manifest.namesPipeline = given.pipeline != nil
    if file != "stdin" { inputs.add(file, "the manifest") }
    manifest.settings = given.run
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
    manifest.operations = operations(given, schema, manifest.pipeline.keys)
    manifest.sinks =
      given.sinks.map { sinks($0, manifest.operations, schema) } ?? [
        SinkSettings(sink: NDJSONSink(), path: "-")
      ]
    checkStandardStreams(manifest, root.location)
    if pipeline != nil { checkPipeline(&manifest, given) }
    manifest.inputs = inputs.files
    manifest.stateNames = stateNames.union(
      manifest.operations.flatMap { $0.bookmarks.map(\.name) })
    checkQueue(manifest, given.run.$journal.location)
    if !manifest.operations.isEmpty { checkOutputs(manifest, given.$sinks.keyLocation) }
    return pipeline == nil ? nil : manifest
  }

  /// The resolved path of an output; reports it and returns `nil` if it is outside the manifest's
  /// folder.
  mutating func output(_ option: OptionProperty<String>) -> String? {
    guard option.isUsable else { return nil }
    return output(option.wrappedValue, option.name, option.location)
  }

  private mutating func output(_ option: OptionProperty<String?>) -> String? {
    option.wrappedValue.flatMap { output($0, option.name, option.location) }
  }

  mutating func output(_ path: String, _ name: String, _ location: FileLocation) -> String? {
    do {
      return try OutputPath(folder: folder).resolve(path)
    } catch {
      report(
        .output, "`\(name)` would be written outside of the manifest's folder", location,
        error.reason)
      return nil
    }
  }

  private mutating func schema(_ path: String, _ location: FileLocation) -> Schema? {
    do {
      inputs.add(path, "the schema")
      let bytes = try Self.contents(of: path)
      return try Schema(sdl: Document(parsingUTF8: bytes))
    } catch let error as PipelineFileEnvironment.Failure {
      report(.document, "the schema `\(path)` cannot be read", location, error.reason)
    } catch let error as GraphQLSyntaxError {
      report(.document, "the schema cannot be used: \(path):\(error)", location)
    } catch let error as SchemaError {
      for issue in error.issues.prefix(20) {
        report(.document, "the schema cannot be used: \(path): \(issue.message)", location)
      }
    } catch {
      report(.document, "the schema `\(path)` cannot be used: \(error)", location)
    }
    return nil
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
  private static let defaultPipeline = """
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
        report(.wrongValue, "`endpoint` is not the URL of a server", location, error.reason)
      }
    } else if path == nil, (environment.variable("GQL_URL") ?? "").isEmpty {
      report(
        .wrongValue, "the manifest has no endpoint", location,
        "add `endpoint: https://…` or `pipeline: file`, or set GQL_URL")
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
        .wrongValue, "the rate is limited twice: here, and by `\(entry.id)` of the pipeline",
        file.$rateLimit.keyLocation, "remove one of them")
    }
    guard manifest.keepsInCache else { return }
    let hasWrite = pipeline.entries.contains {
      $0.parts.contains { if case .cacheWrite = $0 { true } else { false } }
    }
    if ![.sqlite, .postgres].contains(pipeline.store.kind) || !hasWrite {
      report(
        .wrongValue, "the sink `cache` needs a pipeline with a store that outlives the run",
        file.$sinks.keyLocation,
        "use a pipeline with `store: { kind: sqlite, path: cache.db }` or a store of kind `postgres`, and the step "
          + "`cache-write`")
    }
    // A task whose records cannot be stored must not count as done.
    manifest.pipeline.store.isRequired = true
  }

  private mutating func checkStandardStreams(_ manifest: Manifest, _ location: FileLocation) {
    let readers =
      manifest.operations.filter { $0.source?.readsStandardInput == true }.count
      + (file == "stdin" ? 1 : 0)
    if readers > 1 {
      report(
        .input, "standard input is read more than once", location,
        "put the rows of one operation into a file")
    }
  }
}
