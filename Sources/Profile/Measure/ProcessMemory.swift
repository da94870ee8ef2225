#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The memory of this process, as reported by the kernel.
package enum ProcessMemory {
  /// Resident bytes; `nil` without `/proc`.
  ///
  /// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
  package static func resident() -> Int? {
    guard let fields = contents("/proc/self/statm")?.split(separator: " ") else { return nil }
    guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The maximum resident bytes and the number of page faults since the process started.
  ///
  /// Without `/proc`, the maximum is `ru_maxrss`, which starts with the size of the parent process.
  package static func usage() -> (peak: Int, minorFaults: Int, majorFaults: Int) {
    var usage = rusage()
    // 0 is RUSAGE_SELF, which C libraries import with different types.
    getrusage(0, &usage)
    return (
      peak() ?? Int(usage.ru_maxrss) << 10, Int(usage.ru_minflt), Int(usage.ru_majflt)
    )
  }

  /// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
  private static func peak() -> Int? {
    let line = contents("/proc/self/status")?.split(separator: "\n")
      .first { $0.hasPrefix("VmHWM:") }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }

  private static func contents(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}

/// The resident memory at a point of the response.
package struct MemorySample: Codable, Sendable, Hashable {
  /// Seconds since the start of the run.
  package var seconds: Double
  /// Bytes of the response read so far.
  package var bytesRead: Int
  package var resident: Int

  package init(seconds: Double, bytesRead: Int, resident: Int) {
    self.seconds = seconds
    self.bytesRead = bytesRead
    self.resident = resident
  }
}
