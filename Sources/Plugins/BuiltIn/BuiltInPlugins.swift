public import Pipeline

extension PluginRegistry {
  /// The plugins that come with gqlrun.
  public static let builtIn = PluginRegistry([
    LoggingPlugin.self,
    MaxRetryPlugin.self,
    TimeoutPlugin.self,
    HeadersPlugin.self,
    CacheReadPlugin.self,
    FetchPlugin.self,
    ResponseCodePlugin.self,
    ParsePlugin.self,
    CacheWritePlugin.self,
    ExecPlugin.self,
  ])
}
