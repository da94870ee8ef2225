/// Scans 64 bytes of text at once.
///
/// Written as 64-bit arithmetic on SIMD vectors, which the compiler turns into vector instructions;
/// vector comparisons would become loops over the lanes (measured with Swift 6.3).
enum TextBlock {
  static let size = 64

  /// Returns a bit mask of the bytes that need a check: backslashes, non-ASCII bytes, and control
  /// characters other than tab, line feed and carriage return.
  @inline(__always)
  static func suspects(in base: UnsafeRawPointer) -> UInt64 {
    let low = base.loadUnaligned(as: SIMD4<UInt64>.self)
    let high = base.loadUnaligned(fromByteOffset: 32, as: SIMD4<UInt64>.self)
    var lowFound = suspects(low)
    var highFound = suspects(high)
    if isZero(lowFound | highFound) { return 0 }
    lowFound = lowFound & notWhiteSpace(low)
    highFound = highFound & notWhiteSpace(high)
    if isZero(lowFound | highFound) { return 0 }
    return UInt64(gather(lowFound)) | UInt64(gather(highFound)) &<< 32
  }

  /// Sets the highest bit of each byte that is a control character, a backslash or not ASCII.
  @inline(__always)
  private static func suspects(_ bytes: SIMD4<UInt64>) -> SIMD4<UInt64> {
    // With the highest bit set, no subtraction borrows from the next byte. The bit stays set where
    // the other seven bits are not less than the subtrahend.
    let filled = bytes | repeated(0x80)
    let notControl = filled &- repeated(0x20)
    let notBackslash = (filled ^ repeated(0x5C)) &- repeated(1)
    return (bytes | ~(notControl & notBackslash)) & repeated(0x80)
  }

  /// Sets the highest bit of each byte that is not a tab, a line feed or a carriage return.
  @inline(__always)
  private static func notWhiteSpace(_ bytes: SIMD4<UInt64>) -> SIMD4<UInt64> {
    let filled = bytes | repeated(0x80)
    let notTab = (filled ^ repeated(0x09)) &- repeated(1)
    let notLineFeed = (filled ^ repeated(0x0A)) &- repeated(1)
    let notReturn = (filled ^ repeated(0x0D)) &- repeated(1)
    return (notTab & notLineFeed & notReturn) | bytes
  }

  @inline(__always)
  private static func repeated(_ byte: UInt8) -> SIMD4<UInt64> {
    SIMD4(repeating: UInt64(byte) &* 0x0101_0101_0101_0101)
  }

  @inline(__always)
  private static func isZero(_ words: SIMD4<UInt64>) -> Bool {
    words[0] | words[1] | words[2] | words[3] == 0
  }

  /// The highest bits of the 32 bytes, the first in the lowest bit.
  @inline(__always)
  private static func gather(_ words: SIMD4<UInt64>) -> UInt32 {
    // Moves bit 8 i to bit 56 + i; the products of other bits fall elsewhere.
    var bits: UInt64 = 0
    for word in 0..<4 {
      let eight = (words[word].littleEndian &>> 7) &* 0x0102_0408_1020_4080
      bits |= (eight &>> 56) &<< UInt64(8 &* word)
    }
    return UInt32(truncatingIfNeeded: bits)
  }
}

/// A growing buffer for bytes that are not yet worth a call of yajl's parser.
struct HeldBytes: ~Copyable {
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  private(set) var count = 0

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

/// A string that is compared and hashed by its UTF-8 bytes.
///
/// Swift's `==` uses canonical equivalence: `é` as one scalar equals `é` as two. Keys, IDs and
/// names of a JSON text are equal only if their bytes are.
public struct UTF8Text: Hashable, Sendable, Comparable {
  /// The string.
  public var string: String

  /// Creates a text from a string.
  @inlinable
  public init(_ string: String) {
    self.string = string
  }

  /// Whether both have the same bytes.
  public static func == (left: Self, right: Self) -> Bool {
    utf8Equal(left.string, right.string)
  }

  /// Orders by UTF-8 bytes, which is the order of the code points.
  public static func < (left: Self, right: Self) -> Bool {
    left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
  }

  /// Adds the bytes.
  public func hash(into hasher: inout Hasher) {
    utf8Hash(string, into: &hasher)
  }
}

/// Whether two strings have the same UTF-8 bytes.
public func utf8Equal(_ left: String, _ right: String) -> Bool {
  let left = left.utf8
  let right = right.utf8
  guard left.count == right.count else { return false }
  let fast = left.withContiguousStorageIfAvailable { left in
    right.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
  }
  if let fast, let equal = fast { return equal }
  return left.elementsEqual(right)
}

/// Feeds the UTF-8 bytes of a string to a hasher.
func utf8Hash(_ string: String, into hasher: inout Hasher) {
  let utf8 = string.utf8
  let done: Void? = utf8.withContiguousStorageIfAvailable { bytes in
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
  }
  if done == nil {
    for byte in utf8 { hasher.combine(byte) }
  }
  hasher.combine(utf8.count)
}
