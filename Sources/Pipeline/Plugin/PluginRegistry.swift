import GQLRunSupport

/// The plugins that pipeline files can use.
public struct PluginRegistry: Sendable {
  private var plugins: [(name: String, type: any Plugin.Type)] = []

  /// An empty registry.
  public init() {}

  /// A registry of the given plugins.
  public init(_ plugins: [any Plugin.Type]) {
    for plugin in plugins { register(plugin) }
  }

  /// A registry of plugins whose declarations tests have checked: reading all of them takes longer
  /// than loading a pipeline file.
  package init(checked plugins: [any Plugin.Type]) {
    self.plugins = plugins.map { ($0.name, $0) }
  }

  /// Adds a plugin.
  ///
  /// - Precondition: No other plugin has its name, and its declarations are valid
  ///   (``PluginDescription/problems``).
  public mutating func register(_ plugin: any Plugin.Type) {
    let description = PluginDescription(plugin)
    precondition(
      self[description.name] == nil, "there is already a plugin `\(description.name)`")
    let problems = description.problems
    precondition(problems.isEmpty, problems.joined(separator: "; "))
    plugins.append((description.name, plugin))
  }

  /// The plugin with a name.
  public subscript(name: String) -> (any Plugin.Type)? {
    plugins.first { $0.name == name }?.type
  }

  /// The description of the plugin with a name.
  public func description(of name: String) -> PluginDescription? {
    self[name].map(Self.describe)
  }

  /// All names, sorted.
  public var names: [String] {
    plugins.map(\.name).sorted()
  }

  /// All descriptions, sorted by name.
  public var descriptions: [PluginDescription] {
    plugins.sorted { $0.name < $1.name }.map { Self.describe($0.type) }
  }

  private static func describe(_ plugin: any Plugin.Type) -> PluginDescription {
    PluginDescription(plugin)
  }

  /// The name of the plugin that has `name` as one of its words, as `max-retry` has `retry`, or is closest to the
  /// misspelled `name`; `nil` when none is close.
  public func suggestion(for name: String) -> String? {
    names.first { $0.split(separator: "-").contains { $0 == name } }
      ?? GQLRunSupport.suggestion(for: name, in: names)
  }
}
