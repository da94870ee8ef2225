import GQLRunJSON
import GQLRunSupport

/// Parses the text of a scalar as an option type.
enum OptionReader {
  /// The reason why a text is not a value of a type.
  struct Mismatch: Error {
    /// What to write instead. May contain the text, so it is only shown if the text is in the file.
    var hint: String
    /// Whether the text has the right form, but a value that is not accepted.
    var isOutOfRange = false
  }

  /// The value of `text` as a scalar type; paths are relative to `folder`.
  static func content(
    of text: String, as type: OptionType, folder: String
  ) throws(Mismatch) -> OptionValue.Content {
    switch type {
    case .bool: try bool(text)
    case .int(let range): .int(try bounded(try int(text), range: range) { String($0) })
    case .double(let range): .double(try bounded(try double(text), range: range) { "\($0)" })
    case .string: .string(text)
    case .template, .jsonTemplate: .template(Template(text))
    case .path: .string(FilePath.resolve(text, in: folder))
    case .duration(let range, let wholeSeconds):
      .duration(
        try bounded(
          try duration(text, wholeSeconds: wholeSeconds), range: range, text: \.optionText))
    case .size(let range): .size(try bounded(try size(text), range: range, text: \.description))
    case .percentage: .percentage(try percentage(text))
    case .choice(let words): .string(try choice(text, words))
    case .list: throw Mismatch(hint: "write a list: `[\(text)]`")
    case .json: .json(.string(text))
    case .map, .object, .variant: throw Mismatch(hint: "write `name: value` pairs")
    }
  }

  private static func bool(_ text: String) throws(Mismatch) -> OptionValue.Content {
    switch text {
    case "true": return .bool(true)
    case "false": return .bool(false)
    default:
      switch text.lowercased() {
      case "yes", "on", "y", "1", "true": throw Mismatch(hint: "write `true`")
      case "no", "off", "n", "0", "false": throw Mismatch(hint: "write `false`")
      default: throw Mismatch(hint: "write `true` or `false`")
      }
    }
  }

  private static func int(_ text: String) throws(Mismatch) -> Int {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      let plain = text.filter { $0 != "_" && $0 != "," && $0 != "+" }
      throw Mismatch(hint: Int(plain).map { "write `\($0)`" } ?? "write digits only")
    }
    guard let value = Int(text) else {
      throw Mismatch(hint: "too large", isOutOfRange: true)
    }
    guard digits.count == 1 || digits.first != "0" else {
      throw Mismatch(hint: "write `\(value)`, without leading zeros")
    }
    return value
  }

  private static func double(_ text: String) throws(Mismatch) -> Double {
    let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard isDecimal, let first = text.utf8.first(where: { $0 != 0x2D }),
      (0x30...0x39).contains(first), let value = Double(text), value.isFinite
    else { throw Mismatch(hint: "write a decimal number such as `1.5`") }
    return value
  }

  private static func duration(
    _ text: String, wholeSeconds: Bool
  ) throws(Mismatch) -> Duration {
    let units = Duration.optionUnits
    let quantity = try quantity(text, example: "30s", zero: "0s") {
      "write `\(text)s` or `\(text)ms`"
    }
    guard let unit = units.first(where: { $0.name == quantity.unit }) else {
      throw Mismatch(hint: "`\(quantity.unit)` is not a unit of time: \(units.map(\.name).listed)")
    }
    guard let nanoseconds = quantity.scaled(by: Int(unit.factor)) else {
      throw Mismatch(hint: "too large, or finer than a nanosecond", isOutOfRange: true)
    }
    let duration = Duration.nanoseconds(nanoseconds)
    let (seconds, rest) = duration.components
    guard !wholeSeconds || rest == 0 else {
      let larger = "`\(Duration.seconds(seconds + 1).optionText)`"
      throw Mismatch(
        hint: "this is counted in whole seconds: write "
          + (seconds > 0 ? "`\(Duration.seconds(seconds).optionText)` or \(larger)" : larger),
        isOutOfRange: true)
    }
    return duration
  }

  private static func size(_ text: String) throws(Mismatch) -> ByteSize {
    let quantity = try quantity(text, example: "64MiB", zero: "0B") {
      "write `\(text)B`, `\(text)KiB` or `\(text)MiB`"
    }
    let names = ByteSize.units.map(\.name)
    guard let unit = ByteSize.units.first(where: { $0.name == quantity.unit }) else {
      let meant =
        names.first { $0.lowercased() == quantity.unit.lowercased() }
        ?? names.first { $0.lowercased() == quantity.unit.lowercased() + "b" }
      throw Mismatch(
        hint: meant.map { "write `\(text.dropLast(quantity.unit.count))\($0)`" }
          ?? "`\(quantity.unit)` is not a unit of size: \(names.listed)")
    }
    guard let bytes = quantity.scaled(by: unit.factor) else {
      throw Mismatch(hint: "too large, or not a whole number of bytes", isOutOfRange: true)
    }
    return ByteSize(bytes: bytes)
  }

  private static func percentage(_ text: String) throws(Mismatch) -> Double {
    let quantity = try quantity(text, example: "5%", zero: "0%") { "write `\(text)%`" }
    guard quantity.unit == "%" else { throw Mismatch(hint: "write a percentage such as `5%`") }
    var value = Double(quantity.digits)
    for _ in 0..<quantity.decimals { value /= 10 }
    guard value <= 100 else { throw Mismatch(hint: "at most 100%", isOutOfRange: true) }
    return value / 100
  }

  private static func quantity(
    _ text: String, example: String, zero: String, withoutUnit: () -> String
  ) throws(Mismatch) -> NumberWithUnit {
    let quantity: NumberWithUnit
    do throws(NumberWithUnit.Failure) {
      quantity = try NumberWithUnit(text)
    } catch {
      switch error {
      case .notANumber: throw Mismatch(hint: "write a number and a unit, such as `\(example)`")
      case .tooManyDigits: throw Mismatch(hint: "too many digits", isOutOfRange: true)
      }
    }
    guard !quantity.unit.isEmpty else {
      throw Mismatch(
        hint: "the unit is missing: \(quantity.digits == 0 ? "write `\(zero)`" : withoutUnit())")
    }
    return quantity
  }

  private static func choice(_ text: String, _ words: [String]) throws(Mismatch) -> String {
    guard !words.contains(text) else { return text }
    throw Mismatch(
      hint: suggestion(for: text, in: words).map { "did you mean `\($0)`?" }
        ?? "not one of these")
  }

  private static func bounded<Value: Comparable>(
    _ value: Value, range: ClosedRange<Value>?, text: (Value) -> String
  ) throws(Mismatch) -> Value {
    guard let range, !range.contains(value) else { return value }
    throw Mismatch(
      hint: value < range.lowerBound
        ? "at least \(text(range.lowerBound))" : "at most \(text(range.upperBound))",
      isOutOfRange: true)
  }
}

extension [String] {
  /// The elements as text: "a, b and c".
  var listed: String {
    guard let last, count > 1 else { return first ?? "" }
    return "\(dropLast().joined(separator: ", ")) and \(last)"
  }
}
