import AsyncAlgorithms
import GQLRunJSON
import GQLRunLanguage

/// An event of a subscription, which is executed to one response.
enum SourceEvent: Sendable, Hashable {
  /// A number of a countdown.
  case count(Int)
  /// A post, with the number of likes that were added to it.
  case liked(Post, likes: Int)

  /// The changes to the feed as they were at the time of the event.
  func pinned(in edits: FeedEdits) -> FeedEdits {
    guard case .liked(let post, let likes) = self else { return edits }
    return edits.pinning(likes, of: post.number)
  }
}

extension DemoExecutor {
  /// The executions of an operation: one, or one for each event of a subscription.
  ///
  /// Events are created when they are requested, so a slow consumer of a countdown slows it down. A
  /// slow consumer of likes loses the oldest: see ``FeedStore/maxBufferedLikes``.
  ///
  /// https://spec.graphql.org/September2025/#sec-Source-Stream
  ///
  /// - Parameter sleep: Suspends between two events.
  /// - Throws: The error of the subscription's arguments.
  func executions(
    of operation: PlannedOperation, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws(RequestError) -> any AsyncSequence<OperationExecution, any Error> & Sendable {
    guard operation.type == .subscription else {
      return AsyncThrowingStream<OperationExecution, any Error> { continuation in
        continuation.yield(start(operation))
        continuation.finish()
      }
    }
    guard let field = operation.plan.fields.first else {
      throw RequestError(.validationFailed, "The subscription selects no field.")
    }
    if var refusal = field.refusal {
      refusal.locations = field.locations
      throw refusal
    }
    switch field.coordinate {
    case "Subscription.countdown":
      let from = max(field.arguments["from"]?.intValue ?? 0, 0)
      let delay = Duration.milliseconds(field.arguments["delay"]?.intValue ?? 0)
      return (0...from).async.map { index in
        if index > 0, delay > .zero { try await sleep(delay) }
        try Task.checkCancellation()
        return start(operation, for: .count(from - index))
      }
    case "Subscription.likesChanged":
      let id = field.arguments.text("post")
      guard let post = Resolvers.post(id, context(store.snapshot)) else {
        throw RequestError(
          .notFound, "There is no post with the id \"\(id)\".", at: field.locations)
      }
      return store.likes(of: post.number).map { (likes) throws in
        start(operation, for: .liked(post, likes: likes))
      }
    default:
      throw RequestError(
        .internalServerError, "\(field.coordinate) has no events.", at: field.locations)
    }
  }

  private func start(_ operation: PlannedOperation, for event: SourceEvent) -> OperationExecution {
    OperationExecution(
      operation, root: .event(event), context: context(event.pinned(in: store.snapshot)))
  }
}

extension OperationExecution {
  /// The maximum size of a response that is sent as one event, in bytes.
  static let maxEventBytes = 4 << 20

  private static let tooLarge = RequestError(
    .badUserInput, "An event has at most \(maxEventBytes) bytes; select fewer fields.")

  /// The response that is sent as one event; an error replaces a response that is too large.
  consuming func event() -> [UInt8] {
    rest(upTo: Self.maxEventBytes) ?? RequestError.response([Self.tooLarge])
  }
}
