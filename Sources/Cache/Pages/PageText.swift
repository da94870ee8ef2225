/// The parsed text of an object with pages.
struct ObjectText {
  struct Entry {
    /// Quoted, as in the text.
    var key: [UInt8]
    var value: [UInt8]

    var isPage: Bool { key.withUnsafeBufferPointer { Bytes($0).hasPrefix(PageRule.mark) } }
  }

  var entries: [Entry] = []

  init(empty: Void) {}

  init(_ object: [UInt8]) {
    object.withUnsafeBufferPointer { object in
      var cursor = FieldCursor(Bytes(object))
      while let field = cursor.next() {
        entries.append(Entry(key: Array(object[field.key]), value: Array(object[field.value])))
      }
    }
  }

  subscript(key: [UInt8]) -> [UInt8]? {
    get { entries.first { $0.key == key }?.value }
    set {
      let index = entries.firstIndex { $0.key == key }
      switch (index, newValue) {
      case (let index?, let value?): entries[index].value = value
      case (nil, let value?): entries.append(Entry(key: key, value: value))
      case (let index?, nil): entries.remove(at: index)
      case (nil, nil): break
      }
    }
  }

  /// Removes the pages; returns the index of each one's rule and the key of its list.
  mutating func takePages() -> [(number: Int, key: [UInt8], value: [UInt8])] {
    var pages: [(number: Int, key: [UInt8], value: [UInt8])] = []
    for entry in entries where entry.isPage {
      // `"$page12:feed(…)"`
      let name = entry.key.dropFirst(PageRule.mark.utf8CodeUnitCount)
      guard let colon = name.firstIndex(of: UInt8(ascii: ":")),
        let number = Int(String(decoding: name[..<colon], as: UTF8.self))
      else { continue }
      pages.append((number, [UInt8(ascii: "\"")] + name[(colon + 1)...], entry.value))
    }
    entries.removeAll { $0.isPage }
    return pages
  }

  var text: [UInt8] {
    var text: [UInt8] = [UInt8(ascii: "{")]
    for (index, entry) in entries.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text += entry.key
      text.append(UInt8(ascii: ":"))
      text += entry.value
    }
    text.append(UInt8(ascii: "}"))
    return text
  }
}

/// Why a page cannot be joined.
struct PageGap: Error {
  let problem: String

  init(_ problem: String) { self.problem = problem }

  static let broken = PageGap("cannot be joined: a part of the stored list is missing")
}

/// A list of objects or leaf values, inline or segmented.
struct PageValue {
  enum Kind { case null, object, reference, list, other }

  let reader: ListReader
  /// The text without the leading space that marks leaf values.
  let text: [UInt8]
  let isLeaf: Bool
  let isSegmented: Bool

  init?(_ value: [UInt8], access: any SegmentAccess) {
    let isOpaque = value.first == UInt8(ascii: " ")
    text = isOpaque ? Array(value.dropFirst()) : value
    let kind = text.withUnsafeBufferPointer { RecordText.kind(Bytes($0)) }
    guard kind == .list || kind == .segments || kind == .values,
      let reader = text.withUnsafeBufferPointer({ ListReader(Bytes($0), access: access) })
    else { return nil }
    self.reader = reader
    isLeaf = isOpaque || kind == .values
    isSegmented = kind != .list
  }
}

extension PageValue.Kind {
  init(_ value: [UInt8]) {
    self = value.withUnsafeBufferPointer { value in
      switch RecordText.kind(Bytes(value)) {
      case .null: .null
      case .object: .object
      case .reference: .reference
      case .list, .segments, .values: .list
      case .opaque: value.count > 1 && value[1] == UInt8(ascii: "[") ? .list : .other
      case .scalar: .other
      }
    }
  }
}
