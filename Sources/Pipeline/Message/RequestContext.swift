public import GQLRunCache

/// Values that travel with a request along its chain and through its retries.
///
/// The interceptors below see what an interceptor sets; requests share nothing. Swift code uses
/// typed keys; pipeline files use named values, which are text.
public struct RequestContext: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]
  /// The values that pipeline files can name, as in `${context:tenant}`.
  public var named: [String: String] = [:]
  /// Metadata of every log message that the interceptors below write.
  public var logged: [String: String] = [:]

  /// Creates a context.
  ///
  /// - Parameter named: The values that pipeline files can name.
  public init(named: [String: String] = [:]) {
    self.named = named
  }

  /// The value of a typed key; `nil` if it is not set.
  public subscript<Key: RequestContextKey>(key: Key.Type) -> Key.Value? {
    get { values[ObjectIdentifier(key)] as? Key.Value }
    set { values[ObjectIdentifier(key)] = newValue }
  }
}

/// The key of a typed value in a ``RequestContext``: one type per value.
public protocol RequestContextKey {
  /// The type of the value.
  associatedtype Value: Sendable
}

/// A value that copies share until one of them is changed (copy-on-write).
struct Shareable<Value: Sendable>: Sendable {
  /// Sendable: `value` is only written in `_modify`, after checking that the reference to the box
  /// is unique. Every other owner sees a value that does not change.
  private final class Box: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
  }

  private var box: Box

  init(_ value: Value) { box = Box(value) }

  var value: Value {
    @inline(__always) _read { yield box.value }
    _modify {
      if !isKnownUniquelyReferenced(&box) { copy() }
      yield &box.value
    }
  }

  /// Not inlined: the frames of asynchronous functions would hold a whole value at each change.
  @inline(never)
  private mutating func copy() { box = Box(box.value) }
}

extension Shareable: Equatable where Value: Equatable {
  static func == (left: Self, right: Self) -> Bool {
    left.box === right.box || left.value == right.value
  }
}

extension Shareable: Hashable where Value: Hashable {
  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// The records of a response that are not yet visible to other readers.
///
/// The chain ends each one exactly once: with `commit` after all interceptors have received the
/// result and before it is delivered, or with `rollback` if an interceptor failed, suppressed or
/// replaced the result. If the caller stops reading, neither is called: an implementation must roll
/// back when it is deallocated.
public protocol PendingCacheWrite: Sendable {
  /// Makes the records visible.
  ///
  /// - Returns: The changes in the store.
  func commit() async throws -> WriteSummary
  /// Discards the records.
  func rollback() async
}

extension PendingWrite: PendingCacheWrite {}

/// The target for the records of a response, as the chain's cache write configures it.
public struct CacheWriteTarget: Sendable {
  /// The store that the records go to.
  public var store: CacheStore
  /// What is stored of a response with errors.
  public var errorPolicy: ErrorPolicy
  /// Whether root fields are stored, or only the objects in them.
  public var writesRoots: Bool
  /// Whether a result that cannot be stored is an error. Otherwise it is delivered, with a warning.
  public var isRequired = false

  /// Creates a target.
  ///
  /// - Parameters:
  ///   - store: The store that the records go to.
  ///   - errorPolicy: What is stored of a response with errors.
  ///   - writesRoots: Whether root fields are stored, or only the objects in them.
  public init(
    store: CacheStore, errorPolicy: ErrorPolicy = .skipErrored, writesRoots: Bool = true
  ) {
    self.store = store
    self.errorPolicy = errorPolicy
    self.writesRoots = writesRoots
  }
}
