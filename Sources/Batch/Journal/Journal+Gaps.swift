import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GRDB

/// A time in which events of a subscription may have been missed, because nothing was connected.
struct EventGap: Sendable, Equatable {
  /// The journal's number of the operation.
  var operation: Int
  var key: String
  /// The number of events of the task before the gap.
  var events: Int
  /// When the connection was lost, in seconds since 1970.
  var since: Double
  /// When the subscription was connected again, in seconds since 1970.
  var until: Double
  /// Why the connection was lost; `nil` for the time between two runs.
  var cause: String?

  /// The operation with the key of the task, if it has one.
  func task(of operation: String) -> String {
    key.isEmpty ? operation : "\(operation) \(key)"
  }

  private func time(_ seconds: Double) -> String {
    Date(timeIntervalSince1970: seconds).formatted(.iso8601)
  }

  /// The gap as a line of JSON with its task, for outputs with events.
  ///
  /// - Parameter id: The operation's id.
  func gapLine(of id: String) -> [UInt8] {
    SubscriptionGap(since: since, lostConnection: true).gapLine(
      cause: cause, until: until,
      others: [
        "op": .string(id), "key": .string(key), "events": .number(JSONNumber(events)),
      ]) + [0x0A]
  }

  /// The gap in words, without its task.
  var text: String {
    "events from \(time(since)) to \(time(until)) may be missing, after "
      + "\(Quantity.count(events, "event")): \(cause ?? "no run was listening")"
  }
}

extension Journal {
  static func insert(_ gap: EventGap, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT INTO gaps VALUES (?, ?, ?, ?, ?, ?)")
      .execute(arguments: [gap.operation, gap.key, gap.events, gap.since, gap.until, gap.cause])
  }

  /// The number of gaps, and the first ones with the ids of their operations.
  ///
  /// - Parameter limit: The maximum number of gaps.
  func gaps(limit: Int) throws -> (count: Int, first: [(operation: String, gap: EventGap)]) {
    try read { db in
      // Journals of older versions have no gaps.
      guard try db.tableExists("gaps") else { return (0, []) }
      let rows = try GRDB.Row.fetchAll(
        db,
        sql: """
          SELECT operations.id, op, key, events, since, until, cause FROM gaps
          JOIN operations ON operations.number = gaps.op ORDER BY gaps.rowid LIMIT ?
          """, arguments: [limit])
      let first = rows.map { row in
        (
          operation: row[0] as String,
          gap: EventGap(
            operation: row[1], key: row[2], events: row[3], since: row[4], until: row[5],
            cause: row[6])
        )
      }
      return (try Int.fetchOne(db, sql: "SELECT count(*) FROM gaps") ?? 0, first)
    }
  }
}
