import GRDB
import GRDBSQLite

/// The SQL functions of the upsert: a new row pays nothing, a known one is merged where it stands.
///
/// `gqlrun_merge(key, old, new, checksum)` is the merged text; `gqlrun_merge_checksum(key, old, new)`
/// its checksum. What is stored is held against its own checksum first, or a damaged record would come
/// out of the merge as a sound one: it is replaced by what arrived. SQLite evaluates the assignments of an update in column order, and `data` stands before
/// `checksum`, so the second finds what the first made; were it not so, it would merge again.
final class MergeFunctions {
  private var merged = ByteStack(capacity: 4096)
  private var isFresh = false
  /// What the last upsert did.
  private(set) var differs = false
  /// Whether the last upsert found the record.
  private(set) var wasMerged = false
  /// What the last upsert found did not match its checksum, and was replaced.
  private(set) var isDamaged = false
  /// Whether nulls may be those of errors, and what the last upsert did with them.
  var nullsAreTentative = false
  private(set) var hasTentativeNulls = false
  /// The last upsert met a list in segments, which needs more than the two texts.
  private(set) var needsSegments = false
  /// The fields that differ, collected when asked.
  var changed: [[UInt8]] = []
  var collectsChanges = false

  func prepare() {
    isFresh = false
    differs = false
    wasMerged = false
    needsSegments = false
    isDamaged = false
    hasTentativeNulls = false
    changed.removeAll(keepingCapacity: true)
  }

  private func merge(_ old: Bytes, _ new: Bytes) {
    merged.truncate(to: 0)
    changed.removeAll(keepingCapacity: true)
    var merge = Merge(nullsAreTentative: nullsAreTentative)
    let collects = collectsChanges
    differs = merge.records(old: old, new: new, into: &merged) { field in
      if collects { self.changed.append(field.array) }
    }
    needsSegments = merge.needsSegments
    hasTentativeNulls = merge.hasTentativeNulls
    if needsSegments {
      merged.truncate(to: 0)
      merged.append(old)
      differs = false
    }
    isFresh = true
    wasMerged = true
  }

  /// Takes what arrived in place of a damaged record.
  private func replace(by new: Bytes) {
    merged.truncate(to: 0)
    merged.append(new)
    changed.removeAll(keepingCapacity: true)
    if collectsChanges {
      var cursor = FieldCursor(new)
      while let field = cursor.next() { changed.append(new[field.key].array) }
    }
    isDamaged = true
    differs = true
    isFresh = true
    wasMerged = true
  }

  private func setResult(of context: OpaquePointer?) {
    let result = merged.all
    sqlite3_result_text64(
      context, UnsafeRawPointer(result.start).assumingMemoryBound(to: CChar.self),
      UInt64(result.count), MergeFunctions.transient, UInt8(SQLITE_UTF8))
  }

  /// Registers the functions, and the object that holds their state, with a connection.
  static func register(in db: Database) throws {
    let context = Unmanaged.passRetained(MergeFunctions())
    let flags = SQLITE_UTF8 | SQLITE_DIRECTONLY
    let code = sqlite3_create_function_v2(
      db.sqliteConnection, "gqlrun_merge", 4, flags, context.toOpaque(),
      { context, count, values in
        guard let functions = MergeFunctions.of(context), count == 4, let values,
          let key = values[0], let old = values[1], let new = values[2], let checksum = values[3]
        else { return }
        guard
          sqlite3_value_int64(checksum)
            == SQLiteText.checksum(key: MergeFunctions.text(key), text: MergeFunctions.text(old))
        else {
          functions.replace(by: MergeFunctions.text(new))
          return functions.setResult(of: context)
        }
        functions.merge(MergeFunctions.text(old), MergeFunctions.text(new))
        functions.setResult(of: context)
      }, nil, nil,
      { context in
        guard let context else { return }
        Unmanaged<MergeFunctions>.fromOpaque(context).release()
      })
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    let second = sqlite3_create_function_v2(
      db.sqliteConnection, "gqlrun_merge_checksum", 3, flags, context.toOpaque(),
      { context, count, values in
        guard let functions = MergeFunctions.of(context), count == 3, let values,
          let key = values[0], let old = values[1], let new = values[2]
        else { return }
        if !functions.isFresh {
          functions.merge(MergeFunctions.text(old), MergeFunctions.text(new))
        }
        functions.isFresh = false
        sqlite3_result_int64(
          context, SQLiteText.checksum(key: MergeFunctions.text(key), text: functions.merged.all))
      }, nil, nil, nil)
    guard second == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: second)) }
    // The state is found again under the connection, by asking for it.
    let third = sqlite3_create_function_v2(
      db.sqliteConnection, "gqlrun_merge_state", 0, flags, context.toOpaque(),
      { context, _, _ in
        let pointer = sqlite3_user_data(context)
        sqlite3_result_int64(context, Int64(Int(bitPattern: pointer)))
      }, nil, nil, nil)
    guard third == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: third)) }
  }

  /// The state registered with a connection.
  static func state(of db: Database) throws -> MergeFunctions {
    guard let address = try Int64.fetchOne(db, sql: "SELECT gqlrun_merge_state()"),
      let pointer = UnsafeRawPointer(bitPattern: Int(address))
    else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
    return Unmanaged<MergeFunctions>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func of(_ context: OpaquePointer?) -> MergeFunctions? {
    guard let pointer = sqlite3_user_data(context) else { return nil }
    return Unmanaged<MergeFunctions>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// `SQLITE_TRANSIENT`, a macro that Swift does not import: SQLite copies the bytes.
  fileprivate static let transient = unsafeBitCast(
    -1, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)

  fileprivate static func text(_ value: OpaquePointer) -> Bytes {
    guard let start = sqlite3_value_text(value) else { return .empty }
    return Bytes(start: start, count: Int(sqlite3_value_bytes(value)))
  }
}
