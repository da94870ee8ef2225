import GQLRunSupport

/// What a server has announced, and what of it has not arrived yet.
///
/// The results of all parts share it. An entry has the number of the result before which it was announced, and of the one
/// before which it ended, so that a part costs as much as its own entries, not as all pending ones.
package final class PendingLog: Sendable {
  private struct Entry {
    var id: String
    var fragment: PendingFragment
    var begin: Int
    var end = Int.max
  }

  private struct State {
    var entries: [Entry] = []
    /// The positions of the pending entries, by id.
    var open: [String: Int] = [:]
    /// The number of results so far.
    var results = 0
  }

  private let state = Locked<State>(State())

  var isEmpty: Bool { state.withLock { $0.open.isEmpty } }

  /// What is pending, in the order of the announcements.
  var fragments: [PendingFragment] { fragments(at: state.withLock { $0.results }) }

  subscript(id: String) -> PendingFragment? {
    state.withLock { state in state.open[id].map { state.entries[$0].fragment } }
  }

  /// Adds an entry; returns `false` if its id is pending already.
  func add(_ id: String, _ fragment: PendingFragment) -> Bool {
    state.withLock { state in
      guard state.open[id] == nil else { return false }
      state.open[id] = state.entries.count
      state.entries.append(Entry(id: id, fragment: fragment, begin: state.results))
      return true
    }
  }

  func end(_ id: String) {
    state.withLock { state in
      guard let position = state.open.removeValue(forKey: id) else { return }
      state.entries[position].end = state.results
    }
  }

  /// What is pending now, for a result.
  func result() -> PendingFragments {
    state.withLock { state in
      defer { state.results += 1 }
      return .logged(self, result: state.results)
    }
  }

  /// A log without the entries that have ended, if these are most of them; else this one.
  func compacted() -> PendingLog {
    let open = state.withLock { state -> [Entry]? in
      guard state.entries.count > 2 * state.open.count + 64 else { return nil }
      return state.entries.filter { $0.end == Int.max }
    }
    guard let open else { return self }
    let log = PendingLog()
    for entry in open { _ = log.add(entry.id, entry.fragment) }
    return log
  }

  fileprivate func fragments(at result: Int) -> [PendingFragment] {
    state.withLock { state in
      state.entries.filter { $0.begin <= result && result < $0.end }.map(\.fragment)
    }
  }
}

/// What was pending after a part of a response.
package enum PendingFragments: Sendable {
  case list([PendingFragment])
  case logged(PendingLog, result: Int)

  /// The fragments, in the order of the announcements. Collected for each call.
  package var all: [PendingFragment] {
    switch self {
    case .list(let fragments): fragments
    case .logged(let log, let result): log.fragments(at: result)
    }
  }
}
