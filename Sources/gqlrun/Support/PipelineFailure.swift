import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

extension Failure {
  /// The failure for an error of a chain or a pipeline file; `nil` for other errors.
  init?(pipelineError error: any Error) {
    switch error {
    case let error as ChainError: self.init(error)
    case let diagnostics as PipelineDiagnostics:
      Terminal.note(diagnostics.rendered(as: .human(colors: Terminal.usesColor)))
      self.init(.badPipeline, "")
    default: return nil
    }
  }

  init(_ error: ChainError) {
    let hint =
      error.code == .cacheMiss ? "; `gqlrun cache explain` with the same operation shows why" : ""
    self.init(Self.status(of: error), error.description + hint)
    if error.code == .tooManyAttempts, let cause = error.cause as? ChainError {
      self = Failure(Self.status(of: cause), error.description)
    }
  }

  private static func status(of error: ChainError) -> Status {
    if let status = error.http?.status {
      switch status {
      case 401, 403: return .authentication
      case 429: return .tryLater
      // With Retry-After the server asked for a delay, as with 429.
      case 503 where error.http?.headers[.retryAfter] != nil: return .tryLater
      default: return .failed
      }
    }
    switch error.code {
    case .cacheMiss: return .cacheMiss
    case .invalidRequest, .notPersisted: return .badInput
    case .missingToken, .tokenRenewalFailed, .connectionRejected: return .authentication
    case .timedOut, .rateLimited: return .tryLater
    case .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed,
      .proxyFailed:
      return .unreachable
    default: return .failed
    }
  }
}
