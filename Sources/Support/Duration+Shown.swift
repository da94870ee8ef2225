extension Duration {
  /// The duration for people: `1.3 ms` below ten milliseconds, `12 ms` below a second, else `2.2 s`.
  package var shown: String {
    let milliseconds = Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15
    // Rounded first: 999.7 ms is 1.0 s.
    if milliseconds.rounded() >= 1000 { return Self.tenths(milliseconds / 1e3) + " s" }
    if milliseconds >= 10 { return "\(Int(milliseconds.rounded())) ms" }
    return Self.tenths(milliseconds) + " ms"
  }

  private static func tenths(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
