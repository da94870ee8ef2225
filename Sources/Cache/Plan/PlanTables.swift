import Foundation

/// The unused compiled tables of an operation: a response or read takes one with everything
/// compiled before, and returns it.
///
/// `@unchecked Sendable`: the list is guarded by the lock, and a table in it has no other owner.
final class PlanTables: @unchecked Sendable {
  private final class Kept {
    let separatesPages: Bool
    var table: PlanTable?

    init(_ table: consuming PlanTable) {
      separatesPages = table.separatesPages
      self.table = consume table
    }
  }

  /// The maximum number of tables, for concurrent responses and reads.
  private static let limit = 4

  private let lock = NSLock()
  private var kept: [Kept] = []

  /// Takes a compiled table of `plan`, which owns these tables.
  ///
  /// - Parameter separatesPages: For writing responses: pages get separate names.
  func take(for plan: OperationPlan, separatesPages: Bool = false) -> PlanTable {
    let separatesPages = separatesPages && !plan.pages.isEmpty
    lock.lock()
    let index = kept.lastIndex { $0.separatesPages == separatesPages }
    let found = index.map { kept.remove(at: $0) }
    lock.unlock()
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
    lock.lock()
    if kept.count < Self.limit { kept.append(back) }
    lock.unlock()
  }
}
