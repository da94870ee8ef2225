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

  public static func == (left: Self, right: Self) -> Bool {
    utf8Equal(left.string, right.string)
  }

  /// Orders by UTF-8 bytes, which is the order of the code points.
  public static func < (left: Self, right: Self) -> Bool {
    left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
  }

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
