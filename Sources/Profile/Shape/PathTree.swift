/// The paths of a response without list indices, with counts for each.
struct PathTree {
  private struct Node {
    var name: [UInt8]
    var parent: Int
    var children: [Int] = []
    /// The children by name, if there are many.
    var named: [[UInt8]: Int] = [:]
    /// The index of the expected next child: fields usually occur in the same order.
    var expected = 0
    var count = 0
    var nulls = 0
    var bytes = 0
    var longestList = 0
  }

  /// The maximum number of paths; further ones are counted with their parent, because their keys
  /// are data.
  private static let limit = 20_000
  /// Up to this number, children are searched linearly.
  private static let few = 32
  private static let typename = Array("__typename".utf8)
  private var nodes = [Node(name: [], parent: 0)]

  mutating func child(of parent: Int, named name: UnsafeRawBufferPointer) -> Int {
    let count = nodes[parent].children.count
    let expected = nodes[parent].expected
    for step in 0..<min(count, Self.few) {
      let position = (expected + step) % count
      let child = nodes[parent].children[position]
      if nodes[child].name.elementsEqual(name) {
        nodes[parent].expected = (position + 1) % count
        return child
      }
    }
    let bytes = Array(name)
    if count > Self.few, let child = nodes[parent].named[bytes] { return child }
    guard nodes.count < Self.limit else { return parent }
    nodes.append(Node(name: bytes, parent: parent))
    nodes[parent].children.append(nodes.count - 1)
    if count == Self.few {
      for child in nodes[parent].children { nodes[parent].named[nodes[child].name] = child }
    } else if count > Self.few {
      nodes[parent].named[bytes] = nodes.count - 1
    }
    nodes[parent].expected = 0
    return nodes.count - 1
  }

  mutating func note(at index: Int, bytes: Int, isNull: Bool) {
    nodes[index].count += 1
    nodes[index].bytes += bytes
    if isNull { nodes[index].nulls += 1 }
  }

  mutating func noteElement(at index: Int, isNull: Bool) {
    if isNull { nodes[index].nulls += 1 }
  }

  mutating func noteList(at index: Int, count: Int) {
    nodes[index].longestList = max(nodes[index].longestList, count)
  }

  func name(of index: Int) -> [UInt8] { nodes[index].name }
  func isTypename(_ index: Int) -> Bool { nodes[index].name == Self.typename }
  func mayBeKey(_ index: Int, _ types: TypeTable) -> Bool {
    types.allKeyFields.contains(nodes[index].name)
  }

  func path(of index: Int) -> String {
    var names: [String] = []
    var index = index
    while index != 0 {
      names.append(String(decoding: nodes[index].name, as: UTF8.self))
      index = nodes[index].parent
    }
    return names.reversed().joined(separator: ".")
  }

  /// The paths with the most bytes, at most 500.
  var shapes: [ShapeReport.PathShape] {
    nodes.indices.dropFirst().map { index in
      let node = nodes[index]
      let inside = node.children.reduce(0) { $0 + nodes[$1].bytes }
      return ShapeReport.PathShape(
        path: path(of: index), count: node.count, nulls: node.nulls, bytes: node.bytes,
        ownBytes: max(node.bytes - inside, 0), longestList: node.longestList)
    }
    .sorted { ($0.bytes, $1.path) > ($1.bytes, $0.path) }
    .prefix(500).map { $0 }
  }
}
