import GQLRunLanguage

/// A condition of `@skip` or `@include`.
enum InclusionCondition: Hashable {
  case variable(String, isNegated: Bool)
  case never

  /// The conditions of directives; constant ones that are always true are dropped.
  static func of(_ directives: [Directive]) -> [InclusionCondition] {
    directives.compactMap { directive in
      let isSkip = directive.name.value == "skip"
      guard isSkip || directive.name.value == "include" else { return nil }
      switch directive.arguments.first(where: { $0.name.value == "if" })?.value {
      case .variable(let name): return .variable(name.value, isNegated: isSkip)
      case .boolean(let flag, _): return flag == isSkip ? .never : nil
      default: return nil
      }
    }
  }

  /// The condition in Swift.
  var expression: String {
    switch self {
    case .variable(let name, let isNegated): "\(isNegated ? "!" : "")object.isTrue(\"\(name)\")"
    case .never: "false"
    }
  }
}

/// Selections of one enclosing type, below the same conditions.
struct SelectionPart {
  var selections: [Selection]
  /// The enclosing type of the selections in the document.
  var type: String
  var conditions: [InclusionCondition] = []
}

/// The selections of one object, without inline fragments that always apply.
struct CollectedSelections {
  struct FieldUse {
    var field: Field
    var type: String
    var conditions: [InclusionCondition]
    var isConditional: Bool { !conditions.isEmpty }
  }

  struct SpreadUse {
    var spread: FragmentSpread
    /// The alternatives of conditions under which the fragment applies; empty if it always does.
    var conditions: [[InclusionCondition]]
    var isDeferred: Bool { spread.directives.contains { $0.name.value == "defer" } }
    var isAlways: Bool { conditions.isEmpty && !isDeferred }
  }

  /// Selections that apply to some of the possible object types.
  struct Conditional {
    var typeCondition: String
    var part: SelectionPart

    /// Whether objects of `type` have any of the selections.
    func adds(to type: String, _ types: TypeSets) -> Bool {
      types.possible(typeCondition).contains(type)
        && !CollectedSelections([part], possible: [type], types: types).isEmpty
    }
  }

  /// Whether nothing is selected, such as by a condition inside another that no type fulfills.
  var isEmpty: Bool { fields.isEmpty && spreads.isEmpty && deferred.isEmpty }

  /// The uses of each response key, in source order.
  private(set) var fields: [(key: String, uses: [FieldUse])] = []
  private(set) var spreads: [SpreadUse] = []
  private(set) var conditionals: [Conditional] = []
  private(set) var deferred: [(label: String, fragment: InlineFragment, type: String)] = []
  private var positions: [String: Int] = [:]
  private let possible: Set<String>
  private let types: TypeSets

  /// Collects the selections that apply to objects of the `possible` types.
  init(_ parts: [SelectionPart], possible: Set<String>, types: TypeSets) {
    self.possible = possible
    self.types = types
    for part in parts { collect(part) }
  }

  private mutating func collect(_ part: SelectionPart) {
    for selection in part.selections {
      let conditions = part.conditions + InclusionCondition.of(selection.directives)
      switch selection {
      case .field(let field):
        add(field, part.type, conditions)
      case .fragmentSpread(let spread):
        guard let fragment = types.fragments[spread.name.value] else { continue }
        place(
          SelectionPart(selections: [selection], type: part.type, conditions: part.conditions),
          on: fragment.typeCondition.value
        ) { $0.add(spread, conditions) }
      case .inlineFragment(let fragment):
        let type = fragment.typeCondition?.value ?? part.type
        let inner = SelectionPart(
          selections: fragment.selectionSet.selections, type: type, conditions: conditions)
        if let label = fragment.deferLabel(deferred.count) {
          place(
            SelectionPart(selections: [selection], type: part.type, conditions: part.conditions),
            on: type
          ) { $0.deferred.append((label, fragment, type)) }
        } else {
          place(inner, on: type) { $0.collect(inner) }
        }
      }
    }
  }

  /// Applies selections whose type condition all possible types fulfill; keeps those that some fulfill.
  private mutating func place(
    _ part: SelectionPart, on type: String, apply: (inout Self) -> Void
  ) {
    let matching = types.possible(type)
    if possible.isSubset(of: matching) {
      apply(&self)
    } else if !possible.isDisjoint(with: matching) {
      conditionals.append(Conditional(typeCondition: type, part: part))
    }
  }

  private mutating func add(
    _ field: Field, _ type: String, _ conditions: [InclusionCondition]
  ) {
    let use = FieldUse(field: field, type: type, conditions: conditions)
    if let position = positions[field.responseKey] {
      fields[position].uses.append(use)
    } else {
      positions[field.responseKey] = fields.count
      fields.append((field.responseKey, [use]))
    }
  }

  private mutating func add(_ spread: FragmentSpread, _ conditions: [InclusionCondition]) {
    let use = SpreadUse(spread: spread, conditions: conditions.isEmpty ? [] : [conditions])
    guard let index = spreads.firstIndex(where: { $0.spread.name.value == spread.name.value })
    else { return spreads.append(use) }
    if spreads[index].isAlways { return }
    if use.isAlways || use.isDeferred {
      // A deferred fragment is read if its fields are there, whatever has requested them.
      spreads[index] = use
    } else if !spreads[index].isDeferred {
      spreads[index].conditions.append(conditions)
    }
  }
}

extension InlineFragment {
  /// The label of `@defer`, else a name with the number; `nil` if the fragment is not deferred.
  fileprivate func deferLabel(_ number: Int) -> String? {
    guard let directive = directives.first(where: { $0.name.value == "defer" }) else { return nil }
    if case .string(let label)? = directive.arguments.first(where: { $0.name.value == "label" })?
      .value
    {
      return label.value
    }
    return number == 0 ? "deferred" : "deferred\(number + 1)"
  }
}

/// The possible object types of the schema's types, each computed once, and the fragments.
final class TypeSets {
  let schema: Schema
  let fragments: [String: FragmentDefinition]
  private var sets: [String: Set<String>] = [:]

  init(_ schema: Schema, _ fragments: [String: FragmentDefinition]) {
    self.schema = schema
    self.fragments = fragments
  }

  func possible(_ type: String) -> Set<String> {
    if let set = sets[type] { return set }
    let set = Set(schema.possibleTypes(of: type))
    sets[type] = set
    return set
  }

  func isAbstract(_ type: String) -> Bool { schema.type(named: type)?.isAbstract ?? false }
}
