import Foundation

/// Ends the work when the user interrupts it: once asks it to stop, so that files are left in order.
enum Interruption {
  static func run<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
    let task = Task { try await work() }
    let queue = DispatchQueue(label: "gqlrun.signals")
    let sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number -> (any DispatchSourceSignal)? in
      let previous = signal(number, SIG_IGN)
      // Under nohup the program outlives its terminal.
      if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == 1 { return nil }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        // The second time the user does not want to wait. SQLite's journal survives this.
        if task.isCancelled {
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
