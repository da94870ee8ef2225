/// Fields with one response key are the same field with the same arguments, and of types whose
/// values have one shape.
///
/// In two stages. `MergedFields` answers in about linear time whether there is any conflict, with
/// the help of `MergedClasses` where that takes long, and usually there is none. Only if there is one
/// does `FieldConflicts` look for pairs of fields as the reference implementation does, to word its
/// errors in its order; that takes quadratic time and worse, and ends when the validation's steps are
/// used up.
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
      report(conflict.key, conflict.reason, conflict.first + conflict.second, context)
      if context.isAborted { return }
    }
    guard conflicts.isExhausted else { return }
    self.conflicts = nil
    if case .conflict(let pair) = verdict {
      report(
        pair.key, pair.reason,
        [index.fields[pair.first].location, index.fields[pair.second].location], context)
    } else {
      // Neither stage could tell.
      _ = context.takeSteps(context.remainingSteps + 1)
    }
  }

  private func report(
    _ key: String, _ reason: String, _ locations: [SourceLocation], _ context: ValidationContext
  ) {
    context.report(
      .overlappingFieldsCanBeMerged,
      "Fields '\(key)' conflict because \(reason). Use different aliases on the fields to fetch "
        + "both if this was intentional.",
      at: locations)
  }
}
