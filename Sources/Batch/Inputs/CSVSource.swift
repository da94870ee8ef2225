import GQLRunPipeline
import GQLRunSupport

/// Rows of a CSV file: `csv: rows.csv`.
struct CSVInput: RowInput {
  static let name = "csv"
  static let summary = "Rows of a CSV file, whose first line names the columns"
  static let example = #"foreach: { csv: countries.csv, key: "{{row.code}}" }"#

  @Option("CSV file; its first line names the columns") var csv: OptionPath
  @Option("Separator of the cells of a CSV file") var delimiter = CSVDelimiter.comma

  var path: String? { csv.path }
  var hasTextCells: Bool { true }

  static let fileExtensions = [".csv"]

  static func reading(_ path: String) -> (any RowInput)? {
    var input = CSVInput()
    input.csv = OptionPath(path)
    return input
  }

  func columns(hasNeeds: Bool) throws -> [String]? { try source().columns.names }
  func open(_ context: RowContext) throws -> RowSource? { try source().next }

  private func source() throws -> CSVSource {
    try CSVSource(ByteReader(path: csv.path), delimiter: delimiter.byte)
  }
}

/// The separator of cells.
enum CSVDelimiter: String, CaseIterable, ExpressibleByOption {
  case comma = ","
  case semicolon = ";"
  case tab
  case pipe = "|"

  var byte: UInt8 { self == .tab ? 0x09 : rawValue.utf8.first ?? 0x2C }
}

/// Reads the rows of a CSV file; the first record has the column names.
///
/// Accepts [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), LF line ends and a byte order mark.
/// Any other variant of CSV is an error with its line number.
final class CSVSource {
  let columns: Columns
  private let parser: CSVParser

  init(_ reader: ByteReader, delimiter: UInt8 = UInt8(ascii: ",")) throws {
    parser = CSVParser(reader, delimiter: delimiter)
    guard let header = try parser.record() else {
      throw InputProblem(
        file: reader.name, message: "the file is empty; its first line names the columns")
    }
    let names = header.map { $0 ?? "" }
    if let empty = names.firstIndex(of: "") {
      throw InputProblem(
        file: reader.name, line: 1, message: "column \(empty + 1) of the header has no name")
    }
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted {
      throw InputProblem(
        file: reader.name, line: 1, message: "the header has two columns `\(name)`")
    }
    columns = Columns(names)
  }

  func next() throws -> Row? {
    guard let cells = try parser.record() else { return nil }
    guard cells.count == columns.names.count else {
      let found = Quantity.count(cells.count, "cell")
      let expected = Quantity.count(columns.names.count, "column")
      throw InputProblem(
        file: parser.name, line: parser.recordLine,
        message: "the row has \(found), and the header \(expected)")
    }
    return Row(number: parser.recordLine, content: .cells(columns, cells))
  }
}

/// Parses CSV bytes into cells.
private final class CSVParser {
  private let reader: ByteReader
  private let delimiter: UInt8
  private var block: [UInt8] = []
  private var location = 0
  private var hasBegun = false
  private var line = 1
  /// The line at which the last record started.
  private(set) var recordLine = 1
  private static let longestCell = 16 << 20

  init(_ reader: ByteReader, delimiter: UInt8) {
    self.reader = reader
    self.delimiter = delimiter
  }

  var name: String { reader.name }

  /// The cells of the next record, skipping empty lines. An empty cell without quotes is `nil`.
  func record() throws(InputProblem) -> [String?]? {
    while true {
      recordLine = line
      guard let cells = try cells() else { return nil }
      if cells.count == 1, cells[0] == nil { continue }
      return cells
    }
  }

  private func cells() throws(InputProblem) -> [String?]? {
    guard var byte = try next() else { return nil }
    var cells: [String?] = []
    var cell: [UInt8] = []
    while true {
      cell.removeAll(keepingCapacity: true)
      let isQuoted = byte == 0x22
      var end: UInt8?
      if isQuoted {
        try quoted(into: &cell)
        end = try next()
        if let found = end, found != delimiter, found != 0x0A, found != 0x0D {
          throw problem("there is text behind a closing quote; quotes inside a cell are doubled")
        }
      } else {
        var current: UInt8? = byte
        while let found = current, found != delimiter, found != 0x0A, found != 0x0D {
          guard found != 0x22 else {
            throw problem("a quote stands inside a cell without quotes; put the cell in quotes")
          }
          cell.append(found)
          current = try next()
        }
        end = current
      }
      cells.append(isQuoted || !cell.isEmpty ? try text(cell) : nil)
      guard cells.count <= 10_000 else { throw problem("the row has more than 10,000 cells") }
      switch end {
      case delimiter?:
        guard let following = try next() else {
          cells.append(nil)
          return cells
        }
        byte = following
        continue
      case 0x0D?:
        if let following = try next(), following != 0x0A {
          throw problem("a carriage return stands alone; lines end with LF or CRLF")
        }
        line += 1
      case 0x0A?: line += 1
      default: break
      }
      return cells
    }
  }

  private func quoted(into cell: inout [UInt8]) throws(InputProblem) {
    let start = line
    while let byte = try next() {
      if byte == 0x22 {
        guard try peek() == 0x22 else { return }
        _ = try next()
      } else if byte == 0x0A {
        line += 1
      }
      cell.append(byte)
      guard cell.count <= Self.longestCell else { throw problem("a cell is longer than 16 MiB") }
    }
    throw InputProblem(
      file: name, line: start, message: "the quote that opens a cell in this line is never closed")
  }

  private func text(_ bytes: [UInt8]) throws(InputProblem) -> String {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      throw problem("the row is not UTF-8 text; save the file as UTF-8")
    }
    return text
  }

  private func problem(_ message: String) -> InputProblem {
    InputProblem(file: name, line: line, message: message)
  }

  private func peek() throws(InputProblem) -> UInt8? {
    if location == block.count {
      block = try reader.block()
      location = 0
      if !hasBegun {
        hasBegun = true
        if block.starts(with: [0xEF, 0xBB, 0xBF]) { location = 3 }
        if block.starts(with: [0xFF, 0xFE]) || block.starts(with: [0xFE, 0xFF]) {
          throw InputProblem(
            file: name, line: 1, message: "the file is UTF-16; save it as UTF-8")
        }
      }
    }
    return location < block.count ? block[location] : nil
  }

  private func next() throws(InputProblem) -> UInt8? {
    guard let byte = try peek() else { return nil }
    location += 1
    return byte
  }
}
