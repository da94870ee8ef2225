import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The fetch policy of an operation: how it uses the cache and the network.
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
/// Mutations never read the cache, but write it. Subscriptions run as `network-only` unless a
/// request has the policy `cache-and-network`.
public enum CachePolicy: String, Sendable, Hashable, CaseIterable {
  /// Reads the cache; uses the network on a miss.
  case cacheFirst = "cache-first"
  /// Uses the network, and writes the cache.
  case networkOnly = "network-only"
  /// Uses the network, and does not write the cache.
  case noCache = "no-cache"
  /// Reads the cache; a miss is an error.
  case cacheOnly = "cache-only"
  /// Reads the cache, and uses the network in any case.
  case cacheAndNetwork = "cache-and-network"
  /// Uses the network; reads the cache if the network or the server fails (5xx).
  case networkFirst = "network-first"

  /// Parses the name of a policy: kebab case, Apollo's camel case, or the names of Apollo iOS 1.x.
  ///
  /// - Parameter name: The name. Returns `nil` for an unknown one.
  public init?(name: String) {
    guard let policy = CachePolicy(rawValue: name) ?? Self.otherNames[name] else { return nil }
    self = policy
  }

  /// All names that ``init(name:)`` accepts; the canonical ones first.
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

  /// Whether queries read the cache before they use the network.
  var readsCacheFirst: Bool {
    switch self {
    case .cacheFirst, .cacheOnly, .cacheAndNetwork: true
    case .networkOnly, .noCache, .networkFirst: false
    }
  }

  /// Whether results of the network are written to the cache.
  public var writesCache: Bool { self != .noCache }
}

extension CachePolicy: CustomStringConvertible {
  /// The name in kebab case.
  public var description: String { rawValue }
}

extension GraphQLRequest {
  /// Refuses `cache-only` for an operation that the cache cannot answer: a mutation or a
  /// subscription.
  ///
  /// - Parameter policy: The policy of the request, or else that of its chain.
  /// - Throws: ``ChainError`` with code `invalidRequest`.
  func checkPolicy(_ policy: CachePolicy?) throws(ChainError) {
    guard policy == .cacheOnly, operationType != .query else { return }
    throw ChainError(
      notSent: .invalidRequest,
      "a \(operationType.rawValue) cannot be answered from the cache; use another policy than "
        + "cache-only")
  }

  /// Refuses uploads that cannot be sent: those of a subscription, and those whose variables have
  /// another value than null.
  func checkUploads() throws(ChainError) {
    guard !uploads.isEmpty else { return }
    guard operationType != .subscription else {
      throw ChainError(
        notSent: .invalidRequest, "\(label) cannot send files: it is a subscription")
    }
    for path in uploads.keys.sorted() where JSONValue.object(variables).value(at: path) != .null {
      throw ChainError(
        notSent: .invalidRequest,
        "the upload \(path) of \(label) has no place in its variables; prepare the operation with "
          + "this upload")
    }
  }
}
