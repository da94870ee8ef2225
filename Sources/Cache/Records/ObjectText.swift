/// The text of an object as its fields, for changes of single fields.
struct ObjectText {
  struct Entry {
    /// Quoted, as in the text.
    var key: [UInt8]
    var value: [UInt8]

    /// Whether the field is a page that is not joined with its list yet.
    var isPage: Bool { key.withBytes { $0.hasPrefix(PageRule.mark) } }
  }

  var entries: [Entry] = []

  /// An object without fields.
  init() {}

  init(_ object: Bytes) {
    var cursor = FieldCursor(object)
    while let field = cursor.next() {
      entries.append(Entry(key: object[field.key].array, value: object[field.value].array))
    }
  }

  init(_ object: [UInt8]) { self = object.withBytes { ObjectText($0) } }

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

  /// The positions of the entries by quoted key.
  var positions: [[UInt8]: Int] {
    Dictionary(entries.enumerated().map { ($1.key, $0) }) { first, _ in first }
  }

  /// The values by quoted key.
  var values: [[UInt8]: [UInt8]] {
    entries.reduce(into: [:]) { $0[$1.key] = $1.value }
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

  func append(to out: inout ByteStack) {
    out.append(UInt8(ascii: "{"))
    for (index, entry) in entries.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(entry.key)
      out.append(UInt8(ascii: ":"))
      out.append(entry.value)
    }
    out.append(UInt8(ascii: "}"))
  }

  var text: [UInt8] {
    var out = ByteStack(capacity: 256)
    append(to: &out)
    return out.all.array
  }
}
