import GQLRunSupport

/// What a run has written into tables, and the requests that it needed.
public struct TablesSummary: Sendable {
  /// One table.
  public struct Table: Sendable {
    /// The name of the table.
    public var name: String
    /// The number of rows that were written, without repeated ones.
    public var rows: Int

    /// Creates a table with a number of rows.
    public init(name: String, rows: Int) {
      self.name = name
      self.rows = rows
    }
  }

  /// The tables, each after its parent.
  public var tables: [Table] = []
  /// The number of rows whose key an earlier row had, because the list moved between two pages.
  public var repeated = 0
  /// The number of requests for pages.
  public var requests = 0
  /// The least number of requests that has all pages, with the sizes of pages that the server gave.
  public var leastRequests = 0

  /// Creates an empty summary.
  public init() {}

  /// The summary of a run.
  ///
  /// - Parameters:
  ///   - names: The names of the tables, in their order.
  ///   - counters: The counters of the run.
  ///   - written: What is in each table; `nil` for what was received.
  init(_ names: [String], _ counters: RunCounters, written: [TableSink.Counts]? = nil) {
    if let written {
      tables = zip(names, written).map { Table(name: $0, rows: $1.records) }
      repeated = written.reduce(0) { $0 + $1.repeated }
    }
    guard let counted = counters.tables else { return }
    if written == nil { tables = names.map { Table(name: $0, rows: counted.rows[$0] ?? 0) } }
    requests = counted.requests
    leastRequests = counted.leastRequests
  }

  /// The number of rows in all tables.
  public var rows: Int { tables.reduce(0) { $0 + $1.rows } }

  /// The totals, in one line: `1,240 requests (least possible 1,102), 14,529 rows in 3 tables, 2 repeated rows`.
  public var text: String {
    func count(_ number: Int, _ noun: String) -> String {
      "\(Quantity.count(number)) \(noun)\(number == 1 ? "" : "s")"
    }
    var parts = [
      count(requests, "request")
        + (leastRequests > 0 ? " (least possible \(Quantity.count(leastRequests)))" : ""),
      "\(count(rows, "row")) in \(count(tables.count, "table"))",
    ]
    if repeated > 0 { parts.append(count(repeated, "repeated row")) }
    return parts.joined(separator: ", ")
  }

  /// The tables with their rows, one per line.
  package var tableText: String {
    var lines = TextTable()
    for table in tables { lines.add(table.name, figures: [Quantity.count(table.rows)]) }
    return lines.text
  }
}
