public import GQLRunJSON

/// A decoded option with the place it came from.
public struct OptionValue: Sendable {
  /// A value of one of the types of options.
  public enum Content: Sendable {
    /// A Boolean.
    case bool(Bool)
    /// An integer.
    case int(Int)
    /// A number.
    case double(Double)
    /// Text, a path or a choice.
    case string(String)
    /// Text with `${context:…}`, filled in for each request.
    case template(Template)
    /// A duration.
    case duration(Duration)
    /// A number of bytes.
    case size(ByteSize)
    /// From 0 to 1.
    case percentage(Double)
    /// A list, in the order of the file.
    case list([OptionValue])
    /// In the order of the file.
    case map([Entry])
    /// A section with options of its own.
    case object(PluginOptions)
    /// Any JSON value.
    case json(JSONValue)
    /// Would have to run a command to be known, and was asked not to.
    case unresolved
  }

  /// A member of a mapping.
  public struct Entry: Sendable {
    /// The key.
    public var name: String
    /// The source location of the key.
    public var nameLocation: FileLocation
    /// The value.
    public var value: OptionValue
  }

  /// The value itself.
  public var content: Content
  /// Where it was written; for a default, where the plugin was.
  public var location: FileLocation
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
