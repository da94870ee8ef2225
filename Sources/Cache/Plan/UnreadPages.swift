import GQLRunJSON
import GQLRunLanguage

/// A field of an operation that tells whether there are more pages: one that selects `pageInfo { hasNextPage }`.
package struct ConnectionField: Sendable, Hashable {
  /// The response keys to the connection, without the indices of lists.
  package var keys: [String]
  /// The response keys below the connection that lead to `hasNextPage`.
  package var hasNextPage: [String]
  /// The response keys below the connection that lead to `endCursor`; `nil` if the operation does not select it.
  package var endCursor: [String]?
  /// The variable with the cursor of the page; `nil` if the document passes none.
  package var variable: String?

  /// The response keys to the connection, joined by dots.
  package var path: String { keys.joined(separator: ".") }
}

/// Finds connections in results that have more pages than the result.
///
/// Reads the data in chunks, and keeps a path, a key and a cursor of it, whatever its size.
package struct UnreadPages: Sendable {
  /// What the results say about one connection of the operation.
  package struct Connection: Sendable {
    /// The field of the operation.
    package var field: ConnectionField
    /// How often it occurs; below a list, it does for each element.
    package var count = 0
    /// How many of them have more pages.
    package var unread = 0
    /// The last `endCursor` that was read; `nil` without one.
    package var cursor: String?
    /// The number of list levels that each of the field's keys leads to, where it first had more pages; empty if it had none.
    package var lists: [Int] = []

    fileprivate let hasNextPage: [[UInt8]]
    fileprivate let endCursor: [[UInt8]]?

    fileprivate init(_ field: ConnectionField) {
      self.field = field
      hasNextPage = (field.keys + field.hasNextPage).map(Self.quoted)
      endCursor = field.endCursor.map { (field.keys + $0).map(Self.quoted) }
    }

    /// A response key as the text has it: a name has no characters that JSON escapes.
    private static func quoted(_ key: String) -> [UInt8] { Array("\"\(key)\"".utf8) }
  }

  /// All connections of the operation.
  package private(set) var connections: [Connection]
  private var scanner = JSONScanner()
  /// The open containers: the current key of an object, `nil` for a list.
  private var open: [[UInt8]?] = []
  /// The current keys of the open objects.
  private var path: [[UInt8]] { open.compactMap { $0 } }
  private var expectsKey = false
  private var isKey = false
  /// The connection whose cursor the current string is.
  private var cursorOwner: Int?
  private var text: [UInt8] = []

  /// Finds nothing in the results of an operation without such fields.
  package init(of operation: PreparedOperation) { self.init(operation.template.connectionFields()) }

  /// Finds those of the given connections.
  package init(_ fields: [ConnectionField]) {
    connections = fields.map { Connection($0) }
  }

  /// Those that have more pages.
  package var unread: [Connection] { connections.filter { $0.unread > 0 } }

  /// Forgets what was counted.
  package mutating func beginCount() {
    for index in connections.indices {
      (connections[index].count, connections[index].unread) = (0, 0)
      (connections[index].cursor, connections[index].lists) = (nil, [])
    }
  }

  /// Begins another result, whose connections are counted with those before.
  package mutating func beginResult() {
    scanner = JSONScanner()
    open = []
    expectsKey = false
  }

  /// Reads a chunk of a result's data.
  package mutating func read(_ chunk: UnsafeRawBufferPointer) {
    guard !connections.isEmpty else { return }
    var offset = 0
    while let token = scanner.next(chunk, from: &offset) {
      switch token {
      case .mark(let mark): take(mark)
      case .scalar(let range, let isStart):
        if isStart { count(isTrue: chunk[range.lowerBound] == UInt8(ascii: "t")) }
      case .string(let range, let isStart, let isEnd):
        if isStart { beginString() }
        if isKey || cursorOwner != nil { text += chunk[range] }
        if isEnd { endString() }
      case .whiteSpace: break
      }
    }
  }

  private mutating func take(_ mark: UInt8) {
    switch mark {
    case UInt8(ascii: "{"):
      open.append([])
      expectsKey = true
    case UInt8(ascii: "["):
      open.append(nil)
      expectsKey = false
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      open.removeLast(open.isEmpty ? 0 : 1)
      expectsKey = false
    case UInt8(ascii: ","): expectsKey = open.last?.map { _ in true } ?? false
    default: break
    }
  }

  private mutating func beginString() {
    isKey = expectsKey
    expectsKey = false
    text.removeAll(keepingCapacity: true)
    cursorOwner = isKey ? nil : owner { $0.endCursor }
  }

  private mutating func endString() {
    if isKey {
      isKey = false
      if !open.isEmpty { open[open.count - 1] = text }
    } else if let cursorOwner {
      self.cursorOwner = nil
      connections[cursorOwner].cursor = try? JSONValue(parsing: text).stringValue
    }
  }

  private mutating func count(isTrue: Bool) {
    guard let index = owner(of: { $0.hasNextPage }) else { return }
    connections[index].count += 1
    guard isTrue else { return }
    connections[index].unread += 1
    if connections[index].lists.isEmpty {
      connections[index].lists = lists(below: connections[index].field.keys.count)
    }
  }

  /// The number of lists that each of the first keys of the path leads to.
  private func lists(below count: Int) -> [Int] {
    var lists: [Int] = []
    for container in open {
      if container != nil {
        lists.append(0)
      } else if let last = lists.indices.last {
        lists[last] += 1
      }
    }
    return Array(lists.prefix(count))
  }

  /// The connection that has the value at the current keys.
  private func owner(of keys: (Connection) -> [[UInt8]]?) -> Int? {
    guard let last = open.last ?? nil else { return nil }
    // Most values differ in the last key, so that the path is rarely made.
    return connections.firstIndex { keys($0)?.last == last && keys($0) == path }
  }
}
