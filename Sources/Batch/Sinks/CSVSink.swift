import GQLRunJSON
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
    let used = columns.isEmpty ? operation.columns : RecordColumns(paths: columns.map(\.value))
    let header = CSVText.line(used.names.map { .string($0) })
    return SinkOutput(
      entry: SinkPlan.Entry(
        path: path,
        format: FileFormat(
          name: "csv " + String(decoding: header, as: UTF8.self).filter { $0 != "\n" },
          header: header)),
      records: TextRecords(
        emit: operation.emit, columns: used,
        usage: columns.isEmpty && !used.areGiven ? nil : ColumnUsage(used.names),
        text: { CSVText.line($1) }))
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader
  ) {
    guard !columns.isEmpty else {
      return loader.checkFields(of: operations, Self.name, location: location)
    }
    if let operation = operations.first(where: \.columns.areGiven) {
      return loader.report(
        .wrongValue, message: "the sink and the operation `\(operation.id)` both have `columns`",
        location: $columns.keyLocation,
        hint:
          "remove one of them; with `operations`, a sink takes only the results of some operations")
    }
    loader.checkPaths(columns, name: "columns", of: operations)
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
