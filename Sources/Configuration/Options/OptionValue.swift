public import GQLRunJSON

/// A decoded option with its source location.
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
    /// Text with `${context:…}`, expanded for each request.
    case template(Template)
    /// A duration.
    case duration(Duration)
    /// A number of bytes.
    case size(ByteSize)
    /// A share, from 0 to 1.
    case percentage(Double)
    /// A list, in the order of the file.
    case list([OptionValue])
    /// A mapping of names to values, in the order of the file.
    case map([Entry])
    /// A section with options of its own.
    case object(PluginOptions)
    /// Any JSON value.
    case json(JSONValue)
    /// One of several kinds, by its name, with the kind's options.
    case variant(String, PluginOptions)
    /// Not known, because commands are not run.
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
  /// The source location; for a default, that of the plugin.
  public var location: FileLocation
  /// The text for output: as in the file, before expansion; secrets are masked.
  public var shownText: String
  /// Whether the value is the default of the option.
  public var isDefault: Bool
  /// The source location of the key in front of the value, if there is one.
  package var keyLocation: FileLocation?
  /// The node of an option of type ``OptionType/json``, with the source location of each part.
  package var node: YAMLNode?
}

extension OptionValue {
  /// Whether the value itself depends on a command that was not run.
  package var isUnknown: Bool {
    if case .unresolved = content { true } else { false }
  }

  /// Whether the value, or a value in it, depends on a command that was not run.
  package var isUnresolved: Bool {
    switch content {
    case .unresolved: true
    case .list(let elements): elements.contains(where: \.isUnresolved)
    case .map(let entries): entries.contains(where: \.value.isUnresolved)
    case .object(let options), .variant(_, let options): options.isUnresolved
    default: false
    }
  }
}
