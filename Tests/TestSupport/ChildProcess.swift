import Foundation

/// A program that a test starts, its input and output in files.
///
/// Foundation's `Process` is not used: it reads past its own memory where a process has a thousand open
/// files, as one that runs all tests at the same time has.
public struct ChildProcess: Sendable {
  public var executable: String
  public var arguments: [String]
  /// Where it runs; `nil` where the test does.
  public var folder: String?
  /// `nil` is the environment of the test.
  public var environment: [String: String]?
  public var input = "/dev/null"
  public var output = "/dev/null"
  public var errors = "/dev/null"

  public init(
    _ executable: String, _ arguments: [String], in folder: String? = nil,
    environment: [String: String]? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.folder = folder
    self.environment = environment
  }

  /// It could not be started.
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  /// Starts it; the caller waits for its end.
  public func start() throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY, 0)
    // A listening socket of another test would stay open with the program, one that is opened right now, too.
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    for descriptor in 3..<(open.lazy.compactMap { Int32($0) }.max() ?? 3) + 64 {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
    // Signals that the test process passes over are not passed over by the program.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var command = [executable] + arguments
    if let folder { command = ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, folder] + command }
    var words = command.map { strdup($0) } + [nil]
    let variables = environment ?? ProcessInfo.processInfo.environment
    var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + settings { free(word) } }
    var pid: Int32 = 0
    let code = posix_spawn(&pid, command[0], &actions, &attributes, &words, &settings)
    guard code == 0 else {
      throw Failure(description: "cannot start \(executable): \(String(cString: strerror(code)))")
    }
    return pid
  }

  /// Waits for its end, on the calling thread; the exit code, or 128 and the signal that ended it.
  public static func waitForEnd(of pid: Int32) -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }

  /// Runs it to its end, without keeping a thread of the test's from its work.
  ///
  /// - Parameter onStart: Called with the process once it runs, to send it signals.
  public func run(onStart: (Int32) async throws -> Void = { _ in }) async throws -> Int32 {
    let pid = try start()
    do {
      try await onStart(pid)
    } catch {
      kill(pid, SIGKILL)
      _ = Self.waitForEnd(of: pid)
      throw error
    }
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: Self.waitForEnd(of: pid)) }
    }
  }

  /// Runs it to its end on the calling thread; its exit code and what it printed.
  public func finish() throws -> (status: Int32, output: String, errors: String) {
    var copy = self
    let folder = FileManager.default.temporaryDirectory.path
    let names = ["out", "err"].map { "\(folder)/child-\(UUID()).\($0)" }
    defer { for name in names { unlink(name) } }
    for name in names { try Data().write(to: URL(fileURLWithPath: name)) }
    (copy.output, copy.errors) = (names[0], names[1])
    let status = Self.waitForEnd(of: try copy.start())
    let texts = try names.map {
      String(decoding: try Data(contentsOf: URL(fileURLWithPath: $0)), as: UTF8.self)
    }
    return (status, texts[0], texts[1])
  }
}
