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
  /// The size above which old records are evicted; `nil` has no limit.
  ///
  /// A memory store evicts the least recently used records first, the others the least recently
  /// received ones.
  public var maximumSize: ByteSize?
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
  ///   - maximumSize: The size above which records are evicted; `nil` has no limit.
  ///   - memory: The size of a SQLite store's memory tier.
  ///   - isRequired: Whether a store that cannot be opened or written is an error.
  public init(
    kind: Kind = .none, path: String? = nil, url: String? = nil,
    maximumSize: ByteSize? = nil, memory: ByteSize? = nil, isRequired: Bool = false
  ) {
    self.kind = kind
    self.path = path
    self.url = url
    self.maximumSize = maximumSize
    self.memory = memory
    self.isRequired = isRequired
  }
}
