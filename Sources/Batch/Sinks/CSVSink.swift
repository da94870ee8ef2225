import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// A CSV file with a header line.
///
/// https://www.rfc-editor.org/rfc/rfc4180
struct CSVSink: Sink {
  static let name = "csv"
  static let summary = "A CSV file with a header line and one line per record"
  static let example = "csv: { path: out/countries.csv, columns: [code, name, continent.name] }"
  static let fileExtensions = [".csv"]

  @Option("File, which may contain `{{op}}`") var path: Located<String>
  @Option("Columns, as paths in the record; by default the selected fields")
  var columns: [Located<String>] = []
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { path }

  func output(of operation: BatchOperation, at path: String) -> SinkOutput? {
    let names = columns.isEmpty ? operation.columns : columns.map(\.value)
    let header = CSVText.line(names.map { .string($0) })
    return SinkOutput(
      format: FileFormat(
        name: "csv " + String(decoding: header, as: UTF8.self).filter { $0 != "\n" },
        header: header),
      records: CSVRecords(
        emit: operation.emit, columns: RecordColumns(names),
        usage: columns.isEmpty ? nil : ColumnUsage(names)))
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, schema: Schema?,
    loader: inout ManifestLoader
  ) {
    if columns.isEmpty {
      loader.checkFields(of: operations, Self.name, location: location, schema: schema)
    } else {
      loader.checkPaths(columns, name: "columns", of: operations, schema: schema)
    }
  }
}

/// A line of CSV per record.
private struct CSVRecords: ResultFormat {
  let emit: ResultPath?
  let columns: RecordColumns
  /// The use of the columns that the manifest names; `nil` for columns derived from the document.
  let usage: ColumnUsage?

  var mayRefuse: Bool { columns.mayRefuse }
  var missingColumns: [String] { usage?.missing ?? [] }

  func pieces(
    of data: (any ResultData)?, line: [UInt8], task: @autoclosure () -> String,
    _ write: (SinkPiece) throws -> Void
  ) throws {
    guard let data else { return }
    var found = Array(repeating: false, count: columns.paths.count)
    defer { usage?.note(found) }
    try writeTogether(data, at: emit, write: write) { record, bytes in
      bytes += CSVText.line(try columns.cells(of: JSONValue(parsing: record), &found))
    }
  }
}

/// Formats CSV as in RFC 4180, with LF line ends.
enum CSVText {
  static func line(_ values: [JSONValue?]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (location, value) in values.enumerated() {
      if location > 0 { bytes.append(0x2C) }
      switch value {
      case nil, .null?: break
      case .string(let text)?: bytes += QuotedText.csvField(text)
      case let value?: bytes += QuotedText.csvField(value.jsonText())
      }
    }
    bytes.append(0x0A)
    return bytes
  }
}

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
