/// A number with a unit, parsed from text: a duration, size or percentage.
///
/// The number is exact: `0.1s` is 100 milliseconds.
struct Quantity {
  /// The digits without the decimal point.
  var digits: Int
  /// The number of digits after the decimal point.
  var decimals: Int
  var unit: String

  enum Failure: Error, Hashable {
    case notANumber
    case tooManyDigits
  }

  init(_ text: String) throws(Failure) {
    var digits = 0
    var count = 0
    var decimals: Int?
    var rest = Substring(text)
    while let character = rest.unicodeScalars.first {
      if ("0"..."9").contains(character) {
        guard count < 15 else { throw .tooManyDigits }
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
    guard count > 0, decimals != 0 else { throw .notANumber }
    self.digits = digits
    self.decimals = decimals ?? 0
    self.unit = String(rest)
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
