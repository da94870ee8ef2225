public import GQLRunPipeline
import HTTPTypes
import Logging

/// Records HTTP exchanges in a file, or answers requests from one.
public struct RecordReplayPlugin: Plugin {
  /// What `record-replay` does, in one sentence.
  public static let summary = "Records HTTP exchanges in a readable file, or answers from one"
  /// When to use `record-replay`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it for tests that run without a server, and to capture what a server answers.",
    position:
      "It belongs between the cache read and the fetch. Plugins below it act only on requests that "
      + "are sent. In the mode `replay` a chain needs no fetch.",
    example: #"record-replay: { file: api.cassette.ndjson, mode: "${env:RECORD:-replay}" }"#,
    narration:
      "Requests are answered from api.cassette.ndjson, and one that is not in it fails. With the "
      + "environment variable RECORD=record, requests are sent to the server and the file is "
      + "replaced, without tokens and cookies.",
    subscriptions:
      "Records the events when the server completes the subscription, and replays them "
      + "without delays. A subscription that the caller ends is not recorded.",
    uploads:
      "Records and compares the names, media types and sizes of files, not their contents.",
    moreExamples: ["record-replay: { file: api.cassette.ndjson }"])

  @Option("The recording: a line of JSON for each exchange") var file: WrittenPath
  @Option(
    "Answer from the file only; send every request and replace the file; or send and record only "
      + "requests that the file does not have")
  var mode = Mode.replay
  @Option("Names of further members of JSON objects whose values are not recorded")
  var redact: [String] = []
  @Option(
    ByteSize(bytes: 1)...(.gibibytes(1)), "Largest body that is recorded; a larger one is an error")
  var maxBody = ByteSize.mebibytes(16)

  enum Mode: String, CaseIterable, ExpressibleByOption { case replay, record, auto }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Answers every request in the mode `replay`.
  public var traits: PluginTraits { mode == .replay ? .answers : [] }

  /// Surrounds HTTP exchanges; requires a parser in the mode `replay`, otherwise a plugin that
  /// sends requests.
  public var placement: Placement {
    .wrap(
      .http,
      rules: mode == .replay
        ? [
          .requires(
            [.parses, .fetches], atChain: true, code: .parse,
            message: "nothing parses the responses of {self}",
            remedy: "add `- parse` below {self}")
        ]
        : [
          .requires(
            [.fetches, .answers, .cacheOnly], atChain: true, code: .fetch,
            message: "no plugin of this chain sends the requests that {self} records",
            remedy: "add `- fetch` below it, or answer from the recording alone: `mode: replay`")
        ])
  }

  /// Creates the interceptor that reads and writes the recording. The file is opened by the first
  /// request.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.http(RecordReplayInterceptor(options: self))]
  }
}

private struct RecordReplayInterceptor: HTTPInterceptor {
  let options: RecordReplayPlugin

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let (file, mode, redacted) = (options.file.path, options.mode, options.redact)
    let logger = context.services.logger
    let recording = context.services.shared.value(
      Recording.self, named: file,
      make: { Recording(path: file, isNew: mode == .record, logger: logger) })
    let redactor = BodyRedactor(request.head.headerFields, names: redacted)
    let hiding = context.services.secrets.hiding(with: request.secrets)
    let recordedRequest = RecordedRequest(
      request, operation: context.operationLabel, redactor: redactor, hiding: hiding)
    do {
      // Before the request: a mutation must not be sent in vain.
      if mode == .record { try recording.checkReplaceable() }
      if mode != .record, let recorded = try recording.response(to: recordedRequest) {
        logger.debug("\(context.operationLabel): answered from \(file)")
        var message = recorded.message
        message.isReplayed = true
        return message
      }
      guard mode != .replay else { throw try recording.missing(recordedRequest) }
    } catch {
      // An error of the recording, or of its file.
      throw ChainError(
        .transport, code: .notRecorded, message: "\(error)", entry: context.entryID,
        delivery: .notSent)
    }
    let response = try await next(request)
    let (head, location, limit) = (response.head, context.entryID, options.maxBody)
    let secrets = context.services.secrets
    let responseRedactor = BodyRedactor(head.headerFields, names: redacted)
    let requestSecrets = request.secrets
    return response.observed(keeping: limit.bytes) { seen in
      guard seen.isWhole || seen.hasOwnEnd(head) else {
        let name = recordedRequest.operation
        return logger.warning("\(name): not recorded, because its response was not read to its end")
      }
      do {
        guard seen.isKept else {
          throw Recording.Failure(
            message: "the response to \(recordedRequest.operation) is longer than "
              + "\(limit), the option max_body of record-replay")
        }
        // Includes secrets that were received since the request.
        let hiding = secrets.hiding(with: requestSecrets)
        try recording.add(
          recordedRequest,
          RecordedResponse(head, seen.bytes, redactor: responseRedactor, hiding: hiding))
      } catch {
        let failure = ChainError(
          .chain, code: .notRecorded,
          message: "the response to \(recordedRequest.operation) could not be recorded",
          entry: location, cause: error, delivery: .answered)
        // The reader of an event stream has ended already.
        guard seen.isWhole else { return logger.warning("\(failure)") }
        throw failure
      }
    }
  }
}

extension ChainError.Code {
  /// The recording does not have an exchange, or could not store it.
  public static let notRecorded = Self(rawValue: "not_recorded")
}
