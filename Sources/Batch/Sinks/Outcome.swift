import GQLRunJSON
import GQLRunPipeline

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
  /// A gap in the events of a subscription, before this outcome.
  var gap: EventGap?
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
