import Foundation

/// This program, started again for work that must not share its process.
enum OwnProcess {
  /// Starts the program.
  ///
  /// - Parameters:
  ///   - arguments: The arguments after the program's name.
  ///   - input: The descriptor that becomes its standard input; `nil` is an empty one.
  ///   - output: The descriptor that becomes its standard output.
  ///   - program: The executable; this one by default.
  /// - Returns: The process identifier. The caller waits for its end.
  /// - Throws: ``Failure`` if it cannot be started.
  static func start(
    _ arguments: [String], input: Int32?, output: Int32, program: String = "/proc/self/exe"
  ) throws(Failure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    // Threads that execute tasks block signals, and the new process would, too: even that of its time limit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words = (["gqlrun"] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, program, &actions, &attributes, &words, environ)
    guard code == 0 else {
      throw Failure(
        .failed,
        "cannot start gqlrun \(arguments.first ?? ""): \(String(cString: strerror(code)))")
    }
    return pid
  }
}
