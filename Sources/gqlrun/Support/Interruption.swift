import Foundation
import GQLRunSupport

/// Cancels the work on the first interrupt, so that files are left in order, and exits on the
/// second.
enum Interruption {
  static func run<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
    try await run(work, onFirst: nil)
  }

  /// Runs work that is cancelled after a time: `onLimit` is called first.
  static func run<R: Sendable>(
    for limit: Duration?, onLimit: @escaping @Sendable () -> Void,
    _ work: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    guard let limit else { return try await run(work) }
    return try await run {
      let task = Task { try await work() }
      let timer = DispatchSource.makeTimerSource()
      timer.schedule(deadline: .now() + limit.seconds)
      timer.setEventHandler {
        onLimit()
        task.cancel()
      }
      timer.activate()
      defer { timer.cancel() }
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  /// Runs work that can stop by itself: the first interrupt calls `onFirst`, the second exits.
  static func runGracefully<R: Sendable>(
    _ work: @escaping @Sendable () async throws -> R, onFirst: @escaping @Sendable () -> Void
  ) async throws -> R {
    try await run(work, onFirst: onFirst)
  }

  private static func run<R: Sendable>(
    _ work: @escaping @Sendable () async throws -> R, onFirst: (@Sendable () -> Void)?
  ) async throws -> R {
    let task = Task { try await work() }
    let wasTold = Locked(false)
    let queue = DispatchQueue(label: "gqlrun.signals")
    let sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number -> (any DispatchSourceSignal)? in
      let previous = signal(number, SIG_IGN)
      // Under nohup the program outlives its terminal.
      if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == 1 { return nil }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        if let onFirst, !wasTold.withLock({ $0 }) {
          wasTold.withLock { $0 = true }
          return onFirst()
        }
        // On the second interrupt the user does not want to wait. SQLite's journal survives this.
        if task.isCancelled || wasTold.withLock({ $0 }) {
          PartialFiles.removeAll()
          _exit(130)
        }
        task.cancel()
      }
      source.activate()
      return source
    }
    defer { for source in sources { source.cancel() } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
