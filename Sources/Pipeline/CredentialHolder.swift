import GQLRunCache
public import GQLRunLanguage
import GQLRunSupport

/// An interceptor that stores credentials, which signing out removes.
///
/// A plugin takes part in `gqlrun logout` and ``PipelineRunner/signOut()`` when one of its
/// interceptors conforms.
public protocol CredentialHolder: Sendable {
  /// Removes the credentials, in memory and in files.
  ///
  /// - Returns: A description of what was removed, for a message: "the tokens of api".
  /// - Throws: An error if credentials may remain.
  func forgetCredentials(_ services: Services) async throws -> String
}

extension PipelineRunner {
  /// Signs out: removes the credentials of the pipeline's plugins, those in files too, and clears
  /// the store.
  ///
  /// Operations in flight may still add records; end them first.
  ///
  /// - Returns: Descriptions of what was removed, for a message.
  /// - Throws: The first failure to remove credentials or to clear the store. Everything else is
  ///   removed nevertheless.
  @discardableResult
  public func signOut() async throws -> [String] {
    var removed: [String] = []
    var failure: (any Error)?
    for holder in pipeline.entries.flatMap(\.parts).compactMap(\.credentials) {
      do {
        removed.append(try await holder.forgetCredentials(services))
      } catch {
        failure = failure ?? error
      }
    }
    if let store = services.store {
      let count = try await store.statistics().records
      try await store.clear()
      removed.append(Quantity.count(count, "record"))
    }
    if let failure { throw failure }
    return removed
  }
}

/// The store of a pipeline's normalized cache.
public struct StoreConfiguration: Sendable, Hashable {
  /// The kind of a store.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// In memory, in a SQLite file, in a PostgreSQL database, or no store.
    case memory, sqlite, postgres, none
  }

  /// The kind of the store.
  public var kind: Kind
  /// The path of the database file of a SQLite store.
  public var path: String?
  /// The URL of a PostgreSQL database: `postgresql://host/database`. Without parts of it, the variables of libpq
  /// (`PGHOST`, …) and its password file apply.
  public var url: String?
  /// The size above which a store in memory evicts records, the least recently used ones first; `nil` has no limit.
  public var maxSize: ByteSize?
  /// The size of a SQLite store's memory tier; `nil` has no memory tier.
  public var memory: ByteSize?
  /// Whether a store that cannot be opened or written is an error. Otherwise requests run without
  /// the store, with a warning.
  public var isRequired: Bool

  /// Creates a configuration; without arguments, there is no store.
  ///
  /// - Parameters:
  ///   - kind: The kind of the store.
  ///   - path: The path of the database file of a SQLite store.
  ///   - url: The URL of a PostgreSQL database.
  ///   - maxSize: The size above which a store in memory evicts records; `nil` has no limit.
  ///   - memory: The size of a SQLite store's memory tier.
  ///   - isRequired: Whether a store that cannot be opened or written is an error.
  public init(
    kind: Kind = .none, path: String? = nil, url: String? = nil,
    maxSize: ByteSize? = nil, memory: ByteSize? = nil, isRequired: Bool = false
  ) {
    self.kind = kind
    self.path = path
    self.url = url
    self.maxSize = maxSize
    self.memory = memory
    self.isRequired = isRequired
  }
}

/// How a pipeline treats subscriptions: the section `subscriptions` of its file.
public struct SubscriptionSettings: Sendable {
  /// What happens to events that the caller does not read in time.
  public enum Overflow: String, Sendable, Hashable, CaseIterable {
    /// Nothing is read ahead: the connection applies back-pressure, and the server slows down.
    case block
    /// The oldest waiting event is dropped. A gap with the number of dropped events precedes the next
    /// one.
    case dropOldest = "drop-oldest"
    /// The subscription ends with an error after the waiting events.
    case fail
  }

  /// A query that fetches what was missed while the connection was lost.
  public struct CatchUp: Sendable {
    /// The name of the query; `nil` is the only query of ``document``.
    public var query: String?
    /// The document with the query; `nil` is the document of the subscription.
    public var document: Document?
    /// The path of the document's file, for messages.
    public var file: String?
    /// Whether the caller gets the result, marked by ``GraphQLResponse/isCatchUp``. Otherwise only the
    /// cache does.
    public var isDelivered: Bool

    /// Creates the declaration of a query; see the properties.
    public init(
      query: String? = nil, document: Document? = nil, file: String? = nil,
      isDelivered: Bool = false
    ) {
      self.query = query
      self.document = document
      self.file = file
      self.isDelivered = isDelivered
    }
  }

  /// What happens to events that the caller does not read in time. `block` by default.
  public var overflow = Overflow.block
  /// The number of events that wait for the caller, unless ``overflow`` is `block`. 1,000 by default.
  public var maxWaiting = 1_000
  /// The size of the events that wait for the caller, unless ``overflow`` is `block`. 64 MiB by
  /// default. One event may be larger.
  public var maxWaitingBytes = ByteSize.mebibytes(64)
  /// How long a subscription that was connected tries to connect again without receiving an event. 5 minutes by
  /// default. A connection of 30 seconds ends this time, too.
  ///
  /// The plugin `max-retry` connects again; without it, a lost connection ends the subscription.
  public var patience = Duration.seconds(300)
  /// The query that runs after a connection was lost and is open again, before events continue; `nil`, the
  /// default, runs none.
  public var catchUp: CatchUp?

  /// Creates settings with the default values.
  public init() {}
}
