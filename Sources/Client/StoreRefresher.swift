import GQLRunPipeline
import GQLRunSupport

/// Checks a store for writes of other processes while queries are watched.
final class StoreRefresher: Sendable {
  private struct State {
    var watches = 0
    var task: Task<Void, Never>?
  }

  private let state = Locked(State())
  private let interval: Duration
  private let services: Services
  private let refresh: @Sendable () async throws -> Void

  /// - Parameters:
  ///   - interval: The time between two checks.
  ///   - services: Provides clock and logger.
  ///   - refresh: Checks the store.
  init(
    every interval: Duration, _ services: Services,
    refresh: @escaping @Sendable () async throws -> Void
  ) {
    self.interval = interval
    self.services = services
    self.refresh = refresh
  }

  /// Keeps the checks going as long as the result exists.
  func lease() -> Owned<StoreRefresher> {
    state.withLock { state in
      state.watches += 1
      guard state.watches == 1 else { return }
      state.task = Task { [interval, services, refresh] in
        await Self.check(every: interval, services, refresh)
      }
    }
    return Owned(self) { $0.end() }
  }

  private func end() {
    state.withLock { state in
      state.watches -= 1
      guard state.watches == 0 else { return }
      state.task.take()?.cancel()
    }
  }

  /// Checks until the task is cancelled or the client is shut down. A failure is logged once until a
  /// check succeeds.
  private static func check(
    every interval: Duration, _ services: Services, _ refresh: @Sendable () async throws -> Void
  ) async {
    var hasFailed = false
    while true {
      do {
        try await services.clock.sleep(for: interval)
        try await refresh()
        hasFailed = false
      } catch let error as ChainError where error.code == .clientShutDown {
        return
      } catch {
        if Task.isCancelled { return }
        if !hasFailed {
          services.logger.warning("changes of other processes may be missed: \(error)")
        }
        hasFailed = true
      }
    }
  }
}
