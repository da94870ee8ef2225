/// Numbers in their usual notations, read from the bytes. Other notations are for the general parsers.
extension TokenIndex {
  /// The number at `token` if it is an integer of at most 18 digits.
  func shortInteger(_ token: Int) -> Int? {
    withNumber(token) { digits, isNegative in
      guard digits.count <= 18 else { return nil }
      var value = 0
      for byte in digits {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        value = value &* 10 &+ Int(digit)
      }
      return isNegative ? -value : value
    }
  }

  /// The number at `token` if it is a quotient of two integers that `Double` represents exactly: digits below
  /// 2⁵³ and a power of ten. One division then gives the nearest number
  /// ([Clinger](https://dl.acm.org/doi/10.1145/93542.93557), section 5).
  func shortDecimal(_ token: Int) -> Double? {
    withNumber(token) { digits, isNegative in
      guard digits.count <= 19 else { return nil }
      var value: UInt64 = 0
      var point: Int?
      for (offset, byte) in digits.enumerated() {
        let digit = byte &- UInt8(ascii: "0")
        if digit < 10 {
          value = value &* 10 &+ UInt64(digit)
        } else {
          guard byte == UInt8(ascii: "."), point == nil, offset > 0 else { return nil }
          point = offset
        }
      }
      guard value < 1 << 53 else { return nil }
      let fraction = point.map { digits.count - 1 - $0 } ?? 0
      let number = Double(value) / Self.powersOfTen[fraction]
      return isNegative ? -number : number
    }
  }

  /// 10⁰ to 10¹⁸, which `Double` represents exactly.
  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
  ]

  /// Calls `read` with the bytes after the sign, if there are any.
  @inline(__always)
  private func withNumber<Number>(
    _ token: Int, _ read: (Slice<UnsafeBufferPointer<UInt8>>, _ isNegative: Bool) -> Number?
  ) -> Number? {
    let (start, end) = (Int(tokens[token].start), Int(tokens[token].end))
    return bytes.withUnsafeBufferPointer { bytes in
      let isNegative = bytes[start] == UInt8(ascii: "-")
      let digits = bytes[(isNegative ? start + 1 : start)..<end]
      return digits.isEmpty ? nil : read(digits, isNegative)
    }
  }
}
