import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// A file with one JSON value per line, or standard output: results or records.
///
/// https://github.com/ndjson/ndjson-spec
struct NDJSONSink: Sink {
  static let name = "ndjson"
  static let summary = "A file with one JSON value per line, or standard output"
  static let example = #"ndjson: { path: "out/{{op}}.ndjson" }"#
  static let fileExtensions = [".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz"]
  static let mayBeStandardOutput = true

  /// What a line contains.
  enum Lines: String, CaseIterable, ExpressibleByOption {
    case auto, results, records
  }

  /// Whether gaps in the events of subscriptions are among the lines.
  enum Gaps: String, CaseIterable, ExpressibleByOption {
    case none, inline
  }

  @Option("File, which may contain `{{op}}`; `-` is standard output")
  var path = Located("-")
  @Option("Compress with gzip; by default if the path ends in `.gz`") var gzip: Bool?
  @Option(
    "Content of a line: results, records, or auto: records of operations with `emit` or `columns`")
  var lines = Lines.auto
  @Option(
    "Lines for gaps in the events of subscriptions: none, or inline: `{\"gap\":{…}}` before the next event"
  )
  var gaps = Gaps.none
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { path }

  func output(of operation: BatchOperation, at path: String) -> SinkOutput? {
    let isCompressed = path != "-" && gzip ?? path.hasSuffix(".gz")
    let areRecords =
      lines == .records || lines == .auto && (operation.emit != nil || operation.columns.areGiven)
    return SinkOutput(
      entry: SinkPlan.Entry(
        path: path,
        format: FileFormat(
          name: isCompressed ? "ndjson.gz" : "ndjson", isCompressed: isCompressed)),
      records: areRecords
        ? TextRecords(operation, suffix: [0x0A], writesGaps: gaps == .inline)
        : ResultLines(writesGaps: gaps == .inline))
  }
}

extension NDJSONSink {
  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader
  ) {
    guard gaps == .inline, !operations.isEmpty,
      !operations.contains(where: { $0.template.type == .subscription })
    else { return }
    loader.report(
      .wrongValue, message: "`gaps` is for the events of subscriptions, and the sink receives none",
      location: $gaps.keyLocation, hint: "remove it")
  }
}

/// A line per result, with its task and its errors.
private struct ResultLines: ResultFormat {
  let writesGaps: Bool
  var writesResults: Bool { true }

  func pieces(of outcome: Outcome, _ write: (SinkPiece) throws -> Void) throws {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(outcome.line.count + min(outcome.data?.count ?? 0, 1 << 20) + 16)
    bytes += outcome.line
    // A response without `data`, and a task without a response, have no such member.
    if let data = outcome.data {
      bytes += #","data":"#.utf8
      guard data.count <= 1 << 20 else {
        try write(.bytes(bytes, records: 1))
        try data.forEachChunk { try write(.bytes(Array($0), records: 0)) }
        return try write(.bytes([0x7D, 0x0A], records: 0))
      }
      try data.forEachChunk { bytes += $0 }
    }
    bytes += [0x7D, 0x0A]
    try write(.bytes(bytes, records: 1))
  }
}

/// The text of each record between fixed bytes.
struct TextRecords: ResultFormat {
  let emit: ResultPath?
  /// The columns of each record; `nil` for records as they are.
  let columns: RecordColumns?
  let usage: ColumnUsage?
  /// The text of the values of the columns; by default an object.
  var text: @Sendable (RecordColumns, [JSONValue?]) -> [UInt8] = {
    JSONWriter.object(zip($0.names, $1))
  }
  var prefix: [UInt8] = []
  var suffix: [UInt8] = []
  var writesGaps = false

  var mayRefuse: Bool { columns?.mayRefuse ?? false }

  /// Writes the records in pieces of about 256 KiB.
  func pieces(of outcome: Outcome, _ write: (SinkPiece) throws -> Void) throws {
    guard let data = outcome.data.unlessNull else { return }
    var found = Array(repeating: false, count: columns?.columns.count ?? 0)
    defer { usage?.note(found) }
    var bytes: [UInt8] = []
    var count = 0
    try data.forEachValue(at: emit) { record in
      bytes += prefix
      if let columns {
        bytes += text(
          columns, try columns.cells(of: JSONValue(parsing: record), row: outcome.rowValues, &found)
        )
      } else {
        bytes += record
      }
      bytes += suffix
      count += 1
      guard bytes.count > 256 << 10 else { return }
      try write(.bytes(bytes, records: count))
      (bytes, count) = ([], 0)
    }
    if count > 0 { try write(.bytes(bytes, records: count)) }
  }
}

extension TextRecords {
  /// Records of an operation as JSON.
  fileprivate init(
    _ operation: BatchOperation, prefix: [UInt8] = [], suffix: [UInt8] = [],
    writesGaps: Bool = false
  ) {
    let columns = operation.columns.areGiven ? operation.columns : nil
    self.init(
      emit: operation.emit, columns: columns, usage: columns.map { ColumnUsage($0.names) },
      prefix: prefix, suffix: suffix, writesGaps: writesGaps)
  }
}

extension JSONWriter {
  /// The text of an object with these members; `nil` is null.
  static func object(_ members: some Sequence<(String, JSONValue?)>) -> [UInt8] {
    var writer = Self()
    writer.beginObject()
    for (name, value) in members {
      writer.key(name)
      (value ?? .null).write(to: &writer)
    }
    writer.endObject()
    return writer.takeBytes()
  }
}

/// A file with one JSON array of records.
struct JSONSink: Sink {
  static let name = "json"
  static let summary = "A file with one JSON array of records"
  static let example = "json: { path: out/countries.json }"
  static let fileExtensions = [".json"]

  @Option("File, which may contain `{{op}}`") var path: Located<String>
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { path }

  func output(of operation: BatchOperation, at path: String) -> SinkOutput? {
    SinkOutput(
      entry: SinkPlan.Entry(
        path: path,
        format: FileFormat(
          name: "json", header: Array("[".utf8), footer: Array("\n]\n".utf8), separator: [0x2C])),
      records: TextRecords(operation, prefix: [0x2C, 0x0A]))
  }
}
