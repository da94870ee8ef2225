/// Pseudo-random numbers from a seed (SplitMix64).
struct Draw: Sendable, Hashable {
  private var state: UInt64

  init(_ seed: UInt64) {
    // Adjacent seeds must not give the same sequence shifted by one.
    state = Self.mixed(seed &* 0xD134_2543_DE82_EF95 &+ 1)
  }

  /// The next number, from 0 and below a bound.
  mutating func next(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// The first number, from 0 and below a bound.
  func below(_ bound: Int) -> Int {
    var copy = self
    return copy.next(bound)
  }

  /// The first number as a fraction, from 0 and below 1.
  var fraction: Double {
    var copy = self
    return Double(copy.next() >> 11) / Double(1 << 53)
  }

  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
