import GQLRunJSON

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
