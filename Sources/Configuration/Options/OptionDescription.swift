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
