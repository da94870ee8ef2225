public import GQLRunJSON

/// A decoded option with the place it came from.
public struct OptionValue: Sendable {
  public enum Content: Sendable {
    case bool(Bool)
    case int(Int)
    case double(Double)
    /// Text, a path or a choice.
    case string(String)
    case template(Template)
    case duration(Duration)
    case size(ByteSize)
    /// From 0 to 1.
    case percentage(Double)
    case list([OptionValue])
    /// In the order of the file.
    case map([Entry])
    case object(PluginOptions)
    case json(JSONValue)
    /// Would have to run a command to be known, and was asked not to.
    case unresolved
  }

  public struct Entry: Sendable {
    public var name: String
    public var namePlace: SourcePlace
    public var value: OptionValue
  }

  public var content: Content
  /// Where it was written; for a default, where the plugin was.
  public var place: SourcePlace
  /// How the value is shown: as it was written, before expansion; secrets are masked.
  public var shownText: String
  /// Whether the value is the default of the option.
  public var isDefault: Bool
}

extension OptionValue {
  /// Whether this very value would have needed a command that was not to be run.
  package var isUnknown: Bool {
    if case .unresolved = content { true } else { false }
  }

  /// Whether any of it would have needed a command that was not to be run.
  package var isUnresolved: Bool {
    switch content {
    case .unresolved: true
    case .list(let elements): elements.contains(where: \.isUnresolved)
    case .map(let entries): entries.contains(where: \.value.isUnresolved)
    case .object(let options): options.isUnresolved
    default: false
    }
  }
}
