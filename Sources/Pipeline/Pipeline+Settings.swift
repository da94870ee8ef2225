extension Pipeline {
  /// Changes the options of every entry of one plugin, as a command line does, and makes the
  /// interceptors of these entries again.
  ///
  /// - Parameter change: Changes the plugin's options.
  /// - Returns: The number of entries of the plugin.
  /// - Throws: `OptionError` for options that do not go together or cannot be used.
  @discardableResult
  package mutating func configure<Configured: Plugin>(
    _ plugin: Configured.Type,
    variable: @escaping @Sendable (_ name: String) -> String? = Services.environment,
    _ change: (inout Configured) -> Void
  ) throws(OptionError) -> Int {
    var count = 0
    for (index, entry) in entries.enumerated() {
      guard var plugin = entry.plugin as? Configured else { continue }
      change(&plugin)
      try plugin.validateAll()
      let parts = try plugin.parts(
        PluginEnvironment(pipelineName: name, entryID: entry.id, variable: variable))
      entries[index] = PipelineEntry(
        id: entry.id, parts, when: entry.condition, plugin: plugin, options: entry.options)
      count += 1
    }
    return count
  }
}
