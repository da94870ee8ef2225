import GQLRunJSON
import GQLRunLanguage

/// How each field of an operation's response is processed: the selection sets, flattened and with
/// variables applied.
///
/// The plan is immutable and shared. The fields of an object depend on its type, which is known
/// only from the response; these variants are compiled on demand (``PlanTable``).
package final class OperationPlan: Sendable {
  /// One field, as contributed by one selection set.
  struct Contribution: Sendable {
    /// The type conditions of the enclosing fragments.
    var conditions: [String]
    var responseKey: String
    var fieldName: String
    var storedKey: String
    /// The stored keys for types with their own rule, sorted by type name.
    var ruledKeys: [RuledKey] = []
    /// The index of the page that is the field's value, or -1.
    var page: Int32 = -1
    /// Whether the pages of the field are joined.
    var isJoined = false
    /// The records that the field's arguments identify, for a read that does not find the field.
    var redirect: RedirectTarget?
    /// The flattened selection set of the value, for fields of composite types.
    var childSet: Int?
    /// Whether the cache added the field.
    var isAdded: Bool
    /// The innermost conditional fragment that contains the field, or -1.
    var fragment: Int32
    /// The innermost deferred fragment that contains the field, in ``OperationPlan/deliveries``, or -1.
    var deferral: Int32 = -1
    /// The `@stream` of the field, in ``OperationPlan/deliveries``, or -1.
    var stream: Int32 = -1
  }

  struct RuledKey: Sendable {
    var type: String
    var storedKey: String
    /// The index of the page that is the field's value, or -1.
    var page: Int32
    /// Whether the pages of the field are joined, also if this value is the whole list.
    var isJoined: Bool
    var redirect: RedirectTarget?
  }

  let sets: [[Contribution]]
  let rootSet: Int
  let rootType: String
  let operationType: OperationType
  let keys: KeyRules
  let facts: TypeFacts?
  /// The pages of lists that the operation selects.
  let pages: [PageRule]
  /// The compiled tables, for reuse by responses and reads.
  let tables = PlanTables()
  /// Whether it is only used for responses that are not stored.
  let isPassing: Bool
  /// The fragments with `@defer` and the fields with `@stream` that apply, by their labels, or their names without one.
  let deliveries: [String]
  /// Whether a list of objects that arrives in several parts is also selected elsewhere, with other fields.
  let repeatsStreamedLists: Bool
  /// The type conditions below the root whose possible types are unknown, without a schema.
  let openConditions: Set<String>

  /// - Parameter isPassing: Whether its responses are not stored. Its stored keys contain the names of variables then,
  ///   instead of their values, so it is valid for all values.
  init(
    document: Document, operation: OperationDefinition, variables: JSONObject, keys: KeyRules,
    facts: TypeFacts?, isPassing: Bool = false
  ) throws(CacheError) {
    var shown = variables
    if isPassing {
      shown = JSONObject()
      for variable in operation.variables {
        shown[variable.name.value] = .string("$\(variable.name.value)")
      }
    }
    var flattening = Flattening(
      fragments: document.fragments, fieldKey: FieldKey(variables: shown), variables: variables,
      rules: isPassing ? KeyRules() : keys, facts: isPassing ? nil : facts)
    rootSet = try flattening.flatten(operation.selectionSet)
    sets = flattening.sets
    pages = flattening.pages
    deliveries = flattening.directives.deliveries
    rootType = (facts ?? TypeFacts()).rootType(operation.type)
    operationType = operation.type
    self.keys = keys
    self.facts = facts
    self.isPassing = isPassing
    openConditions = Self.openConditions(of: sets, root: rootSet, facts)
    repeatsStreamedLists = Self.repeatsStreamedLists(sets, deliveries)
  }

  /// The same plan, with the fields that the cache adds shown to the caller.
  init(showingAll plan: OperationPlan) {
    sets = plan.sets.map { set in
      set.map { contribution in
        var contribution = contribution
        contribution.isAdded = false
        return contribution
      }
    }
    rootSet = plan.rootSet
    pages = plan.pages
    deliveries = plan.deliveries
    rootType = plan.rootType
    operationType = plan.operationType
    isPassing = plan.isPassing
    openConditions = plan.openConditions
    repeatsStreamedLists = plan.repeatsStreamedLists
    keys = plan.keys
    facts = plan.facts
  }

  private static func repeatsStreamedLists(
    _ sets: [[Contribution]], _ deliveries: [String]
  ) -> Bool {
    guard !deliveries.isEmpty else { return false }
    // By field name: rules decide about the stored key for each type.
    var selections: [String: Set<Int>] = [:]
    var streamed: Set<String> = []
    for contribution in sets.joined() {
      guard let child = contribution.childSet else { continue }
      selections[contribution.fieldName, default: []].insert(child)
      if contribution.stream >= 0 { streamed.insert(contribution.fieldName) }
    }
    return streamed.contains { (selections[$0]?.count ?? 0) > 1 }
  }

  private static func openConditions(
    of sets: [[Contribution]], root: Int, _ facts: TypeFacts?
  ) -> Set<String> {
    var open: Set<String> = []
    for (index, set) in sets.enumerated() where index != root {
      for contribution in set {
        for condition in contribution.conditions where facts?.possibleTypes[condition] == nil {
          open.insert(condition)
        }
      }
    }
    return open
  }

  /// The index of the field's rule for objects of `type`: the rule of the type itself, else that of
  /// an interface; `nil` if it has none.
  func ruledKey(of contribution: Contribution, for type: String) -> Int? {
    contribution.ruledKeys.firstIndex { $0.type == type }
      ?? contribution.ruledKeys.firstIndex { facts?.isPossible(type, for: $0.type) == true }
  }

  /// The key fields of `type`.
  func keyFields(of type: String) -> [String] { keys.fields(of: type, facts: facts) }
}

/// The rules for a field of a type.
private struct FieldRule {
  var type: String
  /// The arguments in the stored key; `nil` for all except those that select a page.
  var arguments: [String]?
  var pages: PagePolicy?
  var redirect: CacheRedirect?
}

/// Flattens nested selection sets to lists of contributions, once per set.
private struct Flattening {
  typealias Contribution = OperationPlan.Contribution

  let fragments: [FragmentDefinition]
  let fieldKey: FieldKey
  let variables: JSONObject
  var directives: SelectionDirectives
  /// The types with a rule, by field.
  let rulesByField: [String: [FieldRule]]
  let redirectKeys: RedirectKeys
  var pages: [PageRule] = []
  var sets: [[Contribution]] = []
  var byFragment: [String: [Contribution]] = [:]
  var open: Set<String> = []
  var fragmentCount: Int32 = 0
  /// The number of open selection sets, which limits the recursion of everything that traverses the
  /// plan.
  var depth = 0
  static let maxDepth = 512

  init(
    fragments: [FragmentDefinition], fieldKey: FieldKey, variables: JSONObject,
    rules: KeyRules, facts: TypeFacts?
  ) {
    var rulesByField: [String: [FieldRule]] = [:]
    let types = Set(rules.fieldKeyArguments.keys).union(rules.pages.keys)
      .union(rules.redirects.keys)
    for type in types.sorted() {
      let arguments = rules.fieldKeyArguments[type] ?? [:]
      let pages = rules.pages[type] ?? [:]
      let redirects = rules.redirects[type] ?? [:]
      for field in Set(arguments.keys).union(pages.keys).union(redirects.keys) {
        rulesByField[field, default: []].append(
          FieldRule(
            type: type, arguments: arguments[field], pages: pages[field],
            redirect: redirects[field]))
      }
    }
    self.rulesByField = rulesByField
    redirectKeys = RedirectKeys(rules: rules, facts: facts)
    self.fragments = fragments
    self.fieldKey = fieldKey
    self.variables = variables
    directives = SelectionDirectives(variables: variables)
  }

  mutating func flatten(_ set: SelectionSet) throws(CacheError) -> Int {
    depth += 1
    guard depth <= Self.maxDepth else {
      throw CacheError(
        .invalidOperation,
        "selections are nested more than \(Self.maxDepth) deep, counting those of fragments; no "
          + "response may be nested that deep", location: set.location)
    }
    defer { depth -= 1 }
    let contributions = try contributions(of: set)
    sets.append(contributions)
    return sets.count - 1
  }

  private mutating func contributions(
    of set: SelectionSet
  ) throws(CacheError) -> [Contribution] {
    var result: [Contribution] = []
    var seen: Set<String> = []
    for selection in set.selections {
      switch selection {
      case .field(let field):
        guard try directives.isIncluded(field.directives) else { continue }
        guard field.responseKey != "__typename" || field.name.value == "__typename" else {
          throw CacheError(
            .invalidOperation,
            "the alias \"__typename\" of the field \"\(field.name.value)\" hides the name of the type; "
              + "choose another", location: field.location)
        }
        var child: Int?
        if let inner = field.selectionSet { child = try flatten(inner) }
        let ruledKeys = ruledKeys(of: field)
        result.append(
          Contribution(
            conditions: [], responseKey: field.responseKey, fieldName: field.name.value,
            storedKey: fieldKey.key(of: field), ruledKeys: ruledKeys, childSet: child,
            isAdded: field.location == .added, fragment: -1,
            stream: try directives.delivery("stream", field.directives, of: field.responseKey)))
      case .inlineFragment(let fragment):
        guard try directives.isIncluded(fragment.directives) else { continue }
        let type = fragment.typeCondition?.value
        let deferral = try directives.delivery(
          "defer", fragment.directives, of: type.map { "on \($0)" } ?? "…")
        let inner = try contributions(of: fragment.selectionSet)
        result += deferred(conditional(inner, on: type), by: deferral)
      case .fragmentSpread(let spread):
        guard try directives.isIncluded(spread.directives) else { continue }
        let deferral = try directives.delivery("defer", spread.directives, of: spread.name.value)
        guard seen.insert("\(spread.name.value) \(deferral)").inserted else { continue }
        result += deferred(try contributions(ofFragment: spread), by: deferral)
      }
    }
    return deduplicated(result)
  }

  private mutating func ruledKeys(of field: Field) -> [OperationPlan.RuledKey] {
    (rulesByField[field.name.value] ?? []).compactMap { rule in
      let redirect = rule.redirect.flatMap {
        redirectKeys.target(of: $0, for: field, in: rule.type, variables: variables)
      }
      if field.arguments.isEmpty, rule.pages == nil, redirect == nil { return nil }
      let key =
        if field.arguments.isEmpty {
          fieldKey.key(of: field)
        } else if let arguments = rule.arguments {
          fieldKey.key(of: field, only: arguments)
        } else {
          fieldKey.key(of: field, except: rule.pages?.pageArguments ?? [])
        }
      let page = rule.pages.flatMap {
        PageRule($0, field, storedKey: key, variables: variables)
      }
      return OperationPlan.RuledKey(
        type: rule.type, storedKey: key, page: page.map { number(of: $0) } ?? -1,
        isJoined: rule.pages != nil, redirect: redirect)
    }
  }

  private mutating func number(of page: PageRule) -> Int32 {
    if let known = pages.firstIndex(of: page) { return Int32(known) }
    pages.append(page)
    return Int32(pages.count - 1)
  }

  private mutating func contributions(
    ofFragment spread: FragmentSpread
  ) throws(CacheError) -> [Contribution] {
    let name = spread.name.value
    if let known = byFragment[name] { return known }
    guard let fragment = fragments.first(where: { $0.name.value == name }) else {
      throw CacheError(.invalidOperation, "fragment \"\(name)\" is not defined in the document")
    }
    guard open.insert(name).inserted else {
      throw CacheError(.invalidOperation, "fragment \"\(name)\" contains itself")
    }
    guard open.count <= 256 else {
      throw CacheError(
        .invalidOperation,
        "fragments are nested more than 256 deep at \"\(name)\"", location: spread.location)
    }
    let inner = try contributions(of: fragment.selectionSet)
    open.remove(name)
    let result = conditional(inner, on: fragment.typeCondition.value)
    byFragment[name] = result
    return result
  }

  private mutating func conditional(
    _ contributions: [Contribution], on type: String?
  ) -> [Contribution] {
    guard let type else { return contributions }
    fragmentCount += 1
    let id = fragmentCount
    return contributions.map { contribution in
      var result = contribution
      if !result.conditions.contains(type) { result.conditions.append(type) }
      if result.fragment < 0 { result.fragment = id }
      return result
    }
  }

  private func deferred(_ contributions: [Contribution], by deferral: Int32) -> [Contribution] {
    guard deferral >= 0 else { return contributions }
    return contributions.map { contribution in
      var result = contribution
      if result.deferral < 0 { result.deferral = deferral }
      return result
    }
  }

  /// Removes duplicates, so that fragments which are spread repeatedly do not multiply.
  private func deduplicated(_ contributions: [Contribution]) -> [Contribution] {
    struct Identity: Hashable {
      var conditions: [String]
      var responseKey: String
      var storedKey: String
      var child: Int?
      var isAdded: Bool
      var deferral: Int32
      var isStreamed: Bool
    }
    // Without duplicates of response keys there are no others.
    guard Set(contributions.map(\.responseKey)).count < contributions.count else {
      return contributions
    }
    var seen: Set<Identity> = []
    return contributions.filter {
      seen.insert(
        Identity(
          conditions: $0.conditions, responseKey: $0.responseKey, storedKey: $0.storedKey,
          child: $0.childSet, isAdded: $0.isAdded, deferral: $0.deferral,
          isStreamed: $0.stream >= 0)
      ).inserted
    }
  }
}

/// Facts about an operation's plan, for display.
public struct PlanFacts: Sendable, Hashable {
  /// The number of fields of all selection sets, once per set and type condition.
  public var fields: Int
  /// The number of added fields: type names and key fields.
  public var addedFields: Int
  /// The number of selection sets.
  public var selectionSets: Int
  /// The stored keys of the root fields: `user({"id":"1"})`.
  public var rootKeys: [String]
}

extension PreparedOperation {
  /// Facts about the operation's plan.
  public var planFacts: PlanFacts {
    let all = plan.sets.joined()
    return PlanFacts(
      fields: all.count, addedFields: all.count(where: \.isAdded), selectionSets: plan.sets.count,
      rootKeys: plan.sets[plan.rootSet].filter { !$0.isAdded }.map(\.storedKey))
  }
}

/// The stored name of a field: its name and arguments, never its alias.
///
/// `name` without arguments, else `name({"a":1,"b":{"c":null}})`: canonical JSON with sorted keys
/// and no white space, with variables replaced by their values. An argument whose variable is
/// absent is omitted, as it is in the request.
struct FieldKey {
  let variables: JSONObject

  func key(
    of field: Field, only keyArguments: [String]? = nil, except others: Set<String> = []
  ) -> String {
    var arguments = JSONObject()
    for argument in field.arguments {
      let name = argument.name.value
      if let keyArguments, !keyArguments.contains(name) { continue }
      if others.contains(name) { continue }
      arguments[name] = JSONValue(argument.value, variables: variables)
    }
    guard !arguments.isEmpty else { return field.name.value }
    return "\(field.name.value)(\(JSONValue.object(arguments).canonicalText))"
  }
}
