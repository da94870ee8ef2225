/// A parsed entry of a chain, before its interceptors are created.
struct ChainDraft {
  var name: String
  /// The source location of the plugin's name.
  var place: SourcePlace
  var id: String
  var plugin: any Plugin.Type
  var description: PluginDescription
  var options: PluginOptions
  var condition: OperationCondition
  /// Whether the options were read without errors.
  var isSound: Bool
  /// Whether the options contain `${exec:…}`.
  var hasCommands = false
}
