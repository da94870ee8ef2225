import GQLRunSupport

/// The lock for writing to a database file: one transaction or checkpoint at a time, of all stores
/// and processes.
///
/// SQLite before 3.51.3 can damage its log if several connections write and checkpoint at the same
/// time (https://sqlite.org/wal.html#walresetbug), so its own locks are not sufficient. Tasks of
/// one store wait in order without a limit; the wait for other stores and processes is limited.
final class WriteLock: Sendable {
  private let file: DatabaseLock?
  private let isReadOnly: Bool
  private let path: String
  private let maximumWait: Duration
  private let clock: any Clock<Duration>
  /// The turns of this store's tasks.
  private let turns = AsyncMutex()

  init(
    _ file: DatabaseLock?, path: String, isReadOnly: Bool, maximumWait: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.file = file
    self.isReadOnly = isReadOnly
    self.path = path
    self.maximumWait = maximumWait
    self.clock = clock
  }

  /// Waits until this task may write.
  ///
  /// - Throws: `readOnly` if the store cannot write, `busy` if another store or process writes for
  ///   longer than the maximum wait, `cancelled` if the task is cancelled, `storage` if the file
  ///   cannot be locked.
  func acquire() async throws(CacheError) {
    if isReadOnly { throw .readOnly(path) }
    try await takeTurn()
    do throws(CacheError) {
      try await lockFile()
    } catch {
      turns.release()
      throw error
    }
  }

  /// Acquires the lock if neither this store nor another one holds it.
  func acquireIfFree() async -> Bool {
    if isReadOnly { return false }
    do {
      try await takeTurn()
    } catch {
      return false
    }
    guard let file else { return true }
    if case .locked = file.tryLock(.writing, exclusively: true) {
      file.noteHolder()
      return true
    }
    turns.release()
    return false
  }

  func release() {
    file?.forgetHolder()
    file?.unlock(.writing)
    turns.release()
  }

  private func takeTurn() async throws(CacheError) {
    do throws(CancellationError) { try await turns.acquire() } catch { throw cancelled }
  }

  // MARK: Between stores and processes

  private func lockFile() async throws(CacheError) {
    guard let file else { return }
    var waited = Duration.zero
    var pause = Duration.milliseconds(1)
    while true {
      if Task.isCancelled { throw cancelled }
      switch file.tryLock(.writing, exclusively: true) {
      case .locked: return file.noteHolder()
      case .impossible(let reason):
        throw CacheError(
          .storage, "cannot lock the cache \(path) by its file \(file.path): \(reason)", path: path
        )
      case .taken: break
      }
      guard waited < maximumWait else {
        throw CacheError.busy(path, file.holder, after: maximumWait)
      }
      do {
        try await clock.sleep(for: pause)
      } catch {
        throw cancelled
      }
      waited += pause
      pause = min(pause * 2, .milliseconds(20))
    }
  }

  private var cancelled: CacheError {
    CacheError(
      .cancelled,
      "cannot write to the cache \(path): the task was cancelled while it waited for the lock",
      path: path)
  }
}

extension CacheError {
  static func readOnly(_ path: String) -> CacheError {
    CacheError(
      .readOnly,
      "cannot write to the cache \(path): it was opened for reading, or the file or its directory is "
        + "read-only; choose another file, or change its permissions", path: path)
  }

  static func busy(_ path: String, _ holder: String, after wait: Duration) -> CacheError {
    CacheError(
      .busy,
      "cannot write to the cache \(path): \(holder) has been writing to it for \(wait.inWords); try "
        + "again when it is done, or use another file", path: path)
  }
}

extension Duration {
  /// `10 seconds`, `250 ms`.
  fileprivate var inWords: String {
    let (seconds, attoseconds) = components
    if attoseconds == 0, seconds > 0 { return seconds == 1 ? "1 second" : "\(seconds) seconds" }
    return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
  }
}
