import GQLRunJSON
import GQLRunPipeline

/// Reads rows ahead of the run, to count and validate them.
///
/// Runs before the first request for a limited time, then concurrently with the run.
actor RowCheck {
  private let manifest: Manifest
  private let makers: [TaskMaker]
  private var index = 0
  private var source: RowSource?
  private(set) var count = 0
  private(set) var problems: [String] = []
  /// Whether the count includes all rows.
  private(set) var isExact = true
  private(set) var isDone = false
  /// The number of errors after which validation stops.
  private static let maxProblems = 50
  /// Whether the files of uploads must exist.
  private let checksFiles: Bool

  /// - Parameters:
  ///   - manifest: The manifest whose rows are read.
  ///   - state: The values of the state file.
  ///   - checksFiles: Whether the files of uploads must exist. During a run, a missing one fails its own task only.
  init(_ manifest: Manifest, state: JSONObject, checksFiles: Bool = false) {
    self.manifest = manifest
    self.checksFiles = checksFiles
    makers = manifest.operations.map { TaskMaker($0, state: state) }
  }

  /// Validates rows for `time`, or all rows if it is `nil`. Returns whether the end was reached.
  func advance(for time: Duration?) async -> Bool {
    let clock = ContinuousClock()
    let end = time.map { clock.now + $0 }
    while index < manifest.operations.count, problems.count < Self.maxProblems {
      let operation = manifest.operations[index]
      guard let settings = operation.source else {
        if checksFiles, operation.needs.isEmpty { check(nil, operation) }
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
        let rows = try source ?? settings.input.open(RowContext(manifest: manifest))
        source = rows
        for _ in 0..<500 {
          guard problems.count < Self.maxProblems else { break }
          guard let row = try rows?() else {
            source = nil
            index += 1
            break
          }
          count += 1
          // Captured values are known only during the run.
          if operation.needs.isEmpty { check(row, operation) }
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
    isDone = index >= manifest.operations.count || problems.count >= Self.maxProblems
    return isDone
  }

  /// - Parameter row: The row; `nil` for an operation without rows.
  private func check(_ row: Row?, _ operation: BatchOperation) {
    do throws(TaskProblem) {
      try validate(row, makers[operation.index])
    } catch {
      let label = operation.source?.input.label(in: manifest) ?? ""
      let place = row.map { "\(label):\($0.number): " } ?? ""
      problems.append("\(place)`\(operation.id)`: \(error)")
    }
  }

  private func validate(_ row: Row?, _ maker: TaskMaker) throws(TaskProblem) {
    var uploads: [TaskUpload] = []
    _ = try maker.variables(in: maker.scope(row), uploads: &uploads)
    guard checksFiles else { return }
    for upload in uploads {
      do throws(ChainError) {
        _ = try manifest.upload(upload)
      } catch {
        throw TaskProblem("$\(upload.variable): \(error.message)")
      }
    }
  }
}
