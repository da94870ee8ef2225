/// The reason why a text is not a duration or size.
public struct OptionTextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What to write instead.
  public var hint: String

  /// The hint.
  public var description: String { hint }
}

extension Duration {
  /// Parses a duration as pipeline files write it: `300ms`, `1.5s`, `2m`, `1h`.
  ///
  /// - Parameter wholeSeconds: Whether a fraction of a second is an error.
  public init(optionText: String, wholeSeconds: Bool = false) throws(OptionTextError) {
    self = try OptionReader.value(of: optionText, as: .duration(wholeSeconds: wholeSeconds)) {
      if case .duration(let duration) = $0 { duration } else { nil }
    }
  }
}

extension ByteSize {
  /// Parses a size as pipeline files write it: `512KiB`, `64MiB`, `10MB`.
  public init(optionText: String) throws(OptionTextError) {
    self = try OptionReader.value(of: optionText, as: .size()) {
      if case .size(let size) = $0 { size } else { nil }
    }
  }
}

extension OptionReader {
  fileprivate static func value<Value>(
    of text: String, as type: OptionType, _ extract: (OptionValue.Content) -> Value?
  ) throws(OptionTextError) -> Value {
    do throws(Mismatch) {
      if let value = extract(try content(of: text, as: type, folder: "")) { return value }
    } catch {
      throw OptionTextError(hint: error.hint)
    }
    throw OptionTextError(hint: "write \(type.expectation)")
  }
}
