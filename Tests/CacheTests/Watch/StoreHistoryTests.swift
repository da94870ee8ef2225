import Foundation
import GQLRunJSON
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Random histories of a store against ``ModelStore``: responses whole and in parts, errors, removals, garbage
/// collection, optimistic layers, watchers, a second connection, opening again, and kills.
@Suite("Histories of a store", .timeLimit(.minutes(600)))
struct StoreHistoryTests {
  @Test("records, changes and watchers are those of the model", arguments: StoreKind.allCases)
  func histories(kind: StoreKind) async throws {
    let report = await Histories.run(
      "store, \(kind)", filter: "StoreHistoryTests",
      seeds: Histories.seeds(kind == .memory ? 36 : 7)
    ) { seed in
      var random = SeededRandom(seed)
      return (0..<40).map { _ in StoreStep(&random) }
    } simpler: { step in
      step.simpler
    } failure: { steps, seed in
      try await StoreHistory(kind, seed: seed).run(steps)
      return nil
    }
    if let report { Issue.record("\(report)") }
  }

  @Test("a failing history is reported with the steps that matter")
  func shrinking() async {
    let report = await Histories.run("numbers", filter: "X", seeds: [3, 4]) { seed in
      (0..<50).map { Int($0) * Int(seed) }
    } simpler: {
      $0 > 0 ? [$0 / 2, $0 - 1] : []
    } failure: { steps, seed in
      seed == 4 && steps.contains { $0 > 20 } && steps.contains(0) ? "too large" : nil
    }
    #expect(
      report == """
        numbers, seed 4, 2 of 50 steps: too large
          1. 0
          2. 21
        repeat: make model SEED=4 MODEL=X
        """)
  }
}

/// Data for a root field, a record that it refers to, and an object in it.
struct StepData: Sendable, CustomStringConvertible {
  enum Embedded: Sendable {
    case none, null
    case object([String: Int])
  }

  var root: Int
  var id: Int
  var fields: [String: Int] = [:]
  var embedded = Embedded.none
  var arrivesByteByByte = false

  init(_ random: inout SeededRandom) {
    root = random.upTo(3)
    id = random.upTo(4)
    for field in ["a", "b", "c"] where random.chance(50) { fields[field] = random.upTo(3) }
    if random.chance(60) {
      var object: [String: Int] = [:]
      for field in ["x", "y"] where random.chance(60) { object[field] = random.upTo(2) }
      embedded = random.chance(20) ? .null : object.isEmpty ? .none : .object(object)
    }
    arrivesByteByByte = random.chance(30)
  }

  var key: String { "T:\(id)" }
  var description: String { json(["r\(root)": .object(object())]) }

  var simpler: [StepData] {
    var result: [StepData] = []
    func add(_ change: (inout StepData) -> Void) {
      var other = self
      change(&other)
      result.append(other)
    }
    if case .none = embedded {} else { add { $0.embedded = .none } }
    for field in fields.keys.sorted() { add { $0.fields[field] = nil } }
    if arrivesByteByByte { add { $0.arrivesByteByByte = false } }
    return result
  }

  /// - Parameter isDeferred: Whether the embedded object is in a later part.
  func document(isDeferred: Bool = false) -> String {
    var selection = ["id"] + fields.keys.sorted()
    switch embedded {
    case .none: break
    case .null: selection.append("e { x }")
    case .object(let object):
      selection.append("e { \(object.keys.sorted().joined(separator: " ")) }")
    }
    if isDeferred, let last = selection.popLast() { selection.append("... @defer { \(last) }") }
    return "{ r\(root) { \(selection.joined(separator: " ")) } }"
  }

  /// The object of the response.
  ///
  /// - Parameters:
  ///   - failing: A field that is null.
  ///   - hasEmbedded: Whether it has the embedded object.
  func object(failing: String? = nil, hasEmbedded: Bool = true) -> JSONObject {
    var result: JSONObject = ["__typename": "T", "id": .string("\(id)")]
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      result[name] = name == failing ? .null : .number(JSONNumber(value))
    }
    if hasEmbedded, let embedded = embeddedJSON { result["e"] = embedded }
    return result
  }

  var embeddedJSON: JSONValue? {
    switch embedded {
    case .none: return nil
    case .null: return .null
    case .object(let fields):
      var object: JSONObject = ["__typename": "E"]
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
        object[name] = .number(JSONNumber(value))
      }
      return .object(object)
    }
  }

  /// What the store has then.
  func records(failing: String? = nil) -> ModelStore.Records {
    var record: [String: ModelStore.Value] = [
      "__typename": .leaf("\"T\""), "id": .leaf("\"\(id)\""),
    ]
    for (name, value) in fields where name != failing { record[name] = .leaf("\(value)") }
    switch embedded {
    case .none: break
    case .null: record["e"] = .leaf("null")
    case .object(let fields):
      record["e"] = .object(
        fields.mapValues { .leaf("\($0)") }.merging(["__typename": .leaf("\"E\"")]) { $1 })
    }
    return [key: record, "QUERY_ROOT": ["r\(root)": .reference(key)]]
  }

  func json(_ data: JSONObject) -> String { JSONValue.object(data).jsonText() }
}

/// A step of a history. It has numbers instead of references to the state, so that any other step can be left out.
enum StoreStep: Sendable, CustomStringConvertible {
  /// A response, which may take the place of the layer with a number.
  case write(StepData, settling: Int?)
  /// A response with an error at its first field.
  case fail(StepData)
  case parts(StepData)
  case rollBack(StepData)
  /// A response through a second connection.
  case other(StepData)
  /// The files are copied while a response is written, as a kill at that time leaves them, and after it.
  case kill(StepData)
  case layer(StepData)
  case takeLayer(Int)
  case remove(record: String, field: String?)
  case evict(String, fields: String?)
  case collectGarbage
  /// Leaves this share of the bytes.
  case trim(percent: Int)
  case clear
  case reopen
  /// The watchers read. Between two of these steps, changes accumulate.
  case look

  init(_ random: inout SeededRandom) {
    let number = random.upTo(4)
    self =
      switch random.upTo(100) {
      case ..<24: .write(StepData(&random), settling: random.chance(25) ? number : nil)
      case ..<30: .fail(StepData(&random))
      case ..<36: .parts(StepData(&random))
      case ..<38: .rollBack(StepData(&random))
      case ..<42: .other(StepData(&random))
      case ..<44: .kill(StepData(&random))
      case ..<52: .layer(StepData(&random))
      case ..<56: .takeLayer(number)
      case ..<58: .remove(record: "QUERY_ROOT", field: "r\(random.upTo(3))")
      case ..<61: .remove(record: "T:\(number)", field: nil)
      case ..<64: .remove(record: "T:\(number)", field: random.pick(["a", "b", "c", "e"]))
      case ..<67:
        .evict(
          random.pick(["T:*", "T:\(number)", "Query", "Query.r\(number)", "*"]),
          fields: random.chance(50) ? random.pick(["a", "b", "?"]) : nil)
      case ..<70: .collectGarbage
      case ..<71: .trim(percent: 25 * number)
      case ..<72: .clear
      case ..<74: .reopen
      default: .look
      }
  }

  var simpler: [StoreStep] {
    switch self {
    case .write(let data, let layer):
      (layer == nil ? [] : [.write(data, settling: nil)])
        + data.simpler.map { .write($0, settling: layer) }
    case .fail(let data): data.simpler.map { .fail($0) }
    case .parts(let data): [.write(data, settling: nil)] + data.simpler.map { .parts($0) }
    case .rollBack(let data): data.simpler.map { .rollBack($0) }
    case .other(let data): [.write(data, settling: nil)] + data.simpler.map { .other($0) }
    case .kill(let data): [.write(data, settling: nil)] + data.simpler.map { .kill($0) }
    case .layer(let data): data.simpler.map { .layer($0) }
    case .evict(let pattern, .some): [.evict(pattern, fields: nil)]
    case .takeLayer, .remove, .evict, .collectGarbage, .trim, .clear, .reopen, .look: []
    }
  }

  var description: String {
    switch self {
    case .write(let data, let layer):
      "write \(data)" + (layer.map { ", settling layer \($0)" } ?? "")
    case .fail(let data): "write \(data) with an error"
    case .parts(let data): "write \(data) in parts"
    case .rollBack(let data): "roll back \(data)"
    case .other(let data): "write \(data) through a second connection"
    case .kill(let data): "kill while writing \(data)"
    case .layer(let data): "add a layer \(data)"
    case .takeLayer(let number): "remove layer \(number)"
    case .remove(let record, let field): "remove \(record)" + (field.map { ".\($0)" } ?? "")
    case .evict(let pattern, let fields): "evict \(pattern)" + (fields.map { " \($0)" } ?? "")
    case .collectGarbage: "collect garbage"
    case .trim(let percent): "trim to \(percent) %"
    case .clear: "clear"
    case .reopen: "close and open again"
    case .look: "watchers read"
    }
  }
}

/// A store whose history is run, and what the model knows of it.
private final class StoreHistory {
  /// A watcher, and what the model knows of it.
  struct Watched {
    var query: ModelQuery
    var watcher: Watcher
    var last: String?
    var dependencies: Set<String> = []
    var isPending = true
  }

  private let kind: StoreKind
  private let collectsChanges: Bool
  private let queries: [ModelQuery]
  private let directory = try? TemporaryDirectory()
  private var url: String?
  private var store: CacheStore
  private var second: CacheStore?
  private var model = ModelStore()
  private var layers: [OptimisticLayer] = []
  private var watchers: [Watched] = []
  /// The fields that have failed. Removing or replacing their errors is a change of them, too.
  private var failed: Set<String> = []

  init(_ kind: StoreKind, seed: UInt64) async throws {
    self.kind = kind
    collectsChanges = seed % 2 == 0
    var random = SeededRandom(seed &+ 1)
    queries = (0..<6).map { _ in
      ModelQuery(
        root: "r\(random.upTo(3))",
        fields: ["id"] + ["a", "b", "c"].filter { _ in random.chance(50) },
        embedded: ["x", "y"].filter { _ in random.chance(40) })
    }
    store = .memory()
    if kind == .postgres { url = try PostgresSchema.newForTest() }
    store = try await open()
  }

  /// Throws the first difference from the model.
  func run(_ steps: [StoreStep]) async throws {
    do {
      try watch()
      try await look()
      try await Histories.take(steps) { try await take($0) }
    } catch {
      try? close()
      throw error
    }
    try close()
  }

  private func open(_ path: String? = nil) async throws -> CacheStore {
    switch kind {
    case .memory: return CacheStore(MemoryStore(collectsChanges: collectsChanges))
    case .sqlite, .fresh, .chain:
      var options = SQLiteStore.Options()
      options.collectsChanges = collectsChanges
      if kind == .chain { options.memory = 3000 }
      if kind == .fresh { options.minFreshBytes = 0 }
      guard let path = path ?? directory?.path("cache.db") else {
        throw Difference(description: "no folder")
      }
      return CacheStore(try SQLiteStore(path: path, options: options))
    case .postgres:
      var options = CacheStore.PostgresOptions(url: url ?? "")
      options.collectsChanges = collectsChanges
      return CacheStore(try await PostgresStore(options))
    }
  }

  private func close() throws {
    watchers = []
    try second?.close()
    second = nil
    try store.close()
  }

  private func watch() throws {
    watchers = try queries.map {
      Watched(query: $0, watcher: Watcher(store, try prepare($0.document)))
    }
  }

  private func take(_ step: StoreStep) async throws {
    // The fields that the step has changed; `nil` if that may be anything.
    var touched: Set<String>? = []
    switch step {
    case .write(let data, let number):
      touched = try await write(data, settling: number.flatMap { takeLayer($0) })
    case .fail(let data):
      let field = data.fields.keys.min()
      if let field { failed.insert("\(data.key).\(field)") }
      touched = try await write(data, failing: field)
    case .parts(let data): touched = try await writeParts(data)
    case .rollBack(let data):
      try await begin(data).write?.rollback()
    case .other(let data):
      guard kind != .memory else { return }
      let other = if let second { second } else { try await open() }
      second = other
      _ = try await normalize(body(data).utf8, prepare(data.document()), into: other)
      _ = model.commit([.merge(data.records())])
      try await store.refresh()
      touched = nil
    case .kill(let data):
      let response = try await begin(data)
      try await checkCopy()
      touched = try await commit(response, data.records(), settling: nil)
      try await checkCopy()
    case .layer(let data):
      let layer = try store.addOptimistic(
        .object(["r\(data.root)": .object(data.object())]), for: prepare(data.document()))
      layers.append(layer)
      model.add(layer: layer.id, [.merge(data.records())])
      touched = fields(data.records())
    case .takeLayer(let number):
      guard let layer = takeLayer(number) else { return }
      touched = layerFields(layer)
      store.removeOptimistic(layer)
      model.remove(layer: layer.id)
    case .remove(let record, let field):
      let transaction = try await store.records.begin()
      try await transaction.remove([RecordRemoval(record: record, field: field)])
      touched = try check(
        try await transaction.commit(settling: nil),
        model.commit([.remove(record: record, field: field)]))
    case .evict(let pattern, let fields):
      let summary = try await store.remove(RecordSelection(pattern, fields: fields))
      touched = try check(summary, model.evict(pattern, fields: fields))
    case .collectGarbage:
      touched = try check(try await store.collectGarbage(rootsBefore: nil), model.collectGarbage())
    case .trim(let percent):
      let size = try await store.statistics().bytes * percent / 100
      let summary = try await store.trim(to: size)
      let left = try await store.statistics().bytes
      guard left <= size else { throw Difference(description: "\(left) bytes of \(size) are left") }
      touched = try check(summary, model.keep(try keys(in: await dump(store))))
    case .clear:
      try await store.clear()
      layers = []
      model.clear()
      touched = nil
    case .reopen:
      // Watchers end with their store; layers with the process, or before.
      guard kind != .memory else { return }
      for layer in layers { store.removeOptimistic(layer) }
      layers = []
      try close()
      model.removeLayers()
      store = try await open()
      try watch()
      try await look()
    case .look: try await look()
    }
    try checkPending(touched)
    let found = try await dump(store)
    if found != model.dump { throw Difference(description: "\(found)for\n\(model.dump)") }
  }

  // MARK: Writing

  private func body(_ data: StepData, failing: String? = nil) -> String {
    let json = data.json(["r\(data.root)": .object(data.object(failing: failing))])
    guard let failing else { return #"{"data":\#(json)}"# }
    return #"{"data":\#(json),"errors":[{"message":"no","path":["r\#(data.root)","\#(failing)"]}]}"#
  }

  private func begin(_ data: StepData, failing: String? = nil) async throws -> NormalizedResponse {
    let normalizer = try await feed(
      body(data, failing: failing).utf8, prepare(data.document()), into: store,
      arrival: data.arrivesByteByByte ? .byteByByte : Arrival())
    return try await normalizer.finish()
  }

  private func write(
    _ data: StepData, failing: String? = nil, settling layer: OptimisticLayer? = nil
  ) async throws -> Set<String>? {
    let covered = layer.map { layerFields($0) } ?? []
    let changed = try await commit(
      begin(data, failing: failing), data.records(failing: failing), settling: layer)
    // Readers with errors see another result, too.
    return failing == nil ? covered.union(changed) : nil
  }

  private func commit(
    _ response: NormalizedResponse, _ records: ModelStore.Records, settling layer: OptimisticLayer?
  ) async throws -> Set<String> {
    let summary = try await response.write?.commit(settling: layer)
    return try check(summary, model.commit([.merge(records)], settling: layer?.id))
  }

  /// The embedded object arrives in a part of its own, with a transaction of its own.
  private func writeParts(_ data: StepData) async throws -> Set<String>? {
    guard let embedded = data.embeddedJSON else { return try await write(data) }
    let first = data.json(["r\(data.root)": .object(data.object(hasEmbedded: false))])
    let later = JSONValue.object(["e": embedded]).jsonText()
    let arrived = try await receive(
      [
        #"{"data":\#(first),"hasNext":true}"#,
        #"{"incremental":[{"path":["r\#(data.root)"],"data":\#(later)}],"hasNext":false}"#,
      ], prepare(data.document(isDeferred: true)), into: store)
    let changed = model.commit([.merge(data.records())])
    let found = Set(arrived.changes.joined())
    if !found.isSuperset(of: changed) || !found.subtracting(changed).isSubset(of: failed) {
      throw Difference(description: "changes \(found) for \(changed)")
    }
    return changed
  }

  /// Opens a copy of the files, as they are now, and compares its records with the model.
  private func checkCopy() async throws {
    guard [.sqlite, .fresh, .chain].contains(kind), let directory else { return }
    let copy = try TemporaryDirectory()
    for name in ["cache.db", "cache.db-wal"]
    where FileManager.default.fileExists(atPath: directory.path(name)) {
      try FileManager.default.copyItem(atPath: directory.path(name), toPath: copy.path(name))
    }
    let store = try await open(copy.path("cache.db"))
    let found = try await dump(store)
    try store.close()
    if found != model.dump {
      throw Difference(description: "after a kill \(found)for\n\(model.dump)")
    }
  }

  private func takeLayer(_ number: Int) -> OptimisticLayer? {
    layers.isEmpty ? nil : layers.remove(at: number % layers.count)
  }

  private func layerFields(_ layer: OptimisticLayer) -> Set<String> {
    var result: Set<String> = []
    for case .merge(let records) in model.layers.first(where: { $0.id == layer.id })?.edits ?? [] {
      result.formUnion(fields(records))
    }
    return result
  }

  private func fields(_ records: ModelStore.Records) -> Set<String> {
    Set(records.flatMap { key, fields in fields.keys.map { "\(key).\($0)" } })
  }

  // MARK: Comparing

  private func check(_ summary: WriteSummary?, _ expected: Set<String>) throws -> Set<String> {
    try check(
      summary?.changes ?? [], isKnown: summary.map(\.changesAreKnown) ?? expected.isEmpty, expected)
  }

  private func check(_ summary: RemovalSummary, _ expected: Set<String>) throws -> Set<String> {
    try check(summary.changes, isKnown: true, expected)
  }

  private func check(
    _ changes: Set<FieldChange>, isKnown: Bool, _ expected: Set<String>
  ) throws -> Set<String> {
    let found = Set(changes.map { "\($0.recordKey).\($0.field)" })
    guard isKnown, found.isSuperset(of: expected),
      found.subtracting(expected).isSubset(of: failed)
    else {
      throw Difference(description: "changes \(found.sorted()) for \(expected.sorted())")
    }
    return found
  }

  /// Compares which watchers have a change to read.
  ///
  /// - Parameter touched: The fields that were changed; `nil` if that may be anything.
  private func checkPending(_ touched: Set<String>?) throws {
    for index in watchers.indices {
      let isPending = watchers[index].watcher.isPending
      guard let touched else {
        // Which of them depend on an unknown change is known when they read.
        watchers[index].isPending = isPending
        continue
      }
      let records = touched.map { String($0.prefix { $0 != "." } + ".*") }
      if !watchers[index].dependencies.isDisjoint(with: touched.union(records)) {
        watchers[index].isPending = true
      }
      // A watcher may also be notified of errors that are removed, which change its fields.
      let mayBePending = !watchers[index].dependencies.isDisjoint(with: failed)
      if isPending, mayBePending { watchers[index].isPending = true }
      if isPending != watchers[index].isPending {
        throw Difference(description: "\(watchers[index].query.document) pending: \(isPending)")
      }
    }
  }

  /// Lets every watcher look: each change is shown once, and the last result is that of the model.
  private func look() async throws {
    let view = model.view
    for index in watchers.indices {
      let watched = watchers[index]
      let expected = watched.query.answer(view)
      let found = try await watched.watcher.look().map { $0.hasPrefix("miss") ? "miss" : $0 }
      let shown = expected.text ?? "miss"
      if found != (shown == watched.last ? nil : shown) {
        throw Difference(
          description: "\(watched.query.document) shows \(found ?? "nothing new") for \(shown)")
      }
      // A watcher that has nothing to read would not have read.
      if found != nil, !watched.isPending {
        throw Difference(description: "\(watched.query.document) was not notified of \(shown)")
      }
      watchers[index].last = shown
      watchers[index].dependencies = expected.dependencies
      watchers[index].isPending = false
    }
  }

  /// The records and fields in a dump, as `record.field`.
  private func keys(in dump: String) throws -> Set<String> {
    var result: Set<String> = []
    for line in dump.split(separator: "\n") {
      let record = try JSONValue(parsing: String(line))
      let key = record["key"]?.stringValue ?? ""
      for member in record["fields"]?.objectValue ?? [:] { result.insert("\(key).\(member.key)") }
    }
    return result
  }
}
