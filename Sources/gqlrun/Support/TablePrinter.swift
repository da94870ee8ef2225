import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunSupport

/// The output formats of rows.
enum TableFormat: String, ExpressibleByArgument, CaseIterable {
  /// Aligned columns, for people.
  case table
  /// [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180) with LF line ends; NULL is an empty field.
  case csv
  /// One array with an object per row.
  case json
}

/// Prints rows as they arrive.
///
/// A table buffers its first rows to determine the widths of its columns; later rows may be wider.
struct TablePrinter {
  private let format: TableFormat
  private let columns: [String]
  /// The unique names of columns in JSON.
  private let names: [String]
  /// The rows that determine the widths, with the names of the columns.
  private var table = TextTable()
  /// The widths, after the first rows.
  private var widths: [Int]?
  private var count = 0
  private let isTerminal = Terminal.isOutputTerminal

  /// The number of rows that determine the widths.
  private static let measured = 1000

  init(format: TableFormat, columns: [String]) {
    self.format = format
    self.columns = columns
    var taken: Set<String> = []
    names = columns.map { column in
      var name = column
      var number = 2
      while !taken.insert(name).inserted {
        name = "\(column)_\(number)"
        number += 1
      }
      return name
    }
    table.add(columns.map { TextTable.Cell(Self.visible($0)) })
  }

  mutating func add(_ row: [CacheQuery.Value]) throws {
    switch format {
    case .table:
      let cells = row.map(Self.cell)
      if let widths {
        try Terminal.write(TextTable.line(cells, widths: widths) + "\n")
      } else {
        table.add(cells)
        if count + 1 == Self.measured { try writeTable() }
      }
    case .csv:
      if count == 0 { try writeCSV(columns) }
      try writeCSV(row.map { $0 == .null ? nil : Self.plain($0) })
    case .json:
      var object = JSONObject()
      for (name, value) in zip(names, row) { object[name] = Self.json(value) }
      try Terminal.write((count == 0 ? "[\n  " : ",\n  ") + JSONValue.object(object).jsonText())
    }
    count += 1
  }

  mutating func finish() throws {
    switch format {
    case .table: if widths == nil { try writeTable() }
    case .csv: if count == 0 { try writeCSV(columns) }
    case .json: try Terminal.write(count == 0 ? "[]\n" : "\n]\n")
    }
  }

  // MARK: Tables

  private mutating func writeTable() throws {
    let widths = table.widths
    var lines = table.lines
    lines.insert(
      widths.map { String(repeating: "-", count: $0) }.joined(separator: "  "), at: 1)
    try Terminal.write(lines.map { $0 + "\n" }.joined())
    table = TextTable()
    self.widths = widths
  }

  private static func cell(_ value: CacheQuery.Value) -> TextTable.Cell {
    switch value {
    case .null: TextTable.Cell("NULL")
    case .integer, .real: TextTable.Cell(plain(value), isTrailing: true)
    case .text(let text): TextTable.Cell(visible(text))
    case .blob: TextTable.Cell(plain(value))
    }
  }

  /// Escapes line breaks and tabs, so that each row is one line.
  private static func visible(_ text: String) -> String {
    Terminal.safe(text.replacing("\n", with: "\\n").replacing("\t", with: "\\t"))
  }

  // MARK: Values

  private static func plain(_ value: CacheQuery.Value) -> String {
    switch value {
    case .null: ""
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): text
    case .blob(let bytes): "x'\(QuotedText.hexadecimal(bytes))'"
    }
  }

  private static func json(_ value: CacheQuery.Value) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): .number(JSONNumber(Int(number)))
    case .real(let number):
      JSONNumber(text: "\(number)").map { .number($0) } ?? .string("\(number)")
    case .text(let text): .string(text)
    case .blob(let bytes): .string(QuotedText.hexadecimal(bytes))
    }
  }

  // MARK: Output

  private func writeCSV(_ fields: [String?]) throws {
    let line = fields.map { field in
      field.map { String(decoding: QuotedText.csvField($0), as: UTF8.self) } ?? ""
    }.joined(separator: ",")
    try Terminal.write((isTerminal ? Terminal.safe(line) : line) + "\n")
  }
}
