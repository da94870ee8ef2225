import Foundation
import GQLRunBatch
import GQLRunPipeline
import GQLRunSupport

/// The exit code and message of a batch run.
enum BatchOutcome {
  /// The failure of a run that returned a summary; `nil` if it succeeded.
  ///
  /// - Parameters:
  ///   - summary: The summary.
  ///   - manifest: The manifest as commands have it, in quotes if it needs them.
  ///   - continued: The manifest as commands have it that continue the run.
  ///   - work: What the command did.
  ///   - isReported: Whether the summary was printed, which has the reasons.
  static func failure(
    _ summary: RunSummary, _ manifest: String, continued: String, during work: Work,
    isReported: Bool
  ) -> Failure? {
    if summary.stop == .tooManyFailures, work != .repetition {
      return Failure(
        .failed,
        "stopped after too many failures; gqlrun batch run \(continued) --resume continues the run, --only failed "
          + "repeats the failed tasks")
    }
    return failure(
      summary.stop, detail: summary.stopDetail, outage: summary.outage,
      how: "gqlrun batch run \(continued) \(work.option) continues the run")
      ?? (summary.hasFailures
        ? Failure(.failed, isReported ? "" : reason(summary, manifest)) : nil)
  }

  /// Why a run that has ended failed.
  private static func reason(_ summary: RunSummary, _ manifest: String) -> String {
    let tasks = BatchFailures.summary(summary.counts).map {
      "\($0); gqlrun batch errors \(manifest) lists the reasons"
    }
    return ([tasks].compactMap { $0 } + summary.missedThresholds.map { "threshold not met: \($0)" })
      .joined(separator: "\n")
  }

  /// Prints the counters of a run or of a worker.
  static func show(_ counters: RunCounters, seconds: Double) {
    var parts = ["\(counters.done) done"]
    if counters.failed > 0 { parts.append(Terminal.styled("\(counters.failed) failed", .red)) }
    if counters.unknown > 0 { parts.append(Terminal.styled("\(counters.unknown) unknown", .red)) }
    if counters.skipped > 0 { parts.append("\(counters.skipped) skipped") }
    if counters.alreadyDone > 0 {
      let states: [TaskState] = [.failed, .unknown, .skipped]
      let others = states.filter { counters.earlier[$0] > 0 }
        .map { "\(counters.earlier[$0]) \($0.name)" }
      let part = others.isEmpty ? "" : " (\(others.joined(separator: ", ")))"
      parts.append("\(counters.alreadyDone) finished earlier\(part)")
    }
    if counters.duplicates > 0 {
      parts.append(Quantity.count(counters.duplicates, "duplicate row"))
    }
    parts.append(Quantity.count(counters.records, "record"))
    if counters.gaps > 0 {
      parts.append(Terminal.styled(Quantity.count(counters.gaps, "gap") + " in events", .yellow))
    }
    let rate = seconds > 0 ? Double(counters.ended) / seconds : 0
    parts.append(String(format: "%.1f s, %.0f/s", seconds, rate))
    Terminal.note(parts.joined(separator: ", "))
  }

  /// Prints how many records the files of a run that stopped early have.
  static func show(_ outputs: [RunOutput], _ manifest: String) {
    let lines = outputs.compactMap(\.text)
    for line in lines.prefix(10) { Terminal.note(Terminal.safe(line)) }
    if lines.count > 10 {
      Terminal.note(
        "\(Quantity.count(lines.count - 10, "further output")): gqlrun batch status \(manifest) lists them"
      )
    }
  }

  /// The failure of a worker that returned a summary; `nil` if no tasks are left or the run was cancelled.
  static func failure(_ summary: BatchWorker.Summary, _ manifest: String) -> Failure? {
    failure(
      summary.stop, detail: summary.stopDetail, outage: summary.outage,
      how: "the tasks that did not end are queued again: gqlrun batch worker \(manifest) runs them")
  }

  /// The failure of a run that stopped early; `nil` for one that ended.
  ///
  /// - Parameter how: How to continue.
  static func failure(
    _ stop: StopReason?, detail: String?, outage: Outage?, how: String
  ) -> Failure? {
    let why = detail.map { " (\($0))" } ?? ""
    let duration = outage.map { " for \(Quantity.clockTime($0.duration.seconds))" } ?? ""
    switch stop {
    case .interrupted: return Failure(.interrupted, "interrupted; \(how)")
    case .deadline: return Failure(.tryLater, "stopped at the deadline; \(how)")
    case .throttled:
      return Failure(
        .tryLater,
        "the server refused all requests\(duration)\(why), and `patience` does not allow more; \(how)"
      )
    case .unreachable:
      return Failure(.unreachable, "the server was unreachable\(duration)\(why); \(how)")
    case .unauthorized:
      return Failure(
        .authentication, "the server rejected the credentials\(why); correct them, then \(how)")
    case .tooManyFailures: return Failure(.failed, "stopped after too many failures; \(how)")
    case .cancelled, .repetition, nil: return nil
    }
  }

  /// What a command does, for the advice of a message.
  enum Work {
    case run, worker, extraction
    /// `--only failed`.
    case repetition
    /// Reads or changes the queue, and can be repeated.
    case queue

    /// The option with which the same tasks of a run are continued.
    var option: String { self == .repetition ? "--only failed" : "--resume" }

    func advice(_ manifest: String) -> String {
      switch self {
      case .run, .repetition:
        "; the recorded results remain: gqlrun batch run \(manifest) \(option) continues the run"
      case .worker:
        "; the recorded results remain: gqlrun batch worker \(manifest) runs the other tasks"
      case .extraction:
        "; the recorded rows remain: the same command with --resume continues"
      case .queue: ""
      }
    }
  }

  /// The failure of a run that threw an error.
  static func failure(
    _ error: any Error, _ manifest: String, during work: Work = .run
  ) -> any Error {
    switch error {
    case let error as RowProblems:
      // The caller prints the last one.
      for problem in error.problems.dropLast() { Terminal.error(problem) }
      return Failure(.badInput, error.problems.last ?? "")
    case let error as OutputProblems:
      for problem in error.problems.dropLast() { Terminal.error(problem.description) }
      return Failure(.badInput, error.problems.last?.description ?? "")
    case let error as InputProblem: return Failure(.badInput, error.description)
    case let error as JournalError: return Failure(.badInput, error.description)
    case let error as StoppedByStorage:
      if error.isClosedOutput { return ClosedOutput() }
      if error.isRefusal { return Failure(.badInput, error.message) }
      return Failure(.tryLater, error.message + work.advice(manifest))
    default: return error
    }
  }
}

extension BatchOutcome {
  /// Throws the failure that ended a run, if there is one. If the server refused the credentials, a hint is printed when
  /// the manifest's pipeline does not send those in GQL_TOKEN.
  static func end(with failure: Failure?, of manifest: Manifest, isQuiet: Bool) throws {
    guard let failure else { return }
    if !isQuiet, failure.status == .authentication, manifest.namesPipeline,
      let note = RequestOptions.unsentToken(of: manifest.pipeline, file: manifest.pipeline.file)
    {
      Terminal.hint(note)
    }
    throw failure
  }
}
