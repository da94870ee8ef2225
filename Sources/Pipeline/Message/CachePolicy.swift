import GQLRunLanguage

/// How one operation uses the cache and the network.
///
/// | policy | reads the cache | network | writes the cache |
/// |---|---|---|---|
/// | `cache-first` | before | on a miss | yes |
/// | `network-only` | never | always | yes |
/// | `no-cache` | never | always | no |
/// | `cache-only` | before | never | – |
/// | `cache-and-network` | before | always | yes; two results on a hit |
/// | `network-first` | after a network failure | always | yes |
///
/// Mutations never read the cache and do write it. Subscriptions run as `network-only` unless a
/// request asks for `cache-and-network`.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
  case cacheFirst = "cache-first"
  case networkOnly = "network-only"
  case noCache = "no-cache"
  case cacheOnly = "cache-only"
  case cacheAndNetwork = "cache-and-network"
  case networkFirst = "network-first"

  /// Reads the name of a policy in any vocabulary: kebab case, Apollo's camel case, or the names of
  /// Apollo iOS 1.x.
  public init?(name: String) {
    if let policy = CachePolicy(rawValue: name) ?? Self.otherNames[name] {
      self = policy
    } else {
      return nil
    }
  }

  /// Every name that is understood; the printed ones first.
  public static let names: [String] = allCases.map(\.rawValue) + otherNames.keys.sorted()

  private static let otherNames: [String: CachePolicy] = [
    "cacheFirst": .cacheFirst,
    "networkOnly": .networkOnly,
    "noCache": .noCache,
    "cacheOnly": .cacheOnly,
    "cacheAndNetwork": .cacheAndNetwork,
    "networkFirst": .networkFirst,
    "returnCacheDataElseFetch": .cacheFirst,
    "fetchIgnoringCacheData": .networkOnly,
    "fetchIgnoringCacheCompletely": .noCache,
    "returnCacheDataDontFetch": .cacheOnly,
    "returnCacheDataAndFetch": .cacheAndNetwork,
  ]

  /// Whether results from the server go into the cache.
  public var writesCache: Bool { self != .noCache }
}

extension CachePolicy: CustomStringConvertible {
  public var description: String { rawValue }
}

extension GraphQLRequest {
  /// Refuses `cache-only` for an operation that the cache cannot answer: a mutation or a subscription.
  ///
  /// - Parameter policy: The policy that applies to the request, its own or that of the chain.
  func checkPolicy(_ policy: CachePolicy?) throws(ChainError) {
    guard policy == .cacheOnly, operationType != .query else { return }
    throw ChainError(
      .request, .invalidRequest,
      "a \(operationType.rawValue) cannot be answered from the cache; use another policy than "
        + "cache-only")
  }
}
