public import GQLRunJSON
import GQLRunLanguage

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

/// A rule that answers a field from the record whose cache key follows from the field's arguments.
///
/// With a redirect by `code` for `Query.country`, a read of `country(code: "FR")` is answered from the record
/// `Country:FR` if the field itself is not stored, or is stale. The ages of the record's own fields decide
/// whether the result is fresh. This is the meaning that Apollo gives to `keyArgs` of `@fieldPolicy`:
/// https://www.apollographql.com/docs/ios/caching/cache-key-resolution#the-fieldpolicy-directive
///
/// ```swift
/// KeyRules(
///   types: ["Country": ["code"]],
///   redirects: ["Query": ["country": CacheRedirect(["code"], type: "Country")]])
/// ```
///
/// If one of the arguments is a list, the field is the list of the records in that order. It is a cache miss if one
/// of them is missing, if an argument or an element is absent or null, or if the list is empty.
public struct CacheRedirect: Sendable, Hashable {
  /// The arguments whose values are the key fields of the returned object, in the order of the key fields.
  /// `input.code` is a field of the input object `input`.
  public var arguments: [String]
  /// The name of the returned type; `nil` for the declared type, which requires a schema.
  ///
  /// The records of an abstract type are found if its types share its prefix; see ``KeyRules/groups``.
  public var type: String?
  /// Whether the field returns a list of ``type``. A schema overrides it.
  public var isList: Bool

  /// Creates a redirect.
  public init(_ arguments: [String], type: String? = nil, isList: Bool = false) {
    self.arguments = arguments
    self.type = type
    self.isList = isList
  }
}

/// The records that a redirect leads to, for one field of an operation with its variables.
struct RedirectTarget: Sendable, Hashable {
  /// The cache keys of the records, in order.
  var keys: [[UInt8]]
  /// The references to the records, as record text.
  var value: [UInt8]
  /// The types that the records may have; `nil` for any.
  var types: Set<String>?

  func accepts(_ typename: Bytes) -> Bool {
    types.map { $0.contains(typename.string) } ?? true
  }
}

/// The keys of objects of one type, from the values of their key fields.
///
/// ``KeyBuilder`` builds the same text from the bytes of a response.
struct KeyText: Sendable {
  let typename: String
  /// The names of the key fields.
  let fields: [String]
  /// `User:`.
  private let prefix: String
  /// Whether `+` and `\` are escaped.
  private let isJoined: Bool

  init(of type: String, _ rules: KeyRules, facts: TypeFacts?) {
    typename = type
    fields = rules.fields(of: type, facts: facts)
    prefix = rules.prefix(of: type) + ":"
    isJoined = rules.hasJoinedKeys(with: type, facts: facts)
  }

  /// The key of an object with these values of its key fields, in their order; `nil` if it has no identity.
  func key(_ values: [JSONValue?], resolver: KeyResolver?) -> String? {
    switch identity(values, resolver) {
    case .none: return nil
    case .id(let id): return Self.part(id: id, isJoined).map { prefix + $0 }
    case .fields: break
    }
    guard !values.isEmpty else { return nil }
    var parts: [String] = []
    for value in values {
      guard let value, let part = Self.part(value, isJoined) else { return nil }
      parts.append(part)
    }
    return prefix + parts.joined(separator: "+")
  }

  private func identity(
    _ values: [JSONValue?], _ resolver: KeyResolver?
  ) -> KeyResolver.Identity {
    guard let resolver else { return .fields }
    var known: [String: JSONValue] = [:]
    for (name, value) in zip(fields, values) {
      switch value {
      case nil, .array?, .object?: continue
      case let value?: known[name] = value
      }
    }
    return resolver(KeyResolver.Object(typename: typename, fields: known))
  }

  /// The identity of a resolver as the part of a key; `nil` for empty text.
  static func part(id: String, _ isJoined: Bool) -> String? {
    id.isEmpty ? nil : part(.string(id), isJoined)
  }

  /// A scalar or enum value as a part of a key.
  private static func part(_ value: JSONValue, _ isJoined: Bool) -> String? {
    let text: String
    switch value {
    case .string(let string): text = string
    case .number(let number): text = number.text
    case .boolean(let flag): text = flag ? "true" : "false"
    case .null, .array, .object: return nil
    }
    guard isJoined else { return text }
    var escaped = ByteStack(capacity: 64)
    Array(text.utf8).withBytes { escaped.append(joinedPart: $0) }
    return escaped.all.string
  }
}

/// Computes the keys of objects, as the cache does, from their values.
package final class ObjectKeys: Sendable {
  private let rules: KeyRules
  private let facts: TypeFacts?
  /// A server may invent type names without end.
  private let texts = Memo<String, KeyText>(maxCount: 4096)

  /// - Parameter facts: Those of the schema; `nil` without one.
  package init(_ rules: KeyRules, facts: TypeFacts?) {
    self.rules = rules
    self.facts = facts
  }

  /// The response key of an added field whose name another field has.
  package static func alias(of name: String) -> String { "gqlrun_\(name)" }

  /// The names of the key fields of an object type.
  package func fields(of type: String) -> [String] { text(of: type).fields }

  /// The key fields that every selection of a type may have; empty if the type is not known to have all of them.
  package func selectableFields(of type: String) -> [String] {
    rules.selectableFields(of: type, facts: facts)
  }

  /// The cache key of an object; `nil` if it has no identity.
  ///
  /// - Parameters:
  ///   - type: The value of its `__typename`.
  ///   - value: The value of the key field with that name; `nil` if the object lacks it.
  package func key(of type: String, value: (String) -> JSONValue?) -> String? {
    let text = text(of: type)
    return text.key(text.fields.map(value), resolver: rules.resolver)
  }

  private func text(of type: String) -> KeyText {
    texts.value(of: type) { KeyText(of: type, rules, facts: facts) }
  }
}

/// Computes the cache keys of redirects from arguments.
struct RedirectKeys {
  let rules: KeyRules
  let facts: TypeFacts?

  /// The records that `redirect` leads to for `field` of `type`; `nil` if its arguments do not identify any.
  func target(
    of redirect: CacheRedirect, for field: Field, in type: String, variables: JSONObject
  ) -> RedirectTarget? {
    let definition = facts?.schema?.field(field.name.value, on: type)
    guard let name = redirect.type ?? definition?.type.namedType.value else { return nil }
    let depth = definition?.type.listDepth ?? (redirect.isList ? 1 : 0)
    var values: [JSONValue] = []
    var declaredLists = 0
    for argument in redirect.arguments {
      let path = argument.split(separator: ".").map(String.init)[...]
      guard let head = path.first else { return nil }
      let given = field.arguments.first { $0.name.value == head }
        .flatMap { JSONValue($0.value, variables: variables) }
      let found = value(at: path.dropFirst(), of: given, definition?.argument(named: head))
      guard var value = found.value else { return nil }
      // A single value of a list type is a list of one:
      // https://spec.graphql.org/September2025/#sec-List.Input-Coercion
      let isListType = found.type.map { $0.listDepth == 1 } ?? (redirect.arguments.count == 1)
      if depth == 1, isListType, value.arrayValue == nil { value = .array([value]) }
      if value.arrayValue != nil { declaredLists += 1 }
      values.append(value)
    }
    guard depth <= 1, declaredLists == depth else { return nil }
    return target(values, returning: name)
  }

  /// The records of type `name` with these key values, of which at most one is a list; `nil` if they are not
  /// the key of a record.
  func target(_ values: [JSONValue], returning name: String) -> RedirectTarget? {
    let text = KeyText(of: name, rules, facts: facts)
    guard !values.isEmpty, text.fields.count == values.count, Name.isValid(rules.prefix(of: name))
    else { return nil }
    let list = values.firstIndex { $0.arrayValue != nil }
    let elements = list.flatMap { values[$0].arrayValue } ?? [.null]
    guard !elements.isEmpty else { return nil }
    var keys: [String] = []
    for element in elements {
      let own = values.indices.map { $0 == list ? element : values[$0] }
      guard let key = text.key(own, resolver: rules.resolver) else { return nil }
      keys.append(key)
    }
    let references = keys.map { #"{"$ref":\#(JSONValue.string($0).canonicalText)}"# }
    let value =
      list == nil ? references.joined() : "[\(references.joined(separator: ","))]"
    return RedirectTarget(
      keys: keys.map { Array($0.utf8) }, value: Array(value.utf8), types: types(of: name))
  }

  /// The types of a record that is an object of type `name`: only where types share a prefix, others may have
  /// the same key.
  private func types(of name: String) -> Set<String>? {
    if rules.groups.isEmpty { return nil }
    return facts?.possibleTypes[name] ?? (rules.groups[name] == nil ? nil : [name])
  }

  /// The value of an argument, or of a field of an input object in it, with defaults; `nil` if it is absent.
  private func value(
    at path: ArraySlice<String>, of given: JSONValue?, _ definition: InputValueDefinition?
  ) -> (value: JSONValue?, type: TypeReference?) {
    let value = given ?? definition?.defaultValue.map { JSONValue(constant: $0) }
    guard let name = path.first else { return (value, definition?.type) }
    let type = definition.flatMap { facts?.schema?.type(named: $0.type.namedType.value) }
    var field: InputValueDefinition?
    if case .inputObject(let object)? = type { field = object.fields[name] }
    guard case .object(let object)? = value else { return (nil, nil) }
    return self.value(at: path.dropFirst(), of: object[name], field)
  }
}
