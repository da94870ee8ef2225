public import GQLRunPipeline
import HTTPTypes
import Logging

/// Writes exchanges into a file, or answers from one.
public struct RecordReplayPlugin: Plugin {
  public static let summary = "Records HTTP exchanges in a readable file, or answers from one"
  public static let documentation = PluginDocumentation(
    use: "Use it for tests that run without a server, and to capture what a server answers.",
    position:
      "It belongs between the cache read and the fetch. Plugins below it act only on requests that "
      + "are really sent. In the mode `replay` a chain needs no fetch.",
    example: #"record-replay: { file: api.cassette.ndjson, mode: "${env:RECORD:-replay}" }"#,
    narration:
      "Requests are answered from api.cassette.ndjson, and one that is not in it fails. With the "
      + "environment variable RECORD=record, requests go to the server and the file is written "
      + "anew, without tokens and cookies.",
    moreExamples: ["record-replay: { file: api.cassette.ndjson }"])

  @Option("The recording: a line of JSON for each exchange") var file: OptionPath
  @Option(
    "Answer from the file alone; send every request and write the file anew; or send and record "
      + "only what the file does not have")
  var mode = Mode.replay
  @Option("Names of further members of JSON objects whose values are not recorded")
  var redact: [String] = []
  @Option(
    ByteSize(bytes: 1)...(.gibibytes(1)), "Largest body that is recorded; a larger one is an error")
  var maxBody = ByteSize.mebibytes(16)

  enum Mode: String, CaseIterable, ExpressibleByOption { case replay, record, auto }

  public init() {}

  public var traits: PluginTraits { mode == .replay ? .answers : [] }

  public var placement: Placement {
    .wrap(
      .http,
      rules: mode == .replay
        ? [
          .requires(
            [.parses, .fetches], atChain: true, .parse, "nothing parses the responses of {self}",
            remedy: "add `- parse` below {self}")
        ]
        : [
          .requires(
            [.fetches, .answers, .cacheOnly], atChain: true, .fetch,
            "no plugin of this chain fetches what {self} is to record",
            remedy: "add `- fetch` below it, or answer from the recording alone: `mode: replay`")
        ])
  }

  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [
      .http(
        RecordReplayInterceptor(
          file: file.path, mode: mode, redacted: redact,
          maxBody: maxBody.bytes))
    ]
  }
}

private struct RecordReplayInterceptor: HTTPInterceptor {
  let file: String
  let mode: RecordReplayPlugin.Mode
  /// Names of further members that are not recorded.
  let redacted: [String]
  let maxBody: Int

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let cassette = context.services.shared.value(
      Recording.self, named: file, make: { Recording(path: file, isNew: mode == .record) })
    let redactor = BodyRedactor(request.head.headerFields, names: redacted)
    let hiding = context.services.secrets.hiding(with: request.secrets)
    let question = RecordedQuestion(
      request, operation: context.operationLabel, redactor: redactor, hiding: hiding)
    do {
      if mode != .record, let answer = try cassette.answer(to: question) {
        context.services.logger.debug("\(context.operationLabel): answered from \(file)")
        var message = answer.message
        message.isReplayed = true
        return message
      }
      guard mode != .replay else { throw try cassette.missing(question) }
    } catch let failure as Recording.Failure {
      throw ChainError(
        .transport, .notRecorded, failure.message, entry: context.entryID, delivery: .notSent)
    }
    let response = try await next(request)
    let (head, location, limit) = (response.head, context.entryID, maxBody)
    let (secrets, logger) = (context.services.secrets, context.services.logger)
    let answerRedactor = BodyRedactor(head.headerFields, names: redacted)
    let requestSecrets = request.secrets
    return response.observed(keeping: maxBody) { seen in
      guard seen.isWhole else {
        return logger.debug("\(question.operation): not recorded, as its answer was not read whole")
      }
      do {
        guard seen.isComplete else {
          throw Recording.Failure(
            message: "the answer to \(question.operation) is longer than "
              + "\(ByteSize(bytes: limit)), the option max_body of record-replay")
        }
        // Again, for what was received since the request.
        let hiding = secrets.hiding(with: requestSecrets)
        try cassette.add(
          question, RecordedAnswer(head, seen.bytes, redactor: answerRedactor, hiding: hiding))
      } catch {
        throw ChainError(
          .chain, .notRecorded, "the answer to \(question.operation) could not be recorded",
          entry: location, cause: error, delivery: .answered)
      }
    }
  }
}

extension ChainError.Code {
  /// An exchange that the recording does not have, or could not take.
  public static let notRecorded = Self(rawValue: "not_recorded")
}
