import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// The outcome of one page of a task, for the sinks and the journal.
struct Outcome: Sendable {
  var update: TaskUpdate
  /// The operation's index in the manifest.
  var operation: Int
  /// `nil` if the page has no data, or no sink writes it.
  var data: (any ResultData)?
  /// The result line up to its data; empty if none is to be written.
  var line: [UInt8] = []
  /// The pieces to write, by index of the sink; `nil` for large data, from which the sinks extract
  /// records themselves.
  var pieces: [[SinkPiece]]?
  var capture: JSONObject?
  var bookmarks: [(name: String, fold: Bookmark.Fold, value: JSONValue)] = []

  /// The approximate memory size, in bytes.
  var size: Int {
    let own = pieces?.reduce(0) { $0 + $1.reduce(0) { $0 + $1.size } } ?? data?.count ?? 0
    return 500 + line.count + min(own, 4 << 20)
  }
}

/// A piece that a sink appends.
enum SinkPiece: Sendable {
  case bytes([UInt8], records: Int)
  case row([SQLValue])

  var size: Int {
    switch self {
    case .bytes(let bytes, _): bytes.count
    case .row(let values): values.reduce(0) { $0 + $1.size }
    }
  }
}

/// A value as SQLite stores it.
enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)

  init(_ value: JSONValue?) {
    switch value {
    case nil, .null?: self = .null
    case .boolean(let flag)?: self = .integer(flag ? 1 : 0)
    case .number(let number)?:
      if let integer = Int64(number.text) {
        self = .integer(integer)
      } else if number.text.utf8.count <= 17, let real = number.doubleValue {
        self = .real(real)
      } else {
        // More digits than a double can represent stay exact as text.
        self = .text(number.text)
      }
    case .string(let text)?: self = .text(text)
    case let value?: self = .text(value.jsonText())
    }
  }

  var size: Int { if case .text(let text) = self { text.utf8.count + 16 } else { 16 } }
}

/// How one sink writes the results of one operation.
struct SinkFormat: Sendable {
  enum Kind: Sendable {
    case results
    case records
    case csv([ResultPath?])
    case elements
    case rows([ResultPath?], key: [Int])
    case nothing
  }

  let kind: Kind
  let emit: ResultPath?
  /// The use of the columns that the manifest names; `nil` for columns derived from the document.
  var usage: ColumnUsage?

  /// Whether the sink may refuse a record.
  var mayRefuse: Bool {
    switch kind {
    case .rows(let paths, let key): !key.isEmpty || paths.contains { $0?.steps.count ?? 0 > 1 }
    case .csv(let paths): paths.contains { $0?.steps.count ?? 0 > 1 }
    default: false
    }
  }

  /// The paths of the columns in the operation's records.
  static func paths(_ columns: [String]) -> [ResultPath?] { columns.map { ResultPath($0) } }

  /// Calls `write` with everything that a page contributes to this sink.
  func pieces(
    of data: (any ResultData)?, line: [UInt8], task: @autoclosure () -> String,
    _ write: (SinkPiece) throws -> Void
  ) throws {
    switch kind {
    case .nothing: return
    case .results:
      guard let data, data.count > 1 << 20 else {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(line.count + (data?.count ?? 4) + 2)
        bytes += line
        if let data { try data.forEachChunk { bytes += $0 } } else { bytes += "null".utf8 }
        bytes.append(0x7D)
        bytes.append(0x0A)
        return try write(.bytes(bytes, records: 1))
      }
      try write(.bytes(line, records: 1))
      try data.forEachChunk { try write(.bytes(Array($0), records: 0)) }
      try write(.bytes([0x7D, 0x0A], records: 0))
    case .records, .elements:
      guard let data else { return }
      let isElement = if case .elements = kind { true } else { false }
      try writeTogether(data, write) { record in
        // Each element starts with a comma, which the first one of the file omits.
        isElement ? [0x2C, 0x0A] + record : record + [0x0A]
      }
    case .csv(let paths):
      guard let data else { return }
      var found = Array(repeating: false, count: paths.count)
      defer { usage?.note(found) }
      try writeTogether(data, write) { record in
        let value = try JSONValue(parsing: record)
        return CSVText.line(try paths.enumerated().map { try cell($1, in: value, &found[$0]) })
      }
    case .rows(let paths, let key):
      try data?.forEachValue(at: emit) { record in
        let value = try JSONValue(parsing: record)
        var isFound = false
        var row = try paths.map { SQLValue(try cell($0, in: value, &isFound)) }
        for location in key {
          if case .null = row[location] {
            throw TaskProblem(
              "a record has no value for the key column `\(paths[location]?.description ?? "")`; "
                + "select it, or choose another key")
          }
        }
        if key.isEmpty { row.append(.text(task())) }
        try write(.row(row))
      }
    }
  }

  /// Writes the records of a page in pieces of about 256 KiB.
  private func writeTogether(
    _ data: any ResultData, _ write: (SinkPiece) throws -> Void,
    _ line: ([UInt8]) throws -> [UInt8]
  ) throws {
    var held: [UInt8] = []
    var count = 0
    try data.forEachValue(at: emit) { record in
      held += try line(record)
      count += 1
      if held.count > 256 << 10 {
        try write(.bytes(held, records: count))
        held = []
        count = 0
      }
    }
    if count > 0 { try write(.bytes(held, records: count)) }
  }
}

extension SinkFormat {
  /// The value of one column of a record.
  ///
  /// - Parameter isFound: Set to true if the record has the column, even if it is null.
  private func cell(
    _ path: ResultPath?, in record: JSONValue, _ isFound: inout Bool
  ) throws -> JSONValue? {
    guard let path else { return nil }
    switch path.look(in: record) {
    case .value(let value):
      isFound = true
      return value
    case .null:
      isFound = true
      return nil
    case .absent: return nil
    case .mismatch(let mismatch): throw TaskProblem("the column `\(path)` \(mismatch)")
    }
  }
}

/// Records which columns of a sink had a value, or null, in any record of a run.
final class ColumnUsage: Sendable {
  let names: [String]
  private let state: Locked<[Bool]>

  init(_ names: [String]) {
    self.names = names
    state = Locked(Array(repeating: false, count: names.count))
  }

  /// Adds the columns found on one page; ignores pages without records.
  func note(_ page: [Bool]) {
    guard page.contains(true) else { return }
    state.withLock { state in
      for (column, isFound) in page.enumerated() where isFound { state[column] = true }
    }
  }

  /// The columns that no record had; empty if there were no records.
  var missing: [String] {
    state.withLock { found in
      found.contains(true) ? zip(names, found).filter { !$1 }.map(\.0) : []
    }
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
      case .string(let text)?: bytes += cell(text)
      case let value?: bytes += cell(value.jsonText())
      }
    }
    bytes.append(0x0A)
    return bytes
  }

  /// Empty text is quoted, which distinguishes it from a missing value.
  static func cell(_ text: String) -> [UInt8] {
    let utf8 = Array(text.utf8)
    guard
      utf8.isEmpty || utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) })
        || utf8.first == 0x20 || utf8.last == 0x20
    else { return utf8 }
    return [0x22] + utf8.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] } + [0x22]
  }
}
