import GQLRunLanguage

/// The key fields that every selection of a field must have, in a document with `@defer` or `@stream`.
///
/// The parts of a response show the same object with different selections, and so do aliases. The object is a
/// record from the beginning only if each of them identifies it: where one selection of a field has the key fields
/// of a type, all selections of that field get them. Without a schema, a selection has what its own fragments say.
struct SharedIdentities {
  private let keys: KeyRules
  private let facts: TypeFacts?
  private let fragments: [String: FragmentDefinition]
  /// By field name; empty if the document has none of the directives.
  private var selected: [String: Visit] = [:]
  private let isNeeded: Bool

  init(_ document: Document, keys: KeyRules, facts: TypeFacts?) {
    self.keys = keys
    self.facts = facts
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { _, last in last }
    isNeeded = ["defer", "stream"].contains { document.location(ofDirective: $0) != nil }
    guard isNeeded, facts != nil else { return }
    for operation in document.operations { collect(operation.selectionSet) }
    for fragment in document.fragments { collect(fragment.selectionSet) }
  }

  private mutating func collect(_ set: SelectionSet) {
    set.forEachSelection { selection in
      guard case .field(let field) = selection, let inner = field.selectionSet else { return }
      var visit = selected.removeValue(forKey: field.name.value) ?? Visit()
      walk(inner, on: nil, isCertain: false, &visit)
      selected[field.name.value] = visit
    }
  }

  /// The types, beside that of `field`, whose key fields are to be added to its selection set.
  func types(for set: SelectionSet, of field: String, on declared: String?) -> [String] {
    guard isNeeded else { return [] }
    var own = Visit()
    walk(set, on: declared, isCertain: true, &own)
    guard let facts else { return own.late.filter { $0 != declared } }
    guard let declared, let possible = facts.possibleTypes[declared], possible != [declared],
      let all = selected[field]
    else { return [] }
    let conditions = all.conditions.filter { condition in
      condition != declared && !own.certain.contains(condition)
        && facts.possibleTypes[condition]?.isDisjoint(with: possible) == false
    }
    let known = Set(facts.fields[declared]?.keys.map { $0 } ?? [])
    // Types with other key fields than the declared one, which has a field of that name.
    let others = possible.sorted().filter { type in
      let fields = keys.fields(of: type, facts: facts)
      return fields != keys.fields(of: declared, facts: facts)
        && fields.contains { known.contains($0) && all.fields.contains($0) }
        && !own.certain.contains(type) && !conditions.contains(type)
    }
    return conditions + others
  }

  // MARK: - Fragments

  private struct Visit {
    /// The type conditions of fragments, in the order of the document.
    var conditions: [String] = []
    /// The names of fields, at any condition.
    var fields: Set<String> = []
    /// The conditions of fragments that apply to all objects of the type, and are not deferred.
    var certain: Set<String> = []
    /// The conditions of deferred or conditional fragments in the selection set itself.
    var late: [String] = []
    /// The spread fragments: those that always apply, and the others. Each is visited once.
    var spreads: [Set<String>] = [[], []]
  }

  private func walk(
    _ set: SelectionSet, on type: String?, isCertain: Bool, _ visit: inout Visit
  ) {
    for selection in set.selections {
      let inner: SelectionSet
      let directives: [Directive]
      var condition: String?
      switch selection {
      case .field(let field):
        visit.fields.insert(field.name.value)
        continue
      case .inlineFragment(let fragment):
        (inner, directives) = (fragment.selectionSet, fragment.directives)
        condition = fragment.typeCondition?.value
      case .fragmentSpread(let spread):
        guard let fragment = fragments[spread.name.value],
          visit.spreads[isCertain && spread.directives.isEmpty ? 0 : 1]
            .insert(spread.name.value).inserted
        else { continue }
        (inner, directives) = (fragment.selectionSet, spread.directives)
        condition = fragment.typeCondition.value
      }
      let applies = isCertain && directives.isEmpty
      if let condition {
        if !visit.conditions.contains(condition) { visit.conditions.append(condition) }
        if applies, covers(type, condition) { visit.certain.insert(condition) }
        if isCertain, !applies, !visit.late.contains(condition) { visit.late.append(condition) }
      }
      walk(inner, on: condition ?? type, isCertain: applies, &visit)
    }
  }

  /// Whether each object of the type `inner` is one of `outer`.
  private func covers(_ outer: String?, _ inner: String) -> Bool {
    guard let outer, outer != inner, let facts else { return true }
    guard let all = facts.possibleTypes[outer], let possible = facts.possibleTypes[inner] else {
      return false
    }
    return all.isSuperset(of: possible)
  }
}
