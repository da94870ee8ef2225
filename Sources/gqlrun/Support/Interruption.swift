import Foundation
import GQLRunSupport

/// Ends the work when the user interrupts it: once asks it to stop, so that files are left in order.
enum Interruption {
  static func run<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
    try await run(work, onFirst: nil)
  }

  /// Work that ends by itself when it is told to: the first interrupt tells it, the second ends it.
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
        // The second time the user does not want to wait. SQLite's journal survives this.
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
