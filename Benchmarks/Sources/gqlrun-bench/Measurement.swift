import Foundation

/// What a process cost from its start to its end.
struct Measurement {
  var seconds: Double
  /// User and system time.
  var cpuSeconds: Double

  /// Runs a command to its end.
  ///
  /// - Parameters:
  ///   - input: The file to be read as standard input.
  ///   - output: Where its standard output goes.
  static func run(
    _ command: [String], input: String = "/dev/null", output: String = "/dev/null"
  ) throws -> Measurement {
    var pid: pid_t = 0
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let start = ContinuousClock.now
    let code = posix_spawnp(&pid, command[0], &actions, nil, &words, environ)
    guard code == 0 else {
      throw BenchError("cannot run \(command[0]): \(String(cString: strerror(code)))")
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(pid, &status, 0, &usage) == pid, status == 0 else {
      throw BenchError("\(command.joined(separator: " ")) failed (status \(status))")
    }
    return Measurement(
      seconds: (ContinuousClock.now - start).seconds,
      cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime))
  }

  /// User and system time that this process has spent.
  static func ownCPUSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// The largest resident size that this process has had.
  static func ownPeakMiB() throws -> Double {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      if let kibibytes = line.split(separator: " ").compactMap({ Double($0) }).first {
        return kibibytes / 1024
      }
    }
    throw BenchError("/proc/self/status does not tell the largest resident size")
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }
}
