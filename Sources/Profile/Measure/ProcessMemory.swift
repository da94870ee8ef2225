#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What the kernel says about this process's memory.
package enum ProcessMemory {
  /// Resident bytes now, or `nil` where `/proc` is not there.
  ///
  /// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
  package static func resident() -> Int? {
    guard let fields = contents("/proc/self/statm")?.split(separator: " ") else { return nil }
    guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// The most bytes that were resident at a time, and the page faults so far.
  ///
  /// `ru_maxrss` is only for where `/proc` is not there: it begins with the size of the process that
  /// started this one.
  package static func usage() -> (peak: Int, minorFaults: Int, majorFaults: Int) {
    var usage = rusage()
    // 0 is RUSAGE_SELF, which libraries import as different types.
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

/// Resident memory at a mark in the response.
package struct MemorySample: Codable, Sendable, Hashable {
  /// Seconds since the run began.
  package var seconds: Double
  /// Bytes of the response read by then.
  package var bytesRead: Int
  package var resident: Int

  package init(seconds: Double, bytesRead: Int, resident: Int) {
    self.seconds = seconds
    self.bytesRead = bytesRead
    self.resident = resident
  }
}
