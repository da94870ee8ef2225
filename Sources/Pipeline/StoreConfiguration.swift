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
  /// Whether it is an error when the store cannot be opened, or a result not kept. Otherwise requests
  /// are answered without it, with a warning.
  public var isRequired: Bool

  public init(
    kind: Kind = .none, path: String? = nil, maximumSize: ByteSize? = nil,
    isRequired: Bool = false
  ) {
    self.kind = kind
    self.path = path
    self.maximumSize = maximumSize
    self.isRequired = isRequired
  }
}
