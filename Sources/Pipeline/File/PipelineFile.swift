public import GQLRunLanguage

/// Reads pipeline files: `*.pipeline.yaml`.
///
/// Reading reaches no network. Everything that is wrong with a file is reported at once, each
/// finding with its place.
public enum PipelineFile {
  /// A pipeline together with what was noticed about its file.
  public struct Loaded: Sendable {
    public var pipeline: Pipeline
    /// Warnings only.
    public var warnings: PipelineDiagnostics
  }

  /// The largest file that is read, in bytes.
  public static let maximumBytes = 1 << 20

  /// Reads and assembles a pipeline.
  ///
  /// - Throws: All errors and warnings of the file.
  public static func load(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process
  ) throws(PipelineDiagnostics) -> Loaded {
    try load(bytes(of: path, environment), file: path, registry: registry, environment: environment)
  }

  /// Reads and assembles a pipeline from the bytes of a file.
  ///
  /// - Parameter file: The path of the file; what it refers to is taken relative to its folder.
  /// - Throws: All errors and warnings of the file.
  public static func load(
    _ bytes: [UInt8], file: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> Loaded {
    var environment = environment
    if environment.execute == nil, !environment.showsPlaceholders {
      environment.execute = { _ in
        throw PipelineFileEnvironment.Failure("commands are not run here")
      }
    }
    var loader = PipelineLoader(file: file, registry: registry, environment: environment)
    let pipeline = loader.load(bytes)
    guard let pipeline, loader.diagnostics.errors.isEmpty else { throw loader.diagnostics }
    return Loaded(pipeline: pipeline, warnings: loader.diagnostics)
  }

  /// Everything that is wrong with a file. Runs no command: options with `${exec:…}` are taken to
  /// be right.
  ///
  /// - Parameter readSchema: Reads the schema that the file names; with it, the file's rules (`keys`,
  ///   `fields`, `types`) are held against the schema.
  public static func check(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process,
    readSchema: ((_ path: String) throws -> Schema)? = nil
  ) -> PipelineDiagnostics {
    do throws(PipelineDiagnostics) {
      let bytes = try bytes(of: path, environment)
      return check(
        bytes, file: path, registry: registry, environment: environment, readSchema: readSchema)
    } catch {
      return error
    }
  }

  /// Everything that is wrong with the bytes of a file; see ``check(path:registry:environment:readSchema:)``.
  public static func check(
    _ bytes: [UInt8], file: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment, readSchema: ((_ path: String) throws -> Schema)? = nil
  ) -> PipelineDiagnostics {
    var loader = PipelineLoader(
      file: file, registry: registry, environment: environment.withoutCommands)
    loader.readSchema = readSchema
    _ = loader.load(bytes)
    return loader.diagnostics
  }

  private static func bytes(
    of path: String, _ environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> [UInt8] {
    do {
      return try environment.readFile(path)
    } catch {
      let reason = (error as? PipelineFileEnvironment.Failure)?.reason ?? "no reason is known"
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, "the pipeline file cannot be read",
            at: SourcePlace(file: path, line: 1, column: 1), hint: reason)
        ], source: SourceText(file: path, lines: []))
    }
  }
}
