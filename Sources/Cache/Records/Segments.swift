/// Long lists, split into records of limited size.
///
/// A list longer than ``size`` bytes is stored as `{"$segments":["<name>",…],"count":N}` (a list of
/// leaf values: `$values`), with its elements in segment records, `$segment:<name>` → `[…]`. The
/// name of a segment is the hash of its content: an unchanged list writes nothing, and the
/// normalizer can split a list before it knows the record that contains it.
package enum Segments {
  /// The size at which a list is split, in bytes; at the end of an element.
  package static let size = 64 << 10
  package static let keyPrefix: StaticString = "$segment:"
  /// The bytes of ``keyPrefix``.
  static let prefix = Array("$segment:".utf8)

  static func append(
    names: ArraySlice<UInt64>, count: Int, isLeaf: Bool, to out: inout ByteStack
  ) {
    out.append(utf8: isLeaf ? "{\"$values\":[" : "{\"$segments\":[")
    for (index, name) in names.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      appendQuoted(name, to: &out)
    }
    out.append(utf8: "],\"count\":\(count)}")
  }

  static func appendQuoted(_ name: UInt64, to out: inout ByteStack) {
    out.append(UInt8(ascii: "\""))
    appendHex(name, to: &out)
    out.append(UInt8(ascii: "\""))
  }

  static func appendKey(_ name: UInt64, to out: inout ByteStack) {
    out.append(utf8: keyPrefix)
    appendHex(name, to: &out)
  }

  /// The maximum number of elements of a list: so few that counts of stored lists can be added.
  static let maxCount = Int(UInt32.max)

  /// The name in the record key of a segment.
  static func name(ofKey key: [UInt8]) -> UInt64? {
    UInt64(String(decoding: key.dropFirst(keyPrefix.utf8CodeUnitCount), as: UTF8.self), radix: 16)
  }

  package static func isSegment(key: Bytes) -> Bool { key.hasPrefix(keyPrefix) }

  private static func appendHex(_ name: UInt64, to out: inout ByteStack) {
    let digits: StaticString = "0123456789abcdef"
    for shift in stride(from: 60, through: 0, by: -4) {
      out.append(digits.utf8Start[Int(name >> UInt64(shift) & 15)])
    }
  }

  /// The record keys of the segments in a segmented list's text, and its element count; `nil` for a text that no writer
  /// writes, as in a damaged record.
  package static func keys(of value: Bytes) -> (keys: [[UInt8]], count: Int)? {
    var cursor = FieldCursor(value)
    guard let list = cursor.next(), let count = cursor.next(),
      let number = Int(value[count.value].string), (0...maxCount).contains(number)
    else { return nil }
    var keys: [[UInt8]] = []
    let names = value[list.value]
    var elements = ElementCursor(names)
    while let element = elements.next() {
      guard element.count == 18 else { return nil }
      let name = names[(element.lowerBound + 1)..<(element.upperBound - 1)]
      let key = prefix + name.array
      guard self.name(ofKey: key) != nil else { return nil }
      keys.append(key)
    }
    return elements.isMalformed ? nil : (keys, number)
  }
}

/// The segments of long lists, among the records of a response, a store or a transaction.
protocol SegmentAccess: AnyObject {
  /// The seed of the hash that names segments.
  var segmentSeed: UInt64 { get }
  /// The text of a record or segment; `nil` if it does not exist.
  func text(of key: [UInt8]) -> [UInt8]?
  /// Stores the text `[…]` of a segment, unless the key has another one; returns whether the key has the text.
  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool
  /// Removes a segment that no list refers to.
  func removeSegment(_ key: [UInt8])
}

extension SegmentAccess {
  /// Stores elements (joined by commas) as a segment, and returns its name.
  ///
  /// - Parameter salt: What the name depends on beside the elements; 0 for segments that several lists may share.
  func addSegment(elements: Bytes, salt: UInt64 = 0) -> UInt64 {
    var name = segmentName(of: elements, salt: salt)
    var text = ByteStack(capacity: elements.count + 2)
    text.append(UInt8(ascii: "["))
    text.append(elements)
    text.append(UInt8(ascii: "]"))
    var key = ByteStack(capacity: 64)
    while true {
      key.truncate(to: 0)
      Segments.appendKey(name, to: &key)
      if storeSegment(key.all, text.all) { return name }
      name &+= 1
    }
  }

  /// The name of a segment, unless another segment has it.
  func segmentName(of elements: Bytes, salt: UInt64) -> UInt64 {
    hashBytes(elements.start, elements.count, seed: segmentSeed ^ salt)
  }
}

/// Iterates over the elements of a list of objects or leaf values, inline or segmented.
struct ListReader {
  /// The keys of the segments; `nil` for an inline list.
  let segments: [[UInt8]]?
  private var nextKey = 0
  private var current: [UInt8] = []
  private var position = 1
  private let access: (any SegmentAccess)?
  private(set) var isBroken = false
  /// The number of elements; counted for inline lists.
  let count: Int
  /// Whether the elements are leaf values, which are never merged.
  let isLeaf: Bool

  /// `nil` if the value is not a list, or a segmented one without access to segments.
  init?(_ value: [UInt8], access: (any SegmentAccess)?) {
    guard RecordText.isList(value) else { return nil }
    self.access = access
    let kind = RecordText.kind(value)
    isLeaf = kind == .opaque || kind == .values
    if kind == .list || kind == .opaque {
      segments = nil
      // The space before the text marks leaf values.
      current = kind == .opaque ? Array(value.dropFirst()) : value
      guard let count = current.withBytes({ ElementCursor.count(of: $0) }) else { return nil }
      self.count = count
    } else {
      guard access != nil, let found = value.withBytes({ Segments.keys(of: $0) }) else {
        return nil
      }
      segments = found.keys
      count = found.count
    }
  }

  /// The next element's text; `nil` at the end, or if a segment is missing.
  mutating func next() -> [UInt8]? {
    while true {
      let text = current
      if position < text.count, text[position] != UInt8(ascii: "]") {
        let end = text.withBytes { RecordText.endOfValue($0, from: position) }
        guard let end, end < text.count else {
          isBroken = true
          return nil
        }
        let element = Array(text[position..<end])
        position = text[end] == UInt8(ascii: ",") ? end + 1 : end
        return element
      }
      guard let segments, nextKey < segments.count else { return nil }
      guard let segment = access?.text(of: segments[nextKey]) else {
        isBroken = true
        return nil
      }
      nextKey += 1
      current = segment
      position = 1
    }
  }
}

/// Writes a list of elements and of whole lists, and splits it into segments as it grows; existing segments are reused.
struct ListWriter: ~Copyable {
  /// Stores the segments; without it, the list is not split.
  let access: (any SegmentAccess)?
  var isLeaf = false
  private(set) var elements = ByteStack(capacity: 1024)
  private(set) var names: [UInt64] = []
  private(set) var count = 0

  mutating func append(_ element: Bytes) {
    if elements.count > 0 { elements.append(UInt8(ascii: ",")) }
    elements.append(element)
    count += 1
    if elements.count > Segments.size { cut() }
  }

  mutating func append(_ element: [UInt8]) { element.withBytes { append($0) } }

  mutating func append(contentsOf list: ListReader) {
    guard let segments = list.segments else {
      var reader = list
      while let element = reader.next() { append(element) }
      return
    }
    cut()
    names += segments.compactMap { Segments.name(ofKey: $0) }
    count += list.count
    reopenLast(segments.last)
  }

  /// Reopens a short last segment, so that many short pages do not create many short segments.
  private mutating func reopenLast(_ key: [UInt8]?) {
    guard let key, let text = access?.text(of: key), text.count < Segments.size / 2, text.count > 2
    else { return }
    names.removeLast()
    text.withBytes { elements.append($0[1..<(text.count - 1)]) }
  }

  private mutating func cut() {
    guard let access, elements.count > 0 else { return }
    names.append(access.addSegment(elements: elements.all))
    elements.truncate(to: 0)
  }

  mutating func finish(into out: inout ByteStack) {
    if names.isEmpty {
      out.append(utf8: isLeaf ? " [" : "[")
      out.append(elements.all)
      out.append(UInt8(ascii: "]"))
    } else {
      cut()
      Segments.append(names: names[...], count: count, isLeaf: isLeaf, to: &out)
    }
  }

  mutating func finish() -> [UInt8] {
    var out = ByteStack(capacity: elements.count + names.count * 20 + 64)
    finish(into: &out)
    return out.all.array
  }
}
