import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// Rows of a file with one JSON value per line: `jsonl: rows.jsonl`.
struct JSONLinesInput: RowInput {
  static let name = "jsonl"
  static let summary = "Rows of a file with one JSON value per line"
  static let example = #"foreach: { jsonl: users.jsonl, as: user, key: "{{user.id}}" }"#

  @Option("File with one JSON value per line; a value that is no object is the column `value`")
  var jsonl: OptionPath

  var path: String? { jsonl.path }

  static let fileExtensions = [".jsonl", ".ndjson"]

  static func reading(_ path: String) -> (any RowInput)? {
    var input = JSONLinesInput()
    input.jsonl = OptionPath(path)
    return input
  }

  func columns(hasNeeds: Bool) throws -> [String]? {
    // Reports a file that cannot be opened; the members of its lines may differ.
    _ = try ByteReader(path: jsonl.path)
    return nil
  }

  func open(_ context: RowContext) throws -> RowSource? {
    JSONLinesSource(try ByteReader(path: jsonl.path)).next
  }
}

/// Reads one row from each line of JSON.
///
/// https://jsonlines.org
final class JSONLinesSource {
  private let reader: ByteReader
  private var lines = LineSplitter()
  private var line = 0
  private var hasEnded = false
  /// The maximum length of a line in bytes.
  private static let longest = 16 << 20

  init(_ reader: ByteReader) { self.reader = reader }

  func next() throws -> Row? {
    while let bytes = try nextLine() {
      let text = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if text.isEmpty { continue }
      let value: JSONValue
      do {
        value = try JSONValue(parsing: Array(text))
      } catch {
        throw InputProblem(
          file: reader.name, line: line,
          message: "the line is not JSON: \(error.message); each line holds one value")
      }
      if let object = value.objectValue { return Row(number: line, content: .values(object)) }
      return Row(number: line, content: .values(["value": value]))
    }
    return nil
  }

  private func nextLine() throws(InputProblem) -> ArraySlice<UInt8>? {
    while true {
      if let found = hasEnded ? lines.rest() : lines.next() {
        line += 1
        // The first line may begin with a byte order mark.
        return line == 1 ? found.trimmingPrefix([0xEF, 0xBB, 0xBF]) : found
      }
      guard !hasEnded else { return nil }
      guard lines.length <= Self.longest else {
        throw InputProblem(
          file: reader.name, line: line + 1, message: "the line is longer than 16 MiB")
      }
      let block = try reader.block()
      if block.isEmpty { hasEnded = true } else { lines.add(block) }
    }
  }
}
