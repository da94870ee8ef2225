import Foundation
import GQLRunProfile
import GQLRunSupport

/// This program, started again for one measured run, so that runs do not share memory, and peak
/// memory is that of a single run.
struct MeasuredProcess {
  var arguments: [String]

  struct Outcome {
    var status: Int32
    var output: [UInt8]
    /// The start and end times, measured by the parent process.
    var start: UInt64
    var end: UInt64
    /// User and system time of all threads, in seconds.
    var cpuSeconds: Double
  }

  /// Runs the process until it exits, sharing standard error. Cancelling the task terminates it.
  func run() async throws -> Outcome {
    let running = Locked<pid_t>(0)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(with: Result { try runToEnd(running) })
        }
      }
    } onCancel: {
      running.withLock { if $0 > 0 { kill($0, SIGTERM) } }
    }
  }

  private func runToEnd(_ running: borrowing Locked<pid_t>) throws -> Outcome {
    var pipe: [Int32] = [0, 0]
    guard Foundation.pipe(&pipe) == 0 else { throw failure(errno) }
    for descriptor in pipe { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    defer { close(pipe[0]) }
    let start = StageClock.wall()
    let pid: pid_t
    do {
      defer { close(pipe[1]) }
      pid = try OwnProcess.start(arguments, input: nil, output: pipe[1])
    }
    running.withLock { $0 = pid }
    defer { running.withLock { $0 = 0 } }
    let output = readToEnd(pipe[0])
    var status: Int32 = 0
    var usage = rusage()
    while wait4(pid, &status, 0, &usage) < 0 && errno == EINTR {}
    let isExit = status & 0x7f == 0
    return Outcome(
      status: isExit ? (status >> 8) & 0xff : 128 + (status & 0x7f), output: output,
      start: start, end: StageClock.wall(),
      cpuSeconds: Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime))
  }

  private func readToEnd(_ descriptor: Int32) -> [UInt8] {
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return output }
      output += buffer[..<count]
    }
  }

  /// Reads seconds and microseconds by offset, because the types of the fields differ with
  /// statically linked Swift libraries.
  static func seconds(_ time: timeval) -> Double {
    withUnsafeBytes(of: time) { bytes in
      let size = MemoryLayout<timeval>.size / 2
      return Double(bytes.loadUnaligned(as: Int.self))
        + Double(bytes.loadUnaligned(fromByteOffset: size, as: Int.self)) / 1e6
    }
  }

  private func failure(_ code: Int32) -> Failure {
    Failure(.failed, "cannot start a measured run: \(String(cString: strerror(code)))")
  }
}
