package import Foundation

/// A program that this process has started.
///
/// The caller that starts one also calls ``wait()``, so that it leaves no zombie.
package final class Subprocess: Sendable {
  /// How a program has ended.
  package struct End: Sendable {
    /// The exit status; `nil` if a signal has ended it.
    package let status: Int32?
    /// The signal that has ended it; 0 if none has.
    package let signal: Int32
    /// User and system time of all its threads, in seconds.
    package let cpuSeconds: Double
  }

  private struct State {
    var end: End?
    var wasKilled = false
  }

  /// The process identifier. Another process may have it after ``wait()``.
  package let id: pid_t
  private let leadsGroup: Bool
  private let state = Locked(State())

  /// Starts the shell `/bin/sh` for a command of the user.
  ///
  /// It leads a process group, which ``kill(_:)`` ends as a whole, and inherits no other files.
  ///
  /// - Parameters:
  ///   - words: The arguments of the shell.
  ///   - input: Its standard input; an empty one without it. The descriptors are closed in this process.
  ///   - errors: Its standard error; that of this process without it.
  package static func shell(
    _ words: [String], input: Descriptor? = nil, output: Descriptor, errors: Descriptor? = nil
  ) throws(SystemError) -> Subprocess {
    try Subprocess(
      "/bin/sh", ["sh"] + words, files: [input, output, errors], leadsGroup: true)
  }

  /// Starts gqlrun for work that must not share its process.
  ///
  /// It belongs to the process group of this process, so that a terminal's Ctrl-C reaches both, and inherits the files
  /// that its arguments may name, such as `/dev/fd/63`.
  ///
  /// - Parameters:
  ///   - input: Its standard input; an empty one without it. The descriptors are closed in this process.
  ///   - program: The executable.
  package static func own(
    _ arguments: [String], input: Descriptor?, output: Descriptor, program: String
  ) throws(SystemError) -> Subprocess {
    try Subprocess(
      program, ["gqlrun"] + arguments, files: [input, output, nil], leadsGroup: false)
  }

  private init(
    _ program: String, _ words: [String], files: [Descriptor?], leadsGroup: Bool
  ) throws(SystemError) {
    defer { for file in files { file?.close() } }
    self.leadsGroup = leadsGroup
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, file) in files.enumerated() {
      if let file {
        posix_spawn_file_actions_adddup2(&actions, file.number, Int32(number))
      } else if number == 0 {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      }
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    Self.restoreSignals(&attributes)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        | (leadsGroup ? Int16(POSIX_SPAWN_SETPGROUP) : 0))
    var arguments = words.map { strdup($0) } + [nil]
    defer { for word in arguments { free(word) } }
    var id: pid_t = 0
    let code = Subprocess.starting.withLock { _ in
      if leadsGroup { Subprocess.closeOtherFiles(&actions) }
      return posix_spawn(&id, program, &actions, &attributes, &arguments, environ)
    }
    guard code == 0 else { throw SystemError("start", path: program, code: code) }
    self.id = id
  }

  /// Held while a program is started, and while descriptors are created that it must not inherit: one that is not closed by
  /// the start of a program yet would be open in a program that another thread starts, and its reader would wait for the
  /// end of that one, too. Held longer than other locks: until the program is executed.
  fileprivate static let starting = Locked(())

  /// Signals can end the program although this process may ignore them, and the threads of Swift's concurrency
  /// block them.
  private static func restoreSignals(_ attributes: inout posix_spawnattr_t) {
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    sigaddset(&signals, SIGXFSZ)
    posix_spawnattr_setsigdefault(&attributes, &signals)
  }

  /// Closes inherited descriptors. Not every library sets close-on-exec, so a plugin's program
  /// would keep a connection or a listening port open after this process has ended.
  private static func closeOtherFiles(_ actions: inout posix_spawn_file_actions_t) {
    // A descriptor that was closed meanwhile is not an error: glibc ignores descriptors that are
    // not open.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in names.compactMap({ Int32($0) }) where descriptor > 2 {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
  }
}

// MARK: The end

extension Subprocess {
  /// Whether ``kill(_:)`` was called.
  package var wasKilled: Bool { state.withLock { $0.wasKilled } }

  /// Sends a signal to the program, and to its group if it leads one. Has no effect after ``wait()``.
  package func kill(_ signal: Int32 = SIGKILL) {
    state.withLock { state in
      state.wasKilled = true
      if state.end == nil { _ = Foundation.kill(leadsGroup ? -id : id, signal) }
    }
  }

  /// Blocks the thread until the program has ended.
  ///
  /// Only waits for the program itself, as `$(…)` of a shell: programs that it has started may continue.
  @discardableResult
  package func wait() -> End {
    if let end = state.withLock({ $0.end }) { return end }
    var information = siginfo_t()
    // The process identifier stays reserved until it is released under the lock, so that no other process is killed.
    while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    return state.withLock { state in
      if let end = state.end { return end }
      var status: Int32 = 0
      var usage = rusage()
      var waited = wait4(id, &status, 0, &usage)
      while waited < 0, errno == EINTR { waited = wait4(id, &status, 0, &usage) }
      // WIFEXITED, WTERMSIG and WEXITSTATUS, which Swift does not import. If another part of the process has waited for it,
      // its status is unknown, which must not pass for success.
      let signal = waited == id ? status & 0x7F : SIGKILL
      let end = End(
        status: signal == 0 ? (status >> 8) & 0xFF : nil, signal: signal,
        cpuSeconds: Self.seconds(usage))
      state.end = end
      return end
    }
  }

  /// User and system time, in seconds.
  package static func seconds(_ usage: rusage) -> Double {
    // Read by offset, because the types of the fields differ with statically linked Swift libraries.
    [usage.ru_utime, usage.ru_stime].reduce(0) { sum, time in
      withUnsafeBytes(of: time) { bytes in
        let size = MemoryLayout<timeval>.size / 2
        return sum + Double(bytes.loadUnaligned(as: Int.self))
          + Double(bytes.loadUnaligned(fromByteOffset: size, as: Int.self)) / 1e6
      }
    }
  }
}

/// An end of a pipe or of a pair of sockets, which is closed once: by ``close()``, or when it is released.
///
/// Programs inherit it only as one of their standard files.
package final class Descriptor: Sendable {
  /// The number that system calls take.
  package let number: Int32
  private let isOpen = Locked(true)

  private init(_ number: Int32) {
    self.number = number
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
  }

  deinit { close() }

  /// The two ends of a pipe.
  package static func pipe() throws(SystemError) -> (reading: Descriptor, writing: Descriptor) {
    try pair("a pipe") { Foundation.pipe(&$0) }
  }

  /// Two connected sockets.
  package static func sockets() throws(SystemError) -> (Descriptor, Descriptor) {
    try pair("a socket") { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &$0) }
  }

  /// Two descriptors that a system call creates; `kind` is what the error names.
  private static func pair(
    _ kind: String, _ create: (inout [Int32]) -> Int32
  ) throws(SystemError) -> (Descriptor, Descriptor) {
    try Subprocess.starting.withLock { _ throws(SystemError) -> (Descriptor, Descriptor) in
      var ends: [Int32] = [-1, -1]
      guard create(&ends) == 0 else { throw SystemError("create", path: kind) }
      return (Descriptor(ends[0]), Descriptor(ends[1]))
    }
  }

  /// Closes it. Has no effect if it is closed.
  package func close() {
    isOpen.withLock { isOpen in
      if isOpen { _ = Foundation.close(number) }
      isOpen = false
    }
  }

  /// Ends both directions of a socket, also for a thread that reads or writes.
  package func shutdown() {
    isOpen.withLock { isOpen in
      if isOpen { _ = Foundation.shutdown(number, Int32(SHUT_RDWR)) }
    }
  }

  /// Reads until the end.
  package func read() -> [UInt8] { SystemIO.pieces(of: number, limit: .max).bytes }

  /// Reads until the end, or until `isOver` returns `true` while there is nothing to read.
  ///
  /// - Parameter maxBytes: The number of bytes after which reading ends.
  package func read(maxBytes: Int, until isOver: () -> Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count < maxBytes {
      var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      // Short, because nothing wakes the thread when it is over.
      while poll(&waiting, 1, isOver() ? 0 : 50) <= 0 { if isOver() { return bytes } }
      let count = Foundation.read(number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return Array(bytes.prefix(maxBytes))
  }

  /// Calls `body` with each chunk until the end, or until `body` returns `false`.
  package func forEachChunk(_ body: (ArraySlice<UInt8>) -> Bool) {
    _ = SystemIO.forEachPiece(of: number, body)
  }
}

extension DispatchQueue {
  /// Runs work that blocks its thread on this queue.
  package func run<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      self.async { continuation.resume(with: Result { try work() }) }
    }
  }
}
