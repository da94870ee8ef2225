/// What a plugin does that other plugins are placed by, and what the rest of gqlrun needs to know of it.
///
/// A plugin computes its traits from its options: a `cache-read` with the policy `cache-only` has
/// ``cacheOnly``. A plugin of your own may have traits of its own: `"acme.signs"`.
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
  /// Answers every request by itself, so that a chain needs no fetch.
  public static let answers = PluginTraits("answers")
  /// Refuses responses by their status.
  public static let checksStatus = PluginTraits("checks-status")
  /// Turns responses into results.
  public static let parses = PluginTraits("parses")
  /// Answers from the cache.
  public static let readsCache = PluginTraits("reads-cache")
  /// Never lets a request go to the network.
  public static let cacheOnly = PluginTraits("cache-only")
  /// Writes results to the cache.
  public static let writesCache = PluginTraits("writes-cache")
  /// May start the chain again. Requires a plugin that ``boundsRestarts`` above it (P015).
  public static let restarts = PluginTraits("restarts")
  /// Bounds how often the chain starts again.
  public static let boundsRestarts = PluginTraits("bounds-restarts")
  /// Sends mutations again that the server may have executed.
  public static let repeatsMutations = PluginTraits("repeats-mutations")
  /// Sends a key with each mutation by which a server recognizes a repeated one.
  public static let sendsIdempotencyKeys = PluginTraits("sends-idempotency-keys")
  /// Delays requests to stay within a rate limit.
  public static let limitsRate = PluginTraits("limits-rate")
  /// Logs the fields of HTTP requests.
  public static let showsHeaders = PluginTraits("shows-headers")
  /// Changes the fields of HTTP requests.
  public static let changesHeaders = PluginTraits("changes-headers")
}
