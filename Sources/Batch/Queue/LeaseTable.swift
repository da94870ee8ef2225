import GQLRunSupport

/// The tasks that this worker holds, with the fences of their leases.
final class LeaseTable: Sendable {
  private let leases = Locked<[TaskID: Int]>([:])

  var count: Int { leases.withLock { $0.count } }

  func add(_ id: TaskID, _ lease: Int) { leases.withLock { $0[id] = lease } }

  /// Whether this worker holds a task with this lease. A worker that counted as lost may claim its own task again:
  /// then only the newer lease counts.
  func holds(_ id: TaskID, _ lease: Int) -> Bool { leases.withLock { $0[id] == lease } }

  /// Forgets the leases of tasks: they ended, were returned, or belong to another worker. Newer leases stay.
  func remove(_ ended: some Sequence<(id: TaskID, lease: Int)>) {
    leases.withLock { leases in
      for (id, lease) in ended where leases[id] == lease { leases[id] = nil }
    }
  }

  /// All tasks with their leases.
  func all() -> [(id: TaskID, lease: Int)] { leases.withLock { $0.map { ($0.key, $0.value) } } }
}
