import GQLRunCache
import GQLRunCrypto
import GQLRunJSON

/// A task: an operation with the variables of one row.
struct TaskItem: Sendable {
  var id: TaskID
  /// The operation's index in the manifest.
  var operation: Int
  var key: String
  /// The coerced variables, with defaults.
  var variables: JSONObject
  /// The files; the variables have null in their places.
  var uploads: [TaskUpload] = []
  /// The values for columns that are not in the records, of ``RecordColumns/values(in:)``.
  var rowValues = JSONObject()
  var scope: Scope
  /// The number of tasks that started before this one in the run; 0 in a queue.
  var position = 0
  /// The journal's record of an earlier attempt.
  var record: TaskUpdate?
  /// The fence of the lease under which a queue's task is executed; 0 without a queue.
  var lease = 0
  /// Why the task cannot be sent.
  var problem: String?
  /// Whether the problem is the absence of something that the task needs.
  var isSkipped = false

  /// Whether an earlier attempt failed.
  var hasFailed: Bool { record.map { $0.state == .failed || $0.error != nil } ?? false }

  /// Skips the task, because a needed operation has no results.
  mutating func skip(missing need: String) {
    problem = "nothing of `\(need)` succeeded, which it needs"
    isSkipped = true
  }
}

/// Creates tasks from rows.
///
/// A class, because it contains an operation, which is expensive to copy.
final class TaskMaker: Sendable {
  let operation: BatchOperation
  private let types: TypedText
  let state: JSONObject
  /// The operations whose captured values are in the variables.
  let captured: Set<String>
  /// The SHA-256 state over what all tasks of the operation have in common.
  private let common: Hash

  init(_ operation: BatchOperation, state: JSONObject) {
    self.operation = operation
    types = TypedText(reader: operation.template.reader)
    self.state = state
    captured = Set(operation.variables.flatMap { $0.value.references }.map(\.root))
      .subtracting([operation.source?.rowName ?? "row", "op", "key", "state"])
    var common = Hash()
    common.updateDelimited(operation.id)
    common.updateDelimited(operation.template.document)
    self.common = common
  }

  /// The scope of a row, including its key.
  func scope(_ row: Row?) throws(TaskProblem) -> Scope {
    var scope = Scope(
      rowName: operation.source?.rowName ?? "row", row: row,
      empty: operation.source?.shared.empty ?? .omit, operation: operation.id, state: state)
    if let key = operation.key {
      scope.key = try key.text(in: scope)
    } else if let row {
      scope.key = String(row.number)
    }
    return scope
  }

  /// The coerced variables of a task, without those of later pages, and its files.
  func variables(
    in scope: Scope, uploads: inout [TaskUpload]
  ) throws(TaskProblem) -> JSONObject {
    var given = JSONObject()
    for variable in operation.variables {
      given[variable.name] = try variable.value.value(
        in: scope, types: types, variable.name, uploads: &uploads)
    }
    for (name, value) in operation.firstPage where given[name] == nil {
      given[name] = value
    }
    do throws(CacheError) {
      return try operation.template.coerce(given, uploads: uploads.map(\.variable))
    } catch {
      throw TaskProblem(
        error.single.map { $0.message + reason(ofMissing: $0) }.joined(separator: "; "))
    }
  }

  /// The end of the message about a variable that was not given: the reference that has no value in this row.
  private func reason(ofMissing error: CacheError) -> String {
    guard error.missingType != nil,
      let variable = operation.variables.first(where: { "variables.\($0.name)" == error.path }),
      case .reference(let reference, _) = variable.value
    else { return "" }
    return ": `{{\(reference)}}` is empty"
  }

  func id(
    _ variables: JSONObject, key: String, uploads: [TaskUpload] = [], row: JSONObject = [:]
  ) -> TaskID {
    var hash = common
    hash.updateDelimited(JSONValue.object(variables).canonicalText)
    // Without a key, the variables alone identify a task, wherever its row is.
    hash.updateDelimited(operation.key == nil ? "" : key)
    for upload in uploads {
      for text in [upload.variable, upload.path, upload.contentType ?? "", upload.fileName ?? ""] {
        hash.updateDelimited(text)
      }
    }
    // Rows that differ only in values of columns are several tasks: each has its records.
    if !row.isEmpty { hash.updateDelimited(JSONValue.object(row).canonicalText) }
    return TaskID(hash.finalize())
  }

  /// Creates a task, with `problem` set if it cannot be sent.
  func item(_ row: Row?, captured: (String) throws -> [String: JSONObject]) throws -> TaskItem {
    var scope = Scope()
    do {
      scope = try self.scope(row)
      scope.captured = try captured(scope.key)
      var uploads: [TaskUpload] = []
      let variables = try variables(in: scope, uploads: &uploads)
      let row = operation.columns.values(in: scope)
      return TaskItem(
        id: id(variables, key: scope.key, uploads: uploads, row: row), operation: operation.index,
        key: scope.key, variables: variables, uploads: uploads, rowValues: row, scope: scope)
    } catch let problem as TaskProblem {
      let key = Self.label(row)
      return TaskItem(
        id: problemID(row), operation: operation.index,
        key: scope.key.isEmpty ? key : scope.key, variables: JSONObject(), scope: scope,
        problem: "\(key.isEmpty ? "" : "\(key): ")\(problem.message)")
    }
  }

  /// The id of the task of a row that cannot be sent: it has no variables.
  func problemID(_ row: Row?) -> TaskID {
    var object = JSONObject()
    object["row"] = row.map { .number(JSONNumber($0.number)) } ?? .null
    return id(object, key: "problem \(Self.label(row))")
  }

  /// The key of a row whose own one cannot be made.
  static func label(_ row: Row?) -> String { row.map { "row \($0.number)" } ?? "" }
}

/// The tasks of one operation, created from its rows on demand.
struct TaskRows {
  private let maker: TaskMaker
  private let context: RowContext
  private var source: RowSource?
  /// Whether other operations use the values that tasks capture, and find them by the key.
  private let isFoundByKey: Bool
  /// The first task of each key, by hash, if captured values are found by it.
  private var tasks: [Int: TaskID] = [:]
  /// Whether there are no further tasks.
  private(set) var isOver = false

  /// - Parameter context: The manifest, and the journal with the values that the needs of the operation captured.
  init(_ maker: TaskMaker, _ context: RowContext) {
    self.maker = maker
    self.context = context
    isFoundByKey =
      context.manifest?.operations.contains { $0.usesCaptures(of: maker.operation) } ?? false
  }

  mutating func next() throws -> TaskItem? {
    guard !isOver else { return nil }
    guard let settings = maker.operation.source else {
      // An operation without rows has a single task.
      isOver = true
      return try item(nil)
    }
    if source == nil { source = try settings.input.open(context) }
    guard let row = try source?() else {
      source = nil
      isOver = true
      return nil
    }
    return try item(row)
  }

  /// The id that the task of a row has while it cannot be sent.
  func problemID(of item: TaskItem) -> TaskID { maker.problemID(item.scope.row) }

  private mutating func item(_ row: Row?) throws -> TaskItem {
    let context = context
    var item = try maker.item(row) { [maker] key in
      guard !maker.operation.needs.isEmpty, let journal = context.journal,
        let manifest = context.manifest
      else { return [:] }
      let found = try journal.captures(
        of: maker.operation.needs, in: manifest, context.numbers, key: key)
      // A nullable variable would be left out.
      if let need = maker.captured.sorted().first(where: { found[$0] == nil }) {
        throw TaskProblem("`\(need)`, which it needs, has captured no values for the key `\(key)`")
      }
      return found
    }
    guard isFoundByKey, item.problem == nil else { return item }
    // Strings with other bytes may be equal, and are other keys.
    let first = tasks[UTF8Text(item.key).hashValue] ?? item.id
    tasks[UTF8Text(item.key).hashValue] = first
    if first != item.id {
      item.problem =
        "an earlier row has the key `\(item.key)`, too, and captured values are found by the key; give each row a key "
        + "of its own"
    }
    return item
  }
}

/// The set of known tasks, as a compact filter.
///
/// Stores 32 bits of each id in a slot chosen by 18 other bits, about five bytes per task. A
/// negative answer is certain; a positive one is wrong about once in 100 million at one million
/// tasks, so callers check the journal then.
struct SeenTasks {
  private static let slots = 1 << 18
  /// Lookups become slow in a table that is more than three quarters full.
  private static let most = slots / 4 * 3

  /// Open addressing; zero is an empty slot. Only the last table has room.
  private var tables: [[UInt32]] = []
  private var count = most

  mutating func insert(_ id: TaskID) {
    if count == Self.most {
      tables.append([UInt32](repeating: 0, count: Self.slots))
      count = 0
    }
    let (slot, isThere) = Self.find(id, in: tables[tables.count - 1])
    guard !isThere else { return }
    tables[tables.count - 1][slot] = Self.mark(of: id)
    count += 1
  }

  func mayContain(_ id: TaskID) -> Bool {
    tables.contains { Self.find(id, in: $0).isThere }
  }

  /// The slot of the id, or the one where it would be inserted.
  private static func find(_ id: TaskID, in table: [UInt32]) -> (slot: Int, isThere: Bool) {
    let mark = mark(of: id)
    var slot = Int(truncatingIfNeeded: id.low >> 32) & (slots - 1)
    while table[slot] != 0 {
      if table[slot] == mark { return (slot, true) }
      slot = (slot + 1) & (slots - 1)
    }
    return (slot, false)
  }

  /// The id is a hash, so its parts are independent. The other half chooses shards.
  private static func mark(of id: TaskID) -> UInt32 { max(UInt32(truncatingIfNeeded: id.low), 1) }
}
