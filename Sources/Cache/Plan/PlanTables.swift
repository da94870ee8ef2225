import Foundation

/// The compiled plans of an operation that nobody uses at the moment: the next response or read takes
/// one, with all that earlier ones have compiled, and gives it back.
///
/// `@unchecked Sendable`: the list is only touched under the lock, and a table in it has no other owner.
final class PlanTables: @unchecked Sendable {
  private final class Kept {
    var table: PlanTable?

    init(_ table: consuming PlanTable) { self.table = consume table }
  }

  /// So many are kept for responses and reads that come at the same time.
  private static let limit = 4

  private let lock = NSLock()
  private var kept: [Kept] = []

  /// A compiled table of `plan`, which owns these.
  ///
  /// - Parameter separatesPages: For writing responses. Readers look for the joined lists, so that of
  ///   operations with pages no table is kept.
  func take(for plan: OperationPlan, separatesPages: Bool = false) -> PlanTable {
    guard plan.pages.isEmpty else { return PlanTable(plan, separatesPages: separatesPages) }
    lock.lock()
    let last = kept.popLast()
    lock.unlock()
    guard let last, var table = last.table.take() else { return PlanTable(plan) }
    table.beginUse(of: plan)
    return table
  }

  /// Takes a table back. One that a server has made large with invented types is dropped.
  func give(_ table: consuming PlanTable) {
    guard table.isSmall, table.plan.pages.isEmpty else { return }
    table.endUse()
    let back = Kept(table)
    lock.lock()
    if kept.count < Self.limit { kept.append(back) }
    lock.unlock()
  }
}
