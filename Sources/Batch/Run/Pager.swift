package import GQLRunJSON
package import GQLRunPipeline

/// Iterates over the pages of one task, or of one operation of the command line.
package struct Pager {
  private let pagination: Pagination?
  /// The variables of the current page.
  package private(set) var variables: JSONObject
  /// The cursor or offset of the next page, for the journal.
  private(set) var position: String?
  private var size: Int?
  /// Hashes of the cursors so far; a repeated cursor would loop forever.
  private var seen: Set<Int> = []

  /// Follows a connection at `path` with `pageInfo { hasNextPage endCursor }`; `cursor` is the variable for the
  /// cursor. `nil` for text that is not a path.
  package init?(connection path: String, cursor: String, variables: JSONObject) {
    guard let path = ResultPath(path) else { return nil }
    self.init(
      Pagination(style: .connection(path, cursor: cursor)), variables: variables, cursor: nil)
  }

  /// Advances the variable `offset` by the number of elements of the list at `path`, until a page has none.
  /// `nil` for text that is not a path.
  package init?(items path: String, offset: String, variables: JSONObject) {
    guard let path = ResultPath(path) else { return nil }
    self.init(
      Pagination(style: .offset(variable: offset, items: path)), variables: variables, cursor: nil)
  }

  init(_ pagination: Pagination?, variables: JSONObject, cursor: String?) {
    self.pagination = pagination
    self.variables = variables
    guard let pagination else { return }
    if let pageSize = pagination.pageSize {
      size = variables[pageSize.variable]?.intValue ?? pageSize.start
    }
    if let cursor { go(to: cursor) }
  }

  private mutating func go(to cursor: String) {
    position = cursor
    switch pagination?.style {
    case .connection(_, let variable)?: variables[variable] = .string(cursor)
    case .offset(let variable, _)?:
      variables[variable] = JSONNumber(text: cursor).map { .number($0) } ?? .null
    case nil: break
    }
  }

  /// Halves the page size. Returns `false` if it is already the minimum.
  mutating func halve() -> Bool {
    guard let settings = pagination?.pageSize, settings.onError == .halve, let size else {
      return false
    }
    let minimum = min(settings.min, settings.start)
    guard size > minimum else { return false }
    let smaller = max(minimum, size / 2)
    self.size = smaller
    variables[settings.variable] = .number(JSONNumber(smaller))
    return true
  }

  /// Advances to the next page. Returns `false` if there is none.
  package mutating func advance(over data: any ResultData) throws -> Bool {
    let next: String
    switch pagination?.style {
    case nil: return false
    case .connection(let path, _)?:
      guard
        let info = try Self.value(data, path: path.description + ".pageInfo", option: "connection"),
        info["hasNextPage"]?.boolValue == true
      else { return false }
      guard let cursor = info["endCursor"]?.stringValue else {
        throw TaskProblem(
          "the server says that there are further pages of `\(path)` and gives no endCursor")
      }
      next = cursor
    case .offset(let variable, let items)?:
      guard let value = try Self.value(data, path: items.description, option: "items") else {
        return false
      }
      guard let count = value.arrayValue?.count else {
        throw TaskProblem("`items` of `paginate` leads to `\(items)`, which is not a list")
      }
      guard count > 0 else { return false }
      let offset = variables[variable]?.intValue ?? 0
      let (sum, isTooLarge) = offset.addingReportingOverflow(count)
      guard !isTooLarge else {
        throw TaskProblem("there is no number for the offset of the page after \(offset)")
      }
      next = String(sum)
    }
    guard seen.insert(next.hashValue).inserted, next != position else {
      throw TaskProblem(
        "the server gave the cursor \(JSONValue.string(String(next.prefix(60))).jsonText()) a second time; its pages "
          + "would never end")
    }
    go(to: next)
    return true
  }

  private static func value(
    _ data: any ResultData, path: String, option: String
  ) throws -> JSONValue? {
    var found: JSONValue?
    let mismatch = try data.forEachValue(at: ResultPath(path)) { bytes in
      found = try JSONValue(parsing: bytes)
    }
    if let mismatch { throw TaskProblem("`\(option)` of `paginate` \(mismatch)") }
    return found
  }
}
