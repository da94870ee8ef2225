import GQLRunJSON

/// The text of the open objects and lists, in the form in which records are stored.
///
/// Values are appended as they arrive. When an object with an identity ends, its text becomes a
/// record, and a reference replaces it.
struct StoredText: ~Copyable {
  // Allocated for every response, most of which are small, so its initial size is small.
  var buffer = ByteStack(capacity: 512)
  /// Whether the next value or key needs a comma.
  var needsComma = false
  /// The addresses of the current chunk: the parser found no escapes in a string inside it.
  private var chunkStart = UInt(0)
  private var chunkEnd = UInt(0)

  @inline(__always)
  var count: Int { buffer.count }

  /// Strings inside `chunk` need no escapes; `nil` if the next strings are in other memory.
  mutating func setChunk(_ chunk: UnsafeRawBufferPointer?) {
    chunkStart = UInt(bitPattern: chunk?.baseAddress)
    chunkEnd = chunkStart + UInt(chunk?.count ?? 0)
  }

  @inline(__always)
  mutating func separate() {
    if needsComma { buffer.append(UInt8(ascii: ",")) }
  }

  /// Appends `{` or `[`.
  @inline(__always)
  mutating func open(_ opening: UInt8) {
    buffer.append(opening)
    needsComma = false
  }

  /// Appends a string in quotes. One inside the current chunk had no escapes and needs none.
  @inline(__always)
  mutating func append(string: Bytes) {
    buffer.append(UInt8(ascii: "\""))
    let address = UInt(bitPattern: string.start)
    if address >= chunkStart && address < chunkEnd {
      buffer.append(string.start, string.count)
    } else {
      buffer.append(escaping: string)
    }
    buffer.append(UInt8(ascii: "\""))
  }

  /// The value from `start` to the end, without the space that marks an opaque value.
  @inline(__always)
  func value(from start: Int) -> Bytes {
    let isMarked = start < buffer.count && buffer[start] == UInt8(ascii: " ")
    return buffer.bytes((isMarked ? start &+ 1 : start)..<buffer.count)
  }

  /// Replaces the object at `start` by a reference to the key that follows it.
  @inline(__always)
  mutating func replaceObject(at start: Int, byReferenceTo key: Range<Int>) {
    let bytes = buffer.bytes(key)
    let raw = UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    guard JSONWriter.firstToEscape(in: raw) == bytes.count else {
      return replaceObject(at: start, byEscapedReferenceTo: key)
    }
    buffer.replace(from: start, by: key, prefix: "{\"$ref\":\"", suffix: "\"}")
  }

  @inline(never)
  private mutating func replaceObject(at start: Int, byEscapedReferenceTo key: Range<Int>) {
    var reference = ByteStack(capacity: 256)
    reference.append(utf8: "{\"$ref\":\"")
    reference.append(escaping: buffer.bytes(key))
    reference.append(utf8: "\"}")
    buffer.truncate(to: start)
    buffer.append(reference.all)
  }
}
