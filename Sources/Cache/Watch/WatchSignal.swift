import Foundation

/// Whether a watcher has something to look at, and who waits for it.
///
/// `@unchecked Sendable`: everything that changes is read and written under the lock.
final class WatchSignal: @unchecked Sendable {
  private let lock = NSLock()
  private var isDirty = true
  private var hasEnded = false
  /// What the last answer depends on; `nil` while an answer is being read: then every change counts.
  private var dependencies: Dependencies?
  private var waiter: CheckedContinuation<Bool, Never>?

  /// Whether the watched answer may have changed since it was read.
  var isPending: Bool { lock.withLock { isDirty } }

  /// Says what has changed; `nil` when that is not known.
  func post(_ changes: Fingerprints?) {
    let waiting: CheckedContinuation<Bool, Never>? = lock.withLock {
      guard !isDirty else { return nil }
      if let changes, let dependencies, !dependencies.isTouched(by: changes) { return nil }
      isDirty = true
      return waiter.take()
    }
    waiting?.resume(returning: true)
  }

  /// Wakes whoever waits, for good.
  func end() {
    let waiting = lock.withLock {
      hasEnded = true
      return waiter.take()
    }
    waiting?.resume(returning: false)
  }

  /// Waits until there is something to look at; `false` when the watch has ended, or the task.
  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        var other: CheckedContinuation<Bool, Never>?
        let answer: Bool? = lock.withLock {
          if hasEnded { return false }
          if isDirty { return true }
          // An iterator has one reader; a second one takes the place of the first.
          other = waiter.take()
          waiter = continuation
          return nil
        }
        other?.resume(returning: false)
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }

  /// Begins a look: what changes from here on is not in it.
  func beginReading() {
    lock.withLock {
      isDirty = false
      dependencies = nil
    }
  }

  /// Ends a look. Without dependencies it has failed, and the next one is due at once.
  func endReading(_ found: Dependencies?) {
    lock.withLock {
      dependencies = found
      if found == nil { isDirty = true }
    }
  }
}
