/// One option of a plugin: the row of the table that feeds parsing, errors, help and documentation.
public struct OptionDescription: Sendable, Hashable {
  /// The name as written in a pipeline file, in snake case.
  public var name: String
  /// The type of the values.
  public var type: OptionType
  /// The value when the option is not given, as one would write it in a pipeline file. `nil` leaves
  /// it unset.
  ///
  /// An object takes its default from its own options; give `""` to have it present when it is not
  /// written.
  public var defaultText: String?
  /// What the option does, in one sentence without a full stop.
  public var summary: String
  /// Whether a file that leaves the option out is refused.
  public var isRequired: Bool
  /// Whether the value may be shown; `.open` by default.
  public var secrecy: OptionSecrecy

  /// Creates the description of an option.
  ///
  /// - Parameters:
  ///   - name: The name in snake case.
  ///   - type: The type of the values, with bounds.
  ///   - defaultText: The default as written in a file; `nil`, the default, leaves the option unset.
  ///   - required: Whether a file must set the option; `false` by default.
  ///   - secrecy: Whether the value may be shown.
  ///   - summary: What the option does, in one sentence without a full stop.
  public init(
    _ name: String, _ type: OptionType, default defaultText: String? = nil, required: Bool = false,
    secrecy: OptionSecrecy = .open, _ summary: String
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
  /// May be shown, as far as the file itself has it: what `${env:…}`, `${file:…}` and `${exec:…}` bring into
  /// text is secret in every option.
  case open
  /// Always printed as `•••`, and refused when it stands literally in a file (P019).
  case secret
  /// A mapping of HTTP field names to values, some of which (`Authorization`, `X-Api-Key`) are
  /// secret.
  case secretHeaders
  /// A URL. Its host may be shown; the values of its query, a password in it, and what `${…}` brings into
  /// its path are secret.
  case url
}
