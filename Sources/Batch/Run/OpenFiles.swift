import Foundation

/// How many files and connections the system lets this process have open.
public enum OpenFiles {
  /// Asks for as many as the system allows, not what shells begin with.
  public static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  /// How many more can be opened; `nil` where the system does not say.
  public static func left() -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0,
      let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    else { return nil }
    // The listing itself has the folder open, and no longer does.
    return Int(clamping: limit.rlim_cur) - (open.count - 1)
  }

  /// How many requests may be under way so that each can have a connection.
  ///
  /// - Parameters:
  ///   - left: See ``left()``.
  ///   - others: Files that the run opens beside its connections, now or later.
  static func requests(_ wanted: Int, left: Int?, others: Int) -> Int {
    guard let left else { return wanted }
    return max(1, min(wanted, left - others))
  }

  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
