#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@inline(__always)
func compareBytes(_ a: UnsafePointer<UInt8>, b: UnsafePointer<UInt8>, count: Int) -> Bool {
  let x = UnsafeRawPointer(a)
  let y = UnsafeRawPointer(b)
  if count >= 8 {
    guard count <= 32 else { return memcmp(a, b, count) == 0 }
    var i = 0
    while i &+ 8 < count {
      if x.loadUnaligned(fromByteOffset: i, as: UInt64.self)
        != y.loadUnaligned(fromByteOffset: i, as: UInt64.self)
      {
        return false
      }
      i &+= 8
    }
    return x.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
      == y.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
  }
  if count >= 4 {
    return x.loadUnaligned(as: UInt32.self) == y.loadUnaligned(as: UInt32.self)
      && x.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
        == y.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
  }
  var i = 0
  while i < count {
    if a[i] != b[i] { return false }
    i &+= 1
  }
  return true
}

/// Whether `a` precedes `b` in byte order.
package func compareKeys(_ a: Bytes, _ b: Bytes) -> Bool {
  let order = memcmp(a.start, b.start, min(a.count, b.count))
  return order != 0 ? order < 0 : a.count < b.count
}

extension Bytes {
  /// The eight bytes at `offset` as a number with the same order; missing bytes are zero.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    if offset &+ 8 <= count {
      return UInt64(
        bigEndian: UnsafeRawPointer(start).loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    var word: UInt64 = 0
    for index in offset..<max(offset, count) {
      word |= UInt64(start[index]) << UInt64(56 - 8 * (index - offset))
    }
    return word
  }
}

/// A fast 64-bit hash in the manner of wyhash: 16 bytes per step, folded by a 128-bit product.
///
/// Not cryptographic. Tables use a seed per process; stored hashes (checksums, segment names) use
/// the fixed seed and are always verified against the bytes.
@inline(__always)
package func hashBytes(_ start: UnsafePointer<UInt8>, _ count: Int, seed: UInt64) -> UInt64 {
  let p0: UInt64 = 0xa076_1d64_78bd_642f
  let p1: UInt64 = 0xe703_7ed1_a0b4_28db
  let raw = UnsafeRawPointer(start)
  var state = seed ^ p0
  var a: UInt64
  var b: UInt64
  if count <= 16 {
    if count >= 8 {
      a = raw.loadUnaligned(as: UInt64.self)
      b = raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    } else if count >= 4 {
      a = UInt64(raw.loadUnaligned(as: UInt32.self))
      b = UInt64(raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
    } else if count > 0 {
      a =
        UInt64(start[0]) << 16 | UInt64(start[count &>> 1]) << 8 | UInt64(start[count &- 1])
      b = 0
    } else {
      a = 0
      b = 0
    }
  } else {
    var i = 0
    while i &+ 16 < count {
      state = fold(
        raw.loadUnaligned(fromByteOffset: i, as: UInt64.self) ^ p1,
        raw.loadUnaligned(fromByteOffset: i &+ 8, as: UInt64.self) ^ state)
      i &+= 16
    }
    a = raw.loadUnaligned(fromByteOffset: count &- 16, as: UInt64.self)
    b = raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
  }
  return fold(p1 ^ UInt64(truncatingIfNeeded: count), fold(a ^ p1, b ^ state))
}

/// A hash of long texts for use within the process: 32 bytes per step, in two independent lanes.
@inline(__always)
func hashContent(_ start: UnsafePointer<UInt8>, _ count: Int, seed: UInt64) -> UInt64 {
  let p0: UInt64 = 0x8ebc_6af0_9c88_c6e3
  let p1: UInt64 = 0x5899_65cc_7537_4cc3
  let raw = UnsafeRawPointer(start)
  var left = seed ^ p0
  var right = seed ^ p1
  var i = 0
  while i &+ 32 <= count {
    left = fold(
      raw.loadUnaligned(fromByteOffset: i, as: UInt64.self) ^ p0,
      raw.loadUnaligned(fromByteOffset: i &+ 8, as: UInt64.self) ^ left)
    right = fold(
      raw.loadUnaligned(fromByteOffset: i &+ 16, as: UInt64.self) ^ p1,
      raw.loadUnaligned(fromByteOffset: i &+ 24, as: UInt64.self) ^ right)
    i &+= 32
  }
  return hashBytes(start + i, count &- i, seed: left ^ right ^ UInt64(truncatingIfNeeded: count))
}

@inline(__always)
private func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
  let product = a.multipliedFullWidth(by: b)
  return product.high ^ product.low
}

/// The seed of in-memory tables: random per process, so that a server cannot choose colliding keys.
package let processSeed: UInt64 = .random(in: .min ... .max)
