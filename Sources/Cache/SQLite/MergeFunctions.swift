import GRDB
import GRDBSQLite

/// The SQL functions of the upsert: a new row is inserted directly, an existing row is merged.
///
/// `gqlrun_merge(key, data, new, checksum, received, ages)` is the condition of the update: it
/// merges the new text into the stored one and returns whether the row must be written. The other
/// functions return its results: `gqlrun_merged()` the text, `gqlrun_merged_checksum()`,
/// `gqlrun_merged_received()` and `gqlrun_merged_ages()`. The stored text is verified against its
/// checksum before the merge; a damaged record is replaced by the new one.
final class MergeFunctions {
  private var merged = ByteStack(capacity: 4096)
  private var mergedChecksum: Int64 = 0
  private var mergedTimes = RecordTimes(received: 0)
  /// Whether the last upsert changed the record.
  private(set) var differs = false
  /// Whether the last upsert found the record.
  private(set) var wasMerged = false
  /// Whether the last upsert replaced a record that did not match its checksum.
  private(set) var isDamaged = false
  /// Whether nulls may be caused by errors, and what the last upsert did with them.
  var nullsAreTentative = false
  private(set) var hasTentativeNulls = false
  /// Whether the last upsert found a segmented list, which the two texts are not sufficient to
  /// merge.
  private(set) var needsSegments = false
  /// The fields that differ, if `collectsChanges`.
  var changed: [[UInt8]] = []
  var collectsChanges = false
  /// The time of the response, and the granularity of times.
  var times = TimeMerge(received: 0, granularity: 0)

  func prepare() {
    differs = false
    wasMerged = false
    needsSegments = false
    isDamaged = false
    hasTentativeNulls = false
    changed.removeAll(keepingCapacity: true)
  }

  /// Merges; returns whether the row must be written.
  private func merge(
    key: Bytes, old: Bytes, new: Bytes, checksum: Int64, oldTimes: RecordTimes
  ) -> Bool {
    wasMerged = true
    guard checksum == SQLiteText.checksum(key: key, text: old) else {
      replace(key: key, by: new)
      return true
    }
    merged.truncate(to: 0)
    if old.equals(new) {
      // Nothing changed; this only confirms the record or segment.
      guard
        let newTimes = times.times(old: old, oldTimes, new: new, merged: old, differs: false)
      else { return false }
      merged.append(old)
      mergedTimes = newTimes
      mergedChecksum = checksum
      return true
    }
    var merge = Merge(nullsAreTentative: nullsAreTentative)
    let collects = collectsChanges
    differs = merge.records(old: old, new: new, into: &merged) { field in
      if collects { self.changed.append(field.array) }
    }
    needsSegments = merge.needsSegments
    hasTentativeNulls = merge.hasTentativeNulls
    if needsSegments {
      differs = false
      return false
    }
    let newTimes = times.times(
      old: old, oldTimes, new: new, merged: merged.all, differs: differs)
    guard differs || newTimes != nil else { return false }
    mergedTimes = newTimes ?? oldTimes
    mergedChecksum = differs ? SQLiteText.checksum(key: key, text: merged.all) : checksum
    return true
  }

  /// Replaces a damaged record by the new text.
  private func replace(key: Bytes, by new: Bytes) {
    merged.truncate(to: 0)
    merged.append(new)
    if collectsChanges { changed = RecordText.keys(of: new) }
    mergedTimes = RecordTimes(received: times.received)
    mergedChecksum = SQLiteText.checksum(key: key, text: new)
    isDamaged = true
    differs = true
  }

  // MARK: Registering

  /// Registers the functions and their shared state with a connection.
  static func register(in db: Database) throws {
    let context = Unmanaged.passRetained(MergeFunctions())
    // SQLite releases the state with the first function, even if registering it fails.
    try add("gqlrun_merge", count: 6, state: context.toOpaque(), to: db, release: true) {
      context, count, values in
      guard let functions = MergeFunctions.of(context), count == 6, let values,
        let key = values[0], let old = values[1], let new = values[2], let checksum = values[3],
        let received = values[4], let ages = values[5]
      else { return }
      let isWritten = functions.merge(
        key: MergeFunctions.text(key), old: MergeFunctions.text(old),
        new: MergeFunctions.text(new), checksum: sqlite3_value_int64(checksum),
        oldTimes: RecordTimes(
          received: UInt32(clamping: sqlite3_value_int64(received)),
          ages: MergeFunctions.text(ages).array))
      sqlite3_result_int(context, isWritten ? 1 : 0)
    }
    try add("gqlrun_merged", count: 0, state: context.toOpaque(), to: db) { context, _, _ in
      guard let functions = MergeFunctions.of(context) else { return }
      MergeFunctions.result(context, functions.merged.all)
    }
    try add("gqlrun_merged_checksum", count: 0, state: context.toOpaque(), to: db) {
      context, _, _ in
      guard let functions = MergeFunctions.of(context) else { return }
      sqlite3_result_int64(context, functions.mergedChecksum)
    }
    try add("gqlrun_merged_received", count: 0, state: context.toOpaque(), to: db) {
      context, _, _ in
      guard let functions = MergeFunctions.of(context) else { return }
      sqlite3_result_int64(context, Int64(functions.mergedTimes.received))
    }
    try add("gqlrun_merged_ages", count: 0, state: context.toOpaque(), to: db) { context, _, _ in
      guard let functions = MergeFunctions.of(context) else { return }
      if functions.mergedTimes.ages.isEmpty { return sqlite3_result_null(context) }
      functions.mergedTimes.ages.withBytes { MergeFunctions.result(context, $0) }
    }
    // Returns the state of the connection to `state(of:)`.
    try add("gqlrun_merge_state", count: 0, state: context.toOpaque(), to: db) { context, _, _ in
      sqlite3_result_int64(context, Int64(Int(bitPattern: sqlite3_user_data(context))))
    }
  }

  private typealias Function =
    @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

  private static func add(
    _ name: String, count: Int32, state: UnsafeMutableRawPointer, to db: Database,
    release: Bool = false, function: @escaping Function
  ) throws {
    let code = sqlite3_create_function_v2(
      db.sqliteConnection, name, count, SQLITE_UTF8 | SQLITE_DIRECTONLY, state, function, nil, nil,
      release
        ? { state in
          guard let state else { return }
          Unmanaged<MergeFunctions>.fromOpaque(state).release()
        } : nil)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
  }

  /// The state registered with a connection.
  static func state(of db: Database) throws -> MergeFunctions {
    guard let address = try db.integer("SELECT gqlrun_merge_state()"),
      let pointer = UnsafeRawPointer(bitPattern: Int(address))
    else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
    return Unmanaged<MergeFunctions>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func of(_ context: OpaquePointer?) -> MergeFunctions? {
    guard let pointer = sqlite3_user_data(context) else { return nil }
    return Unmanaged<MergeFunctions>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func result(_ context: OpaquePointer?, _ text: Bytes) {
    sqlite3_result_text64(
      context, UnsafeRawPointer(text.start).assumingMemoryBound(to: CChar.self),
      UInt64(text.count), transient, UInt8(SQLITE_UTF8))
  }

  /// `SQLITE_TRANSIENT`, a macro that Swift does not import: SQLite copies the bytes.
  private static let transient = unsafeBitCast(
    -1, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)

  private static func text(_ value: OpaquePointer) -> Bytes {
    guard let start = sqlite3_value_text(value) else { return .empty }
    return Bytes(start: start, count: Int(sqlite3_value_bytes(value)))
  }
}
