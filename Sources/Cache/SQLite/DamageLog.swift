import GQLRunSupport

/// Counts the damaged records that a store finds, and reports the first ones.
final class DamageLog: Sendable {
  /// The number of damaged records that are reported individually.
  static let limit = 5

  private let path: String
  private let lock: DatabaseLock?
  private let report: @Sendable (StoreNotice) -> Void
  private let state = Locked(State())

  private struct State {
    var keys: Set<[UInt8]> = []
    var total = 0
    /// Whether the lock file already requests a check of the database.
    var isSuspect = false
  }

  init(
    path: String = "", lock: DatabaseLock? = nil,
    report: @escaping @Sendable (StoreNotice) -> Void = { _ in }
  ) {
    self.path = path
    self.lock = lock
    self.report = report
  }

  /// The number of damaged records found.
  var count: Int { state.withLock { $0.total } }

  /// Reports a record that does not match its checksum. The database is checked when it is opened
  /// next, because data without a checksum, such as keys, may be damaged as well.
  func reportMismatch(_ key: Bytes) {
    record(key, "does not match its checksum; it is treated as missing until it is written again")
  }

  /// Reports that the page of a record cannot be read.
  func reportUnreadablePage(_ key: Bytes) {
    record(key, "cannot be read; the file is checked for damage when it is opened next")
  }

  /// Reports a record whose key is out of order, so that lookups are unreliable.
  func reportOrder(_ key: Bytes) {
    record(key, "is out of order; the file is checked for damage when it is opened next")
  }

  /// Requests a check because a referenced record is missing although none was removed: its key may
  /// be damaged.
  func reportLostRecord() { suspect() }

  private func suspect() {
    let isFirst = state.withLock { state in
      defer { state.isSuspect = true }
      return !state.isSuspect
    }
    if isFirst { lock?.setSuspect(true) }
  }

  private func record(_ key: Bytes, _ problem: String) {
    suspect()
    let isReported = state.withLock { state in
      state.total += 1
      return state.keys.count < Self.limit && state.keys.insert(key.array).inserted
    }
    guard isReported else { return }
    let name = String(key.string.prefix(200))
    report(
      StoreNotice(
        .damagedRecord, "the record \(name) of the cache \(path) \(problem)", path: path))
  }
}
