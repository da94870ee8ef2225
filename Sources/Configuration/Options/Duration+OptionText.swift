extension Duration {
  /// The duration as a pipeline file writes it: `300ms`, `1.5s`, `2m`, `1h`.
  public var optionText: String {
    let nanoseconds = components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !nanoseconds.overflow else { return "\(components.seconds)s" }
    let total = nanoseconds.partialValue + components.attoseconds / 1_000_000_000
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
