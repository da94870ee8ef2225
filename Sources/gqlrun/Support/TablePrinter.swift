import ArgumentParser
import Foundation
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
  private var waiting: [[Cell]] = []
  private var widths: [Int]?
  private var count = 0
  private let isTerminal = Terminal.isOutputTerminal

  /// The number of rows that determine the widths.
  private static let measured = 1000

  private struct Cell {
    var text: String
    var isNumber: Bool
  }

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
  }

  mutating func add(_ row: [CacheQuery.Value]) throws {
    switch format {
    case .table:
      let cells = row.map(Self.cell)
      if let widths {
        try write(Self.line(cells, widths))
      } else {
        waiting.append(cells)
        if waiting.count == Self.measured { try writeWaiting() }
      }
    case .csv:
      if count == 0 { try writeCSV(columns) }
      try writeCSV(row.map { $0 == .null ? nil : Self.plain($0) })
    case .json:
      var object = JSONObject()
      for (name, value) in zip(names, row) { object[name] = Self.json(value) }
      try writeJSON((count == 0 ? "[\n  " : ",\n  ") + JSONValue.object(object).jsonText())
    }
    count += 1
  }

  mutating func finish() throws {
    switch format {
    case .table: if widths == nil { try writeWaiting() }
    case .csv: if count == 0 { try writeCSV(columns) }
    case .json: try write(count == 0 ? "[]\n" : "\n]\n")
    }
  }

  // MARK: Tables

  private mutating func writeWaiting() throws {
    let head = columns.map { Cell(text: Self.visible($0), isNumber: false) }
    let widths = columns.indices.map { column in
      ([head] + waiting).map { Format.width($0[column].text) }.max() ?? 0
    }
    try write(Self.line(head, widths))
    try write(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  ") + "\n")
    for row in waiting { try write(Self.line(row, widths)) }
    waiting = []
    self.widths = widths
  }

  private static func line(_ cells: [Cell], _ widths: [Int]) -> String {
    var line = zip(cells, widths).map { cell, width in
      cell.isNumber ? Format.leading(cell.text, width) : Format.padded(cell.text, width)
    }.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }

  private static func cell(_ value: CacheQuery.Value) -> Cell {
    switch value {
    case .null: Cell(text: "NULL", isNumber: false)
    case .integer, .real: Cell(text: plain(value), isNumber: true)
    case .text(let text): Cell(text: visible(text), isNumber: false)
    case .blob: Cell(text: plain(value), isNumber: false)
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
    try write((isTerminal ? Terminal.safe(line) : line) + "\n")
  }

  private func writeJSON(_ text: String) throws {
    try write(text)
  }

  private func write(_ text: String) throws { try Terminal.write(text) }
}
