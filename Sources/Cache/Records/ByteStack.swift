import GQLRunJSON

/// A growable byte buffer that is written at its end, read anywhere, and truncated.
///
/// The normalizer and the reader build all JSON text in such a buffer. Every access is
/// bounds-checked; growing doubles the capacity, so appending takes amortized constant time and the
/// hot paths do not allocate.
package struct ByteStack: ~Copyable {
  @usableFromInline package private(set) var base: UnsafeMutablePointer<UInt8>
  @usableFromInline package private(set) var count: Int
  @usableFromInline package private(set) var capacity: Int

  package init(capacity: Int) {
    base = .allocate(capacity: max(capacity, 64))
    count = 0
    self.capacity = max(capacity, 64)
  }

  deinit { base.deallocate() }

  /// Reserves capacity for `extra` more bytes.
  @inline(__always)
  package mutating func reserve(_ extra: Int) {
    if capacity &- count < extra { grow(extra) }
  }

  @inline(never)
  private mutating func grow(_ extra: Int) {
    precondition(extra >= 0)
    var wanted = capacity
    while wanted - count < extra { wanted *= 2 }
    base = base.grown(to: wanted, keeping: count)
    capacity = wanted
  }

  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    base[count] = byte
    count &+= 1
  }

  /// Appends the bytes of `word`, in the order of the machine.
  @inline(__always)
  package mutating func append(word: UInt64) {
    reserve(8)
    UnsafeMutableRawPointer(base + count).storeBytes(of: word, as: UInt64.self)
    count &+= 8
  }

  @inline(__always)
  package mutating func append(_ source: UnsafePointer<UInt8>, _ length: Int) {
    precondition(length >= 0)
    reserve(length &+ 16)
    let target = base + count
    if length <= 16 {
      appendShort(source, length: length, target: target)
    } else {
      target.update(from: source, count: length)
    }
    count &+= length
  }

  /// Copies at most 16 bytes inline, with two overlapping word copies.
  @inline(__always)
  private func appendShort(
    _ source: UnsafePointer<UInt8>, length: Int, target: UnsafeMutablePointer<UInt8>
  ) {
    let from = UnsafeRawPointer(source)
    let to = UnsafeMutableRawPointer(target)
    if length >= 8 {
      let head = from.loadUnaligned(as: UInt64.self)
      let tail = from.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
      to.storeBytes(of: head, as: UInt64.self)
      to.storeBytes(of: tail, toByteOffset: length &- 8, as: UInt64.self)
    } else if length >= 4 {
      let head = from.loadUnaligned(as: UInt32.self)
      let tail = from.loadUnaligned(fromByteOffset: length &- 4, as: UInt32.self)
      to.storeBytes(of: head, as: UInt32.self)
      to.storeBytes(of: tail, toByteOffset: length &- 4, as: UInt32.self)
    } else {
      var i = 0
      while i < length {
        target[i] = source[i]
        i &+= 1
      }
    }
  }

  @inline(__always)
  package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    if let start = bytes.baseAddress { append(start, bytes.count) }
  }

  package mutating func append(_ bytes: Bytes) { append(bytes.start, bytes.count) }

  mutating func append(_ bytes: [UInt8]) { bytes.withBytes { append($0) } }

  package mutating func append(utf8 text: StaticString) {
    append(text.utf8Start, text.utf8CodeUnitCount)
  }

  package mutating func append(utf8 text: String) {
    var text = text
    text.withUTF8 { append($0) }
  }

  /// Truncates the buffer to its first `newCount` bytes.
  @inline(__always)
  package mutating func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count)
    count = newCount
  }

  /// Replaces everything from `start` on by the bytes of `range`, which must end at the end of the
  /// buffer, with a prefix and suffix.
  @inline(__always)
  package mutating func replace(
    from start: Int, by range: Range<Int>, prefix: StaticString, suffix: StaticString
  ) {
    precondition(start >= 0 && start <= range.lowerBound && range.upperBound == count)
    let (before, behind) = (prefix.utf8CodeUnitCount, suffix.utf8CodeUnitCount)
    reserve(before &+ behind)
    let target = base + (start &+ before)
    target.update(from: base + range.lowerBound, count: range.count)
    (base + start).update(from: prefix.utf8Start, count: before)
    (target + range.count).update(from: suffix.utf8Start, count: behind)
    count = start &+ before &+ range.count &+ behind
  }

  /// The bytes of `range`; valid until the buffer changes.
  @inline(__always)
  package func bytes(_ range: Range<Int>) -> Bytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return Bytes(start: UnsafePointer(base + range.lowerBound), count: range.count)
  }

  package var all: Bytes { bytes(0..<count) }

  @inline(__always)
  package subscript(index: Int) -> UInt8 {
    precondition(index >= 0 && index < count)
    return base[index]
  }
}

/// A borrowed run of bytes: valid only while its owner keeps it.
///
/// Reading past the end traps, because offsets may come from a damaged file or a hostile server.
package struct Bytes {
  package var start: UnsafePointer<UInt8>
  package var count: Int

  @inline(__always)
  package init(start: UnsafePointer<UInt8>, count: Int) {
    self.start = start
    self.count = count
  }

  @inline(__always)
  package init(_ buffer: UnsafeBufferPointer<UInt8>) {
    self.start = buffer.baseAddress ?? Bytes.emptyStart
    self.count = buffer.count
  }

  /// The bytes of a literal.
  @inline(__always)
  package init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  package static var emptyStart: UnsafePointer<UInt8> {
    let empty: StaticString = ""
    return empty.utf8Start
  }

  package static var empty: Bytes { Bytes(start: emptyStart, count: 0) }

  @inline(__always)
  package subscript(index: Int) -> UInt8 {
    precondition(index >= 0 && index < count)
    return start[index]
  }

  @inline(__always)
  package subscript(range: Range<Int>) -> Bytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return Bytes(start: start + range.lowerBound, count: range.count)
  }

  package var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

  @inline(__always)
  package var raw: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  package var string: String { String(decoding: buffer, as: UTF8.self) }

  package var array: [UInt8] { Array(buffer) }

  @inline(__always)
  package func equals(_ other: Bytes) -> Bool {
    count == other.count && compareBytes(start, b: other.start, count: count)
  }

  package func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && compareBytes(start, b: text.utf8Start, count: count)
  }

  package func equals(_ other: [UInt8]) -> Bool { other.withBytes { equals($0) } }

  /// Whether one of two texts, which begin with `"$`, is among the bytes.
  func contains(_ text: StaticString, or other: StaticString) -> Bool {
    var position = 1
    while position < count {
      if start[position] == UInt8(ascii: "$") {
        let rest = self[(position - 1)..<count]
        if rest.hasPrefix(text) || rest.hasPrefix(other) { return true }
      }
      position += 1
    }
    return false
  }

  package func hasPrefix(_ text: StaticString) -> Bool {
    count >= text.utf8CodeUnitCount
      && compareBytes(start, b: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}

extension UnsafeMutablePointer {
  /// Moves the first `count` values to memory for more, and frees this memory.
  func grown(to capacity: Int, keeping count: Int) -> Self {
    let bigger = Self.allocate(capacity: capacity)
    bigger.moveInitialize(from: self, count: count)
    deallocate()
    return bigger
  }
}

extension [UInt8] {
  /// Calls `body` with the bytes, which are valid until it returns.
  @inline(__always)
  func withBytes<Result, Failure: Error>(
    _ body: (Bytes) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { (buffer) throws(Failure) in try body(Bytes(buffer)) }
  }
}

extension ByteStack {
  /// Appends a comma, except before the first part of an object or list.
  @inline(__always)
  mutating func separate(_ isFirst: inout Bool) {
    if !isFirst { append(UInt8(ascii: ",")) }
    isFirst = false
  }

  /// Appends the beginning of a member of an object, up to its value; `key` includes its quotes.
  @inline(__always)
  mutating func beginMember(_ key: Bytes, _ isFirst: inout Bool) {
    separate(&isFirst)
    append(key)
    append(UInt8(ascii: ":"))
  }

  /// Appends `bytes` as the content of a JSON string, with only the required escapes.
  package mutating func append(escaping bytes: Bytes) {
    var start = bytes.start
    var count = bytes.count
    while true {
      let clean = JSONWriter.firstToEscape(in: UnsafeRawBufferPointer(start: start, count: count))
      append(start, clean)
      if clean == count { return }
      JSONWriter.appendEscape(of: start[clean]) { append($0) }
      start += clean &+ 1
      count &-= clean &+ 1
    }
  }

  /// Appends the characters of a JSON string, whose text between the quotation marks is `bytes`.
  package mutating func append(unescaping bytes: Bytes) {
    reserve(bytes.count)
    let free = UnsafeMutableRawBufferPointer(start: base + count, count: bytes.count)
    count += JSONUnescaper.unescape(bytes.raw, into: free)
  }
}
