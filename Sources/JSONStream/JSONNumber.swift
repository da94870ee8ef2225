/// A JSON number, stored as its text so that 64-bit integers and decimals stay exact.
///
/// Two numbers are equal if their texts are equal: `1`, `1.0` and `1e0` are different.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
  /// The text, in the grammar of RFC 8259 section 6.
  public let text: String

  /// Creates a number from an integer.
  public init(_ value: some BinaryInteger) {
    text = String(value)
  }

  /// Creates the shortest number that reads back as `value`; nil for infinities and NaN.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    if value == value.rounded(), abs(value) < 1e15, !(value == 0 && value.sign == .minus) {
      text = String(Int64(value))
    } else {
      text = value.description
    }
  }

  /// Creates a number from its text; nil if the text is not a JSON number.
  public init?(text: String) {
    guard Self.isNumber(text.utf8) else { return nil }
    self.text = text
  }

  /// Creates a number from text that a parser has accepted.
  init(verified text: String) {
    self.text = text
  }

  /// The text of the number.
  public var description: String { text }

  /// The value as an `Int`; nil if it is not whole or does not fit. The notation does not matter
  /// (`12`, `1.2e1`, `-0`).
  public var intValue: Int? {
    if let value = Int(text) { return value }
    return whole()
  }

  /// The nearest `Double`; nil if the value is larger than every finite one.
  public var doubleValue: Double? {
    guard let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// Whether the text has neither a fraction nor an exponent.
  public var isInteger: Bool {
    text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isDigit }
  }

  /// The value as an integer, in any notation; nil if it is not whole or does not fit.
  func whole<Integer: FixedWidthInteger>() -> Integer? {
    var digits: [UInt8] = []
    var scale = 0
    var exponent = 0
    var negative = false
    var part = 0
    var exponentNegative = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): if part == 2 { exponentNegative = true } else { negative = true }
      case UInt8(ascii: "+"): break
      case UInt8(ascii: "."): part = 1
      case UInt8(ascii: "e"), UInt8(ascii: "E"): part = 2
      default:
        let digit = byte - UInt8(ascii: "0")
        if part == 2 {
          exponent = min(exponent * 10 + Int(digit), 1 << 20)
        } else {
          digits.append(digit)
          if part == 1 { scale += 1 }
        }
      }
    }
    var shift = (exponentNegative ? -exponent : exponent) - scale
    while shift < 0, let last = digits.last {
      guard last == 0 else { return nil }
      digits.removeLast()
      shift += 1
    }
    var value: Integer = 0
    for digit in digits {
      let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow) =
        negative
        ? product.subtractingReportingOverflow(Integer(digit))
        : product.addingReportingOverflow(Integer(digit))
      if tooLarge || overflow { return nil }
      value = sum
    }
    while shift > 0, value != 0 {
      let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
      if tooLarge { return nil }
      value = product
      shift -= 1
    }
    return value
  }

  private static func isNumber(_ text: String.UTF8View) -> Bool {
    var rest = text[...]
    func takeDigits() -> Bool {
      let end = rest.firstIndex { !$0.isDigit } ?? rest.endIndex
      defer { rest = rest[end...] }
      return end != rest.startIndex
    }
    if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
    if rest.first == UInt8(ascii: "0") {
      rest.removeFirst()
    } else if !takeDigits() {
      return false
    }
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      if !takeDigits() { return false }
    }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest.removeFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
      if !takeDigits() { return false }
    }
    return rest.isEmpty
  }
}
