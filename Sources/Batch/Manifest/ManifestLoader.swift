import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
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
  /// The files that were read so far.
  let inputs = InputRecorder()

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
      let location = FileLocation(file: path == "-" ? "stdin" : path, line: 1, column: 1)
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, "the manifest cannot be read", at: location, hint: error.reason)
        ], source: SourceText(file: location.file, lines: []))
    }
  }

  /// The hint for an unknown name: the most similar known name, or the first twelve known names.
  mutating func hint(
    for name: String, among names: @autoclosure () -> [String]
  ) -> String? {
    guard suggestionsLeft > 0 else { return nil }
    suggestionsLeft -= 1
    let names = names()
    if let meant = suggestion(for: name, in: names) { return "did you mean `\(meant)`?" }
    guard !names.isEmpty else { return nil }
    return "there are \(names.prefix(12).joined(separator: ", "))\(names.count > 12 ? ", …" : "")"
  }

  /// Reports outputs that would overwrite an input or another output.
  mutating func checkOutputs(_ manifest: Manifest, _ sinks: FileLocation) {
    let plan: SinkPlan
    do {
      plan = try SinkPlan(manifest)
    } catch {
      return report(.output, error.message, sinks)
    }
    for problem in OutputCheck(manifest, plan).conflicts() {
      report(.output, problem.message, problem.location ?? sinks, problem.hint)
    }
  }

  /// Adds diagnostics of the pipeline's files, with the lines that their excerpts show.
  mutating func add(_ found: [PipelineDiagnostic], of pipeline: PipelineDiagnostics) {
    decoder.findings += found
    pipelineSources += pipeline.sources
  }

  mutating func report(
    _ code: PipelineDiagnostic.Code, _ message: String, _ location: FileLocation,
    _ hint: String? = nil,
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
