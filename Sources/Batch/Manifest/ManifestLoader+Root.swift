import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes

/// The keys of a manifest except `operations` and `sinks`.
extension ManifestLoader {
  mutating func manifest(
    _ members: [YAMLNode.Member], _ root: YAMLNode, _ endpoint: String?
  ) -> Manifest? {
    let own = ["sinks", "operations"]
    let options = decoder.options(
      YAMLNode(
        content: .mapping(members.filter { !own.contains($0.key) }), location: root.location),
      table: Self.rootTable,
      owner: .init(subject: "a manifest", noun: "key", otherNames: own, isRoot: true),
      location: root.location)
    if let version = options.int(ifGiven: "version"), version != 1 {
      report(
        .wrongValue, "this program reads version 1 of manifests", options.location(of: "version"),
        version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
    }
    let schema = options.string(ifGiven: "schema").flatMap {
      self.schema($0, options.location(of: "schema"))
    }
    let pipeline = pipeline(options, endpoint)
    if let schema, let pipeline {
      decoder.findings += pipeline.ruleDiagnostics(against: schema).all
    }
    let name =
      options.string(ifGiven: "name")
      ?? file.split(separator: "/").last.map { $0.prefix { $0 != "." } }.map { String($0) }
      ?? "batch"
    var manifest = Manifest(
      name: name, file: file, folder: folder, pipeline: pipeline ?? Pipeline(entries: []),
      schema: schema)
    if file != "stdin" { inputs.add(file, "the manifest") }
    manifest.settings = settings(options.object(ifGiven: "run"))
    manifest.outputLocations["journal"] = options.location(of: "run.journal")
    manifest.rate = options.object(ifGiven: "rate_limit").map { rate($0) }
    if let given = options.object(ifGiven: "report") {
      manifest.report.junit = output("junit", given)
      manifest.report.html = output("html", given)
      manifest.report.json = output("json", given)
      for name in ["junit", "html", "json"] {
        manifest.outputLocations["report.\(name)"] = given.location(of: name)
      }
    }
    manifest.stateFile = options.object(ifGiven: "state").flatMap { output("file", $0) }
    manifest.outputLocations["state"] = options.location(of: "state.file")
    manifest.thresholds = conditions(
      "thresholds", options,
      roots: [
        "total", "done", "failed", "unknown", "skipped", "rps", "seconds", "p50_ms", "p90_ms",
        "p95_ms", "p99_ms", "max_ms", "records", "bytes",
      ])
    manifest.operations = operations(
      members.first { $0.key == "operations" }?.value, root, schema, manifest.pipeline.keys)
    let given = members.first { $0.key == "sinks" }
    manifest.sinks = sinks(given?.value, manifest.operations, schema)
    checkStandardStreams(manifest, root.location)
    if pipeline != nil { checkPipeline(&manifest, members) }
    manifest.inputs = inputs.files
    manifest.stateNames = stateNames.union(
      manifest.operations.flatMap { $0.bookmarks.map(\.name) })
    if !manifest.operations.isEmpty { checkOutputs(manifest, given?.keyLocation ?? root.location) }
    return pipeline == nil ? nil : manifest
  }

  /// The resolved path of an output; reports it and returns `nil` if it is outside the manifest's
  /// folder.
  mutating func output(_ name: String, _ options: PluginOptions) -> String? {
    guard let path = options.string(ifGiven: name) else { return nil }
    do {
      return try OutputPath(folder: folder).resolve(path)
    } catch {
      report(
        .output, "`\(name)` would be written outside of the manifest's folder",
        options.location(of: name), error.reason)
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

  /// The pipeline of manifests that name none: no cache, 3 retries, 5 minutes per operation.
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
        // The given endpoint overrides the variable of ready-made pipelines.
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
    let location = options["endpoint"] == nil ? options.location : options.location(of: "endpoint")
    if let url {
      do {
        pipeline.endpoint = try Endpoint(
          url: url, headers: pipeline.endpoint?.headers ?? [:],
          method: pipeline.endpoint?.method ?? .post)
      } catch {
        report(.wrongValue, "`endpoint` is not the URL of a server", location, error.reason)
      }
    } else if path == nil, (environment.variable("GQL_URL") ?? "").isEmpty {
      report(
        .wrongValue, "the manifest names no endpoint to send to", location,
        "add `endpoint: https://…` or `pipeline: file`, or set GQL_URL")
    }
    return pipeline
  }

  /// Validates the pipeline against the requirements of the manifest.
  private mutating func checkPipeline(_ manifest: inout Manifest, _ members: [YAMLNode.Member]) {
    func location(_ key: String) -> FileLocation {
      members.first { $0.key == key }?.keyLocation ?? FileLocation(file: file, line: 1, column: 1)
    }
    let pipeline = manifest.pipeline
    if manifest.rate != nil,
      let entry = pipeline.entries.first(where: { $0.traits.contains(.limitsRate) })
    {
      report(
        .wrongValue, "requests are limited twice: here, and by `\(entry.id)` of the pipeline",
        location("rate_limit"), "keep one: both count in the same budget")
    }
    guard manifest.keepsInCache else { return }
    let hasWrite = pipeline.entries.contains {
      $0.parts.contains { if case .cacheWrite = $0 { true } else { false } }
    }
    if pipeline.store.kind != .sqlite || !hasWrite {
      report(
        .wrongValue, "the sink `cache` needs a pipeline that keeps results in a file",
        location("sinks"),
        "name a pipeline with `store: { kind: sqlite, path: cache.db }` and the step `cache-write`")
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
