import GQLRunSupport

/// The unused compiled tables of an operation: a response or read takes one with everything
/// compiled before, and returns it.
final class PlanTables: Sendable {
  /// `@unchecked Sendable`: a table in the list has no other owner.
  private final class Kept: @unchecked Sendable {
    let separatesPages: Bool
    var table: PlanTable?

    init(_ table: consuming PlanTable) {
      separatesPages = table.separatesPages
      self.table = consume table
    }
  }

  /// The maximum number of tables, for concurrent responses and reads.
  private static let limit = 4

  private let kept = Locked<[Kept]>([])

  /// Takes a compiled table of `plan`, which owns these tables.
  ///
  /// - Parameter separatesPages: For writing responses: pages get separate names.
  func take(for plan: OperationPlan, separatesPages: Bool = false) -> PlanTable {
    let separatesPages = separatesPages && !plan.pages.isEmpty
    let found = kept.withLock { kept in
      kept.lastIndex { $0.separatesPages == separatesPages }.map { kept.remove(at: $0) }
    }
    guard let found, var table = found.table.take() else {
      return PlanTable(plan, separatesPages: separatesPages)
    }
    table.beginUse(of: plan)
    return table
  }

  /// Returns a table. One that is not worth keeping is released.
  func give(_ table: consuming PlanTable) {
    guard table.isWorthKeeping else { return }
    table.endUse()
    let back = Kept(table)
    kept.withLock { kept in
      if kept.count < Self.limit { kept.append(back) }
    }
  }
}
