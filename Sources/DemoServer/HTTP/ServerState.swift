import GQLRunSupport

/// The state of a server apart from the feed.
final class ServerState: Sendable {
  /// The maximum number of keys of `times` that are counted.
  static let maxKeys = 10_000

  let log = RequestLog()
  let persistedQueries = PersistedQueries()
  let eventStreams = ReservedEventStreams()

  private struct Contents {
    var misbehaviour: Misbehaviour
    var counts: [String: Int] = [:]
  }

  private let contents: Locked<Contents>

  init(misbehaviour: Misbehaviour) {
    contents = Locked(Contents(misbehaviour: misbehaviour))
  }

  /// The misbehaviour of all requests. Setting it resets the counts of `times`.
  var misbehaviour: Misbehaviour {
    get { contents.withLock { $0.misbehaviour } }
    set { contents.withLock { $0 = Contents(misbehaviour: newValue) } }
  }

  /// Returns whether a request is among the first `times` with its key.
  ///
  /// - Parameter isCounted: Whether the request is counted.
  func isWithin(_ times: Int, key: String, isCounted: Bool = true) -> Bool {
    contents.withLock { contents in
      if contents.counts.count >= Self.maxKeys { contents.counts.removeAll() }
      let count = contents.counts[key, default: 0] + 1
      if isCounted { contents.counts[key] = count }
      return count <= times
    }
  }
}
