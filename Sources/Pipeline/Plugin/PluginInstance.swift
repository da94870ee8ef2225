/// What one entry of a chain contributes: its interceptors.
public struct PluginInstance: Sendable {
  public enum Part: Sendable {
    case graphQL(any GraphQLInterceptor)
    /// A cache interceptor that is asked before the network.
    case cacheRead(any CacheInterceptor)
    /// A cache interceptor that is told of results.
    case cacheWrite(any CacheInterceptor)
    /// An HTTP interceptor. One that stands below the fetch sees a response after all those above
    /// it have.
    case http(any HTTPInterceptor)
    /// The innermost HTTP interceptor, which sends the request and calls no other.
    case fetch(any HTTPInterceptor)
    case parsing(any ResponseParsingInterceptor)
    case errorTap(any ErrorTap)
  }

  public var parts: [Part]
  /// The programs that the entry starts when it is used, as messages show them: `python3 sign.py`.
  ///
  /// A plugin that starts programs lists them: `gqlrun` starts none of a file that is not trusted.
  public var programs: [String] = []

  /// An entry that takes part in several stages.
  public init(_ parts: [Part]) {
    self.parts = parts
  }

  public static func graphQL(_ interceptor: any GraphQLInterceptor) -> PluginInstance {
    PluginInstance([.graphQL(interceptor)])
  }

  public static func cacheRead(_ interceptor: any CacheInterceptor) -> PluginInstance {
    PluginInstance([.cacheRead(interceptor)])
  }

  public static func cacheWrite(_ interceptor: any CacheInterceptor) -> PluginInstance {
    PluginInstance([.cacheWrite(interceptor)])
  }

  public static func http(_ interceptor: any HTTPInterceptor) -> PluginInstance {
    PluginInstance([.http(interceptor)])
  }

  public static func fetch(_ interceptor: any HTTPInterceptor) -> PluginInstance {
    PluginInstance([.fetch(interceptor)])
  }

  public static func parsing(_ interceptor: any ResponseParsingInterceptor) -> PluginInstance {
    PluginInstance([.parsing(interceptor)])
  }

  public static func errorTap(_ tap: any ErrorTap) -> PluginInstance {
    PluginInstance([.errorTap(tap)])
  }
}
