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

/// The decoded options of a plugin or section with their source locations: complete, within bounds.
///
/// ``Configurable`` reads them as properties.
public struct PluginOptions: Sendable {
  /// The values by name, in the order of the table, without unset options.
  public private(set) var values: [(name: String, value: OptionValue)]
  /// The names of all options, including unset ones.
  private let known: Set<String>
  /// The keys that the file sets, including those with invalid values.
  package let given: Set<String>
  /// The source location of the options, or of the plugin if the file sets none.
  public let location: FileLocation

  init(
    values: [(name: String, value: OptionValue)], known: Set<String>, given: Set<String>,
    location: FileLocation
  ) {
    self.values = values
    self.known = known
    self.given = given
    self.location = location
  }

  /// The value of an option; `nil` if it is unset.
  public subscript(name: String) -> OptionValue? {
    precondition(known.contains(name), "the plugin has no option `\(name)`")
    return values.first { $0.name == name }?.value
  }

  /// The source location of an option, or of the plugin if the file does not set the option.
  ///
  /// - Parameter path: The option's name; a dotted path for members of groups and maps and, by
  ///   index, elements of lists: `rules.0.message`.
  public func location(of path: String) -> FileLocation {
    let values = values(along: path)
    return values.dropFirst().prefix { !$0.value.isDefault }.last?.value.location
      ?? values.first?.value.location ?? location
  }

  /// The values that a dotted path leads through, as far as there are values.
  package func values(along path: String) -> [(name: String, value: OptionValue)] {
    var rest = path.split(separator: ".").map(String.init)[...]
    var found: [(name: String, value: OptionValue)] = []
    var content = OptionValue.Content.object(self)
    while let next = Self.value(in: content, &rest) {
      found.append(next)
      content = next.value.content
    }
    return found
  }

  private static func value(
    in content: OptionValue.Content, _ rest: inout ArraySlice<String>
  ) -> (name: String, value: OptionValue)? {
    guard let name = rest.first else { return nil }
    switch content {
    case .object(let options), .variant(_, let options):
      rest = rest.dropFirst()
      return options.values.first { $0.name == name }
    case .list(let elements):
      rest = rest.dropFirst()
      return Int(name).flatMap { elements.indices.contains($0) ? (name, elements[$0]) : nil }
    case .map(let entries):
      for entry in entries {
        // Names that the user chooses may contain dots.
        let parts = entry.name.split(separator: ".").map(String.init)
        guard rest.starts(with: parts) else { continue }
        rest = rest.dropFirst(parts.count)
        return (entry.name, entry.value)
      }
      return nil
    default: return nil
    }
  }

  /// Whether a value depends on a command that was not run.
  package var isUnresolved: Bool {
    values.contains { $0.value.isUnresolved }
  }
}
