import GQLRunSupport

/// The watches of a client that are iterated, by the names of their operations.
package final class WatchRegister: Sendable {
  private struct Entry {
    weak var watch: ActiveWatch?
    var name: String?
  }

  private let entries = Locked<[ObjectIdentifier: Entry]>([:])

  /// Creates an empty register.
  package init() {}

  func add(_ watch: ActiveWatch, name: String?) {
    entries.withLock { $0[ObjectIdentifier(watch)] = Entry(watch: watch, name: name) }
  }

  func remove(_ id: ObjectIdentifier) {
    entries.withLock { $0[id] = nil }
  }

  /// Requests the watched operations with these names from the server again. Does not wait for the results, which
  /// the watches deliver.
  package func refetch(_ names: [String]) {
    guard !names.isEmpty else { return }
    let watches = entries.withLock { entries in
      entries.values.compactMap { entry in
        entry.name.map(names.contains) == true ? entry.watch : nil
      }
    }
    for watch in watches { watch.refetch() }
  }
}
