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
      // Neither stage found an answer within the step limit.
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
