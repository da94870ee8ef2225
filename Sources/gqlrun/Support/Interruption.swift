import Foundation
import GQLRunBatch
import GQLRunSupport

/// Cancels the work on the first interrupt, so that files are left in order, and exits on the
/// second.
///
/// Cancelled work that then waits for a reader of its output for a second cannot end: the program exits, as on a second
/// interrupt. Work that stops by itself is not cancelled, and has all the time that it needs.
enum Interruption {
  /// Runs work that is cancelled after a time: `onLimit` is called first. If it cannot end then, the exit code is 0.
  static func run<R: Sendable>(
    for limit: Duration?, onLimit: @escaping @Sendable () -> Void,
    _ work: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    guard let limit else { return try await run(work) }
    return try await run {
      let task = Task { try await work() }
      let watch = OutputWatch()
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "gqlrun.limit"))
      timer.schedule(deadline: .now() + limit.seconds)
      timer.setEventHandler {
        onLimit()
        task.cancel()
        watch.begin(exitCode: 0)
      }
      timer.activate()
      defer {
        timer.cancel()
        watch.end()
      }
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  /// - Parameter onFirst: Called by the first interrupt, of work that can stop by itself, instead of cancelling it.
  static func run<R: Sendable>(
    _ work: @escaping @Sendable () async throws -> R, onFirst: (@Sendable () -> Void)? = nil
  ) async throws -> R {
    let task = Task { try await work() }
    let wasTold = Locked(false)
    let watch = OutputWatch()
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
        if task.isCancelled || wasTold.withLock({ $0 }) { exit(130) }
        task.cancel()
        watch.begin(exitCode: 130)
      }
      source.activate()
      return source
    }
    defer {
      for source in sources { source.cancel() }
      watch.end()
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Runs a server until the first interrupt, and prints its URL on standard output when it accepts requests.
  ///
  /// - Parameter serve: Runs the server until it is cancelled, and calls its argument with the URL.
  /// - Throws: The error of `serve`, or that of standard output: nothing else has the URL, so the server ends.
  static func serve(
    _ serve:
      @escaping @Sendable (_ onReady: @escaping @Sendable (String) -> Void) async throws -> Void
  ) async throws {
    try await run {
      let (urls, continuation) = AsyncStream.makeStream(of: String.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          defer { continuation.finish() }
          try await serve { continuation.yield($0) }
        }
        group.addTask {
          for await url in urls { try Terminal.write(url + "\n") }
        }
        // The first error cancels the other task.
        for try await _ in group {}
      }
    }
  }

  /// Ends the program at once, without unfinished files.
  fileprivate static func exit(_ code: Int32) -> Never {
    PartialFiles.removeAll()
    _exit(code)
  }
}

/// Writes to readers outside of the program: standard output, standard error, and pipes of `--output`.
///
/// A write blocks its thread until its reader has read, and a cancellation does not end it.
enum OutputWrites {
  private struct State {
    var last = 0
    var open: Set<Int> = []
  }

  private static let state = Locked(State())

  /// The numbers of the writes that have begun and not ended.
  static var open: Set<Int> { state.withLock { $0.open } }

  /// Writes all bytes, in pieces that are writes of their own: a reader that takes one is not stuck.
  ///
  /// - Returns: Zero, or the error number.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
      let piece = bytes[start..<min(start + 64 << 10, bytes.count)]
      let number = state.withLock { state in
        state.last += 1
        state.open.insert(state.last)
        return state.last
      }
      let code = SystemIO.writeAll(UnsafeRawBufferPointer(rebasing: piece), to: descriptor)
      state.withLock { _ = $0.open.remove(number) }
      if code != 0 { return code }
    }
    return 0
  }
}

/// Ends the program, if cancelled work is in the same write for a second.
private final class OutputWatch: Sendable {
  private let hasEnded = Locked(false)
  private let queue = DispatchQueue(label: "gqlrun.output")

  /// Begins, when the work is cancelled.
  func begin(exitCode: Int32) {
    let before = OutputWrites.open
    queue.asyncAfter(deadline: .now() + 1) { [self] in
      guard !hasEnded.withLock({ $0 }) else { return }
      if !before.isDisjoint(with: OutputWrites.open) { Interruption.exit(exitCode) }
      begin(exitCode: exitCode)
    }
  }

  /// Ends, because the work has ended.
  func end() { hasEnded.withLock { $0 = true } }
}

/// Prepares the standard input, output and error that the program inherits.
enum StandardDescriptors {
  /// Opens closed standard descriptors. Call before opening any file.
  ///
  /// The next file to be opened would get a descriptor that was closed (`>&-`), and results meant
  /// for standard output would be written to the cache. Opens `/dev/null` instead, in a mode in
  /// which its use fails like that of a closed descriptor.
  static func prepare() {
    for (descriptor, flags) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      let opened = open("/dev/null", flags)
      if opened >= 0, opened != descriptor {
        dup2(opened, descriptor)
        close(opened)
      }
    }
    // Failing writes report closed pipes, whatever libraries do.
    signal(SIGPIPE, SIG_IGN)
    // Exceeding a file size limit (`ulimit -f`) makes a write fail instead of ending the program.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Raises the limit of open files if it is too low for the event loops, three per processor.
  /// Throws if that is not possible.
  static func expectRoom() throws(Failure) {
    func room(_ processors: Int) -> Int { 12 + 3 * processors }
    // The number that a container allows is not larger, but Foundation reads files to find it out.
    guard let few = OpenFiles.left(), few < room(sysconf(Int32(_SC_NPROCESSORS_CONF))) else {
      return
    }
    let needed = room(ProcessInfo.processInfo.activeProcessorCount)
    guard few < needed else { return }
    OpenFiles.raiseLimit()
    guard let left = OpenFiles.left(), left < needed else { return }
    throw Failure(
      .failed,
      "this process may open no more than \(left) files, and needs \(needed) at least; "
        + "raise the limit of open files (ulimit -n 256)")
  }
}
