import Foundation
import GQLRunSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The activity of each database file that is open in this process, shared by the stores of one
/// file.
final class SharedActivities: Sendable {
  private struct File: Hashable {
    var device: UInt64
    var number: UInt64
  }

  private struct Entry {
    weak var activity: StoreActivity?
  }

  private static let shared = SharedActivities()
  private let entries = Locked<[File: Entry]>([:])

  static func activity(ofFile path: String) -> StoreActivity { shared.activity(ofFile: path) }

  private func activity(ofFile path: String) -> StoreActivity {
    var status = stat()
    guard stat(path, &status) == 0 else { return StoreActivity() }
    let file = File(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    return entries.withLock { entries in
      if let known = entries[file]?.activity { return known }
      entries = entries.filter { $0.value.activity != nil }
      let activity = StoreActivity()
      entries[file] = Entry(activity: activity)
      return activity
    }
  }
}
