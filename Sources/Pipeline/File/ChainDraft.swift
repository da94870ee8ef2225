/// An entry of a chain as it was read, before its interceptors are made.
struct ChainDraft {
  var name: String
  /// Where the plugin is named.
  var place: SourcePlace
  var id: String
  var plugin: any Plugin.Type
  var description: PluginDescription
  var options: PluginOptions
  var condition: OperationCondition
  /// Whether the options were read without an error.
  var isSound: Bool
  /// Whether the options hold `${exec:…}`.
  var hasCommands = false
}
