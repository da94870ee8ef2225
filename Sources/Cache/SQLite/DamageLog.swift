import Foundation

/// Damaged records that a store met, and telling its user about the first of them.
///
/// `@unchecked Sendable`: the counts are behind the lock.
final class DamageLog: @unchecked Sendable {
  /// How many records are told one by one.
  static let limit = 5

  private let mutex = NSLock()
  private let path: String
  private let lock: DatabaseLock?
  private let report: @Sendable (StoreNotice) -> Void
  private var keys: Set<[UInt8]> = []
  private var total = 0
  /// Whether the file's lock says that the file is to be checked.
  private var isSuspect = false

  init(
    path: String = "", lock: DatabaseLock? = nil,
    report: @escaping @Sendable (StoreNotice) -> Void = { _ in }
  ) {
    self.path = path
    self.lock = lock
    self.report = report
  }

  /// How often a damaged record was met.
  var count: Int { mutex.withLock { total } }

  /// Notes a record that does not match its checksum. What damaged it may have damaged more, such as
  /// keys, which have no checksum: the file is checked when it is opened next.
  func note(_ key: Bytes) {
    tell(key, "does not match its checksum; it counts as missing until it is written again")
  }

  /// Notes that the page on which a record should be cannot be read.
  func notePage(_ key: Bytes) {
    tell(key, "cannot be read; the file is checked for damage when it is opened next")
  }

  /// Notes a record that comes before one with a smaller key, so that neither is found for sure.
  func noteOrder(_ key: Bytes) {
    tell(key, "is out of order; the file is checked for damage when it is opened next")
  }

  /// Notes that a record is missing to which another refers, though none was ever removed: perhaps its
  /// key was damaged.
  func noteLostRecord() { suspect() }

  private func suspect() {
    let isFirst = mutex.withLock {
      defer { isSuspect = true }
      return !isSuspect
    }
    if isFirst { lock?.setSuspect(true) }
  }

  private func tell(_ key: Bytes, _ what: String) {
    suspect()
    let isWorthTelling = mutex.withLock {
      total += 1
      return keys.count < Self.limit && keys.insert(key.array).inserted
    }
    guard isWorthTelling else { return }
    let name = String(key.string.prefix(200))
    report(
      StoreNotice(
        .damagedRecord, "the record \(name) of the cache \(path) \(what)", place: path))
  }
}
