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

extension Duration {
  /// The duration as a pipeline file writes it: `300ms`, `1.5s`, `2m`, `1h`.
  public var optionText: String {
    let (seconds, attoseconds) = components
    let whole = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let sum = whole.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000)
    guard !whole.overflow, !sum.overflow else { return "\(seconds)s" }
    let total = sum.partialValue
    guard total != 0 else { return "0s" }
    for (unit, factor) in Self.optionUnits.reversed() where total % factor == 0 {
      return "\(total / factor)\(unit)"
    }
    return Self.decimal(total, per: total < 1_000_000_000 ? 1_000_000 : 1_000_000_000)
      + (total < 1_000_000_000 ? "ms" : "s")
  }

  /// The units of durations in nanoseconds, from small to large.
  static let optionUnits: [(name: String, factor: Int64)] = [
    ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
  ]

  private static func decimal(_ total: Int64, per unit: Int64) -> String {
    var fraction = String(total % unit)
    fraction = String(repeating: "0", count: String(unit).count - 1 - fraction.count) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    return "\(total / unit).\(fraction)"
  }
}

/// A number with a unit, parsed from text: a duration, size or percentage.
///
/// The number is exact: `0.1s` is 100 milliseconds.
struct NumberWithUnit {
  /// The digits without the decimal point.
  var digits: Int
  /// The number of digits after the decimal point.
  var decimals: Int
  var unit: String

  /// Parses a number that must have a unit.
  ///
  /// - Parameters:
  ///   - text: The number with its unit.
  ///   - example: A number with its unit, for the hint.
  ///   - zero: The number 0 with its unit, for the hint.
  ///   - withoutUnit: The hint for another number without a unit.
  init(
    option text: String, example: String, zero: String, withoutUnit: () -> String
  ) throws(OptionTextError) {
    var digits = 0
    var count = 0
    var decimals: Int?
    var rest = Substring(text)
    while let character = rest.unicodeScalars.first {
      if ("0"..."9").contains(character) {
        guard count < 15 else {
          throw OptionTextError(hint: "too many digits", isOutOfRange: true)
        }
        digits = digits * 10 + Int(character.value - 48)
        count += 1
        decimals = decimals.map { $0 + 1 }
      } else if character == ".", decimals == nil, count > 0 {
        decimals = 0
      } else {
        break
      }
      rest.unicodeScalars.removeFirst()
    }
    guard count > 0, decimals != 0 else {
      throw OptionTextError(hint: "write a number and a unit, such as `\(example)`")
    }
    self.digits = digits
    self.decimals = decimals ?? 0
    self.unit = String(rest)
    guard !unit.isEmpty else {
      throw OptionTextError(
        hint: "the unit is missing: \(digits == 0 ? "write `\(zero)`" : withoutUnit())")
    }
  }

  /// The quantity times `factor`; `nil` if that is not a whole number, or too large.
  func scaled(by factor: Int) -> Int? {
    let (product, overflow) = digits.multipliedReportingOverflow(by: factor)
    guard !overflow else { return nil }
    var divisor = 1
    for _ in 0..<decimals { divisor *= 10 }
    return product % divisor == 0 ? product / divisor : nil
  }
}
