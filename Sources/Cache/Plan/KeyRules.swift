import GQLRunLanguage

/// The key fields and arguments that identify objects and fields.
///
/// An object's cache key is its `__typename`, a colon, and the values of its key fields (`User:1`,
/// `Country:DE`). Several fields are joined by `+`, with `+` and `\` inside a value, a number
/// included, escaped by `\`, so that two objects have one key only when all their key fields have
/// the same text. The same escaping applies to single fields of types that share a prefix with such
/// a type (``groups``). An object that lacks one of them has no identity and is stored in its
/// parent.
public struct KeyRules: Sendable, Hashable {
  /// The key fields of types without a rule. `["id"]` by default.
  public var defaultFields: [String]
  /// The key fields by type name; an empty list means that the type has no identity.
  public var types: [String: [String]]
  /// Prefixes that replace the type name in keys, so that several types share one identity space.
  public var groups: [String: String]
  /// The arguments in the stored name of a field, by type and field; all arguments without a rule.
  /// The type may be an interface if the schema is known.
  ///
  /// Omit arguments that select a page, so that all pages are one field.
  public var fieldKeyArguments: [String: [String: [String]]]
  /// How pages are joined into one stored list, by type and field. Without a rule in
  /// ``fieldKeyArguments``, the stored name of such a field omits the arguments that select a page.
  public var pages: [String: [String: PagePolicy]]
  /// The fields that are answered from the record that their arguments identify, by type and field. The type
  /// may be an interface if the schema is known.
  public var redirects: [String: [String: CacheRedirect]]
  /// Computes identities in Swift; `nil`, the default, uses the values of the key fields.
  public var resolver: KeyResolver?

  /// Creates rules; see the properties.
  public init(
    default defaultFields: [String] = ["id"], types: [String: [String]] = [:],
    groups: [String: String] = [:], fieldKeyArguments: [String: [String: [String]]] = [:],
    pages: [String: [String: PagePolicy]] = [:],
    redirects: [String: [String: CacheRedirect]] = [:]
  ) {
    self.pages = pages
    self.redirects = redirects
    self.fieldKeyArguments = fieldKeyArguments
    self.defaultFields = defaultFields
    self.types = types
    self.groups = groups
  }

  /// Creates rules with the former name of ``fieldKeyArguments``.
  @available(
    *, deprecated, renamed: "init(default:types:groups:fieldKeyArguments:pages:redirects:)"
  )
  public init(
    default defaultFields: [String] = ["id"], types: [String: [String]] = [:],
    groups: [String: String] = [:], keyArguments: [String: [String: [String]]],
    pages: [String: [String: PagePolicy]] = [:]
  ) {
    self.init(
      default: defaultFields, types: types, groups: groups, fieldKeyArguments: keyArguments,
      pages: pages)
  }

  /// The former name of ``fieldKeyArguments``.
  @available(*, deprecated, renamed: "fieldKeyArguments")
  public var keyArguments: [String: [String: [String]]] {
    get { fieldKeyArguments }
    set { fieldKeyArguments = newValue }
  }

  /// The key fields of `type`: those of its own rule, or of an interface it implements.
  func fields(of type: String, facts: TypeFacts?) -> [String] {
    if let own = types[type] { return own }
    guard let possible = facts?.possibleTypes[type], !possible.isEmpty else { return defaultFields }
    let interface = types.keys.sorted().first {
      facts?.possibleTypes[$0]?.isSuperset(of: possible) ?? false
    }
    return interface.flatMap { types[$0] } ?? defaultFields
  }

  /// The prefix of the keys of `type`, before the colon.
  public func prefix(of type: String) -> String { groups[type] ?? type }

  /// The prefixes of the records that redirects lead to.
  func redirectPrefixes(facts: TypeFacts?) -> Set<String> {
    var prefixes: Set<String> = []
    for (type, fields) in redirects {
      for (field, redirect) in fields {
        let declared = facts?.schema?.field(field, on: type)?.type.namedType.value
        guard let name = redirect.type ?? declared else { continue }
        let prefix = prefix(of: name)
        if isName(prefix[...]) { prefixes.insert(prefix) }
      }
    }
    return prefixes
  }

  /// Whether keys of `type`, or of some type with the same prefix, are joined from several fields.
  func hasJoinedKeys(with type: String, facts: TypeFacts?) -> Bool {
    if fields(of: type, facts: facts).count > 1 { return true }
    if groups.isEmpty { return false }
    let prefix = prefix(of: type)
    // The group may have the name of a type without a group of its own.
    return ([prefix] + groups.keys).contains {
      self.prefix(of: $0) == prefix && fields(of: $0, facts: facts).count > 1
    }
  }

  /// Every field name that some rule mentions.
  var allFields: Set<String> {
    types.values.reduce(into: Set(defaultFields)) { $0.formUnion($1) }
  }

  /// Adds a rule in the form of the command line: `Country=code` or `Order=shop,number`.
  ///
  /// - Throws: ``CacheError`` with code `invalidKeyRule` and an example.
  public mutating func add(rule text: String) throws(CacheError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let fields =
      parts.count == 2
      ? parts[1].split(separator: ",").map { String($0) }.filter { !$0.isEmpty } : []
    guard parts.count == 2, isName(parts[0]), fields.allSatisfy({ isName($0[...]) }),
      !fields.isEmpty
    else {
      throw CacheError(
        .invalidKeyRule,
        "cannot read the key rule \"\(text)\"; write it as Type=field or Type=field,field")
    }
    types[String(parts[0])] = fields
  }
}

/// Whether `text` is a GraphQL name: https://spec.graphql.org/September2025/#Name
func isName(_ text: Substring) -> Bool {
  guard let first = text.utf8.first else { return false }
  let isLetter = { (byte: UInt8) in
    (65...90).contains(byte) || (97...122).contains(byte) || byte == 95
  }
  return isLetter(first) && text.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) }
}
