/// Which store a pipeline uses.
public struct StoreConfiguration: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case memory, sqlite, none
  }

  public var kind: Kind
  /// The database file of an SQLite store.
  public var path: String?
  /// The size above which old records are dropped; `nil` keeps all.
  public var maximumSize: ByteSize?
  /// How much of an SQLite store is kept in memory, too; `nil` for nothing.
  public var memory: ByteSize?
  /// Whether it is an error when the store cannot be opened, or a result not kept. Otherwise requests
  /// are answered without it, with a warning.
  public var isRequired: Bool

  public init(
    kind: Kind = .none, path: String? = nil, maximumSize: ByteSize? = nil,
    memory: ByteSize? = nil, isRequired: Bool = false
  ) {
    self.kind = kind
    self.path = path
    self.maximumSize = maximumSize
    self.memory = memory
    self.isRequired = isRequired
  }
}
