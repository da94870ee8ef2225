import Foundation
import GQLRunJSON

/// Reads rows ahead of the run, to count and validate them.
///
/// Runs before the first request for a limited time, then concurrently with the run.
actor RowCheck {
  private let manifest: Manifest
  private let makers: [TaskMaker]
  private var index = 0
  private var source: (any RowSource)?
  private(set) var count = 0
  private(set) var problems: [String] = []
  /// Whether the count includes all rows.
  private(set) var isExact = true
  private(set) var isDone = false
  /// The number of errors after which validation stops.
  private static let mostProblems = 50

  init(_ manifest: Manifest, state: JSONObject) {
    self.manifest = manifest
    makers = manifest.operations.map { TaskMaker($0, state: state) }
  }

  /// Validates rows for `time`, or all rows if it is `nil`. Returns whether the end was reached.
  func advance(for time: Duration?) async -> Bool {
    let clock = ContinuousClock()
    let end = time.map { clock.now + $0 }
    while index < manifest.operations.count, problems.count < Self.mostProblems {
      let operation = manifest.operations[index]
      guard let settings = operation.source else {
        count += 1
        index += 1
        continue
      }
      guard settings.input.isReadable(hasNeeds: !operation.needs.isEmpty) else {
        isExact = false
        index += 1
        continue
      }
      do {
        let rows = try source ?? settings.open(manifest)
        source = rows
        for _ in 0..<500 {
          guard problems.count < Self.mostProblems else { break }
          guard let row = try rows?.next() else {
            source = nil
            index += 1
            break
          }
          count += 1
          // Captured values are known only during the run.
          if operation.needs.isEmpty { check(row, operation, settings) }
        }
      } catch {
        problems.append("\(error)")
        source = nil
        index += 1
      }
      if let end, clock.now >= end { break }
      await Task.yield()
      if Task.isCancelled { return false }
    }
    isDone = index >= manifest.operations.count || problems.count >= Self.mostProblems
    return isDone
  }

  private func check(_ row: Row, _ operation: BatchOperation, _ settings: InputSettings) {
    do throws(TaskProblem) {
      let scope = try makers[operation.index].scope(row)
      _ = try makers[operation.index].variables(in: scope)
    } catch {
      problems.append(
        "\(settings.input.label(in: manifest)):\(row.number): `\(operation.id)`: \(error)")
    }
  }
}
