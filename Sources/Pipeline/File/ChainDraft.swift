/// A parsed entry of a chain, before its interceptors are created.
struct ChainDraft {
  var name: String
  /// The source location of the plugin's name.
  var location: FileLocation
  var id: String
  /// The plugin with its options; those that could not be read have their defaults.
  var plugin: any Plugin
  /// The options as the file writes them.
  var options: PluginOptions
  var condition: OperationCondition
  /// Whether the options were read without errors.
  var isSound: Bool
  /// Whether the options hold `${exec:…}`.
  var hasCommands: Bool
  let traits: PluginTraits
  let placement: Placement

  init(
    name: String, location: FileLocation, id: String, plugin: any Plugin, options: PluginOptions,
    condition: OperationCondition, isSound: Bool, hasCommands: Bool
  ) {
    self.name = name
    self.location = location
    self.id = id
    self.plugin = plugin
    self.options = options
    self.condition = condition
    self.isSound = isSound
    self.hasCommands = hasCommands
    traits = plugin.traits
    placement = plugin.placement
  }
}
