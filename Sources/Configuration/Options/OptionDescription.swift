import GQLRunSupport

/// The description of an option: parsing, diagnostics, help and documentation use it.
public struct OptionDescription: Sendable, Hashable {
  /// The name in a pipeline file, in snake case.
  public var name: String
  /// The type of the values.
  public var type: OptionType
  /// The default, as a pipeline file writes it; `nil` leaves the option unset.
  ///
  /// The default of an object consists of those of its options; `""` sets it if the file does not.
  public var defaultText: String?
  /// What the option does, in one sentence without a full stop.
  public var summary: String
  /// Whether every file must set the option.
  public var isRequired: Bool
  /// Whether outputs may show the value; `.open` by default.
  public var secrecy: OptionSecrecy

  /// Creates the description of an option.
  ///
  /// - Parameters:
  ///   - name: The name in snake case.
  ///   - type: The type of the values, with bounds.
  ///   - defaultText: The default as written in a file; `nil`, the default, leaves the option
  ///     unset.
  ///   - required: Whether a file must set the option; `false` by default.
  ///   - secrecy: Whether the value may be shown.
  ///   - summary: What the option does, in one sentence without a full stop.
  public init(
    _ name: String, type: OptionType, default defaultText: String? = nil, required: Bool = false,
    secrecy: OptionSecrecy = .open, summary: String
  ) {
    self.name = name
    self.type = type
    self.defaultText = defaultText
    self.summary = summary
    self.isRequired = required
    self.secrecy = secrecy
  }
}

/// Whether an option's value may be shown.
public enum OptionSecrecy: Sendable, Hashable {
  /// May be shown, except for the values of `${env:…}`, `${file:…}` and `${exec:…}`, which are
  /// secret in every option of type text.
  case open
  /// Always printed as `•••`; a literal value in a file is an error (P019).
  case secret
  /// A mapping of HTTP field names to values, some of which (`Authorization`, `X-Api-Key`) are
  /// secret.
  case secretHeaders
  /// A URL. Its host may be shown; the values of its query, a password, and expansions in its path
  /// are secret.
  case url
}

extension OptionDescription {
  /// The option as help lists it: name, type, default and summary, then the options of its group.
  ///
  /// - Parameter indent: The spaces in front of the first line.
  public func lines(indent: String) -> [String] {
    var remarks: [String] = []
    if isRequired { remarks.append("required") }
    if let text = defaultText, text != "{}" {
      remarks.append("default \(text.isEmpty ? "empty" : text)")
    }
    if secrecy == .secret { remarks.append("secret") }
    let suffix = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
    let own = ["\(indent)\(name): \(type.name)\(suffix)", "\(indent)    \(summary)"]
    guard case .object(let inner) = type else { return own }
    return own + inner.options.flatMap { $0.lines(indent: indent + "    ") }
  }
}

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

/// The options of a group, described when they are first needed.
///
/// A file names few of the groups that its options could have, and describing all of them is a tenth of the work of a
/// short run.
public final class OptionTable: Sendable {
  private let describe: @Sendable () -> [OptionDescription]
  private let known = Locked<[OptionDescription]?>(nil)

  /// Creates a table.
  ///
  /// - Parameter options: The options, in the order of their declarations; evaluated once, or twice if two tasks need
  ///   them at the same time.
  public init(_ options: @autoclosure @escaping @Sendable () -> [OptionDescription]) {
    describe = options
  }

  /// The options, in the order of their declarations.
  public var options: [OptionDescription] {
    if let known = known.withLock({ $0 }) { return known }
    let options = describe()
    known.withLock { $0 = options }
    return options
  }
}

extension OptionTable: Hashable {
  /// Whether the tables have the same options.
  public static func == (one: OptionTable, other: OptionTable) -> Bool {
    one === other || one.options == other.options
  }

  /// Hashes the options.
  public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}
