import GQLRunPipeline

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
      format: FileFormat(
        name: "json", header: Array("[".utf8), footer: Array("\n]\n".utf8), separator: [0x2C]),
      records: ArrayElements(emit: operation.emit))
  }
}

private struct ArrayElements: ResultFormat {
  let emit: ResultPath?

  func pieces(
    of data: (any ResultData)?, line: [UInt8], task: @autoclosure () -> String,
    _ write: (SinkPiece) throws -> Void
  ) throws {
    guard let data else { return }
    try writeTogether(data, at: emit, write) { [0x2C, 0x0A] + $0 }
  }
}
