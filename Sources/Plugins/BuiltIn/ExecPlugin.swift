import GQLRunJSON
public import GQLRunPipeline

/// The plugin `exec`: passes requests and results to a program in any language.
public struct ExecPlugin: Plugin {
  /// What `exec` does, in one sentence.
  public static let summary =
    "Passes requests and results to an external program, as lines of JSON"
  /// When to use `exec`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it for a plugin in another language than Swift, or to try an idea quickly.",
    position:
      "With `stage: graphql` it belongs above the HTTP stage; with `stage: http` directly above "
      + "the fetch when it signs requests, since it must see everything that is sent.",
    example: "exec: { command: [python3, sign.py], stage: http }",
    narration:
      "The first request starts sign.py in the folder of the pipeline file. For each request it "
      + "reads a line with method, URL, headers and body, and answers with a line that sets the "
      + "header with the signature.\n\n"
      + "With `events: [response]` and `stage: graphql`, the program gets the errors of each response with their "
      + "`path`, and with `max_data` its `data`: {\"event\": \"response\", \"source\": \"server\", \"errors\": "
      + "[{\"message\": \"no\", \"code\": null, \"path\": [\"user\"]}], \"data\": {…}, \"data_is_whole\": true, …}. An "
      + "`answer` without `data` replaces the `errors` or `extensions` that it has and leaves the data, which is stored; "
      + "one with `data` replaces the whole result, which is not stored.\n\n"
      + "With `events: [failure]`, the program gets a line for each error that ends an attempt: {\"event\": "
      + "\"failure\", \"attempt\": 1, \"layer\": \"transport\", \"code\": \"http_status\", \"message\": …, "
      + "\"delivery\": \"answered\", \"status\": 503, \"body\": …}. It answers `continue` to pass the error on, "
      + "`answer` with a result instead, `fail` with another error, or, with `stage: graphql`, `retry`, which starts "
      + "the chain again and counts for `max-retry`; responses may be answered with `retry`, too. `delivery` is "
      + "`notSent` if the server cannot have executed a mutation. A mutation that the server may have executed is not "
      + "sent again: its error or result is passed on, with a warning in the log.",
    subscriptions:
      "With `events: [event]` and `stage: graphql`, the program gets a line for each event, with its number "
      + "since the connection was opened, its `data` and its `errors`: {\"event\": \"event\", \"number\": 1, "
      + "\"data\": {…}, …}. It answers `continue`, `answer` with other data, `drop`, which delivers and stores "
      + "nothing, or `fail`, which ends the subscription. The next event waits for the answer. `request` is "
      + "called for each connection, and `response` for each event without its data.",
    uploads:
      "The program gets the variables with null in place of each file, and with `stage: http` the body null. A "
      + "`body` in its answer replaces the whole form.",
    moreExamples: ["exec: { command: [./audit.sh], events: [request, response], timeout: 1s }"])

  @Option("Program with its arguments, run in the folder of the pipeline file without a shell")
  var command: [String]
  @Option("Stage that it takes part in") var stage = Stage.graphql
  @Option(
    "When it is called: before a request is passed on, when a response has arrived, when an attempt fails, and "
      + "for each event of a subscription with its data")
  var events = [Event.request]
  @Option(
    ByteSize(bytes: 0)...(.mebibytes(16)),
    "How much of the body of a response the program gets, with `stage: http` and `events: [response]`, before the "
      + "response is passed on; bodies that arrive in parts are not passed")
  var maxBody = ByteSize(bytes: 0)
  @Option(
    ByteSize(bytes: 0)...(.mebibytes(16)),
    "Largest `data` of a response that the program gets, with `stage: graphql` and `events: [response]`; larger data is "
      + "left out, and by default all")
  var maxData = ByteSize(bytes: 0)
  @Option("Options of the program, a mapping that it receives when it starts") var options:
    JSONValue?
  @Option(
    .milliseconds(1) ... .seconds(3_600),
    "Time limit for an answer, after which the program is killed")
  var timeout = Duration.seconds(5)
  @Option(
    0...1_000, "Maximum number of restarts within a minute, if it ends or answers incorrectly")
  var restarts = 3

  enum Stage: String, CaseIterable, ExpressibleByOption { case graphql, http }
  enum Event: String, CaseIterable, ExpressibleByOption {
    case request, response, event, failure
  }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// May change header fields, and restart the chain with `failure` in `events`.
  public var traits: PluginTraits { canRetry ? [.changesHeaders, .restarts] : .changesHeaders }

  fileprivate var canRetry: Bool { stage == .graphql && events.contains(.failure) }

  /// Surrounds operations, or HTTP exchanges with `stage: http`.
  public var placement: Placement { .wrap(.graphQL, .http) }

  /// The option `command`, as one line.
  public var programs: [String] { [command.joined(separator: " ")] }

  /// Checks that `command` names a program, and that the stage has the events.
  ///
  /// - Throws: `OptionError` for an empty command, or one with a NUL character, and for `event` in the
  ///   HTTP stage.
  public func validate() throws(OptionError) {
    guard let program = command.first, !program.isEmpty else {
      throw $command.error("the command names no program", remedy: "write `[python3, plugin.py]`")
    }
    guard stage == .graphql || !events.contains(.event) else {
      throw $events.error(
        "the HTTP stage has no events of subscriptions", remedy: "write `stage: graphql`")
    }
    guard maxBody.bytes == 0 || stage == .http && events.contains(.response) else {
      throw $maxBody.error(
        "bodies belong to the responses of the HTTP stage",
        remedy: "write `stage: http, events: [response]`")
    }
    guard maxData.bytes == 0 || stage == .graphql && events.contains(.response) else {
      throw $maxData.error(
        "data belongs to the responses of the GraphQL stage",
        remedy: "write `stage: graphql, events: [response]`")
    }
    guard !command.contains(where: { $0.contains("\0") }) else {
      throw $command.error("a command cannot contain the character NUL")
    }
  }

  /// Creates the interceptor of the configured stage. The first request starts the program.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    let caller = ExecCaller(
      program: ExecProgram(self, folder: environment.folder), options: self)
    return [
      stage == .http ? .http(ExecHTTP(caller: caller)) : .graphQL(ExecGraphQL(caller: caller))
    ]
  }
}

/// Calls the program of an entry.
struct ExecCaller: Sendable {
  /// Started by the first call; lives as long as the pipeline.
  let program: ExecProgram
  let options: ExecPlugin

  func asks(for event: ExecPlugin.Event) -> Bool { options.events.contains(event) }

  /// The decision of the program.
  enum Answer {
    case `continue`(JSONObject)
    case answer(JSONObject)
    /// Only for events.
    case drop
    /// Only for responses and failures of the GraphQL stage.
    case retry
  }

  /// - Parameter delivery: How far the request has got at the time of the call.
  func ask(
    _ message: JSONObject, context: ChainContext, delivery: ChainError.Delivery
  ) async throws -> Answer {
    let reply: JSONObject
    do throws(ExecProgram.Failure) {
      reply = try await program.call(message, context.services)
    } catch {
      if error.isCancellation { throw CancellationError() }
      let reason = error.description(hiding: context.services.secrets)
      throw failure("\(program.label) \(reason)", context: context, delivery: delivery)
    }
    let event = message["event"]?.stringValue
    if let problem = problem(reply, to: event) {
      throw failure("\(program.label) answered \(problem)", context: context, delivery: delivery)
    }
    switch reply["action"]?.stringValue {
    case "continue": return .continue(reply)
    case "answer": return .answer(reply)
    case "drop" where event == "event": return .drop
    case "retry" where options.canRetry && ["failure", "response"].contains(event): return .retry
    case "fail":
      let code = reply["code"]?.stringValue.map { ChainError.Code(rawValue: $0) }
      throw failure(
        reply["message"]?.stringValue ?? "\(program.label) refused", code: code ?? .execFailed,
        context: context, delivery: delivery)
    default:
      throw failure(
        "\(program.label) answered without a valid action; use `continue`, `answer` or `fail`, "
          + "`drop` for events, and, with `events: [failure]` in the GraphQL stage, `retry` for responses and "
          + "failures",
        context: context, delivery: delivery)
    }
  }

  /// The kind of each member that an answer to an event may have. Other members have no effect.
  private func kinds(of action: String, to event: String?) -> [String: String] {
    switch (action, options.stage) {
    case ("continue", .graphql) where event == "request":
      ["headers": "object", "context": "object", "extensions": "object"]
    case ("continue", .http) where event == "request":
      ["headers": "object", "remove": "array"]
    case ("answer", .graphql): ["data": "object", "errors": "array", "extensions": "object"]
    case ("answer", .http): ["status": "number", "headers": "object"]
    case ("fail", _): ["code": "string", "message": "string"]
    default: [:]
    }
  }

  /// What is wrong with the members of an answer, after "answered …".
  private func problem(_ reply: JSONObject, to event: String?) -> String? {
    let kinds = kinds(of: reply["action"]?.stringValue ?? "", to: event)
    for member in reply where !member.value.isNull {
      guard let kind = kinds[member.key] else { continue }
      guard member.value.kind == kind else {
        return
          "with the \(member.value.kind) `\(member.key)`, where JSON of type \(kind) is expected"
      }
      // Null removes an entry of the context.
      let texts: [JSONValue] =
        switch member.key {
        case "context": (member.value.objectValue ?? [:]).map(\.value).filter { !$0.isNull }
        case "remove": member.value.arrayValue ?? []
        default: []
        }
      if let other = texts.first(where: { $0.stringValue == nil }) {
        return "with a value of type \(other.kind) in `\(member.key)`, where text is expected"
      }
    }
    guard reply["action"] == "answer", options.stage == .graphql,
      event == "request" || event == "failure", reply["data"] == nil,
      reply["errors"]?.arrayValue?.isEmpty ?? true
    else { return nil }
    return "without `data` and without `errors`; a result has one of them"
  }

  func failure(
    _ message: String, code: ChainError.Code = .execFailed, context: ChainContext,
    delivery: ChainError.Delivery
  ) -> ChainError {
    ChainError(.chain, code: code, message: message, entry: context.entryID, delivery: delivery)
  }
}

extension ChainError.Code {
  /// The user's program did not answer, or rejected the request.
  public static let execFailed = Self(rawValue: "exec_failed")
}
