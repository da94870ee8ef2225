import GQLRunJSON
import GQLRunPipeline

/// A row per record, for sinks that write tables.
struct TableRows: ResultFormat {
  let emit: ResultPath?
  let columns: RecordColumns
  /// The indices of the key columns.
  let key: [Int]
  /// The value of a column.
  let cell: @Sendable (JSONValue?) -> SQLValue

  var mayRefuse: Bool { !key.isEmpty || columns.mayRefuse }

  func pieces(
    of data: (any ResultData)?, line: [UInt8], task: @autoclosure () -> String,
    _ write: (SinkPiece) throws -> Void
  ) throws {
    var found = Array(repeating: false, count: columns.paths.count)
    try data?.forEachValue(at: emit) { record in
      var row = try columns.cells(of: JSONValue(parsing: record), &found).map(cell)
      for index in key {
        if case .null = row[index] {
          throw TaskProblem(
            "a record has no value for the key column `\(columns.paths[index]?.description ?? "")`; "
              + "select it, or choose another key")
        }
      }
      if key.isEmpty { row.append(.text(task())) }
      try write(.row(row))
    }
  }
}
