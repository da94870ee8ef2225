import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import Logging

/// A program that runs as long as its pipeline, and answers JSON lines with JSON lines.
///
/// Each request line has an `id`, which the answer repeats; answers may come in any order. The
/// first request starts the program. If it ends, sends an invalid answer, or exceeds its time
/// limit, it is killed, all waiting callers get an error, and the next request restarts it, up to a
/// limit.
actor ExecProgram {
  struct Failure: Error, Sendable {
    /// The reason, after the program's name: "ended with status 3".
    var reason: String
    /// The end of its standard error, as it was written.
    var messages = ""
    var isCancellation = false

    /// The reason with the last messages of the program, on one line.
    func description(hiding secrets: KnownSecrets) -> String {
      // Hidden before it is cut, so that no half of a secret remains.
      let shown = Printable.line(
        secrets.hide(in: messages.trimmingEnds()).split(separator: "\n").joined(separator: " | "))
      guard !shown.isEmpty else { return reason }
      let isWhole = shown.count <= Self.maxShown
      return "\(reason); its standard error: \(isWhole ? "" : "…")\(shown.suffix(Self.maxShown))"
    }

    /// The most characters of the standard error that are shown.
    private static let maxShown = 1_000
  }

  nonisolated let label: String
  private let options: ExecPlugin
  private let folder: String
  private var child: ExecChild?
  private var generation = 0
  private var nextID = 1
  /// The calls that wait for their answer, which is `nil` until it arrives.
  private var waiting: [Int: Monitor<Result<JSONObject, Failure>?>] = [:]
  /// The reason of its last end.
  private var lastEnd = Failure(reason: "ended")
  /// The times of its starts within the last minute, on the caller's clock.
  private var starts: [Duration] = []

  init(_ options: ExecPlugin, folder: String) {
    self.options = options
    self.folder = folder
    label = "the program \(options.command.first ?? "")"
  }

  deinit { child?.end() }

  /// Sends a request and waits for the answer.
  func call(_ message: JSONObject, _ services: Services) async throws(Failure) -> JSONObject {
    let (clock, timeout) = (services.clock, options.timeout)
    do {
      let child = try running(clock.now(), services.logger)
      let id = nextID
      nextID += 1
      var message = message
      message["id"] = .number(JSONNumber(id))
      let line = JSONValue.object(message).jsonBytes() + [UInt8(ascii: "\n")]
      return try await withThrowingTaskGroup(of: JSONObject?.self) { group in
        group.addTask { try await self.answer(to: id, sending: line, child) }
        group.addTask {
          try await clock.sleep(for: timeout)
          return nil
        }
        defer { group.cancelAll() }
        if let first = try await group.next(), let answer = first { return answer }
        let reason = "did not answer within \(timeout.optionText) and was ended"
        // Another call that waited as long may have ended it already, and a further one started it again.
        if self.child === child { self.giveUp(reason) }
        throw Failure(reason: reason, messages: child.lastMessages)
      }
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(
        reason: "was cancelled before it answered", isCancellation: error is CancellationError)
    }
  }

  private func answer(
    to id: Int, sending line: [UInt8], _ child: ExecChild
  ) async throws -> JSONObject {
    try Task.checkCancellation()
    // It may have ended before this call waited.
    guard self.child === child else { throw lastEnd }
    let answer = Monitor<Result<JSONObject, Failure>?>(nil)
    waiting[id] = answer
    defer { waiting[id] = nil }
    child.send(line)
    return try await answer.take { try $0?.get() }
  }
}

// MARK: Start and end

extension ExecProgram {
  private func running(_ now: Duration, _ logger: Logger) throws(Failure) -> ExecChild {
    if let child { return child }
    starts.removeAll { now - $0 > .seconds(60) }
    guard starts.count <= options.restarts else {
      throw Failure(
        reason: "was started \(starts.count) times within a minute and keeps ending; its messages "
          + "are in the log, and the option restarts of exec allows \(options.restarts) more "
          + "starts", messages: lastEnd.messages)
    }
    starts.append(now)
    generation += 1
    let number = generation
    let delivery = Self.delivery(to: self, number)
    let child: ExecChild
    do throws(SystemError) {
      child = try ExecChild(
        options.command, folder: folder,
        onLine: { delivery.yield($0) },
        onMessage: { [label] in logger.notice("\(label): \($0)") },
        onEnd: { delivery.finish(throwing: Failure(reason: $0)) })
    } catch {
      delivery.finish()
      throw Failure(reason: "cannot be started: \(error.reason.lowercased())")
    }
    self.child = child
    let hello: JSONObject = [
      "event": "start", "version": 1, "stage": .string(options.stage.rawValue),
      "options": options.options ?? [:],
    ]
    child.send(JSONValue.object(hello).jsonBytes() + [UInt8(ascii: "\n")])
    return child
  }

  /// Passes lines and the end on in their order: a program may end right after an answer.
  private static func delivery(
    to program: ExecProgram, _ number: Int
  ) -> AsyncThrowingStream<[UInt8], any Error>.Continuation {
    let (lines, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    Task { [weak program] in
      do {
        for try await line in lines { await program?.received(line, number) }
      } catch {
        await program?.ended(error, number)
      }
    }
    return continuation
  }

  private func received(_ line: [UInt8], _ number: Int) {
    guard number == generation, child != nil else { return }
    let answer = Result { () throws(JSONError) in try JSONValue(parsing: line) }
    guard let object = (try? answer.get())?.objectValue, let id = object["id"]?.intValue else {
      let reason = if case .failure(let error) = answer { ": \(error.message)" } else { "" }
      return giveUp(
        "sent an invalid answer (expected a JSON object with an \"id\" on one line\(reason)) and was ended: "
          + String(decoding: line.prefix(80), as: UTF8.self))
    }
    // The caller of a late answer no longer waits.
    waiting[id]?.update { $0 = $0 ?? .success(object) }
  }

  private func ended(_ end: any Error, _ number: Int) {
    guard number == generation, let end = end as? Failure else { return }
    fail(end.reason)
  }

  private func giveUp(_ reason: String) {
    child?.end()
    generation += 1
    fail(reason)
  }

  private func fail(_ reason: String) {
    lastEnd = Failure(reason: reason, messages: child?.lastMessages ?? "")
    child = nil
    for answer in waiting.values { answer.update { $0 = $0 ?? .failure(lastEnd) } }
  }
}
