import Foundation
import GRDB

/// Records in the file, for settling nulls of a response that was flushed before it ended.
final class StoredRecords: RecordAccess {
  private let writer: RecordWriter
  private let segments: StoredSegments
  private let db: Database
  private let pool: SQLiteConnections
  private var ownFailure: (any Error)?
  /// The fields of records that were given back what they were.
  private(set) var resolved: [(key: [UInt8], fields: [[UInt8]])] = []

  /// Why a record could not be read or written, if one could not.
  var failure: (any Error)? { ownFailure ?? segments.failure }

  init(_ db: Database, pool: SQLiteConnections, writer: RecordWriter) {
    self.db = db
    self.writer = writer
    self.pool = pool
    segments = StoredSegments(writer, seed: writer.seed)
  }

  func record(key: [UInt8]) -> [UInt8]? { segments.segment(key: key) }

  var holdsOnlyThisResponse: Bool { false }

  /// Another connection sees the state before the transaction, while this one sees its own writes.
  func recordBefore(key: [UInt8]) -> [UInt8]? {
    do {
      return try pool.read { db in
        var source = SQLiteSource(db)
        let text = key.withUnsafeBufferPointer { source.text(key: Bytes($0), depth: 0)?.array }
        if let failure = source.failure { throw failure }
        return text
      }
    } catch {
      ownFailure = ownFailure ?? error
      return nil
    }
  }

  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]]) {
    do {
      try key.withUnsafeBufferPointer { key in
        guard let text else { return try writer.remove(Bytes(key)) }
        try text.withUnsafeBufferPointer { try writer.replace(Bytes(key), Bytes($0)) }
      }
      if !fields.isEmpty { resolved.append((key, fields)) }
    } catch {
      ownFailure = ownFailure ?? error
    }
  }

  /// The keys of all records that may hold a tentative null.
  func keysWithTentativeNulls() throws -> [[UInt8]] {
    let keys = try Data.fetchAll(
      db,
      sql: """
        SELECT CAST(key AS BLOB) FROM records
        WHERE (instr(data, '{"$null":') > 0 OR instr(data, '{"$segments":') > 0)
          AND substr(key, 1, 9) <> '$segment:'
        """)
    return keys.map { Array($0) }
  }

  func segment(key: [UInt8]) -> [UInt8]? { segments.segment(key: key) }
  func addSegment(elements: Bytes) -> UInt64 { segments.addSegment(elements: elements) }
  func removeSegment(key: [UInt8]) { segments.removeSegment(key: key) }
}
