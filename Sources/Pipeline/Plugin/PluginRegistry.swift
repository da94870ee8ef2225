import GQLRunSupport

/// The plugins that pipeline files may name.
public struct PluginRegistry: Sendable {
  private var plugins: [any Plugin.Type] = []

  /// An empty registry.
  public init() {}

  /// A registry of the given plugins.
  public init(_ plugins: [any Plugin.Type]) {
    for plugin in plugins { register(plugin) }
  }

  /// Adds a plugin.
  ///
  /// A name that is taken, or a description with problems, is a mistake in the program and stops
  /// it.
  public mutating func register(_ plugin: any Plugin.Type) {
    let description = plugin.description
    precondition(
      self[description.name] == nil, "there already is a plugin `\(description.name)`")
    let problems = description.problems
    precondition(problems.isEmpty, problems.joined(separator: "; "))
    plugins.append(plugin)
  }

  /// The plugin of a name.
  public subscript(name: String) -> (any Plugin.Type)? {
    plugins.first { $0.description.name == name }
  }

  /// All names, sorted.
  public var names: [String] {
    plugins.map { $0.description.name }.sorted()
  }

  /// All descriptions, sorted by name.
  public var descriptions: [PluginDescription] {
    plugins.map { $0.description }.sorted { $0.name < $1.name }
  }

  /// The name of the plugin that is closest to the misspelled `name`; `nil` when none is close.
  public func suggestion(for name: String) -> String? {
    GQLRunSupport.suggestion(for: name, in: names)
  }
}
