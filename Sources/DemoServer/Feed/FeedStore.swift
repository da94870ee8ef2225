import GQLRunSupport

/// The changes to the feed, shared by all operations.
final class FeedStore: Sendable {
  private let edits = Locked(FeedEdits())

  /// The changes so far.
  var snapshot: FeedEdits { edits.withLock { $0 } }

  /// Changes the feed; returns the result of `change` with all changes so far.
  func change<T: Sendable>(
    _ change: @Sendable (inout FeedEdits) throws(FeedEdits.Refusal) -> T
  ) throws(FeedEdits.Refusal) -> (T, FeedEdits) {
    let result: Result<(T, FeedEdits), FeedEdits.Refusal> = edits.withLock { edits in
      do throws(FeedEdits.Refusal) {
        return .success((try change(&edits), edits))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
