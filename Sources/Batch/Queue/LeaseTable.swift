import GQLRunSupport

/// The tasks that this worker holds, with the fences of their leases.
final class LeaseTable: Sendable {
  private let leases = Locked<[TaskID: Int]>([:])

  var count: Int { leases.withLock { $0.count } }

  func lease(of id: TaskID) -> Int? { leases.withLock { $0[id] } }
  func add(_ id: TaskID, _ lease: Int) { leases.withLock { $0[id] = lease } }

  /// Forgets tasks: they ended, were returned, or belong to another worker.
  func remove(_ ids: some Sequence<TaskID>) {
    leases.withLock { leases in for id in ids { leases[id] = nil } }
  }

  /// All tasks with their leases.
  func all() -> [(id: TaskID, lease: Int)] { leases.withLock { $0.map { ($0.key, $0.value) } } }
}
