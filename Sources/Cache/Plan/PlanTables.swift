import Foundation

/// The compiled plans of an operation that nobody uses at the moment: the next response or read takes
/// one, with all that earlier ones have compiled, and gives it back.
///
/// `@unchecked Sendable`: the list is only touched under the lock, and a table in it has no other owner.
final class PlanTables: @unchecked Sendable {
  private final class Kept {
    let separatesPages: Bool
    var table: PlanTable?

    init(_ table: consuming PlanTable) {
      separatesPages = table.separatesPages
      self.table = consume table
    }
  }

  /// So many are kept for responses and reads that come at the same time.
  private static let limit = 4

  private let lock = NSLock()
  private var kept: [Kept] = []

  /// A compiled table of `plan`, which owns these.
  ///
  /// - Parameter separatesPages: For writing responses: pages go under names of their own.
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

  /// Takes a table back. One that is not worth keeping is dropped.
  func give(_ table: consuming PlanTable) {
    guard table.isWorthKeeping else { return }
    table.endUse()
    let back = Kept(table)
    lock.lock()
    if kept.count < Self.limit { kept.append(back) }
    lock.unlock()
  }
}
