import GQLRunBatch
import GQLRunPipeline

/// The exit code and message of a batch run.
enum BatchOutcome {
  /// The failure of a run that returned a summary; `nil` if it succeeded.
  static func failure(_ summary: RunSummary, _ manifest: String) -> Failure? {
    let how = "gqlrun batch run \(manifest) --resume continues"
    let why = summary.stopDetail.map { " (\($0))" } ?? ""
    switch summary.stop {
    case .interrupted: return Failure(.interrupted, "interrupted; \(how)")
    case .deadline: return Failure(.tryLater, "stopped at the deadline; \(how)")
    case .throttled:
      return Failure(
        .tryLater, "the server refused for longer than `patience` allows\(why); \(how)")
    case .unreachable: return Failure(.unreachable, "the endpoint cannot be reached\(why); \(how)")
    case .unauthorized:
      return Failure(
        .authentication, "the endpoint refuses the credentials\(why); mend them, then \(how)")
    case .tooManyFailures:
      return Failure(
        .failed, "stopped after too many failures; \(how), --only failed runs them again")
    case nil:
      return summary.hasFailures ? Failure(.failed, "") : nil
    }
  }

  /// The failure of a run that threw an error.
  static func failure(_ error: any Error, _ manifest: String) -> any Error {
    switch error {
    case let error as RowProblems:
      // The program's end prints the last one.
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
        "\(error.message); what was recorded stays: gqlrun batch run \(manifest) --resume continues"
      )
    default: return error
    }
  }
}
