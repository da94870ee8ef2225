import GQLRunCache
import GQLRunJSON

/// The pages of one connection of one object that are still to be requested.
struct Continuation: Sendable, Equatable {
  /// The index of the connection in the plan.
  var connection: Int
  /// The cursor of the next page; `nil` for the first page, if it failed as a part of a larger result.
  var cursor: String?
  /// The values that find the object, by name of the argument, and its `__typename` for
  /// ``TableConnection/Holder/node(type:)`` without a type; empty for a path.
  var holder: [String: JSONValue] = [:]
  /// The `_key` of the row that has the connection; `nil` at the first level.
  var parent: String?
  /// The number of elements so far, which is the `_position` of the next. An element that is null counts without a row.
  var count = 0
  /// The number of pages so far.
  var pages = 0
  /// An earlier cursor, replaced after 1, 2, 4, … pages: it returns if the cursors repeat, and needs no memory of all.
  var mark: String?
  /// The number of elements in all pages, as the server counts them; `nil` if the document does not select it.
  var total: Int?
  /// How often the next page has failed.
  var failures = 0
  /// Why the next page cannot be had; `nil` if it is still to be requested.
  var problem: String?
  /// The number of elements of the page at ``cursor``, if it was read and has the ``problem``: ``count`` has them already.
  var read: Int?
  /// The number in a frontier, by which parts of its text name it.
  var number = 0
}

extension Continuation {
  /// The continuation after a page.
  ///
  /// One that cannot continue has a ``problem``, because a repeated request would have the same answer.
  ///
  /// - Parameter page: The value of the connection.
  /// - Returns: `nil` after the last page.
  func advanced(over page: JSONObject, in connection: TableConnection) -> Continuation? {
    var next = self
    let count = page[connection.listKey]?.arrayValue?.count ?? 0
    next.count += count
    next.pages += 1
    next.failures = 0
    if let key = connection.totalKey, let total = page[key]?.intValue {
      next.total = Self.bounded(total)
    }
    func failing(_ problem: String) -> Continuation {
      next.problem = problem
      next.read = count
      return next
    }
    guard let hasMore = page.value(at: connection.hasMoreKeys)?.boolValue else {
      return failing("a page does not have `\(connection.hasMoreKeys.joined(separator: "."))`")
    }
    guard hasMore else { return nil }
    let given = page.value(at: connection.cursorKeys) ?? .null
    guard let cursor = given.stringValue else {
      let found = given.isNull ? "" : ": `\(connection.cursorKeys.last ?? "")` is \(given.shape)"
      return failing("the server says that there are more pages and gives no cursor\(found)")
    }
    guard cursor.utf8.count <= Self.maxCursor else {
      return failing(
        "the cursor of the next page has \(cursor.utf8.count) bytes, and the journal keeps at most "
          + "\(Self.maxCursor)")
    }
    guard cursor != self.cursor, cursor != mark else {
      return failing(
        cursor == self.cursor && count == 0
          ? "a page has no elements, and the server says that there are more with the same cursor"
          : "the server gave a cursor a second time, so that its pages would repeat without end")
    }
    next.cursor = cursor
    // https://maths-people.anu.edu.au/~brent/pub/pub051.html
    if next.pages & (next.pages - 1) == 0 { next.mark = cursor }
    return next
  }

  /// Makes one with a ``problem`` request its page once more. A page that was read has its rows again, with the same
  /// positions.
  mutating func retry() {
    problem = nil
    failures = 0
    guard let read else { return }
    count -= read
    pages -= 1
    self.read = nil
  }

  /// Above any real number of elements.
  private static let maxNumber = 1 << 32

  /// A number of elements, pages or lines from outside, of which sums cannot overflow.
  static func bounded(_ number: Int) -> Int { min(max(number, 0), maxNumber) }
  /// The maximum length of a cursor in bytes. Each response records those of all connections that have more pages.
  static let maxCursor = 1 << 16
}

/// How a journal records continuations.
extension Continuation {
  /// Appends the value that `init(_:)` reads.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("n", number)
    writer.member("on", connection)
    if let cursor { writer.member("after", cursor) }
    if !holder.isEmpty {
      writer.key("by")
      writer.beginObject()
      for (name, value) in holder.sorted(by: { $0.key < $1.key }) { writer.member(name, value) }
      writer.endObject()
    }
    if let parent { writer.member("of", parent) }
    for (name, value) in [("count", count), ("pages", pages), ("failures", failures)]
    where value != 0 { writer.member(name, value) }
    // Mostly the cursor of the first page.
    if let mark, mark != cursor { writer.member("mark", mark) }
    if let total { writer.member("total", total) }
    if let problem { writer.member("problem", problem) }
    if let read { writer.member("read", read) }
    writer.endObject()
  }

  /// Reads what ``write(to:)`` has written; `nil` for another value.
  init?(_ value: JSONValue) {
    guard let connection = value["on"]?.intValue else { return nil }
    // A checkpoint comes from its caller; sums of its numbers must not overflow.
    func number(_ name: String) -> Int? { value[name]?.intValue.map(Self.bounded) }
    self.init(connection: connection)
    cursor = value["after"]?.stringValue
    for member in value["by"]?.objectValue ?? [:] { holder[member.key] = member.value }
    parent = value["of"]?.stringValue
    count = number("count") ?? 0
    pages = number("pages") ?? 0
    failures = number("failures") ?? 0
    mark = value["mark"]?.stringValue ?? cursor
    total = number("total")
    problem = value["problem"]?.stringValue
    read = number("read")
    self.number = number("n") ?? 0
  }
}

extension JSONValue {
  /// An array of numbers.
  static func numbers(_ numbers: [Int]) -> JSONValue {
    .array(numbers.map { .number(JSONNumber($0)) })
  }
}

extension JSONWriter {
  /// Appends a member.
  mutating func member(_ name: String, _ value: JSONValue) {
    key(name)
    value.write(to: &self)
  }

  /// Appends a member with a string.
  mutating func member(_ name: String, _ value: String) {
    key(name)
    writeString(value)
  }

  /// Appends a member with a number.
  mutating func member(_ name: String, _ value: Int) {
    key(name)
    writeNumber(value)
  }
}

extension JSONObject {
  /// The value that keys lead to; `nil` if one of them is absent.
  func value(at keys: [String]) -> JSONValue? {
    keys.dropFirst().reduce(keys.first.flatMap { self[$0] }) { $0?[$1] }
  }
}
