import GQLRunSupport

/// The changes to the feed, shared by all operations.
final class FeedStore: Sendable {
  /// The number of likes of a post that are kept for a subscriber that is behind; older ones are
  /// dropped.
  static let keptLikes = 256

  private struct Contents {
    var edits = FeedEdits()
    var subscribers: [Int: [Int: AsyncStream<Int>.Continuation]] = [:]
    var subscriptions = 0
  }

  private let contents = Locked(Contents())

  /// The changes so far.
  var snapshot: FeedEdits { contents.withLock { $0.edits } }

  /// The number of current subscribers.
  var subscriberCount: Int {
    contents.withLock { $0.subscribers.values.reduce(0) { $0 + $1.count } }
  }

  /// Changes the feed; returns the result of `change` with all changes so far.
  func change<T: Sendable>(
    _ change: @Sendable (inout FeedEdits) throws(FeedEdits.Refusal) -> T
  ) throws(FeedEdits.Refusal) -> (T, FeedEdits) {
    let result: Result<(T, FeedEdits), FeedEdits.Refusal> = contents.withLock { contents in
      do throws(FeedEdits.Refusal) {
        return .success((try change(&contents.edits), contents.edits))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Adds a like to a post, and tells its subscribers; returns all changes so far.
  func like(_ post: Int) throws(FeedEdits.Refusal) -> FeedEdits {
    let result: Result<FeedEdits, FeedEdits.Refusal> = contents.withLock { contents in
      do throws(FeedEdits.Refusal) {
        try contents.edits.like(post)
      } catch {
        return .failure(error)
      }
      // While the lock is held, so that the numbers arrive in order.
      for subscriber in contents.subscribers[post, default: [:]].values {
        subscriber.yield(contents.edits.likes(of: post))
      }
      return .success(contents.edits)
    }
    return try result.get()
  }

  /// The number of likes added to a post: now, and after each like until the stream is cancelled.
  func likes(of post: Int) -> AsyncStream<Int> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: .bufferingNewest(Self.keptLikes))
    let id = contents.withLock { contents in
      contents.subscriptions += 1
      contents.subscribers[post, default: [:]][contents.subscriptions] = continuation
      continuation.yield(contents.edits.likes(of: post))
      return contents.subscriptions
    }
    continuation.onTermination = { [weak self] _ in self?.remove(id, of: post) }
    return stream
  }

  private func remove(_ id: Int, of post: Int) {
    contents.withLock { contents in
      contents.subscribers[post]?[id] = nil
      if contents.subscribers[post]?.isEmpty == true { contents.subscribers[post] = nil }
    }
  }
}
