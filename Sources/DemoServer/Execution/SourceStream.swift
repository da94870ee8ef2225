import GQLRunJSON

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

/// The events of a subscription.
///
/// Events are created when they are requested, so a slow consumer of a countdown slows it down. A
/// slow consumer of likes loses the oldest: see ``FeedStore/maxBufferedLikes``.
///
/// https://spec.graphql.org/September2025/#sec-Source-Stream
struct SourceStream: AsyncSequence, Sendable {
  private enum Source: Sendable {
    case countdown(from: Int, delay: Duration)
    case likes(Post, AsyncStream<Int>)
  }

  private let source: Source
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Throws: The error of the field's arguments.
  init(
    _ field: PlannedField, context: ResolverContext,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws(RequestError) {
    if let refusal = field.refusal { throw refusal }
    self.sleep = sleep
    switch field.coordinate {
    case "Subscription.countdown":
      source = .countdown(
        from: field.arguments["from"]?.intValue ?? 0,
        delay: .milliseconds(field.arguments["delay"]?.intValue ?? 0))
    case "Subscription.likesChanged":
      let id = field.arguments.text("post")
      guard let post = Resolvers.post(id, context) else {
        throw RequestError(.notFound, "There is no post with the id \"\(id)\".")
      }
      source = .likes(post, context.store.likes(of: post.number))
    default:
      throw RequestError(.internalServerError, "\(field.coordinate) has no events.")
    }
  }

  func makeAsyncIterator() -> Iterator {
    switch source {
    case .countdown(let from, let delay):
      Iterator(state: .countdown(next: from, delay: delay, isFirst: true), sleep: sleep)
    case .likes(let post, let likes):
      Iterator(state: .likes(post, likes.makeAsyncIterator()), sleep: sleep)
    }
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate enum State {
      case countdown(next: Int, delay: Duration, isFirst: Bool)
      case likes(Post, AsyncStream<Int>.Iterator)
    }

    fileprivate var state: State
    fileprivate let sleep: @Sendable (Duration) async throws -> Void

    mutating func next() async throws -> SourceEvent? {
      switch state {
      case .countdown(let number, let delay, let isFirst):
        guard number >= 0 else { return nil }
        if !isFirst, delay > .zero { try await sleep(delay) }
        try Task.checkCancellation()
        state = .countdown(next: number - 1, delay: delay, isFirst: false)
        return .count(number)
      case .likes(let post, var likes):
        let count = await likes.next()
        state = .likes(post, likes)
        return count.map { .liked(post, likes: $0) }
      }
    }
  }
}

extension DemoExecutor {
  /// The maximum size of a response that is sent as one event, in bytes.
  static let maxEventBytes = 4 << 20

  private static let tooLarge = RequestError(
    .badUserInput, "An event has at most \(maxEventBytes) bytes; select fewer fields.")

  /// The response to an event, in which an error replaces a response that is too large.
  func response(to event: SourceEvent, of operation: PlannedOperation) -> [UInt8] {
    Self.limited(start(operation, for: event))
  }

  /// The response of a query or mutation that is sent as one event.
  func response(of operation: PlannedOperation) -> [UInt8] { Self.limited(start(operation)) }

  private static func limited(_ execution: consuming OperationExecution) -> [UInt8] {
    execution.rest(upTo: maxEventBytes) ?? RequestError.response([tooLarge])
  }
}
