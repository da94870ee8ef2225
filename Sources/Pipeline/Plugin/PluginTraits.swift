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
}
