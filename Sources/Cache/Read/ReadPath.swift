/// The response path of a reader: response keys and list indices.
///
/// Plain memory, because every field with a selection set changes it: an array of enum values would
/// be retained, checked for uniqueness and released at each step.
struct ReadPath: ~Copyable {
  enum Step {
    case field(Bytes)
    case index(Int)
  }

  /// A field's key, or a list index if the key is nil.
  private struct Entry {
    var key: UnsafePointer<UInt8>?
    var number: Int
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity = 64
  private(set) var count = 0

  init() { entries = .allocate(capacity: capacity) }

  deinit { entries.deallocate() }

  @inline(__always)
  mutating func append(_ step: Step) {
    if count == capacity { grow() }
    (entries + count).initialize(to: Self.entry(step))
    count &+= 1
  }

  @inline(__always)
  mutating func removeLast() {
    precondition(count > 0)
    count &-= 1
  }

  @inline(__always)
  mutating func replaceLast(_ step: Step) {
    precondition(count > 0)
    entries[count &- 1] = Self.entry(step)
  }

  @inline(__always)
  private static func entry(_ step: Step) -> Entry {
    switch step {
    case .field(let key): Entry(key: key.start, number: key.count)
    case .index(let index): Entry(key: nil, number: index)
    }
  }

  @inline(never)
  private mutating func grow() {
    let bigger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
    bigger.moveInitialize(from: entries, count: count)
    entries.deallocate()
    entries = bigger
    capacity *= 2
  }

  /// The path as text: `feed.edges[3].node`.
  var text: String {
    var text = ""
    for index in 0..<count {
      let entry = entries[index]
      if let key = entry.key {
        text += (text.isEmpty ? "" : ".") + Bytes(start: key, count: entry.number).string
      } else {
        text += "[\(entry.number)]"
      }
    }
    return text
  }
}
