/// What a response consists of, to help authors of schemas and queries reduce it.
///
/// Sizes are those of compact JSON without escapes. Names are response keys, so an aliased field
/// appears under its alias.
package struct ShapeReport: Codable, Sendable, Hashable {
  package var bytes = 0
  package var values = 0
  package var nulls = 0
  package var objects = 0
  package var depth = 0
  /// Objects with a type name and all key fields.
  package var identified = 0
  /// How many of them are different.
  package var distinct = 0
  /// Whether ``distinct`` and ``repeatedBytes`` are estimates from a sample, for a response with
  /// more than a million different objects.
  package var isEstimated = false
  /// Bytes of repeated objects; nested entities are counted once.
  package var repeatedBytes = 0
  /// Bytes of objects with an identity, from which other operations can be answered.
  package var identifiedBytes = 0
  /// The types, the largest first.
  package var types: [TypeShape] = []
  /// The paths without list indices, the largest first.
  package var paths: [PathShape] = []
  package var largestRecords: [LargeRecord] = []
  /// The number of strings by size: the n-th entry counts strings of less than 2^n bytes that no
  /// earlier entry counts.
  package var strings: [SizeCount] = []

  /// The share of objects with an identity that a normalized cache already has; `nil` without such
  /// objects.
  package var hitShare: Double? {
    identified > 0 ? Double(max(identified - distinct, 0)) / Double(identified) : nil
  }

  /// The size in bytes such that strings of at least this size contain half of all string bytes.
  package var middleString: Int? {
    let half = strings.reduce(0) { $0 + $1.bytes } / 2
    var sum = 0
    return strings.first {
      sum += $0.bytes
      return sum > half
    }.map { $0.below / 2 }
  }

  package struct TypeShape: Codable, Sendable, Hashable {
    package var name: String
    package var objects = 0
    package var distinct: Int?
    /// Without nested objects that have their own type.
    package var bytes = 0
    package var fields: [FieldShape] = []

    /// The share of repeated objects; `nil` if the objects have no identity.
    package var hitShare: Double? {
      distinct.map { Double(max(objects - $0, 0)) / Double(max(objects, 1)) }
    }
  }

  package struct FieldShape: Codable, Sendable, Hashable {
    package var name: String
    package var count = 0
    package var nulls = 0
    /// Including everything nested.
    package var bytes = 0
  }

  package struct PathShape: Codable, Sendable, Hashable {
    package var path = ""
    package var count = 0
    package var nulls = 0
    package var bytes = 0
    /// Without the bytes of longer paths.
    package var ownBytes = 0
    /// The length of the longest list at this path; 0 if there is none.
    package var longestList = 0
  }

  package struct LargeRecord: Codable, Sendable, Hashable {
    package var key: String
    package var path: String
    package var bytes: Int
  }

  package struct SizeCount: Codable, Sendable, Hashable {
    package var below: Int
    package var count: Int
    package var bytes: Int
  }

  /// Suggestions to reduce the response; empty if there are none.
  package var advice: [String] {
    var lines: [String] = []
    if identified > 0, bytes > 0, repeatedBytes * 10 > bytes {
      let share = repeatedBytes * 100 / bytes
      let most = types.filter { ($0.distinct ?? $0.objects) * 2 < $0.objects }.prefix(3).map(\.name)
      let names = most.isEmpty ? "" : " (mostly \(most.joined(separator: ", ")))"
      lines.append(
        "\(share) % of the bytes repeat objects\(names): select only their key fields there, and the "
          + "other fields once")
    }
    if values > 0, nulls * 4 > values {
      lines.append("\(nulls * 100 / values) % of the values are null")
    }
    if let path = paths.first(where: { $0.ownBytes * 3 > bytes && $0.count > 1 }) {
      lines.append(
        "\(path.path) alone is \(path.ownBytes * 100 / max(bytes, 1)) % of the bytes: does every "
          + "object need it?")
    }
    if let path = paths.first(where: { $0.longestList > 10_000 }) {
      lines.append(
        "\(path.path) has a list of \(path.longestList) elements: request it in pages")
    }
    return lines
  }
}

/// The names of fields in the order in which they were found.
struct FieldPositions {
  /// Up to this number, names are searched linearly.
  private static let maxLinear = 32
  private var names: [[UInt8]] = []
  /// The positions of the names, if there are many.
  private var positions: [[UInt8]: Int] = [:]
  /// The position of the expected next name: fields usually occur in the same order.
  private var expected = 0

  /// The position of a name; `nil` if it is new.
  mutating func position(of name: some Collection<UInt8>) -> Int? {
    for step in 0..<min(names.count, Self.maxLinear) {
      let position = (expected + step) % names.count
      guard names[position].elementsEqual(name) else { continue }
      expected = (position + 1) % names.count
      return position
    }
    return names.count > Self.maxLinear ? positions[Array(name)] : nil
  }

  /// Adds a new name.
  mutating func append(_ name: [UInt8]) {
    names.append(name)
    guard names.count > Self.maxLinear else { return }
    let new = positions.isEmpty ? 0..<names.count : names.count - 1..<names.count
    for position in new { positions[names[position]] = position }
  }
}

/// The paths of a response without list indices, with counts for each.
struct PathTree {
  private struct Node {
    var name: [UInt8]
    var parent: Int
    /// The children, in the order of their names.
    var children: [Int] = []
    var names = FieldPositions()
    /// The counts, without the path and the own bytes.
    var shape = ShapeReport.PathShape()
  }

  /// The maximum number of paths; further ones are counted with their parent, because their keys
  /// are data.
  private static let limit = 20_000
  private static let typename = Array("__typename".utf8)
  private var nodes = [Node(name: [], parent: 0)]

  mutating func child(of parent: Int, named name: UnsafeRawBufferPointer) -> Int {
    if let position = nodes[parent].names.position(of: name) {
      return nodes[parent].children[position]
    }
    guard nodes.count < Self.limit else { return parent }
    let node = Node(name: Array(name), parent: parent)
    nodes[parent].names.append(node.name)
    nodes[parent].children.append(nodes.count)
    nodes.append(node)
    return nodes.count - 1
  }

  mutating func note(at index: Int, bytes: Int) {
    nodes[index].shape.count += 1
    nodes[index].shape.bytes += bytes
  }

  mutating func noteNull(at index: Int) { nodes[index].shape.nulls += 1 }

  mutating func noteList(at index: Int, count: Int) {
    nodes[index].shape.longestList = max(nodes[index].shape.longestList, count)
  }

  func name(of index: Int) -> [UInt8] { nodes[index].name }
  func isTypename(_ index: Int) -> Bool { nodes[index].name == Self.typename }

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
      var shape = nodes[index].shape
      shape.path = path(of: index)
      let inside = nodes[index].children.reduce(0) { $0 + nodes[$1].shape.bytes }
      shape.ownBytes = max(shape.bytes - inside, 0)
      return shape
    }
    .sorted { ($0.bytes, $1.path) > ($1.bytes, $0.path) }
    .prefix(500).map { $0 }
  }
}
