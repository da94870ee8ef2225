import Foundation
import GQLRunBatch
import GQLRunSupport

/// Cancels the work on the first interrupt, so that files are left in order, and exits on the
/// second.
///
/// Cancelled work cannot end while no program reads its standard output: this one exits after ``OutputWatch/patience``, as on
/// a second interrupt. Work that stops by itself is not cancelled, and has all the time that it needs.
enum Interruption {
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

  /// - Parameter onFirst: Called by the first interrupt, of work that can stop by itself, instead of cancelling it. The next
  ///   one waits for it.
  static func run<R: Sendable>(
    _ work: @escaping @Sendable () async throws -> R, onFirst: (@Sendable () -> Void)? = nil
  ) async throws -> R {
    // The work begins when no interrupt can be missed; one before that ends the program.
    let (beginning, begin) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      for await _ in beginning {}
      return try await work()
    }
    let wasTold = Locked(false)
    let watch = OutputWatch()
    let registered = DispatchGroup()
    let queue = DispatchQueue(label: "gqlrun.signals")
    let sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number -> (any DispatchSourceSignal)? in
      // Under nohup the program outlives its terminal.
      if number == SIGHUP, unsafeBitCast(signal(number, SIG_DFL), to: Int.self) == 1 {
        signal(number, SIG_IGN)
        return nil
      }
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        if let onFirst, !wasTold.withLock({ $0 }) {
          wasTold.withLock { $0 = true }
          return onFirst()
        }
        // On the second interrupt the user does not want to wait. SQLite's journal survives this.
        if task.isCancelled || wasTold.withLock({ $0 }) { exit() }
        task.cancel()
        watch.begin()
      }
      registered.enter()
      source.setRegistrationHandler { registered.leave() }
      source.activate()
      return source
    }
    registered.notify(queue: queue) { begin.finish() }
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
  fileprivate static func exit() -> Never {
    PartialFiles.removeAll()
    _exit(130)
  }
}

/// Ends the program if its standard output is not read after an interrupt: a write blocks its thread until then, and a
/// cancellation does not end it.
final class OutputWatch: Sendable {
  /// The writes to standard output.
  private struct Writes {
    /// The number of pieces that were written.
    var ended = 0
    var isOpen = false
  }

  private static let writes = Locked(Writes())
  /// How long the program waits for the reader of a piece.
  static let patience = DispatchTimeInterval.seconds(5)

  private let hasEnded = Locked(false)
  private let queue = DispatchQueue(label: "gqlrun.output")

  /// Writes all bytes to standard output, in pieces: a reader that takes one is slow, and not gone.
  ///
  /// - Returns: Zero, or the error number.
  static func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
      let piece = bytes[start..<min(start + 64 << 10, bytes.count)]
      writes.withLock { $0.isOpen = true }
      let code = SystemIO.writeAll(UnsafeRawBufferPointer(rebasing: piece), to: 1)
      writes.withLock { $0 = Writes(ended: $0.ended + 1) }
      if code != 0 { return code }
    }
    return 0
  }

  /// Begins, when the work is cancelled.
  func begin() {
    let before = Self.writes.withLock { $0 }
    queue.asyncAfter(deadline: .now() + Self.patience) { [self] in
      guard !hasEnded.withLock({ $0 }) else { return }
      let now = Self.writes.withLock { $0 }
      if before.isOpen, now.isOpen, now.ended == before.ended { Interruption.exit() }
      begin()
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
