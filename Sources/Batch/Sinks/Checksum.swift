import CGQLRunZlib

/// The CRC-32 of what was written to a file, continued as more is written.
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
