import CGQLRunZlib

/// A running CRC-32 of the bytes written to a file.
///
/// https://www.rfc-editor.org/rfc/rfc1952#section-8
struct Checksum: Sendable, Equatable {
  private(set) var value: UInt32 = 0

  init(_ value: UInt32 = 0) { self.value = value }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while let base = rest.bindMemory(to: UInt8.self).baseAddress, !rest.isEmpty {
      let count = min(rest.count, 1 << 30)
      value = UInt32(truncatingIfNeeded: crc32(UInt(value), base, UInt32(count)))
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }
}
