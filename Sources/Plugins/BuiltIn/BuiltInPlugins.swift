public import GQLRunPipeline

extension PluginRegistry {
  /// The plugins that come with gqlrun.
  public static let builtIn = PluginRegistry(checked: [
    LoggingPlugin.self,
    MaxRetryPlugin.self,
    TimeoutPlugin.self,
    HeadersPlugin.self,
    CookiesPlugin.self,
    CorrelationIDPlugin.self,
    RequireContextPlugin.self,
    AuditPlugin.self,
    ErrorTapPlugin.self,
    TokenRefreshPlugin.self,
    PersistedQueriesPlugin.self,
    DeduplicatePlugin.self,
    RateLimitPlugin.self,
    RecordReplayPlugin.self,
    CacheReadPlugin.self,
    HTTPBatchPlugin.self,
    FetchPlugin.self,
    ResponseCodePlugin.self,
    ParsePlugin.self,
    CacheWritePlugin.self,
    ExecPlugin.self,
  ])
}
