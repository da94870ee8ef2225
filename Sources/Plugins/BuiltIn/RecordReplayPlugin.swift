public import GQLRunPipeline
import HTTPTypes
import Logging

/// Writes exchanges into a file, or answers from one.
public struct RecordReplayPlugin: Plugin {
  public static let description = PluginDescription(
    name: "record-replay",
    summary: "Records HTTP exchanges in a file that people can read, or answers from one",
    kind: .wrap, stages: [.http], roles: [.replay],
    options: [
      OptionDescription(
        "file", .path, required: true, "The recording: a line of JSON per exchange"),
      OptionDescription(
        "mode", .choice(RecordReplayInterceptor.Mode.allCases.map(\.rawValue)), default: "replay",
        "Answer from the file alone; send everything and begin the file anew; or send and record "
          + "only what the file does not have"),
      OptionDescription(
        "redact", .list(.string),
        "Names of further members of JSON objects whose values are not recorded"),
      OptionDescription(
        "max_body", .size(in: ByteSize(bytes: 1)...(.gibibytes(1))), default: "16MiB",
        "The largest body that is recorded; a larger one is an error"),
    ],
    examples: [
      "record-replay: { file: api.cassette.ndjson }",
      "record-replay: { file: api.cassette.ndjson, mode: \"${env:RECORD:-replay}\" }",
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .http(
      RecordReplayInterceptor(
        file: options.string("file"), mode: options.choice("mode"),
        redacted: options.strings("redact"),
        maxBody: options.size("max_body").bytes))
  }
}

private struct RecordReplayInterceptor: HTTPInterceptor {
  enum Mode: String, Sendable, CaseIterable {
    case replay, record, auto
  }

  let file: String
  let mode: Mode
  /// Names of further members that are not recorded.
  let redacted: [String]
  let maxBody: Int

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let cassette = context.services.shared.value(
      Cassette.self, named: file, make: { Cassette(path: file, isNew: mode == .record) })
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
    } catch let failure as Cassette.Failure {
      throw ChainError(
        .transport, .notRecorded, failure.message, place: context.entryID, delivery: .notSent)
    }
    let response = try await next(request)
    let (head, place, limit) = (response.head, context.entryID, maxBody)
    let (secrets, logger) = (context.services.secrets, context.services.logger)
    let answerRedactor = BodyRedactor(head.headerFields, names: redacted)
    let requestSecrets = request.secrets
    return response.observed(keeping: maxBody) { seen in
      guard seen.isWhole else {
        return logger.debug("\(question.operation): not recorded, as its answer was not read whole")
      }
      do {
        guard seen.isComplete else {
          throw Cassette.Failure(
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
          place: place, cause: error, delivery: .answered)
      }
    }
  }
}

extension ChainError.Code {
  /// An exchange that the recording does not have, or could not take.
  public static let notRecorded = Self(rawValue: "not_recorded")
}
