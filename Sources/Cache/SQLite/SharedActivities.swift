import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The activity of each database file that is open in this process: stores on one file share it.
///
/// `@unchecked Sendable`: the table is read and written under the lock.
final class SharedActivities: @unchecked Sendable {
  private struct File: Hashable {
    var device: UInt64
    var number: UInt64
  }

  private struct Entry {
    weak var activity: StoreActivity?
  }

  private static let shared = SharedActivities()
  private let lock = NSLock()
  private var entries: [File: Entry] = [:]

  static func activity(ofFile path: String) -> StoreActivity { shared.activity(ofFile: path) }

  private func activity(ofFile path: String) -> StoreActivity {
    var status = stat()
    guard stat(path, &status) == 0 else { return StoreActivity() }
    let file = File(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    return lock.withLock {
      if let known = entries[file]?.activity { return known }
      entries = entries.filter { $0.value.activity != nil }
      let activity = StoreActivity()
      entries[file] = Entry(activity: activity)
      return activity
    }
  }
}
