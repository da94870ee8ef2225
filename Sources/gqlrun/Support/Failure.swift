import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunProfile
import GQLRunSupport

/// An error as the command line reports it: one message and its exit code.
struct Failure: Error {
  enum Status: Int32 {
    case failed = 1
    case cacheMiss = 3
    case graphQLErrors = 4
    case filterFailed = 5
    case usage = 64
    case badInput = 65
    case unreachable = 69
    case tryLater = 75
    case authentication = 77
    case badPipeline = 78
    case interrupted = 130
  }

  var status: Status
  /// The operation, the problem, and the remedy. Empty if the error was already reported.
  var message: String

  init(_ status: Status, _ message: String) {
    self.status = status
    self.message = message
  }
}

extension Failure {
  init(_ error: CacheError) {
    switch error.code {
    case .busy: self.init(.tryLater, error.message)
    case .storage, .readOnly: self.init(.failed, error.message)
    case .cancelled: self.init(.interrupted, "interrupted")
    case .invalidKeyRule, .invalidPattern: self.init(.usage, error.message)
    case .invalidOperation, .invalidVariables, .invalidData, .invalidQuery, .malformedResponse,
      .unexpectedShape,
      .truncatedResponse,
      .invalidJSON, .foreignDatabase, .otherKeys, .damagedDatabase:
      self.init(.badInput, error.message)
    }
  }
}

/// Runs a command's work, and converts its error to one message and an exit code.
func reporting(_ work: () async throws -> Void) async throws {
  do {
    try await work()
    RunLog.printHeld()
  } catch let exit as ExitCode {
    throw exit
  } catch let error as ValidationError {
    throw error
  } catch is ClosedOutput {
    // The reader closed standard output; there is nowhere to report to.
    throw ExitCode(141)
  } catch let halt as JQHalt {
    // As jq does: the message is printed as it is.
    Terminal.note(Terminal.safe(halt.message.trimmingCharacters(in: .newlines)))
    PartialFiles.removeAll()
    throw ExitCode(halt.code)
  } catch {
    let failure = Failure(describing: error)
    RunLog.end(with: failure.message)
    if !failure.message.isEmpty { Terminal.error(failure.message) }
    PartialFiles.removeAll()
    throw ExitCode(failure.status.rawValue)
  }
}

extension Failure {
  init(describing error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as CacheError: self.init(error)
    case let error as ProfileError: self.init(.badInput, error.message)
    case is CancellationError: self.init(.interrupted, "interrupted")
    default: self = Failure(pipelineError: error) ?? Failure(.failed, Self.words(of: error))
    }
  }

  /// An error of a library, without names of types.
  private static func words(of error: any Error) -> String {
    switch error {
    case let error as CocoaError: error.localizedDescription
    case let error as POSIXError: String(cString: strerror(error.code.rawValue))
    case let error as any CustomStringConvertible: error.description
    default: "an unexpected error: \(ErrorWords.text(error))"
    }
  }
}
