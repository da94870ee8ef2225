public import GQLRunJSON

/// Computes the identity of objects in Swift, where the values of key fields alone do not suffice.
///
/// ```swift
/// var keys = KeyRules(types: ["File": ["path"]])
/// keys.resolve(version: "1") { object in
///   guard object.typename == "File", let path = object["path"]?.stringValue else { return .fields }
///   return .id(path.lowercased())
/// }
/// ```
/// The resolver sees the key fields of an object's type, which the cache requests with every
/// selection of the type. Therefore it works while a response arrives, and objects need not be kept
/// for it.
///
/// A store remembers the version; see ``CacheStore/adopt(keyResolver:)``.
public struct KeyResolver: Sendable, Hashable {
  /// The identity of an object.
  public enum Identity: Sendable, Hashable {
    /// The values of its key fields, as without a resolver.
    case fields
    /// This text, after the type's name or group and a colon. Empty text is no identity.
    case id(String)
    /// None: the object is stored in its parent.
    case none
  }

  /// An object to identify.
  public struct Object: Sendable, Hashable {
    /// The name of its type.
    public let typename: String
    /// The values of the key fields of its type that the response has, by name. Values that are
    /// objects or lists are omitted.
    public let fields: [String: JSONValue]

    /// The value of a key field; `nil` if the response lacks it.
    public subscript(field: String) -> JSONValue? { fields[field] }
  }

  /// The version of the function: change it whenever the function returns other identities.
  public let version: String
  private let body: @Sendable (Object) -> Identity

  /// Creates a resolver.
  ///
  /// - Parameters:
  ///   - version: The version of the function.
  ///   - resolve: Returns the identity of an object. Called for each object with `__typename` of
  ///     each response; must be fast, and return the same for the same object.
  public init(version: String, _ resolve: @escaping @Sendable (Object) -> Identity) {
    self.version = version
    body = resolve
  }

  /// Returns the identity of an object.
  public func callAsFunction(_ object: Object) -> Identity { body(object) }

  /// Whether the versions are equal.
  public static func == (left: KeyResolver, right: KeyResolver) -> Bool {
    left.version == right.version
  }

  /// Hashes the version.
  public func hash(into hasher: inout Hasher) { hasher.combine(version) }
}

extension KeyRules {
  /// Sets the ``resolver``.
  ///
  /// - Parameters:
  ///   - version: The version of the function: change it whenever the function returns other
  ///     identities.
  ///   - resolve: Returns the identity of an object.
  public mutating func resolve(
    version: String, _ resolve: @escaping @Sendable (KeyResolver.Object) -> KeyResolver.Identity
  ) {
    resolver = KeyResolver(version: version, resolve)
  }
}

extension CacheError {
  /// The error of a store whose keys another resolver computed.
  static func otherResolver(
    _ store: String, stored: String?, own: String?
  ) -> CacheError {
    func name(_ version: String?) -> String {
      version.map { "version \"\($0)\" of a key resolver" } ?? "the key rules alone"
    }
    return CacheError(
      .otherKeys,
      "the keys of the cache in \(store) come from \(name(stored)), those of this client from \(name(own)): it would "
        + "find nothing and store objects twice; remove the records (`gqlrun cache clear`) or use another store"
    )
  }
}
