/// A step from a record to a value in it.
enum RecordStep: Sendable, Hashable {
  /// The quoted stored key of a field.
  case field([UInt8])
  case element(Int)

  /// Whether it is a page that is not joined with its list yet.
  var isPage: Bool {
    guard case .field(let key) = self else { return false }
    return key.withBytes { $0.hasPrefix(PageRule.mark) }
  }
}

/// An object to which later parts may add fields, or a list to which they may add elements.
///
/// It refers to the record that had the object when it arrived. Whatever other requests write in between, a later
/// part is written to that record.
struct Anchor: Sendable {
  /// The path in the response.
  var path: [PathStep]
  /// The selection of the object or of the list's elements; empty for lists of leaf values.
  var parts: [SelectionPart]
  /// The type of an object; empty if it is unknown.
  var typename: [UInt8] = []
  /// The number of elements of a list; `nil` for an object.
  var count: Int?
  /// The key of the record; `nil` if it is not stored.
  var owner: [UInt8]?
  /// The steps from the record to the value; from the root of the response while the record is unknown.
  var steps: [RecordStep]
}

/// The objects and lists of a part of a response that later parts may extend.
struct AnchorList {
  /// The anchors whose records are known.
  private(set) var known: [Anchor] = []
  /// The anchors in open objects, in the order of their ends.
  private var open: [Anchor] = []
  /// The most anchors of one response.
  static let limit = 1 << 18
  /// Whether there were more of them.
  private(set) var isTooLong = false

  var hasOpen: Bool { !open.isEmpty }

  mutating func add(_ anchor: Anchor) {
    guard known.count + open.count < Self.limit else {
      isTooLong = true
      return
    }
    open.append(anchor)
  }

  /// Assigns a record to the open anchors inside the object or root field at `path`.
  ///
  /// - Parameters:
  ///   - steps: The steps to the record's object, which the anchors have, too.
  ///   - extra: The steps from the record to that object.
  mutating func adopt(
    under path: ArraySlice<PathStep>, steps: Int, owner: [UInt8]?, extra: [RecordStep] = []
  ) {
    while let last = open.last, last.path.starts(with: path) {
      open.removeLast()
      var anchor = last
      anchor.owner = owner
      anchor.steps = extra + anchor.steps.dropFirst(steps)
      known.append(anchor)
    }
  }
}

// MARK: - Finding anchors

extension NormalizerState {
  /// The path of the value that is open at `depth` of the containers, and the steps to it.
  private func steps(below depth: Int) -> (path: [PathStep], steps: [RecordStep]) {
    var path = part?.path ?? []
    var steps: [RecordStep] = []
    for index in 0..<depth {
      let container = containers[index]
      switch container.kind {
      case .envelope: continue
      case .list:
        path.append(.element(container.elementCount))
        steps.append(.element(container.elementCount))
      case .root, .object:
        guard let field = container.field else { continue }
        path.append(.field(field.pointee.key.string))
        steps.append(.field(field.pointee.storedKey))
      }
    }
    return (path, steps)
  }

  /// Notes the object that ends, if later parts may extend it, and assigns its record to what it contains.
  ///
  /// Fails if an earlier part had another object there.
  @inline(never)
  mutating func noteAnchors(
    _ object: UnsafeMutablePointer<OpenContainer>, key: Range<Int>?
  ) -> Bool {
    let isExtensible =
      object.pointee.node >= 0 && table.nodes[Int(object.pointee.node)].isExtensible
    guard isExtensible || key != nil && anchors.hasOpen else { return true }
    let (path, steps) = steps(below: containers.depth - 1)
    if isExtensible {
      var anchor = Anchor(
        path: path, parts: table.nodes[Int(object.pointee.node)].parts, owner: nil, steps: steps)
      if object.pointee.typenameStart >= 0 {
        let range =
          (object.pointee.typenameStart + 1)..<(object.pointee.typenameEnd - 1)
        anchor.typename = text.buffer.bytes(range).array
      }
      if let earlier = earlierAnchors[path] {
        if !anchor.typename.isEmpty, !earlier.typename.isEmpty, anchor.typename != earlier.typename
        {
          let found = String(decoding: anchor.typename, as: UTF8.self)
          return contradicts(path, field: "__typename", found: found, expected: earlier.typename)
        }
        if let key, let owner = earlier.owner, earlier.steps.isEmpty,
          !text.buffer.bytes(key).equals(owner)
        {
          return contradicts(
            path, field: "identity", found: text.buffer.bytes(key).string, expected: owner)
        }
      }
      anchors.add(anchor)
    }
    guard let key else { return true }
    anchors.adopt(under: path[...], steps: steps.count, owner: text.buffer.bytes(key).array)
    return true
  }

  /// Appends the key that an object had in an earlier part, if it is sent again without its key fields.
  @inline(never)
  mutating func appendEarlierKey(
    of object: UnsafeMutablePointer<OpenContainer>
  ) -> Range<Int>? {
    guard object.pointee.node >= 0, table.nodes[Int(object.pointee.node)].isExtensible,
      let earlier = earlierAnchors[steps(below: containers.depth - 1).path],
      let owner = earlier.owner, earlier.steps.isEmpty
    else { return nil }
    let start = text.count
    text.buffer.append(owner)
    return start..<text.count
  }

  /// Notes the list that ends, if later parts may extend it.
  @inline(never)
  mutating func noteListAnchor(_ list: UnsafeMutablePointer<OpenContainer>) {
    let parent = containers[containers.depth - 2]
    guard parent.kind != .list, parent.field?.pointee.isStreamed == true else { return }
    let (path, steps) = steps(below: containers.depth - 1)
    let node = list.pointee.node
    anchors.add(
      Anchor(
        path: path, parts: node < 0 ? [] : table.nodes[Int(node)].parts,
        count: list.pointee.elementCount, owner: nil, steps: steps))
  }

  /// Assigns the record of a root field to the anchors in it.
  @inline(never)
  mutating func adoptAnchors(ofRootField field: UnsafeMutablePointer<FieldPlan>) {
    guard anchors.hasOpen else { return }
    let path = [PathStep.field(field.pointee.key.string)]
    anchors.adopt(
      under: path[...], steps: 0, owner: storesRoot ? field.pointee.rootKey.array : nil)
  }
}
