/// A number of bytes, with the units people write: `256MiB`, `10MB`.
public struct ByteSize: Sendable, Hashable, Comparable {
  /// The number of bytes.
  public var bytes: Int

  /// Creates a size of `bytes` bytes.
  public init(bytes: Int) {
    self.bytes = bytes
  }

  /// A size of `count` KiB (1,024 bytes each).
  public static func kibibytes(_ count: Int) -> ByteSize { ByteSize(bytes: count << 10) }
  /// A size of `count` MiB (1,048,576 bytes each).
  public static func mebibytes(_ count: Int) -> ByteSize { ByteSize(bytes: count << 20) }
  /// A size of `count` GiB (1,073,741,824 bytes each).
  public static func gibibytes(_ count: Int) -> ByteSize { ByteSize(bytes: count << 30) }

  /// Whether the left size is smaller.
  public static func < (lhs: ByteSize, rhs: ByteSize) -> Bool { lhs.bytes < rhs.bytes }
}

extension ByteSize: CustomStringConvertible {
  /// The largest unit that divides the size: `1GiB`, `10MB`, `1500B`.
  public var description: String {
    guard bytes != 0 else { return "0B" }
    for (unit, factor) in Self.units.reversed() where bytes % factor == 0 {
      return "\(bytes / factor)\(unit)"
    }
    return "\(bytes)B"
  }

  /// The units from small to large; binary ones are preferred in output.
  static let units: [(name: String, factor: Int)] = [
    ("B", 1), ("KB", 1_000), ("KiB", 1 << 10), ("MB", 1_000_000), ("MiB", 1 << 20),
    ("GB", 1_000_000_000), ("GiB", 1 << 30),
  ]
}
