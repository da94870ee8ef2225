import GQLRunPipeline

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

  func open(_ context: RowContext) throws -> (any RowSource)? {
    let reader = ByteReader(standardInput: ())
    return switch stdin {
    case .csv: try CSVSource(reader, delimiter: delimiter.byte)
    case .jsonl: JSONLinesSource(reader)
    }
  }
}
