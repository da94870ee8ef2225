import ArgumentParser
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

/// The options that record HTTP exchanges.
struct RecordingOptions: ParsableArguments {
  @Flag(
    name: .long,
    help:
      "Print each request as a curl command on standard error, with variables instead of secrets.")
  var curl = false

  @Option(
    name: .long,
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
    let file = try OutputFile(har, replacing: replace.replacing(.archive), isPrivate: true)
    let archive = await recorder.archive(creator: "gqlrun", version: Version.current)
    try archive.jsonBytes(pretty: true).withUnsafeBytes { try file.write($0) }
    try file.finish()
  }
}
