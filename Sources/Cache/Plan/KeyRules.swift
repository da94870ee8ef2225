public import GQLRunLanguage

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

  /// The key fields that a selection set on `type` may have: with a schema if the type has all of them, without one if a
  /// rule names them, because a server would reject an operation with an unknown field.
  func selectableFields(of type: String, facts: TypeFacts?) -> [String] {
    let fields = fields(of: type, facts: facts)
    guard let facts else { return types[type] ?? [] }
    guard let known = facts.fields[type] else { return [] }
    return fields.allSatisfy { known[$0] != nil } ? fields : []
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
        if Name.isValid(prefix) { prefixes.insert(prefix) }
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
    let fields = (parts.last ?? "").split(separator: ",", omittingEmptySubsequences: false)
      .map { String($0) }
    guard parts.count == 2, Name.isValid(parts[0]), fields.allSatisfy(Name.isValid) else {
      throw CacheError(
        .invalidKeyRule,
        "cannot read the key rule \"\(text)\"; write it as Type=field or Type=field,field")
    }
    types[String(parts[0])] = fields
  }
}

/// Rules that a schema brings along.
///
/// Clients of Apollo write them as directives on types and their extensions:
/// ```graphql
/// extend type Country @typePolicy(keyFields: "code")
/// extend type Query @fieldPolicy(forField: "country", keyArgs: "code")
/// extend type User @typePolicy(keyFields: "id", connectionFields: "posts")
/// extend type Query @fieldPolicy(forField: "feed", paginationArgs: "first after")
/// ```
/// Several names are separated by spaces or commas. `keyArgs` declares a ``CacheRedirect``, and `paginationArgs` the
/// arguments that are not part of the field key.
///
/// https://www.apollographql.com/docs/kotlin/caching/declarative-ids
/// https://www.apollographql.com/docs/ios/caching/cache-key-resolution
extension KeyRules {
  /// These rules, and those of the schema for what these say nothing of.
  ///
  /// - Returns: The rules, and a warning for each that the schema states otherwise.
  public func joined(with schema: Schema) -> (rules: KeyRules, warnings: [String]) {
    var rules = self
    var warnings: [String] = []
    for name in schema.typeNames {
      guard let type = schema.type(named: name) else { continue }
      for directive in type.directives {
        switch directive.name.value {
        case "typePolicy": rules.add(directive, to: type, own: self, &warnings)
        case "fieldPolicy": rules.addField(directive, to: type, own: self, &warnings)
        default: continue
        }
      }
    }
    rules.dropMisfits(own: self, RuleCheck(schema), &warnings)
    return (rules, warnings)
  }

  private mutating func add(
    _ directive: Directive, to type: SchemaType, own: KeyRules, _ warnings: inout [String]
  ) {
    let fields = directive.names("keyFields").map(Self.head)
    if !fields.isEmpty {
      let unknown = fields.filter { type.fields?[$0] == nil }
      if type.isComposite, type.fields != nil, let first = unknown.first {
        warnings.append(
          "@typePolicy of \(type.name) names the key field \(first), which the type does not have; "
            + "it is ignored")
      } else if let given = own.types[type.name], given != fields {
        warnings.append(
          "the keys of \(type.name) are \(given.joined(separator: ", ")) by the rules given, and "
            + "\(fields.joined(separator: ", ")) by @typePolicy of the schema; the former are used")
      } else {
        types[type.name] = fields
      }
    }
    for field in directive.names("connectionFields").map(Self.head) {
      guard own.pages[type.name]?[field] == nil else { continue }
      pages[type.name, default: [:]][field] = .connection
    }
  }

  private mutating func addField(
    _ directive: Directive, to type: SchemaType, own: KeyRules, _ warnings: inout [String]
  ) {
    guard let name = directive.names("forField").first else { return }
    guard let field = type.fields?[name] else {
      warnings.append(
        "@fieldPolicy of \(type.name) is for the field \(name), which the type does not have; it is "
          + "ignored")
      return
    }
    let arguments = directive.names("keyArgs")
    if !arguments.isEmpty {
      let given = own.redirects[type.name]?[name]
      warn(
        given?.arguments, found: arguments, what: "key arguments of \(type.name).\(name)",
        warnings: &warnings)
      if given == nil {
        redirects[type.name, default: [:]][name] = CacheRedirect(arguments)
      }
    }
    let paging = directive.names("paginationArgs").map(Self.head)
    guard !paging.isEmpty else { return }
    let others = field.arguments.map(\.name.value).filter { !paging.contains($0) }
    let given = own.fieldKeyArguments[type.name]?[name]
    warn(
      given, found: others, what: "field key arguments of \(type.name).\(name)", warnings: &warnings
    )
    if given == nil { fieldKeyArguments[type.name, default: [:]][name] = others }
  }

  /// Warns if arguments of the given rules differ from those of the schema.
  private func warn(
    _ given: [String]?, found: [String], what: String, warnings: inout [String]
  ) {
    guard let given, Set(given) != Set(found) else { return }
    warnings.append(
      "the \(what) are (\(given.joined(separator: ", "))) by the rules given, and "
        + "(\(found.joined(separator: ", "))) by @fieldPolicy of the schema; the former are used")
  }

  /// Removes redirects of the schema's directives that cannot find a record. For a field whose pages are
  /// merged, `keyArgs` keeps its former meaning: the arguments of the field key.
  private mutating func dropMisfits(
    own: KeyRules, _ check: RuleCheck, _ warnings: inout [String]
  ) {
    for (type, fields) in redirects.sorted(by: { $0.key < $1.key }) {
      for (field, redirect) in fields.sorted(by: { $0.key < $1.key })
      where own.redirects[type]?[field] == nil {
        let coordinate = "\(type).\(field)"
        if pages[type]?[field] != nil {
          redirects[type]?[field] = nil
          if fieldKeyArguments[type]?[field] == nil {
            fieldKeyArguments[type, default: [:]][field] = redirect.arguments.map(Self.head)
          }
          warnings.append(
            "@fieldPolicy of \(coordinate) has `keyArgs` for pages, which is deprecated; write "
              + "`paginationArgs` with the arguments that select a page")
        } else if let problem = check.redirect(redirect, of: field, in: type, keys: self).first {
          redirects[type]?[field] = nil
          warnings.append(
            "@fieldPolicy of \(coordinate): \(problem.problem.message); it is ignored")
        }
      }
      if redirects[type]?.isEmpty == true { redirects[type] = nil }
    }
  }

  /// `input` of `input.code`.
  private static func head(_ path: String) -> String {
    String(path.split(separator: ".", maxSplits: 1).first ?? "")
  }
}

extension Directive {
  /// The names in a string argument, or in a list of strings.
  fileprivate func names(_ argument: String) -> [String] {
    guard let value = self.value(of: argument) else { return [] }
    let texts: [String] =
      switch value {
      case .string(let text): [text.value]
      case .list(let values, _):
        values.compactMap { if case .string(let text) = $0 { text.value } else { nil } }
      default: []
      }
    return texts.flatMap { text in
      text.split { $0 == " " || $0 == "," || $0 == "\n" || $0 == "\t" }.map { String($0) }
    }
  }
}

/// Whether the response keys in the selection sets of a plan denote the same field for every type
/// of object.
///
/// Remembers the result for each pair and list of sets, because repeated comparison would take exponential
/// time.
struct KeyMeanings {
  /// By the numbers of two sets, the smaller one in the upper half.
  private var conflicts: [UInt64: Bool] = [:]
  private var ambiguities: [[Int]: Bool] = [:]
  /// The most lists of sets that are compared. Beyond it, keys count as ambiguous: sets are compared in pairs, and
  /// objects are buffered until their type is known, unless it comes first.
  private static let maxLists = 1 << 14

  /// Whether every response key denotes the same field for all types, at every depth, and is shown
  /// for all.
  mutating func areUnambiguous(
    _ all: [OperationPlan.Contribution], in plan: OperationPlan
  ) -> Bool {
    // A field that the cache adds and the caller selects only for some types is shown only for
    // these.
    for same in Dictionary(grouping: all, by: \.responseKey).values {
      if areAmbiguous(same, in: plan) { return false }
      let asked = same.filter { !$0.isAdded }
      guard
        asked.count == same.count || asked.isEmpty
          || asked.contains(where: { $0.conditions.isEmpty })
      else { return false }
    }
    return true
  }

  /// Whether contributions with the same response key denote different fields, whatever their conditions.
  ///
  /// Compares all of them at once: pairs would take quadratic time for fragments on many types.
  private mutating func areAmbiguous(
    _ same: [OperationPlan.Contribution], in plan: OperationPlan
  ) -> Bool {
    same.contains { $0.storedKey != same[0].storedKey }
      || areAmbiguous(sets: Set(same.compactMap(\.childSet)).sorted(), in: plan)
  }

  /// Whether a key that several of the sets have denotes different fields, or is shown for one of the sets only: the
  /// cache adds it to another.
  ///
  /// Never `false` for sets of which two ``conflict(_:_:in:)``. It may be `true` without such a pair, if a key has two
  /// meanings inside one of the sets and another set has the key, too. A field of such objects is buffered until their
  /// type is known, unless the type comes first.
  mutating func areAmbiguous(sets: [Int], in plan: OperationPlan) -> Bool {
    guard sets.count > 1 else { return false }
    if let known = ambiguities[sets] { return known }
    guard ambiguities.count < Self.maxLists else { return true }
    var meanings:
      [String: (contributions: [OperationPlan.Contribution], first: Int, isShared: Bool)] =
        [:]
    for set in sets {
      for contribution in plan.sets[set] {
        let key = contribution.responseKey
        meanings[key, default: ([], set, false)].contributions.append(contribution)
        if meanings[key]?.first != set { meanings[key]?.isShared = true }
      }
    }
    var result = false
    for meaning in meanings.values where meaning.isShared && !result {
      let added = meaning.contributions.count(where: \.isAdded)
      result =
        added > 0 && added < meaning.contributions.count
        || areAmbiguous(meaning.contributions, in: plan)
    }
    ambiguities[sets] = result
    return result
  }

  /// Whether a key denotes different fields in the two sets.
  ///
  /// Under different conditions, contributions may belong to two types, which is no conflict.
  mutating func conflict(_ one: Int, _ other: Int, in plan: OperationPlan) -> Bool {
    if one == other { return false }
    let pair = UInt64(min(one, other)) << 32 | UInt64(max(one, other))
    if let known = conflicts[pair] { return known }
    var result = false
    for left in plan.sets[one] where !result {
      for right in plan.sets[other] where left.responseKey == right.responseKey {
        let mayBeApart =
          !left.conditions.isEmpty && !right.conditions.isEmpty
          && !left.conditions.contains { right.conditions.contains($0) }
        if mayBeApart { continue }
        result = left.storedKey != right.storedKey
        if !result, let child = left.childSet, let otherChild = right.childSet {
          result = conflict(child, otherChild, in: plan)
        }
        if result { break }
      }
    }
    conflicts[pair] = result
    return result
  }
}
