import GQLRunJSON

// How rows become pieces: for tables of databases, and lines of files.

extension TableRowFormat {
  /// Nothing: the rows of a response are in the pieces of its outcome already.
  func pieces(of outcome: Outcome, _ write: (SinkPiece) throws -> Void) {}
}

/// Rows of a table of a SQLite database, which takes any value in any column; but a column of integers rounds numbers
/// that are neither 64-bit integers nor doubles.
///
/// https://www.sqlite.org/datatype3.html#type_affinity
struct SQLiteRowFormat: TableRowFormat {
  let table: TableDefinition

  func piece(_ row: TableRow) throws(TaskProblem) -> SinkPiece {
    var values: [SQLValue] = [
      .text(row.key), row.parent.map { .text($0) } ?? .null, .integer(Int64(row.position)),
    ]
    for (column, cell) in zip(table.columns, row.cells) {
      let value = value(cell, column.kind)
      if column.kind == .integer, let cell, case .number = cell, case .text = value {
        throw table.mismatch(cell, column, of: row)
      }
      values.append(value)
    }
    return .row(values)
  }

  private func value(_ cell: JSONValue?, _ kind: TableColumn.Kind) -> SQLValue {
    switch cell {
    // As it is written: a number of a text column, such as an ID.
    case .number(let number)? where kind == .text: .text(number.text)
    case .string(let text)? where kind == .json: .text(JSONValue.string(text).jsonText())
    default: SQLValue(cell)
    }
  }
}

extension TableDefinition {
  /// The error of a value that does not have the type of its column.
  fileprivate func mismatch(
    _ value: JSONValue, _ column: TableColumn, of row: TableRow
  ) -> TaskProblem {
    TaskProblem(
      "the column `\(column.name)` of the row `\(row.key)` of `\(name)` is \(column.kind.rawValue), and the server "
        + "sent \(value.jsonText().prefix(60))")
  }
}

/// Rows of a table of a PostgreSQL database, whose columns have types.
struct PostgresRowFormat: TableRowFormat {
  /// The maximum length of a key with that of its parent, in bytes: an entry of an index is at most a third of a page.
  ///
  /// https://www.postgresql.org/docs/current/btree.html
  private static let maxKeyLength = 2_600

  let table: TableDefinition

  func piece(_ row: TableRow) throws(TaskProblem) -> SinkPiece {
    let length = row.key.utf8.count + (row.parent?.utf8.count ?? 0)
    guard length <= Self.maxKeyLength else {
      throw TaskProblem(
        "the keys of the row `\(row.key.prefix(60))…` of `\(table.name)` and of its parent have \(length) bytes, and "
          + "PostgreSQL indexes at most \(Self.maxKeyLength); write the tables to `sqlite:FILE`")
    }
    var values: [SQLValue] = [try text(row.key, column: "_key", row: row), .null]
    if let parent = row.parent { values[1] = try text(parent, column: "_parent", row: row) }
    values.append(.integer(Int64(row.position)))
    for (column, cell) in zip(table.columns, row.cells) {
      values.append(try value(cell, column: column, row: row))
    }
    return .row(values)
  }

  private func value(
    _ cell: JSONValue?, column: TableColumn, row: TableRow
  ) throws(TaskProblem) -> SQLValue {
    guard let cell, cell != .null else { return .null }
    switch (column.kind, cell) {
    case (.integer, .number(let number)) where Int64(number.text) != nil: break
    case (.real, .number(let number)):
      guard let real = number.doubleValue else { throw table.mismatch(cell, column, of: row) }
      // Not as it is written: PostgreSQL refuses texts that are closer to zero than any double.
      return .real(real)
    case (.boolean, .boolean): break
    case (.integer, _), (.real, _), (.boolean, _):
      throw table.mismatch(cell, column, of: row)
    case (.json, _):
      let text = cell.jsonText()
      if cell.hasNUL { throw refusal(column.name, row) }
      return .text(text)
    case (.text, _), (.any, _):
      if case .string(let content) = cell {
        return try text(content, column: column.name, row: row)
      }
    }
    return .text(cell.jsonText())
  }

  private func text(
    _ text: String, column: String, row: TableRow
  ) throws(TaskProblem) -> SQLValue {
    guard !text.utf8.contains(0) else { throw refusal(column, row) }
    return .text(text)
  }

  private func refusal(_ column: String, _ row: TableRow) -> TaskProblem {
    let key = row.key.replacing("\0", with: "\\0")
    return TaskProblem(
      "the column `\(column)` of the row `\(key)` of `\(table.name)` has a NUL character, which PostgreSQL cannot "
        + "store; leave the field out, or write the tables to `sqlite:FILE`")
  }
}

extension JSONValue {
  /// Whether a text in the value has a NUL character.
  fileprivate var hasNUL: Bool {
    switch self {
    case .string(let text): text.utf8.contains(0)
    case .array(let elements): elements.contains { $0.hasNUL }
    case .object(let object): object.contains { $0.key.utf8.contains(0) || $0.value.hasNUL }
    case .null, .boolean, .number: false
    }
  }
}

extension TableRow {
  /// The values of all columns, its own ones first.
  fileprivate var values: [JSONValue?] {
    [.string(key), parent.map { .string($0) }, .number(JSONNumber(position))] + cells
  }
}

/// Lines of a CSV file with the columns of a table.
struct CSVRowFormat: TableRowFormat {
  func piece(_ row: TableRow) -> SinkPiece {
    .keyed(CSVText.line(row.values), key: row.key, parent: row.parent)
  }
}

/// Lines of a file with one JSON object for each row; lists are lists.
struct NDJSONRowFormat: TableRowFormat {
  let columns: [String]

  func piece(_ row: TableRow) -> SinkPiece {
    .keyed(
      JSONWriter.object(zip(columns, row.values)) + [0x0A], key: row.key, parent: row.parent)
  }
}
