import ArgumentParser
import Foundation
import GQLRun
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import Logging

extension PipelineClient {
  /// Opens a client for a command.
  ///
  /// - Parameters:
  ///   - pipeline: The pipeline.
  ///   - store: The store to use instead of the pipeline's.
  ///   - access: Whether the store may be written.
  ///   - configure: Adds the command's settings to the configuration.
  /// - Throws: ``Failure`` if the database file cannot be used.
  static func open(
    _ pipeline: Pipeline, store: StoreChoice? = nil,
    access: CacheStore.SQLiteOptions.Access = .readWrite, logger: Logger,
    _ configure: (inout Configuration) -> Void = { _ in }
  ) async throws -> PipelineClient {
    // Commands load the schema themselves, to report all errors with their source locations.
    var pipeline = pipeline
    pipeline.schema = nil
    var configuration = Configuration()
    configuration.userAgent = "gqlrun/\(Version.current)"
    configuration.logger = logger
    ProgramTelemetry.current?.configure(&configuration)
    configure(&configuration)
    configuration.store = try await store?.open(
      access: access, ageGranularity: pipeline.allAges.granularity,
      report: { logger.warning("\($0)") })
    configuration.closesStore = true
    do {
      return try await PipelineClient(pipeline, configuration: configuration)
    } catch let error as CacheError where error.code == .storage {
      throw Failure(.badInput, error.message)
    }
  }
}

extension ReadyMade {
  /// The path to load a pipeline file by: the name of a ready-made pipeline for its installed file, so
  /// that its recordings and databases are relative to the working directory and not to the installed
  /// file; else the path itself. A copy in the working directory keeps its name, for diagnostics.
  static func path(for path: String) -> String {
    guard FilePath.folder(of: path) != "." else { return path }
    let name = (path as NSString).lastPathComponent.replacing(".pipeline.yaml", with: "")
    let isFile = FileManager.default.fileExists(atPath: name) && !FilePath.isFolder(name)
    guard let text = file(name), path != name, !isFile,
      FileManager.default.contents(atPath: path) == Data(text.utf8)
    else { return path }
    return name
  }
}

/// The options that record HTTP exchanges.
struct RecordingOptions: ParsableArguments {
  @Flag(
    help:
      "Print each request as a curl command on standard error, with variables instead of secrets.")
  var curl = false

  @Option(
    help: ArgumentHelp(
      "Write requests and responses to an HTTP archive (HAR 1.2), without secrets. An earlier archive is "
        + "replaced, another file with --overwrite.",
      valueName: "file"))
  var har: String?

  /// Creates the recorder; `nil` if the options request no recording.
  ///
  /// - Parameter secrets: The secrets to redact; shared with the services of the run.
  func recorder(_ secrets: KnownSecrets) -> ExchangeRecorder? {
    guard curl || har != nil else { return nil }
    let printsCommands = curl
    return ExchangeRecorder(
      keptBytes: har == nil ? 0 : 16 << 20, secrets: secrets,
      onRequest: { request in
        if printsCommands { Terminal.note(Terminal.safe(request.curlCommand(hiding: secrets))) }
      })
  }

  /// Checks that the archive can be written, before anything is sent.
  func checkArchive(_ replace: ReplaceOptions) throws {
    if let har { try OutputFile.check(har, replacing: replace.replacing(.archive)) }
  }

  /// Writes the archive, if requested, with all exchanges so far, including failed ones.
  func write(_ recorder: ExchangeRecorder?, _ replace: ReplaceOptions) async throws {
    guard let har, let recorder else { return }
    let archive = await recorder.archive(creator: "gqlrun", version: Version.current)
    try OutputFile.write(
      archive.jsonBytes(pretty: true), to: har, replacing: replace.replacing(.archive),
      isPrivate: true)
  }
}
