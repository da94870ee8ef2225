import GQLRunJSON
import GQLRunPipeline

/// Rows written in the manifest: `inline: [{ code: DE }]`.
struct InlineInput: RowInput {
  static let name = "inline"
  static let summary = "Rows written in the manifest"
  static let example = "foreach: { inline: [{ code: DE }, { code: FR }] }"

  @Option("Rows as mappings; another value is a row with the one column `value`")
  var inline: [JSONValue]

  func columns(hasNeeds: Bool) -> [String]? { rows.flatMap { Array($0.keys) } }
  func isReadable(hasNeeds: Bool) -> Bool { true }
  func label(in manifest: Manifest) -> String { "\(manifest.file): inline row" }
  func open(_ context: RowContext) -> RowSource? {
    var rows = rows.enumerated().makeIterator()
    return { rows.next().map { Row(number: $0 + 1, content: .values($1)) } }
  }

  private var rows: [JSONObject] { inline.map { $0.objectValue ?? ["value": $0] } }
}

/// Rows of values that another operation captured: `capture: repos`.
struct CaptureInput: RowInput {
  static let name = "capture"
  static let summary = "Values that another operation captured, one row per task of that operation"
  static let example = "needs: [repos], foreach: { capture: repos, as: repo }"

  @Option("Operation whose captured values are the rows; also add it to `needs`")
  var capture: String

  var capturedOperation: String? { capture }

  func open(_ context: RowContext) -> RowSource? {
    guard let journal = context.journal,
      let index = context.manifest?.operations.firstIndex(where: { $0.id == capture })
    else { return nil }
    let operation = context.numbers[index]
    var held: ArraySlice<JSONObject> = []
    var lastKey: String?
    var number = 0
    return {
      if held.isEmpty {
        held = try journal.captures(operation: operation, after: lastKey, limit: 500)[...]
        lastKey = held.last?["key"]?.stringValue ?? lastKey
      }
      guard let object = held.popFirst() else { return nil }
      number += 1
      return Row(number: number, content: .values(object))
    }
  }
}

/// Rows from standard input: `stdin: csv`.
struct StandardInput: RowInput {
  static let name = "stdin"
  static let summary = "Rows from standard input, as CSV or as one JSON value per line"
  static let example = #"foreach: { stdin: jsonl, key: "{{row.id}}" }"#

  /// The format of standard input.
  enum Format: String, CaseIterable, ExpressibleByOption {
    case csv, jsonl
  }

  @Option("Format of the rows on standard input") var stdin: Format
  @Option("Separator of the cells of a CSV file") var delimiter = CSVDelimiter.comma

  var readsStandardInput: Bool { true }
  var hasTextCells: Bool { stdin == .csv }

  func open(_ context: RowContext) throws -> RowSource? {
    let reader = ByteReader(standardInput: ())
    return switch stdin {
    case .csv: try CSVSource(reader, delimiter: delimiter.byte).next
    case .jsonl: JSONLinesSource(reader).next
    }
  }
}
