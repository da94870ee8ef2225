/// A plugin: its options, its position in a chain, and the interceptors made from them.
///
/// ```swift
/// struct TenantPlugin: Plugin {
///   static let summary = "Sends the tenant of a request in a field"
///   @Option("HTTP field that carries the tenant") var field = HTTPField.Name("X-Tenant")!
///   @Option("Tenants that a request may name") var allowed: [String]
///
///   var placement: Placement { .wrap(.graphQL) }
///
///   func parts(_ environment: PluginEnvironment) -> [ChainPart] {
///     [.graphQL(TenantInterceptor(field: field, allowed: Set(allowed)))]
///   }
/// }
/// ```
/// Its options are properties (`Configurable`); parsing, defaults, bounds, diagnostics,
/// documentation and the JSON Schema of pipeline files come from their declarations.
public protocol Plugin: Configurable {
  /// The name in a chain, in kebab case. By default the type's name without `Plugin`:
  /// `MaxRetryPlugin` is `max-retry`.
  static var name: String { get }
  /// What the plugin does, in one sentence without a full stop.
  static var summary: String { get }
  /// When to use the plugin, where it belongs, and examples.
  static var documentation: PluginDocumentation { get }

  /// What the plugin does with these options, for the rules of other plugins. None by default.
  var traits: PluginTraits { get }
  /// The position of the plugin in a chain, with these options.
  var placement: Placement { get }
  /// The programs that its interceptors start, as text for messages: `python3 sign.py`. None by
  /// default.
  ///
  /// `gqlrun` only starts programs of files that the user has trusted.
  var programs: [String] { get }

  /// Creates the interceptors of one entry of a chain.
  ///
  /// Called when a pipeline is created, without network and clock. Interceptors must be plain
  /// values.
  ///
  /// - Parameter environment: The pipeline and the entry.
  /// - Throws: `OptionError` for options that cannot be used, such as a missing file.
  func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart]
}

extension Plugin {
  /// The type's name without `Plugin`, in kebab case.
  public static var name: String {
    // Interpolated as a metatype: `String(describing:)` would look for three conformances.
    let type = "\(Self.self as any Any.Type)"
    return (type.hasSuffix("Plugin") ? String(type.dropLast(6)) : type).kebabCase
  }

  /// No traits.
  public var traits: PluginTraits { [] }

  /// No programs.
  public var programs: [String] { [] }
}

/// The documentation of a plugin, for `gqlrun plugins`, docs/plugins.md and editors.
public struct PluginDocumentation: Sendable, Hashable {
  /// When to use it.
  public var use: String
  /// The position in a chain, with the reason.
  public var position: String
  /// An entry of a chain, without the leading dash.
  public var example: String
  /// What the example does to a request.
  public var narration: String
  /// What it does with subscriptions: with their connections, and with each event.
  public var subscriptions: String
  /// What it does with requests that send files.
  public var uploads: String
  /// Further entries, without explanation.
  public var moreExamples: [String]

  /// Creates the documentation of a plugin; see the properties.
  public init(
    use: String, position: String, example: String, narration: String,
    subscriptions: String = PluginDocumentation.plainSubscriptions,
    uploads: String = PluginDocumentation.plainUploads, moreExamples: [String] = []
  ) {
    self.use = use
    self.position = position
    self.example = example
    self.narration = narration
    self.subscriptions = subscriptions
    self.uploads = uploads
    self.moreExamples = moreExamples
  }

  /// The behavior of a plugin that does nothing special with subscriptions.
  public static let plainSubscriptions = "Each event passes it like the result of a query."

  /// The behavior of a plugin that does nothing special with files.
  public static let plainUploads = "A request with files passes it like any other."

  /// All entries.
  public var examples: [String] { [example] + moreExamples }
}

/// The pipeline and the entry that interceptors are created for.
public struct PluginEnvironment: Sendable {
  /// The name of the pipeline, or `nil`.
  public var pipelineName: String?
  /// The identifier of the entry in the chain.
  public var entryID: String
  /// The folder of the pipeline file.
  public var folder: String
  /// The value of an environment variable.
  public var variable: @Sendable (_ name: String) -> String?

  /// Creates an environment.
  ///
  /// - Parameters:
  ///   - pipelineName: The name of the pipeline; `nil` by default.
  ///   - entryID: The identifier of the entry.
  ///   - folder: The folder of the pipeline file; the working directory by default.
  ///   - variable: The value of an environment variable; by default no variable is set.
  public init(
    pipelineName: String? = nil, entryID: String, folder: String = ".",
    variable: @escaping @Sendable (_ name: String) -> String? = { _ in nil }
  ) {
    self.pipelineName = pipelineName
    self.entryID = entryID
    self.folder = folder
    self.variable = variable
  }
}

/// A part that a plugin contributes to a chain: an interceptor and its role.
public enum ChainPart: Sendable {
  case graphQL(any GraphQLInterceptor)
  /// A cache interceptor that reads before the network.
  case cacheRead(any CacheInterceptor)
  /// A cache interceptor that receives results.
  case cacheWrite(any CacheInterceptor)
  /// An HTTP interceptor. One below the fetch sees a response after all those above the fetch.
  case http(any HTTPInterceptor)
  /// The innermost HTTP interceptor, which sends the request and calls no other.
  case fetch(any HTTPInterceptor)
  case parsing(any ResponseParsingInterceptor)
  case errorTap(any ErrorTap)

  /// Whether it reads the cache before the network.
  package var isCacheRead: Bool { if case .cacheRead = self { true } else { false } }
  /// Whether it receives results for the cache.
  package var isCacheWrite: Bool { if case .cacheWrite = self { true } else { false } }

  /// The interceptor as a credential holder; `nil` if it is none.
  var credentials: (any CredentialHolder)? {
    switch self {
    case .graphQL(let interceptor): interceptor as? any CredentialHolder
    case .cacheRead(let interceptor), .cacheWrite(let interceptor):
      interceptor as? any CredentialHolder
    case .http(let interceptor), .fetch(let interceptor): interceptor as? any CredentialHolder
    case .parsing(let interceptor): interceptor as? any CredentialHolder
    case .errorTap(let tap): tap as? any CredentialHolder
    }
  }
}

/// What a plugin does, for the rules of other plugins and for output.
///
/// A plugin computes its traits from its options: a `cache-read` with the policy `cache-only` has
/// ``cacheOnly``. A plugin can define further traits: `"acme.signs"`.
public struct PluginTraits:
  Sendable, Hashable, ExpressibleByArrayLiteral, ExpressibleByStringLiteral
{
  /// The names of the traits.
  public let names: Set<String>

  /// A single trait.
  public init(_ name: String) {
    names = [name]
  }

  /// A single trait: `"acme.signs"`.
  public init(stringLiteral name: String) {
    self.init(name)
  }

  /// All traits of all elements; none for `[]`.
  public init(arrayLiteral elements: PluginTraits...) {
    names = elements.reduce(into: []) { $0.formUnion($1.names) }
  }

  /// Whether all traits of `other` are among these.
  public func contains(_ other: PluginTraits) -> Bool { other.names.isSubset(of: names) }

  /// Whether at least one trait is in both.
  public func intersects(_ other: PluginTraits) -> Bool { !names.isDisjoint(with: other.names) }
}

extension PluginTraits {
  /// Sends the request over the network; innermost.
  public static let fetches = PluginTraits("fetches")
  /// Answers every request itself, so that the chain needs no fetch.
  public static let answers = PluginTraits("answers")
  /// Rejects responses by their status.
  public static let checksStatus = PluginTraits("checks-status")
  /// Parses responses into results.
  public static let parses = PluginTraits("parses")
  /// Answers from the cache.
  public static let readsCache = PluginTraits("reads-cache")
  /// Never passes a request on to the network.
  public static let cacheOnly = PluginTraits("cache-only")
  /// Writes results to the cache.
  public static let writesCache = PluginTraits("writes-cache")
  /// May restart the chain. Requires a plugin that ``boundsRestarts`` above it (P015).
  public static let restarts = PluginTraits("restarts")
  /// Takes its tokens from the tests of a pipeline file, so that tests need not start its programs.
  public static let takesTestTokens = PluginTraits("takes-test-tokens")
  /// Bounds the number of restarts.
  public static let boundsRestarts = PluginTraits("bounds-restarts")
  /// Retries mutations that the server may have executed.
  public static let repeatsMutations = PluginTraits("repeats-mutations")
  /// Sends an idempotency key with each mutation, so that the server recognizes a repeated one.
  public static let sendsIdempotencyKeys = PluginTraits("sends-idempotency-keys")
  /// Delays requests to stay within a rate limit.
  public static let limitsRate = PluginTraits("limits-rate")
  /// Logs the fields of HTTP requests.
  public static let showsHeaders = PluginTraits("shows-headers")
  /// Passes subscriptions unchanged, so that an entry for them alone has no effect.
  public static let passesSubscriptions = PluginTraits("passes-subscriptions")
  /// Passes requests with files unchanged, so that it has no effect on them.
  public static let passesUploads = PluginTraits("passes-uploads")
  /// Fails requests with files.
  public static let refusesUploads = PluginTraits("refuses-uploads")
  /// Changes the fields of HTTP requests.
  public static let changesHeaders = PluginTraits("changes-headers")
  /// Adds to a request what is not known before it is sent, such as a token, outside the HTTP stage. `gqlrun pipeline
  /// explain` names the entry, as it names those with ``changesHeaders``.
  public static let changesRequests = PluginTraits("changes-requests")
}
