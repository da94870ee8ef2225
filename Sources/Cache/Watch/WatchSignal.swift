import GQLRunSupport

/// The notification state of one watcher.
final class WatchSignal: Sendable {
  private struct State {
    var isDirty = true
    /// The number of notifications.
    var changes = 0
    var hasEnded = false
    /// What the latest result depends on; `nil` while a result is being read, so that every change
    /// counts.
    var dependencies: Dependencies?
    var waiter: CheckedContinuation<Bool, Never>?
  }

  private let state = Locked(State())

  /// Whether the watched result may have changed since it was read.
  var isPending: Bool { state.withLock { $0.isDirty } }

  /// The number of notifications about changes of the store so far.
  var changes: Int { state.withLock { $0.changes } }

  /// Notifies the watcher of changes of the store; `nil` if they are unknown.
  func post(_ changes: Fingerprints?) {
    notify(changes) { $0.changes += 1 }
  }

  /// Makes the next read due, although the store may not have changed.
  func wake() { notify(nil) { _ in } }

  private func notify(_ changes: Fingerprints?, _ note: (inout State) -> Void) {
    let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
      note(&state)
      guard !state.isDirty else { return nil }
      if let changes, let dependencies = state.dependencies, !dependencies.isTouched(by: changes) {
        return nil
      }
      state.isDirty = true
      return state.waiter.take()
    }
    waiting?.resume(returning: true)
  }

  /// Ends the watch and resumes a waiting task.
  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      return state.waiter.take()
    }
    waiting?.resume(returning: false)
  }

  /// Waits for a change; returns `false` if the watch has ended or the task was cancelled.
  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        var other: CheckedContinuation<Bool, Never>?
        let answer: Bool? = state.withLock { state in
          if state.hasEnded { return false }
          if state.isDirty { return true }
          // An iterator has one consumer; a second one replaces the first.
          other = state.waiter.take()
          state.waiter = continuation
          return nil
        }
        other?.resume(returning: false)
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }

  /// Starts a read: it does not include later changes.
  func beginReading() {
    state.withLock { state in
      state.isDirty = false
      state.dependencies = nil
    }
  }

  /// Ends a read. `nil` means it failed, so that the next one is due immediately.
  func endReading(_ found: Dependencies?) {
    state.withLock { state in
      state.dependencies = found
      if found == nil { state.isDirty = true }
    }
  }
}
