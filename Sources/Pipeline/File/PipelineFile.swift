public import GQLRunLanguage

/// Reads pipeline files: `*.pipeline.yaml`.
///
/// Reading does not use the network. All problems of a file are reported at once, each with its
/// source location.
public enum PipelineFile {
  /// A pipeline with the warnings about its file.
  public struct Loaded: Sendable {
    /// The pipeline.
    public var pipeline: Pipeline
    /// The diagnostics of the file; warnings only.
    public var warnings: PipelineDiagnostics
  }

  /// The largest file that is read, in bytes: 1 MiB.
  public static let maximumBytes = 1 << 20

  /// Reads a pipeline from a file.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Paths in the file are relative to its folder.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables, files and commands that the file can use.
  /// - Returns: The pipeline with the warnings about its file.
  /// - Throws: `PipelineDiagnostics` with all errors and warnings of the file.
  public static func load(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process
  ) throws(PipelineDiagnostics) -> Loaded {
    try load(bytes(of: path, environment), file: path, registry: registry, environment: environment)
  }

  /// Reads a pipeline from the bytes of a file.
  ///
  /// - Parameters:
  ///   - bytes: The contents of the file.
  ///   - file: The path of the file. Paths in the file are relative to its folder.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables, files and commands that the file can use.
  /// - Returns: The pipeline with the warnings about its file.
  /// - Throws: `PipelineDiagnostics` with all errors and warnings of the file.
  public static func load(
    _ bytes: [UInt8], file: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> Loaded {
    var environment = environment
    if environment.execute == nil, !environment.showsPlaceholders {
      environment.execute = { _ in
        throw PipelineFileEnvironment.Failure("commands are not run by this check")
      }
    }
    var loader = PipelineLoader(file: file, registry: registry, environment: environment)
    let pipeline = loader.load(bytes)
    guard let pipeline, loader.diagnostics.errors.isEmpty else { throw loader.diagnostics }
    return Loaded(pipeline: pipeline, warnings: loader.diagnostics)
  }

  /// Returns all errors and warnings of a file. Runs no commands: options with `${exec:…}` count as
  /// valid.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables and files that the file can use.
  ///   - readSchema: Reads the schema that the file names. With it, the rules of the file (`keys`,
  ///     `fields`, `types`) are checked against the schema.
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

  /// Returns all errors and warnings of the bytes of a file; see
  /// ``check(path:registry:environment:readSchema:)``.
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
      let reason = (error as? PipelineFileEnvironment.Failure)?.reason ?? "the reason is unknown"
      throw PipelineDiagnostics(
        [
          PipelineDiagnostic(
            .unreadable, "the pipeline file cannot be read",
            at: FileLocation(file: path, line: 1, column: 1), hint: reason)
        ], source: SourceText(file: path, lines: []))
    }
  }
}
