import GQLRunBatch
import GQLRunPipeline
import GQLRunSupport

/// The exit code and message of a batch run.
enum BatchOutcome {
  /// The failure of a run that returned a summary; `nil` if it succeeded.
  static func failure(_ summary: RunSummary, _ manifest: String) -> Failure? {
    let how = "gqlrun batch run \(manifest) --resume continues the run"
    let why = summary.stopDetail.map { " (\($0))" } ?? ""
    let duration = summary.outage.map { " for \(Quantity.clockTime($0.duration.seconds))" } ?? ""
    switch summary.stop {
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
    case .tooManyFailures:
      return Failure(
        .failed, "stopped after too many failures; \(how), --only failed repeats the failed tasks")
    case nil:
      return summary.hasFailures ? Failure(.failed, "") : nil
    }
  }

  /// The failure of a run that threw an error.
  static func failure(_ error: any Error, _ manifest: String) -> any Error {
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
      return Failure(
        .tryLater,
        "\(error.message); the recorded results remain: gqlrun batch run \(manifest) "
          + "--resume continues the run")
    default: return error
    }
  }
}
