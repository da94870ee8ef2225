import GQLRunJSON
import GQLRunSupport

/// The columns of the records of one operation.
struct RecordColumns: Sendable {
  /// The paths in a record; `nil` for a name that is not a path, whose column stays empty.
  let paths: [ResultPath?]

  init(_ columns: [String]) { paths = columns.map { ResultPath($0) } }

  /// Whether a record may not fit the columns.
  var mayRefuse: Bool { paths.contains { $0?.steps.count ?? 0 > 1 } }

  /// The values of a record.
  ///
  /// - Parameter found: Set to true for each column that the record has, even if it is null.
  /// - Throws: ``TaskProblem`` for a record that does not fit a path.
  func cells(of record: JSONValue, _ found: inout [Bool]) throws(TaskProblem) -> [JSONValue?] {
    var cells: [JSONValue?] = []
    for (index, path) in paths.enumerated() {
      switch path?.look(in: record) {
      case nil, .absent?: cells.append(nil)
      case .null?:
        found[index] = true
        cells.append(nil)
      case .value(let value)?:
        found[index] = true
        cells.append(value)
      case .mismatch(let mismatch)?:
        throw TaskProblem("the column `\(path?.description ?? "")` \(mismatch)")
      }
    }
    return cells
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
