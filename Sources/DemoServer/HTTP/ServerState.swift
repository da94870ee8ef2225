import GQLRunSupport

/// What outlives the requests of a server, apart from the data.
final class ServerState: Sendable {
  /// How many keys of `times` are counted at once.
  static let maxKeys = 10_000

  let log = RequestLog()
  let persistedQueries = PersistedQueries()

  private struct Contents {
    var misbehaviour: Misbehaviour
    var counts: [String: Int] = [:]
  }

  private let contents: Locked<Contents>

  init(misbehaviour: Misbehaviour) {
    contents = Locked(Contents(misbehaviour: misbehaviour))
  }

  /// What the program wants for all requests. Setting it starts the counts of `times` again.
  var misbehaviour: Misbehaviour {
    get { contents.withLock { $0.misbehaviour } }
    set { contents.withLock { $0 = Contents(misbehaviour: newValue) } }
  }

  /// Counts a request, and tells whether it is still one of the first so many with its key.
  func isWithin(_ times: Int, key: String) -> Bool {
    contents.withLock { contents in
      if contents.counts.count >= Self.maxKeys { contents.counts.removeAll() }
      let count = contents.counts[key, default: 0] + 1
      contents.counts[key] = count
      return count <= times
    }
  }
}
