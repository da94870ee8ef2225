import GQLRunJSON
import GQLRunLanguage

/// A field of an operation that tells whether there are more pages: one that selects `pageInfo { hasNextPage }`.
package struct ConnectionField: Sendable, Hashable {
  /// The response keys to the connection, without the indices of lists.
  package var keys: [String]
  /// The response keys of `pageInfo` and its `hasNextPage`: each pair that the document selects. A result has those that
  /// directives and types include.
  package var hasNextPage: [[String]]
  /// The same for its `endCursor`; empty if the operation does not select it.
  package var endCursor: [[String]]
  /// Whether each result of the connection has a `hasNextPage`: no directive and no type leaves it out.
  package var isAlwaysSelected = false
  /// The variable with the cursor of the page; `nil` if the document passes none.
  package var variable: String?

  /// The response keys to the connection, joined by dots.
  package var path: String { keys.joined(separator: ".") }
}

/// Finds connections in results that have more pages than the result.
///
/// Reads the data in chunks, and keeps the open containers, a key and a cursor of it, whatever its size.
package struct UnreadPages: Sendable {
  /// What the results say about one connection of the operation.
  package struct Connection: Sendable {
    /// The field of the operation.
    package var field: ConnectionField
    /// How often it occurs; below a list, it does for each element.
    package var count = 0
    /// How many of them have more pages.
    package var unread = 0
    /// How many of them have no `hasNextPage` that is true or false, although the document selects it.
    package var unknown = 0
    /// The last `endCursor` that was read; `nil` without one.
    package var cursor: String?
    /// The number of list levels that each of the field's keys leads to, where it first had more pages; empty if it had none.
    package var lists: [Int] = []

    fileprivate init(_ field: ConnectionField) { self.field = field }

    /// The message about those that are ``unknown``.
    package var unknownNote: String {
      "`\(field.path)` may have more pages, because its `hasNextPage` is missing or not a Boolean"
    }
  }

  /// A place of the response keys that lead to what connections tell.
  private struct Node: Sendable {
    /// The keys below it, as the text has them: a name has no characters that JSON escapes.
    var children: [(key: [UInt8], node: Int)] = []
    /// The connection that is here.
    var connection: Int?
    /// Whether a `pageInfo` or `hasNextPage` of a connection is here.
    var isExpected = false
    /// The connection whose `hasNextPage`, and the one whose `endCursor`, is here.
    var hasNextPage: Int?
    var endCursor: Int?
  }

  /// An open object or list.
  private struct Container: Sendable {
    let isList: Bool
    /// Its node, that of the object that has it for a list in a list; `nil` if nothing that is looked for is in it.
    let node: Int?
    /// The node of its current value.
    var value: Int?
    /// Whether the connection has more pages; `nil` if nothing was read that tells it.
    var hasNextPage: Bool?
    /// Whether its `pageInfo` is no object, or its `hasNextPage` no Boolean.
    var isMalformed = false
  }

  /// All connections of the operation.
  package private(set) var connections: [Connection]
  /// The first one is that of the data.
  private var nodes = [Node()]
  private var scanner = JSONScanner()
  private var open: [Container] = []
  /// Whether the chunk before has ended in what is skipped.
  private var isSkipping = false
  private var expectsKey = false
  private var isKey = false
  /// Whether the current string is a key or a cursor that matters.
  private var isRead = false
  /// What earlier chunks have of the current string.
  private var text: [UInt8] = []

  /// Finds nothing in the results of an operation without such fields.
  package init(of operation: PreparedOperation) { self.init(operation.template.connectionFields()) }

  /// Finds those of the given connections.
  package init(_ fields: [ConnectionField]) {
    connections = fields.map { Connection($0) }
    for (index, field) in fields.enumerated() {
      let connection = node(at: field.keys)
      nodes[connection].connection = index
      for path in field.hasNextPage {
        let info = node(at: field.keys + path.dropLast())
        nodes[info].isExpected = true
        let next = node(at: field.keys + path)
        nodes[next].hasNextPage = nodes[next].hasNextPage ?? index
        nodes[next].isExpected = true
      }
      for path in field.endCursor {
        let end = node(at: field.keys + path)
        nodes[end].endCursor = nodes[end].endCursor ?? index
      }
    }
  }

  /// The node at response keys, which is added.
  private mutating func node(at keys: [String]) -> Int {
    var node = 0
    for key in keys.map({ Array("\"\($0)\"".utf8) }) {
      if let child = nodes[node].children.first(where: { $0.key == key }) {
        node = child.node
      } else {
        nodes.append(Node())
        nodes[node].children.append((key, nodes.count - 1))
        node = nodes.count - 1
      }
    }
    return node
  }

  /// Those that have more pages.
  package var unread: [Connection] { connections.filter { $0.unread > 0 } }
  /// Those that may have more pages.
  package var unknown: [Connection] { connections.filter { $0.unknown > 0 } }

  /// Forgets what was counted.
  package mutating func beginCount() {
    for index in connections.indices { connections[index] = Connection(connections[index].field) }
  }

  /// Begins another result, whose connections are counted with those before.
  package mutating func beginResult() {
    scanner = JSONScanner()
    open = []
    isSkipping = false
    expectsKey = false
  }

  /// Reads a chunk of a result's data.
  package mutating func read(_ chunk: UnsafeRawBufferPointer) {
    guard !connections.isEmpty else { return }
    var offset = isSkipping ? skip(chunk, from: 0) : 0
    while let token = scanner.next(chunk, from: &offset) {
      switch token {
      case .mark(let mark):
        let isOpening = mark == UInt8(ascii: "{") || mark == UInt8(ascii: "[")
        if isOpening, nodeOfContainer == nil {
          offset = skip(chunk, from: offset - 1)
        } else {
          take(mark)
        }
      case .scalar(let range, let isStart):
        guard isStart else { continue }
        switch chunk[range.lowerBound] {
        case UInt8(ascii: "t"): count(isTrue: true)
        case UInt8(ascii: "f"): count(isTrue: false)
        default: noteMalformed()
        }
      case .string(let range, let isStart, let isEnd):
        if isStart { beginString() }
        guard isRead else { continue }
        // Most keys are in one chunk, and need no copy.
        if isStart, isEnd {
          endString(UnsafeRawBufferPointer(rebasing: chunk[range]))
        } else {
          text += chunk[range]
          guard isEnd else { continue }
          let whole = text
          whole.withUnsafeBytes { endString($0) }
        }
      case .whiteSpace: break
      }
    }
  }

  /// The node of a container that begins.
  private var nodeOfContainer: Int? { open.isEmpty ? 0 : open[open.count - 1].value }
  /// The node of a string or scalar that begins; `nil` for an element of a list.
  private var nodeOfLeaf: Int? { open.last.flatMap { $0.isList ? nil : $0.value } }

  /// Skips an object or a list in which nothing is looked for, or the rest of one.
  ///
  /// - Returns: The offset after it, or after the chunk.
  private mutating func skip(_ chunk: UnsafeRawBufferPointer, from start: Int) -> Int {
    let offset = scanner.skip(chunk, from: start)
    isSkipping = scanner.isOpen
    return offset
  }

  private mutating func take(_ mark: UInt8) {
    switch mark {
    case UInt8(ascii: "{"):
      open.append(Container(isList: false, node: nodeOfContainer, value: nil))
      expectsKey = true
    case UInt8(ascii: "["):
      open.append(Container(isList: true, node: nodeOfContainer, value: nodeOfContainer))
      expectsKey = false
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      if let ended = open.popLast() { countUnknown(ended) }
      expectsKey = false
    case UInt8(ascii: ","): expectsKey = !(open.last?.isList ?? true)
    default: break
    }
  }

  private mutating func beginString() {
    isKey = expectsKey
    expectsKey = false
    text.removeAll(keepingCapacity: true)
    if isKey {
      isRead = open[open.count - 1].node != nil
      open[open.count - 1].value = nil
    } else {
      noteMalformed()
      isRead = nodeOfLeaf.map { nodes[$0].endCursor != nil } ?? false
    }
  }

  private mutating func endString(_ text: UnsafeRawBufferPointer) {
    guard isKey else {
      guard let owner = nodeOfLeaf.flatMap({ nodes[$0].endCursor }) else { return }
      connections[owner].cursor = try? JSONValue(parsing: Array(text)).stringValue
      return
    }
    isKey = false
    guard let node = open.last?.node else { return }
    open[open.count - 1].value = nodes[node].children.first { $0.key.elementsEqual(text) }?.node
  }

  private mutating func count(isTrue: Bool) {
    // The last container is the `pageInfo`, of which a connection may have several.
    guard let index = nodeOfLeaf.flatMap({ nodes[$0].hasNextPage }),
      let connection = open.indices.dropLast().last
    else { return }
    let known = open[connection].hasNextPage
    open[connection].hasNextPage = isTrue || known == true
    if known == nil { connections[index].count += 1 }
    guard isTrue, known != true else { return }
    connections[index].unread += 1
    if connections[index].lists.isEmpty {
      connections[index].lists = lists(below: connections[index].field.keys.count)
    }
  }

  /// Notes a value that is no Boolean, if one is expected there, or the object of one.
  private mutating func noteMalformed() {
    guard let leaf = nodeOfLeaf, nodes[leaf].isExpected,
      let owner = open.lastIndex(where: { connection(of: $0) != nil })
    else { return }
    open[owner].isMalformed = true
  }

  /// Counts a connection that ends without a `hasNextPage`.
  private mutating func countUnknown(_ ended: Container) {
    guard ended.hasNextPage == nil, let index = connection(of: ended),
      ended.isMalformed || connections[index].field.isAlwaysSelected
    else { return }
    connections[index].unknown += 1
  }

  /// The connection that a container is; `nil` for others and for lists.
  private func connection(of container: Container) -> Int? {
    container.isList ? nil : container.node.flatMap { nodes[$0].connection }
  }

  /// The number of lists that each of the first keys of the path leads to.
  private func lists(below count: Int) -> [Int] {
    var lists: [Int] = []
    for container in open {
      if !container.isList {
        lists.append(0)
      } else if let last = lists.indices.last {
        lists[last] += 1
      }
    }
    return Array(lists.prefix(count))
  }
}
