import GQLRunCache
import GQLRunJSON

/// The column names of an input.
struct Columns: Sendable {
  let names: [String]
  private let index: [String: Int]

  init(_ names: [String]) {
    self.names = names
    index = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  func location(of name: String) -> Int? { index[name] }
}

/// One row of an input, which fills the templates of a task.
struct Row: Sendable {
  enum Content: Sendable {
    /// Text cells; `nil` is an empty cell.
    case cells(Columns, [String?])
    /// JSON values.
    case values(JSONObject)
  }

  /// The line or row number in the source, from 1.
  var number: Int
  var content: Content

  /// The result of looking up a template's path in a row.
  enum Found: Sendable {
    case absent
    /// Text that is converted to the type of the variable.
    case text(String)
    case value(JSONValue)
  }

  func find(_ path: [String], empty: VariableReader.Empty) -> Found {
    switch content {
    case .cells(let columns, let cells):
      guard let name = path.first, let location = columns.location(of: name), location < cells.count
      else {
        return .absent
      }
      if let text = cells[location] { return .text(text) }
      switch empty {
      case .omit: return .absent
      case .null: return .value(.null)
      case .string: return .text("")
      }
    case .values(let object):
      var value = JSONValue.object(object)
      for name in path {
        guard let next = value[name] else { return .absent }
        value = next
      }
      return .value(value)
    }
  }
}
