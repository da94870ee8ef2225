/// Every place in a response, list positions left out, with what stands there.
struct PathTree {
  private struct Node {
    var name: [UInt8]
    var parent: Int
    var children: [Int] = []
    /// The children by name, where there are many.
    var named: [[UInt8]: Int] = [:]
    /// Where the next child is expected: fields come in the same order again and again.
    var expected = 0
    var count = 0
    var nulls = 0
    var bytes = 0
    var longestList = 0
  }

  /// More places than this are counted together with the place they are in: keys that are data.
  private static let limit = 20_000
  /// So many children are looked at one by one.
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

  mutating func note(at place: Int, bytes: Int, isNull: Bool) {
    nodes[place].count += 1
    nodes[place].bytes += bytes
    if isNull { nodes[place].nulls += 1 }
  }

  mutating func noteElement(at place: Int, isNull: Bool) {
    if isNull { nodes[place].nulls += 1 }
  }

  mutating func noteList(at place: Int, count: Int) {
    nodes[place].longestList = max(nodes[place].longestList, count)
  }

  func name(of place: Int) -> [UInt8] { nodes[place].name }
  func isTypename(_ place: Int) -> Bool { nodes[place].name == Self.typename }
  func mayBeKey(_ place: Int, _ types: TypeTable) -> Bool {
    types.allKeyFields.contains(nodes[place].name)
  }

  func path(of place: Int) -> String {
    var names: [String] = []
    var place = place
    while place != 0 {
      names.append(String(decoding: nodes[place].name, as: UTF8.self))
      place = nodes[place].parent
    }
    return names.reversed().joined(separator: ".")
  }

  /// The places with the most bytes, at most 500.
  var shapes: [ShapeReport.PathShape] {
    nodes.indices.dropFirst().map { place in
      let node = nodes[place]
      let inside = node.children.reduce(0) { $0 + nodes[$1].bytes }
      return ShapeReport.PathShape(
        path: path(of: place), count: node.count, nulls: node.nulls, bytes: node.bytes,
        ownBytes: max(node.bytes - inside, 0), longestList: node.longestList)
    }
    .sorted { ($0.bytes, $1.path) > ($1.bytes, $0.path) }
    .prefix(500).map { $0 }
  }
}
