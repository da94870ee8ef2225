import GQLRunJSON
import GQLRunSupport

/// The columns of the records of one operation, in their order.
struct RecordColumns: Sendable, CustomStringConvertible {
  /// Where the values of a column are from.
  enum Source: Sendable, Hashable {
    /// A path in the record.
    case record(ResultPath)
    /// A value of the task: of its row, or its key.
    case task(Reference)
  }

  struct Column: Sendable, Hashable {
    var name: String
    var source: Source
  }

  let columns: [Column]
  /// Whether the manifest lists them; otherwise they are the response keys of the records, in the document's order.
  let areGiven: Bool
  /// Whether a column has all values of its path, because that has `[*]`, by index.
  private let areLists: [Bool]

  /// The columns that the `columns` section of an operation lists.
  init(_ columns: [Column], areGiven: Bool = true) {
    self.columns = columns
    self.areGiven = areGiven
    areLists = columns.map {
      if case .record(let path) = $0.source { path.steps.contains(.each) } else { false }
    }
  }

  /// Columns that are named by their paths in a record.
  ///
  /// - Parameter paths: The paths. The loader reports text that is not a path; its column is never filled.
  init(paths: [String]) {
    self.init(
      paths.map { Column(name: $0, source: .record(ResultPath($0) ?? ResultPath())) },
      areGiven: false)
  }

  var names: [String] { columns.map(\.name) }

  /// The values of a task for the columns that are not in its records, by name; without absent ones.
  func values(in scope: Scope) -> JSONObject {
    var values = JSONObject()
    for column in columns {
      guard case .task(let reference) = column.source else { continue }
      switch scope.find(reference) {
      case .absent: continue
      case .text(let text): values[column.name] = .string(text)
      case .value(let value): values[column.name] = value
      }
    }
    return values
  }

  /// Whether a record may not fit the columns.
  var mayRefuse: Bool {
    columns.contains {
      if case .record(let path) = $0.source { path.steps.count > 1 } else { false }
    }
  }

  /// The values of a record.
  ///
  /// - Parameters:
  ///   - record: The record.
  ///   - row: The values of the task, of ``values(in:)``.
  ///   - found: Set to true for each column that has a value, even if it is null.
  /// - Throws: ``TaskProblem`` for a record that does not fit a path.
  func cells(
    of record: JSONValue, row: JSONObject, _ found: inout [Bool]
  ) throws(TaskProblem) -> [JSONValue?] {
    var cells: [JSONValue?] = []
    cells.reserveCapacity(columns.count)
    for (index, column) in columns.enumerated() {
      let value: JSONValue?
      switch column.source {
      case .task: value = row[column.name]
      case .record(let path):
        switch path.look(in: record) {
        case .absent: value = nil
        case .null: value = .null
        case .value(let found):
          value = areLists[index] ? .array(path.values(in: record)) : found
        case .mismatch(let mismatch):
          throw TaskProblem("the column `\(column.name)` \(mismatch)")
        }
      }
      if value != nil { found[index] = true }
      cells.append(value)
    }
    return cells
  }

  /// The columns as a manifest has them, for journals and messages.
  var description: String { Self.text(of: columns) }

  /// The columns that are not in the records, as a manifest has them; empty if there are none.
  var taskColumns: String {
    Self.text(of: columns.filter { if case .task = $0.source { true } else { false } })
  }

  private static func text(of columns: [Column]) -> String {
    columns.map { $0.name == $0.source.name ? $0.source.description : "\($0.name): \($0.source)" }
      .joined(separator: ", ")
  }
}

extension RecordColumns.Source: CustomStringConvertible {
  /// The name of a column that the manifest gives no other one: a value of a row has that of its last step.
  var name: String {
    switch self {
    case .record(let path): path.description
    case .task(let reference): reference.path.last ?? reference.root
    }
  }

  var description: String {
    switch self {
    case .record(let path): path.description
    case .task(let reference): reference.description
    }
  }
}

/// Records which columns of a sink had a value, or null, in any record of a run.
final class ColumnUsage: Sendable {
  let names: [String]
  private let state: Locked<[Bool]>

  init(_ names: [String]) {
    self.names = names
    state = Locked(Array(repeating: false, count: names.count))
  }

  /// Adds the columns found on one page; ignores pages without records.
  func note(_ page: [Bool]) {
    guard page.contains(true) else { return }
    state.withLock { state in
      for (column, isFound) in page.enumerated() where isFound { state[column] = true }
    }
  }

  /// The columns that no record had; empty if there were no records.
  var missing: [String] {
    state.withLock { found in
      found.contains(true) ? zip(names, found).filter { !$1 }.map(\.0) : []
    }
  }
}
