/// Fields with the same response key have the same name and arguments, and types of the same shape.
///
/// Checks in two stages. `MergedFields` decides in about linear time whether there is a conflict,
/// with `MergedClasses` where it would take long. Only if there is one, `FieldConflicts` searches
/// pairs of fields like the reference implementation, to report the same errors in the same order;
/// that takes at least quadratic time and stops at ``ValidationOptions/maxSteps``.
///
/// https://spec.graphql.org/September2025/#sec-Field-Selection-Merging
final class OverlappingFieldsCanBeMerged: RuleVisitor {
  private let index: SelectionIndex
  private let verdict: MergedFields.Verdict
  private var conflicts: FieldConflicts?
  private var selectionSet = -1

  init(_ context: ValidationContext) {
    index = SelectionIndex(context)
    verdict = MergedFields.verdict(index, maxSteps: context.remainingSteps / 2)
    if verdict != .mergeable {
      conflicts = FieldConflicts(index, maxSteps: context.remainingSteps / 4)
    }
  }

  func enter(selectionSet: SelectionSet, _ context: ValidationContext) {
    self.selectionSet += 1
    guard let conflicts else { return }
    for conflict in conflicts.conflicts(in: self.selectionSet, context.types.parentType?.name) {
      report(
        conflict.key, reason: conflict.reason, locations: conflict.first + conflict.second,
        context: context)
      if context.isAborted { return }
    }
    guard conflicts.isExhausted else { return }
    self.conflicts = nil
    if case .conflict(let pair) = verdict {
      report(
        pair.key, reason: pair.reason,
        locations: [index.fields[pair.first].location, index.fields[pair.second].location],
        context: context)
    } else {
      // Neither stage found an answer within the step limit.
      _ = context.takeSteps(context.remainingSteps + 1)
    }
  }

  private func report(
    _ key: String, reason: String, locations: [SourceLocation], context: ValidationContext
  ) {
    context.report(
      .overlappingFieldsCanBeMerged,
      "Fields '\(key)' conflict because \(reason). Use different aliases on the fields to fetch "
        + "both if this was intentional.",
      at: locations)
  }
}

/// The conflicts between pairs of fields, in the order of the reference implementation.
///
/// This is an exact port of graphql-core's algorithm, because the pairs that it compares, or treats
/// as already compared, determine the reported errors. In addition, pairs without conflict are
/// remembered, which does not change the result.
final class FieldConflicts {
  struct Conflict {
    var key: String
    var reason: String
    /// The locations of conflicting subfields: those of the first field and those of the second.
    var first: [SourceLocation]
    var second: [SourceLocation]
  }

  /// The fields of a selection set by response key, including inline fragments, and its fragment
  /// spreads.
  private final class Collected {
    var keys: [String] = []
    var fields: [String: [Member]] = [:]
    var spreads: [Int] = []
  }

  private struct Member {
    var field: Int
    /// The enclosing type and the field's own type, as far as the algorithm knows them.
    var parent: Int
    var type: TypeReference?
    var shape: Int
  }

  private struct Pair: Hashable {
    var first: Int
    var second: Int
    var isExclusive: Bool
  }

  private struct FragmentPair: Hashable {
    var first: Int
    var second: Int

    init(_ a: Int, _ b: Int) {
      (first, second) = a < b ? (a, b) : (b, a)
    }
  }

  private let index: SelectionIndex
  private var collected: [Int: Collected] = [:]
  /// Whether the compared fragments were mutually exclusive.
  private var compared: [FragmentPair: Bool] = [:]
  private var harmless: Set<Pair> = []
  private var steps: Int
  private var depth = 0
  /// Whether the step limit was reached, so that conflicts may be missing.
  private(set) var isExhausted = false

  init(_ index: SelectionIndex, maxSteps: Int) {
    self.index = index
    // A step is the comparison of two fields or the expansion of a fragment.
    steps = maxSteps / 2
  }

  /// Counts one step, one level deeper. Returns `false` if a limit was reached. Balance with
  /// `leave`.
  private func enter() -> Bool {
    steps -= 1
    // A chain of fragments can have any length, and this recursion uses the stack.
    if steps < 0 || depth >= 512 { isExhausted = true }
    guard !isExhausted else { return false }
    depth += 1
    return true
  }

  private func leave() { depth -= 1 }

  // MARK: - Within one selection set

  func conflicts(in selectionSet: Int, _ parent: String?) -> [Conflict] {
    var conflicts: [Conflict] = []
    let own = collect(selectionSet, parent: index.typeNumber(parent), parentName: parent)
    for key in own.keys {
      guard let members = own.fields[key], members.count > 1 else { continue }
      for (position, member) in members.enumerated() {
        for other in members[(position + 1)...] {
          if let conflict = conflict(false, key: key, first: member, second: other) {
            conflicts.append(conflict)
          }
          if isExhausted || conflicts.count > 200 { return conflicts }
        }
      }
    }
    for (position, spread) in own.spreads.enumerated() {
      compare(own, toFragment: spread, isExclusive: false, conflicts: &conflicts)
      for other in own.spreads[(position + 1)...] {
        compare(fragments: spread, other, isExclusive: false, conflicts: &conflicts)
        if isExhausted { return conflicts }
      }
    }
    return conflicts
  }

  // MARK: - Between selection sets

  private func compare(
    _ own: Collected, toFragment name: Int, isExclusive: Bool, conflicts: inout [Conflict]
  ) {
    guard let referenced = collect(fragment: name), referenced !== own, enter() else { return }
    defer { leave() }
    compare(own, other: referenced, isExclusive: isExclusive, conflicts: &conflicts)
    for spread in referenced.spreads
    where markCompared(spread, second: name, isExclusive: isExclusive) {
      compare(own, toFragment: spread, isExclusive: isExclusive, conflicts: &conflicts)
      if isExhausted { return }
    }
  }

  private func compare(
    fragments first: Int, _ second: Int, isExclusive: Bool, conflicts: inout [Conflict]
  ) {
    guard first != second, markCompared(first, second: second, isExclusive: isExclusive),
      let referenced = collect(fragment: first), let other = collect(fragment: second), enter()
    else { return }
    defer { leave() }
    compare(referenced, other: other, isExclusive: isExclusive, conflicts: &conflicts)
    for spread in other.spreads {
      compare(fragments: first, spread, isExclusive: isExclusive, conflicts: &conflicts)
      if isExhausted { return }
    }
    for spread in referenced.spreads {
      compare(fragments: spread, second, isExclusive: isExclusive, conflicts: &conflicts)
      if isExhausted { return }
    }
  }

  /// Whether two fragments have not been compared yet; marks them as compared.
  private func markCompared(_ first: Int, second: Int, isExclusive: Bool) -> Bool {
    let pair = FragmentPair(first, second)
    if let known = compared[pair], isExclusive || !known { return false }
    compared[pair] = isExclusive
    return true
  }

  private func compare(
    _ own: Collected, other: Collected, isExclusive: Bool, conflicts: inout [Conflict]
  ) {
    for key in own.keys {
      guard let members = own.fields[key], let others = other.fields[key] else { continue }
      for member in members {
        for otherMember in others {
          if let conflict = conflict(isExclusive, key: key, first: member, second: otherMember) {
            conflicts.append(conflict)
          }
          if isExhausted { return }
        }
      }
    }
  }

  private func compare(
    _ first: Collected, _ second: Collected, subfields isExclusive: Bool
  ) -> [Conflict] {
    var conflicts: [Conflict] = []
    compare(first, other: second, isExclusive: isExclusive, conflicts: &conflicts)
    for spread in second.spreads {
      compare(first, toFragment: spread, isExclusive: isExclusive, conflicts: &conflicts)
    }
    for spread in first.spreads {
      compare(second, toFragment: spread, isExclusive: isExclusive, conflicts: &conflicts)
    }
    for spread in first.spreads {
      for other in second.spreads {
        compare(fragments: spread, other, isExclusive: isExclusive, conflicts: &conflicts)
        if isExhausted { return conflicts }
      }
    }
    return conflicts
  }

  // MARK: - Between two fields

  private func conflict(
    _ areParentsExclusive: Bool, key: String, first: Member, second: Member
  ) -> Conflict? {
    let (a, b) = (index.fields[first.field], index.fields[second.field])
    let isExclusive =
      areParentsExclusive
      || (first.parent != second.parent && index.typeIsObject[first.parent]
        && index.typeIsObject[second.parent])
    let pair = Pair(first: first.field, second: second.field, isExclusive: isExclusive)
    guard !harmless.contains(pair), enter() else { return nil }
    defer { leave() }

    if !isExclusive {
      if a.name != b.name {
        return Conflict(
          key: key, reason: "'\(a.name)' and '\(b.name)' are different fields",
          first: [a.location], second: [b.location])
      }
      if !index.haveSameArguments(a, b) {
        return Conflict(
          key: key, reason: SelectionIndex.reason(a, b), first: [a.location],
          second: [b.location])
      }
    }
    if first.shape != 0, second.shape != 0, first.shape != second.shape {
      let (type, other) = (first.type?.printed() ?? "", second.type?.printed() ?? "")
      return Conflict(
        key: key, reason: "they return conflicting types '\(type)' and '\(other)'",
        first: [a.location], second: [b.location])
    }
    if let inner = a.selectionSet, let otherInner = b.selectionSet {
      let conflicts = compare(
        collect(inner, of: first.type), collect(otherInner, of: second.type),
        subfields: isExclusive)
      if !conflicts.isEmpty {
        let reason = conflicts.map { "subfields '\($0.key)' conflict because \($0.reason)" }
          .joined(separator: " and ")
        steps -= reason.utf8.count / 64
        return Conflict(
          key: key, reason: reason,
          first: [a.location] + conflicts.flatMap(\.first),
          second: [b.location] + conflicts.flatMap(\.second))
      }
    }
    if !isExhausted { harmless.insert(pair) }
    return nil
  }

  // MARK: - Collecting

  private func collect(fragment name: Int) -> Collected? {
    guard let fragment = index.fragments[name] else { return nil }
    if let known = collected[fragment.selectionSet] { return known }
    return collect(
      fragment.selectionSet, parent: index.typeNumber(fragment.condition),
      parentName: fragment.condition)
  }

  private func collect(_ selectionSet: Int, of type: TypeReference?) -> Collected {
    let name = type?.namedType.value
    return collect(selectionSet, parent: index.typeNumber(name), parentName: name)
  }

  private func collect(_ selectionSet: Int, parent: Int, parentName: String?) -> Collected {
    if let known = collected[selectionSet] { return known }
    let result = Collected()
    var isSpread: Set<Int> = []
    func add(_ selectionSet: Int, parent: Int, parentName: String?) {
      let fields = parentName.flatMap { index.context.type(named: $0)?.fields }
      for item in index.selectionSets[selectionSet] {
        steps -= 1
        switch item {
        case .field(let field):
          let entry = index.fields[field]
          let type = fields?[entry.name]?.type
          if result.fields[entry.key] == nil { result.keys.append(entry.key) }
          result.fields[entry.key, default: []].append(
            Member(field: field, parent: parent, type: type, shape: index.shape(type)))
        case .inline(let inner, let condition):
          if let condition {
            add(inner, parent: index.typeNumber(condition), parentName: condition)
          } else {
            add(inner, parent: parent, parentName: parentName)
          }
        case .spread(let name):
          if isSpread.insert(name).inserted { result.spreads.append(name) }
        }
      }
    }
    add(selectionSet, parent: parent, parentName: parentName)
    collected[selectionSet] = result
    return result
  }
}
