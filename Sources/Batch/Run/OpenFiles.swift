import Foundation

/// The limit of open files and connections of this process.
public enum OpenFiles {
  /// Raises the soft limit of open files to the hard limit.
  public static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  /// The number of files that can still be opened; `nil` if the system does not report it.
  public static func left() -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, let folder = opendir("/proc/self/fd") else {
      return nil
    }
    defer { closedir(folder) }
    // Besides the open files, there are the folder itself, its parent, and the descriptor of the listing.
    var open = -3
    while readdir(folder) != nil { open += 1 }
    // Inherited descriptors can be above the limit.
    return max(Int(clamping: limit.rlim_cur) - open, 0)
  }

  /// The number of requests that may be in flight so that each can have a connection.
  ///
  /// - Parameters:
  ///   - wanted: The wanted number.
  ///   - left: See ``left()``.
  ///   - others: The number of files that the run opens besides its connections.
  static func requests(_ wanted: Int, left: Int?, others: Int) -> Int {
    guard let left else { return wanted }
    return max(1, min(wanted, left - others))
  }

  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
