package import Foundation

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
