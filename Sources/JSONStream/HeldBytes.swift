/// A growing buffer for bytes that are not yet worth a call of yajl's parser.
struct HeldBytes: ~Copyable {
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  private(set) var count = 0

  init() {}

  deinit {
    base?.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    let needed = count + bytes.count
    if needed > capacity {
      grow(to: max(needed, capacity * 2, 512))
    }
    base.unsafelyUnwrapped.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
    count = needed
  }

  /// Returns the buffered bytes and empties the buffer; they are valid until the next `append`.
  mutating func takeAll() -> UnsafeRawBufferPointer {
    defer { count = 0 }
    return UnsafeRawBufferPointer(start: base, count: count)
  }

  private mutating func grow(to newCapacity: Int) {
    let grown = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    if let base {
      grown.copyMemory(from: base, byteCount: count)
      base.deallocate()
    }
    base = grown
    capacity = newCapacity
  }
}
