/// Appends the elements of a later part to a stored list.
///
/// A part costs as much as its own elements, not as the list. Elements that do not fill a segment yet are in short
/// segments at the end of the list. A new segment absorbs those before it that are shorter than twice its size, so
/// that few of them exist, and each element is written again only a few times:
///
///     full, full, full, 200 KiB, 90 KiB, 3 KiB
///
/// The names of all segments are written with each part, so a full segment has ``maxSize`` bytes, not ``Segments/size``. It
/// has no more, because SQLite reads all of a record when it compares a key with the record's.
///
/// The name of a short segment also depends on the list and on the segment's position, so that no other list refers to
/// it, and it can be removed when it is absorbed.
struct ListGrowth {
  /// The most short segments of a list: each is at least twice as long as the next.
  static let maxShortSegments = 21
  /// The size, in bytes, from which a segment is not absorbed.
  static let maxSize = 4 * Segments.size

  private let access: any SegmentAccess
  /// The hash of the position of the list.
  private let list: UInt64

  /// - Parameters:
  ///   - owner: The key of the record.
  ///   - steps: The steps from the record to the list.
  init(owner: [UInt8], steps: [RecordStep], access: any SegmentAccess) {
    self.access = access
    var text = owner
    for step in steps {
      switch step {
      case .field(let key): text += key
      case .element(let index): text += "[\(index)]".utf8
      }
    }
    list = Self.hash(text)
  }

  /// The list `old` with the elements of `new`; `nil` if `old` does not have `count` elements, or `new` has none.
  func appended(_ new: [UInt8], to old: [UInt8], count: Int) -> [UInt8]? {
    guard var text = GrowingList(old), let added = GrowingList(new), added.count > 0,
      text.count == count, count == 0 || text.isLeaf == added.isLeaf
    else { return nil }
    text.isLeaf = added.isLeaf
    if let elements = added.elements {
      append(elements, to: &text)
    } else {
      // A part that is longer than a segment.
      seal(&text)
      text.append(names: added.names)
    }
    text.count += added.count
    return text.text
  }

  /// Moves elements that are inside the record to a segment.
  private func seal(_ text: inout GrowingList) {
    guard let elements = text.elements else { return }
    text.elements = nil
    if text.count > 0 { add(elements, to: &text, isLast: true) }
  }

  private func append(_ new: [UInt8], to text: inout GrowingList) {
    if let elements = text.elements {
      let all = text.count == 0 ? new : elements + [UInt8(ascii: ",")] + new
      if all.count <= Segments.size {
        text.elements = all
      } else {
        text.elements = nil
        add(all, to: &text, isLast: false)
      }
      return
    }
    var tail = new
    while let last = shortSegment(endOf: text, below: 2 * tail.count) {
      text.removeLastName()
      access.removeSegment(last.key)
      tail = last.elements + [UInt8(ascii: ",")] + tail
    }
    add(tail, to: &text, isLast: true)
  }

  /// - Parameter isLast: Whether the segment may be absorbed later.
  private func add(_ elements: [UInt8], to text: inout GrowingList, isLast: Bool) {
    let isShort = isLast && elements.count <= Self.maxSize
    let salt = isShort ? salt(text.names.count) : 0
    text.append(
      name: elements.withBytes { access.addSegment(elements: $0, salt: salt) })
  }

  /// The last segment, if this type has added it as a short one and it has fewer than `limit` bytes.
  private func shortSegment(
    endOf text: GrowingList, below limit: Int
  ) -> (key: [UInt8], elements: [UInt8])? {
    guard let name = text.lastName else { return nil }
    var key = ByteStack(capacity: 32)
    Segments.appendKey(name, to: &key)
    guard let segment = access.text(of: key.all.array), segment.count > 2,
      segment.count < min(limit, Self.maxSize)
    else { return nil }
    let elements = Array(segment[1..<(segment.count - 1)])
    let position = text.names.count - GrowingList.nameLength
    let expected = elements.withBytes { access.segmentName(of: $0, salt: salt(position)) }
    return name == expected ? (key.all.array, elements) : nil
  }

  /// What the name of a short segment depends on, beside its elements.
  private func salt(_ position: Int) -> UInt64 {
    Self.hash(Array("\(list) \(position)".utf8))
  }

  private static func hash(_ text: [UInt8]) -> UInt64 {
    text.withBytes { hashBytes($0.start, $0.count, seed: 1) }
  }
}

/// The text of a list, to which elements are appended.
private struct GrowingList {
  /// The length of a quoted name with the comma behind it.
  static let nameLength = 19

  /// The elements of a list without segments, separated by commas.
  var elements: [UInt8]?
  /// The quoted names of the segments, with a comma behind each.
  private(set) var names: [UInt8] = []
  var count: Int
  /// Whether the elements are leaf values.
  var isLeaf: Bool

  /// `nil` if the text is not a list.
  init?(_ value: [UInt8]) {
    let isOpaque = value.first == UInt8(ascii: " ")
    let text = isOpaque ? value[1...] : value[...]
    let found = text.withUnsafeBufferPointer {
      buffer -> (elements: Range<Int>?, names: Range<Int>, count: Int)? in
      let text = Bytes(buffer)
      switch RecordText.kind(text) {
      case .list:
        guard let count = ElementCursor.count(of: text) else { return nil }
        return (1..<(text.count - 1), 0..<0, count)
      case .segments, .values:
        var fields = FieldCursor(text)
        guard let names = fields.next(), let count = fields.next(),
          let number = Int(text[count.value].string), (0...Segments.maxCount).contains(number),
          names.value.count > Self.nameLength, names.value.count % Self.nameLength == 1
        else { return nil }
        return (nil, (names.value.lowerBound + 1)..<(names.value.upperBound - 1), number)
      default: return nil
      }
    }
    guard let found else { return nil }
    count = found.count
    isLeaf = isOpaque
    if let range = found.elements {
      elements = Array(text.dropFirst(range.lowerBound).prefix(range.count))
    } else {
      isLeaf = text.starts(with: #"{"$values""#.utf8)
      names = Array(text.dropFirst(found.names.lowerBound).prefix(found.names.count))
      names.append(UInt8(ascii: ","))
    }
  }

  var lastName: UInt64? {
    guard names.count >= Self.nameLength else { return nil }
    return UInt64(String(decoding: names.suffix(18).prefix(16), as: UTF8.self), radix: 16)
  }

  mutating func removeLastName() { names.removeLast(Self.nameLength) }

  mutating func append(names more: [UInt8]) { names += more }

  mutating func append(name: UInt64) {
    var text = ByteStack(capacity: Self.nameLength)
    Segments.appendQuoted(name, to: &text)
    text.append(UInt8(ascii: ","))
    names += text.all.array
  }

  var text: [UInt8] {
    let start: String
    let end: String
    if elements == nil {
      start = isLeaf ? #"{"$values":["# : #"{"$segments":["#
      end = "],\"count\":\(count)}"
    } else {
      start = isLeaf ? " [" : "["
      end = "]"
    }
    var text: [UInt8] = []
    text.reserveCapacity(names.count + (elements?.count ?? 0) + 64)
    text += start.utf8
    // Without the last comma.
    text += elements?[...] ?? names[..<(names.count - 1)]
    text += end.utf8
    return text
  }
}
