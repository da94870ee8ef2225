import GQLRunLive
import GQLRunPipeline

/// Maps the ends of shared event streams.
extension TransportFailures {
  /// The error of subscriptions whose event stream the server has ended.
  func eventStreamEnded() -> ChainError {
    failure(
      .connectionClosed, "\(origin) ended the event stream before its subscriptions were complete",
      .unknown)
  }

  /// The error of subscriptions whose event stream cannot be read further.
  func inEventStream(_ error: any Error) -> any Error {
    guard let error = error as? StreamError else { return error }
    switch error.code {
    case .tooLarge:
      return failure(
        .limitExceeded,
        "\(origin) sent too much on the event stream: \(error.message); raise the option max_message "
          + "of fetch if it may be", .answered)
    case .malformed, .truncated:
      return failure(
        .malformedResponse, "\(origin) violated graphql-sse on the event stream: \(error.message)",
        .answered)
    }
  }
}
