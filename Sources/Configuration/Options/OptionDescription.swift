public import GQLRunJSON
import GQLRunSupport

/// The description of an option: parsing, diagnostics, help and documentation use it.
public struct OptionDescription: Sendable, Hashable {
  /// The name in a pipeline file, in snake case.
  public var name: String
  /// The type of the values.
  public var type: OptionType
  /// The default, as a pipeline file would write it; `nil` leaves the option unset.
  ///
  /// The default of a group is an empty mapping: each of its options has its own.
  public var defaultValue: JSONValue?
  /// Whether the default is a value that a file may give.
  package var hasValidDefault = true
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
  ///   - defaultValue: The default as written in a file; `nil`, the default, leaves the option
  ///     unset.
  ///   - required: Whether a file must set the option; `false` by default.
  ///   - secrecy: Whether the value may be shown.
  ///   - summary: What the option does, in one sentence without a full stop.
  public init(
    _ name: String, type: OptionType, default defaultValue: JSONValue? = nil,
    required: Bool = false,
    secrecy: OptionSecrecy = .open, summary: String
  ) {
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.summary = summary
    self.isRequired = required
    self.secrecy = secrecy
  }

  /// The default as text: `300ms`, `[401, 403]`.
  public var defaultText: String? { defaultValue?.optionText }
}

extension JSONValue {
  /// The value as the text of an option in a file.
  package var optionText: String {
    if case .string(let text) = self { text } else { flowText }
  }

  /// The value as an element of a flow collection of YAML: a text is quoted unless it is a plain word.
  private var flowText: String {
    switch self {
    case .array(let elements): "[\(elements.map(\.flowText).joined(separator: ", "))]"
    case .object(let members):
      members.isEmpty
        ? "{}"
        : "{ \(members.map { "\(JSONValue.string($0.key).flowText): \($0.value.flowText)" }.joined(separator: ", ")) }"
    case .string(let text)
    where !text.isEmpty
      && text.allSatisfy({ $0.isLetter || $0.isNumber || "-_./%".contains($0) }):
      text
    default: jsonText()
    }
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
    guard let inner = type.table else { return own }
    return own + inner.options.flatMap { $0.lines(indent: indent + "    ") }
  }
}

extension YAMLNode {
  /// The value of an option for output: as in the file, before expansion; secrets are masked.
  package func shownText(_ option: OptionDescription) -> String {
    shownText(type: option.type, secrecy: option.secrecy, name: option.name)
  }

  fileprivate func shownText(type: OptionType, secrecy: OptionSecrecy, name: String) -> String {
    if case .json = type { return json.jsonText() }
    let inner = if case .list(let type) = type { type } else { type }
    switch content {
    case .scalar(let text, _):
      return secrecy.hides(name) || SecretText.looksSecret(text) ? SecretString.redacted : text
    case .sequence(let elements):
      let texts = elements.map { $0.shownText(type: inner, secrecy: secrecy, name: name) }
      return "[\(texts.joined(separator: ", "))]"
    case .mapping(let members):
      let texts = members.map { "\($0.key): \($0.shownText(in: type, secrecy: secrecy))" }
      return texts.isEmpty ? "{}" : "{ \(texts.joined(separator: ", ")) }"
    }
  }
}

extension YAMLNode.Member {
  /// The value for output, as a member of a map or as an option of a group.
  fileprivate func shownText(in type: OptionType, secrecy: OptionSecrecy) -> String {
    if let table = type.table {
      return table.options.first { $0.name == key }.map(value.shownText) ?? SecretString.redacted
    }
    let inner = if case .map(let type) = type { type } else { type }
    return value.shownText(type: inner, secrecy: secrecy, name: key)
  }
}

/// The options of a group, described when they are needed.
///
/// Few of the groups of a file are shown, and describing all of them is a tenth of the work of a short run.
public struct OptionTable: Sendable {
  private let describe: @Sendable () -> [OptionDescription]

  /// Creates a table.
  ///
  /// - Parameter options: The options, in the order of their declarations; evaluated whenever they are needed.
  public init(_ options: @autoclosure @escaping @Sendable () -> [OptionDescription]) {
    describe = options
  }

  /// The options, in the order of their declarations.
  public var options: [OptionDescription] { describe() }
}

extension OptionTable: Hashable {
  /// Whether the tables have the same options.
  public static func == (one: OptionTable, other: OptionTable) -> Bool {
    one.options == other.options
  }

  /// Hashes the options.
  public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}
