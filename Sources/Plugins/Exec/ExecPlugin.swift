import GQLRunJSON
public import GQLRunPipeline

/// The plugin `exec`: passes requests and results to a program in any language.
public struct ExecPlugin: Plugin {
  /// The name, options, placement and documentation of the plugin.
  public static let description = PluginDescription(
    name: "exec",
    summary: "Asks a program of your own, which runs all the time and speaks JSON line by line",
    kind: .wrap, stages: [.graphQL, .http], roles: [.changesHeaders],
    options: [
      OptionDescription(
        "command", .list(.string), required: true,
        "The program and its arguments, run in the folder of the pipeline file; no shell reads them"
      ),
      OptionDescription(
        "stage", .choice(["graphql", "http"]), default: "graphql", "What it is asked about"),
      OptionDescription(
        "events", .list(.choice(["request", "response"])), default: "[request]",
        "When it is asked: before a request goes on, and when a response came"),
      OptionDescription(
        "options", .json, "What the program is told when it starts, as a mapping of its own"),
      OptionDescription(
        "timeout", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "5s",
        "The longest time for an answer; the program is ended when it takes longer"),
      OptionDescription(
        "restarts", .int(in: 0...1_000), default: "3",
        "How often it is started again within a minute when it ends or cannot be understood"),
    ],
    examples: [
      "exec: { command: [python3, sign.py], stage: http }",
      "exec: { command: [./audit.sh], events: [request, response], timeout: 1s }",
    ])

  /// Creates the interceptors of an entry; the first request starts the program.
  ///
  /// - Parameters:
  ///   - options: The parsed options of the entry.
  ///   - environment: The pipeline's name and folder, the entry's identifier, and variables.
  /// - Throws: `PluginOptionError` for invalid options.
  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let command = options.strings("command")
    guard let program = command.first, !program.isEmpty else {
      throw PluginOptionError(
        option: "command", "the command names no program", remedy: "write `[python3, plugin.py]`")
    }
    guard !command.contains(where: { $0.contains("\0") }) else {
      throw PluginOptionError(option: "command", "a command cannot hold the character NUL")
    }
    let events = Set(options.strings("events"))
    let caller = ExecCaller(
      program: ExecProgram(
        ExecProgram.Settings(
          command: command, folder: environment.folder, stage: options.string("stage"),
          options: options.json(ifGiven: "options") ?? .object(JSONObject()),
          restarts: options.int("restarts"))),
      timeout: options.duration("timeout"), asksForRequests: events.contains("request"),
      asksForResponses: events.contains("response"))
    var instance: PluginInstance =
      options.string("stage") == "http"
      ? .http(ExecHTTP(caller: caller)) : .graphQL(ExecGraphQL(caller: caller))
    instance.programs = [command.joined(separator: " ")]
    return instance
  }
}

/// Calls the program of an entry.
struct ExecCaller: Sendable {
  /// Started by the first call; lives as long as the pipeline.
  let program: ExecProgram
  let timeout: Duration
  let asksForRequests: Bool
  let asksForResponses: Bool

  /// The decision of the program.
  enum Answer {
    case `continue`(JSONObject)
    case answer(JSONObject)
  }

  /// - Parameter delivery: How far the request has got at the time of the call.
  func ask(
    _ message: JSONObject, _ context: ChainContext, _ delivery: ChainError.Delivery
  ) async throws -> Answer {
    let reply: JSONObject
    do throws(ExecProgram.Failure) {
      reply = try await program.call(message, timeout: timeout, context.services)
    } catch {
      if error.isCancellation { throw CancellationError() }
      throw failure(.execFailed, "\(program.label) \(error.reason)", context, delivery)
    }
    switch reply["action"]?.stringValue {
    case "continue": return .continue(reply)
    case "answer": return .answer(reply)
    case "fail":
      let code = reply["code"]?.stringValue.map { ChainError.Code(rawValue: $0) }
      throw failure(
        code ?? .execFailed, reply["message"]?.stringValue ?? "\(program.label) refused", context,
        delivery)
    default:
      throw failure(
        .execFailed,
        "\(program.label) answered without an action; `continue`, `answer` or `fail` are known",
        context, delivery)
    }
  }

  func failure(
    _ code: ChainError.Code, _ message: String, _ context: ChainContext,
    _ delivery: ChainError.Delivery
  ) -> ChainError {
    ChainError(.chain, code, message, place: context.entryID, delivery: delivery)
  }
}

extension ChainError.Code {
  /// The user's program did not answer, or rejected the request.
  public static let execFailed = Self(rawValue: "exec_failed")
}
