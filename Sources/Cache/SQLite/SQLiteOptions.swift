extension CacheStore {
  /// The options of a store in a SQLite file.
  public struct SQLiteOptions: Sendable {
    /// Whether a store writes to its file.
    public enum Access: Sendable, Hashable {
      /// Reads and writes. If the file or its directory is read-only, only reads, and reports it.
      case readWrite
      /// Reads an existing file, and never changes it.
      case readOnly
    }

    /// How a damaged database is handled.
    public enum DamagePolicy: Sendable, Hashable {
      /// Renames a damaged database to `<path>.damaged-<time>` and creates an empty one.
      case rebuild
      /// Throws an error for a damaged database.
      case refuse
    }

    /// Whether the store writes. ``Access/readWrite`` by default.
    public var access = Access.readWrite
    /// How a database is handled that is damaged when it is opened. ``DamagePolicy/rebuild`` by
    /// default, because the content of a cache can be fetched again.
    public var damage = DamagePolicy.rebuild
    /// The maximum time that a write waits for another store or process that writes to the file. 10
    /// seconds by default.
    public var maximumWait = Duration.seconds(10)
    /// Whether every write reports the changed fields. By default, only while there are watchers.
    public var collectsChanges = false
    /// The maximum size of the memory tier, in bytes: the most recently used records, which are
    /// then read without the file. `nil`, the default, for none. Stores of one process on the same
    /// file share it.
    public var memory: Int?
    /// The granularity of record times, in seconds: an unchanged record is not written again within
    /// it. 60 by default; 0 is exact.
    public var ageGranularity = AgeRules.defaultGranularity
    /// Called with notices for the user, from any thread. Does nothing by default.
    public var report: @Sendable (StoreNotice) -> Void = { _ in }
    /// The clock for waiting.
    var clock: any Clock<Duration> = ContinuousClock()

    /// Creates the default options.
    public init() {}
  }
}
