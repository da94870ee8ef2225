import GQLRunJSON
import GQLRunPipeline

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

  func open(_ context: RowContext) throws -> (any RowSource)? {
    JSONLinesSource(try ByteReader(path: jsonl.path))
  }
}

/// Reads one row from each line of JSON.
///
/// https://jsonlines.org
final class JSONLinesSource: RowSource {
  private let reader: ByteReader
  private var held: [UInt8] = []
  private var start = 0
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
    var searched = start
    while true {
      if let end = held[searched...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        line += 1
        return withoutMark(held[start..<end])
      }
      searched = held.count
      guard !hasEnded else {
        guard start < held.count else { return nil }
        defer { start = held.count }
        line += 1
        return withoutMark(held[start...])
      }
      guard held.count - start <= Self.longest else {
        throw InputProblem(
          file: reader.name, line: line + 1, message: "the line is longer than 16 MiB")
      }
      searched -= start
      held.removeFirst(start)
      start = 0
      let block = try reader.block()
      if block.isEmpty { hasEnded = true } else { held += block }
    }
  }

  /// Removes the byte order mark at the start of the input.
  private func withoutMark(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    line == 1 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
  }
}
