import GQLRunJSON
import GQLRunPipeline

/// Rows of values that another operation captured: `capture: repos`.
struct CaptureInput: RowInput {
  static let name = "capture"
  static let summary = "Values that another operation captured, one row per task of that operation"
  static let example = "needs: [repos], foreach: { capture: repos, as: repo }"

  @Option("Operation whose captured values are the rows; also add it to `needs`")
  var capture: String

  var capturedOperation: String? { capture }

  func open(_ context: RowContext) -> (any RowSource)? {
    guard let journal = context.journal,
      let index = context.manifest?.operations.firstIndex(where: { $0.id == capture })
    else { return nil }
    return CapturedSource(journal, operation: context.numbers[index])
  }
}

/// Reads the values that an operation captured, one row per task.
final class CapturedSource: RowSource {
  private let journal: Journal
  private let operation: Int
  private var held: ArraySlice<JSONObject> = []
  private var lastKey: String?
  private var number = 0

  init(_ journal: Journal, operation: Int) {
    self.journal = journal
    self.operation = operation
  }

  func next() throws -> Row? {
    if held.isEmpty {
      held = try journal.captures(operation: operation, after: lastKey, limit: 500)[...]
      lastKey = held.last?["key"]?.stringValue ?? lastKey
    }
    guard let object = held.popFirst() else { return nil }
    number += 1
    return Row(number: number, content: .values(object))
  }
}
