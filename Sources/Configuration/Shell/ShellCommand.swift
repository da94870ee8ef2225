package import Foundation
import GQLRunSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Runs a command of a pipeline file and returns its output.
///
/// Foundation's `Process` also waits for background processes of the command; this only waits for
/// the shell, like `$(…)`.
package enum ShellCommand {
  typealias Failure = PipelineFileEnvironment.Failure

  /// The same as ``output(of:limit:within:)`` without a time limit and without blocking the
  /// caller's thread. Cancelling the task kills the command and its child processes.
  package static func run(_ command: String, limit: Int) async throws -> String {
    let child = Child()
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          DispatchQueue.global().async {
            continuation.resume(
              with: Result { try output(of: command, limit: limit, child: child) })
          }
        }
      } onCancel: {
        child.kill()
      }
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }

  /// A process that its owner may kill until it has ended.
  private final class Child: Sendable {
    private struct State {
      var id: pid_t?
      var isKilled = false
    }

    private let state = Locked(State())

    func started(_ id: pid_t) {
      state.withLock { state in
        state.id = id
        if state.isKilled { _ = Foundation.kill(-id, SIGKILL) }
      }
    }

    /// From here on, another process may have the process identifier.
    func ended() { state.withLock { $0.id = nil } }

    var wasKilled: Bool { state.withLock { $0.isKilled } }

    func kill() {
      state.withLock { state in
        state.isKilled = true
        if let id = state.id { _ = Foundation.kill(-id, SIGKILL) }
      }
    }
  }

  /// The standard output of `command`, run by `/bin/sh` with this process's environment, without
  /// input, and with this process's standard error.
  ///
  /// - Parameter time: The time limit, after which the command and its child processes are killed.
  static func output(
    of command: String, limit: Int, within time: Duration
  ) throws(Failure) -> String {
    let child = Child()
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + .milliseconds(max(Int(time / .milliseconds(1)), 1)))
    timer.setEventHandler { child.kill() }
    timer.resume()
    defer { timer.cancel() }
    do throws(Failure) {
      return try output(of: command, limit: limit, child: child)
    } catch {
      guard child.wasKilled else { throw error }
      throw Failure("it took longer than \(time.optionText) and was killed")
    }
  }

  private static func output(
    of command: String, limit: Int, child handle: Child?
  ) throws(Failure) -> String {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure("no pipe could be created") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child: pid_t
    do throws(Failure) {
      child = try spawn(command, output: ends[1], isGroup: handle != nil)
    } catch {
      close(ends[0])
      close(ends[1])
      throw error
    }
    close(ends[1])
    handle?.started(child)
    let bytes = contents(of: ends[0], upTo: limit + 1)
    // A process that still writes gets SIGPIPE.
    close(ends[0])
    if let handle {
      // The process identifier stays reserved until the wait below.
      var information = siginfo_t()
      while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      handle.ended()
    }
    let status = wait(for: child)
    guard bytes.count <= limit else { throw Failure("it printed more than 1 MiB") }
    guard status == 0 else {
      throw Failure(status.map { "it ended with status \($0)" } ?? "it was killed")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure("its output is not UTF-8")
    }
    return text
  }

  /// - Parameter isGroup: Whether the command leads a process group, which can be killed as a
  ///   whole.
  private static func spawn(
    _ command: String, output: Int32, isGroup: Bool
  ) throws(Failure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    let (child, error) = ShellProcess.start(["-c", command], &actions, leadsGroup: isGroup)
    guard error == 0 else { throw Failure("the shell could not be started") }
    return child
  }

  private static func contents(of descriptor: Int32, upTo limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < limit {
      let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return bytes
  }

  /// The exit status, or `nil` for a command that was killed by a signal.
  private static func wait(for child: pid_t) -> Int32? {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else { return nil }
    }
    // WIFEXITED and WEXITSTATUS, which Swift does not import.
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
  }
}

/// Starts `/bin/sh` with default signal handling.
package enum ShellProcess {
  /// Starts the shell with `words` as its arguments and the environment of this process.
  ///
  /// Signals can end it although this process may ignore them and the threads of Swift's
  /// concurrency block them. It inherits no files but standard input, output and error.
  ///
  /// - Parameters:
  ///   - actions: The actions for the standard files.
  ///   - leadsGroup: Whether it leads a process group, which can be killed as a whole.
  /// - Returns: The process, or the error number of `posix_spawn(3)`.
  package static func start(
    _ words: [String], _ actions: inout posix_spawn_file_actions_t, leadsGroup: Bool
  ) -> (child: pid_t, error: Int32) {
    closeOtherFiles(in: &actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    sigaddset(&signals, SIGXFSZ)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        | (leadsGroup ? Int16(POSIX_SPAWN_SETPGROUP) : 0))
    var arguments = copies(["sh"] + words)
    var variables = copies(ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" })
    defer { for text in arguments + variables { free(text) } }
    var child: pid_t = 0
    let error = posix_spawn(&child, "/bin/sh", &actions, &attributes, &arguments, &variables)
    return (child, error)
  }

  /// C strings that the caller frees, followed by `nil`.
  private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { text in strdup(text) } + [nil]
  }

  /// Closes inherited descriptors. Not every library sets close-on-exec, so a plugin's program
  /// would keep a connection or a listening port open after this process has ended.
  private static func closeOtherFiles(in actions: inout posix_spawn_file_actions_t) {
    // A descriptor that was closed meanwhile is not an error: glibc ignores descriptors that are
    // not open.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in names.compactMap({ Int32($0) }) where descriptor > 2 {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
  }
}
