import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Random interleavings of writes, layers, rollbacks and removals, against a model.
@Suite("Random interleavings")
struct InterleavingTests {
  @Test(
    "state, changes and watchers are those of the model", arguments: StoreKind.allCases)
  func interleavings(kind: StoreKind) async throws {
    for seed in 0..<UInt64(kind == .memory ? 60 : 12) {
      try await kind.withStore(collectsChanges: seed % 2 == 0) { store in
        var run = try Interleaving(seed: seed, store: store)
        for step in 0..<60 where !run.hasFailed { try await run.step(step) }
      }
    }
  }
}

/// One random run.
private struct Interleaving {
  /// A watcher, and what the model knows of it.
  struct Watched {
    var query: ModelQuery
    var watcher: Watcher
    var last: String?
    var dependencies: Set<String> = []
    var isPending = true
  }

  let seed: UInt64
  let store: CacheStore
  var random: SeededRandom
  var model = ModelStore()
  var layers: [OptimisticLayer] = []
  var watchers: [Watched] = []
  var hasFailed = false

  init(seed: UInt64, store: CacheStore) throws {
    self.seed = seed
    self.store = store
    random = SeededRandom(seed)
    for _ in 0..<6 {
      let query = ModelQuery(
        root: "r\(random.upTo(3))",
        fields: ["id"] + ["a", "b", "c"].filter { _ in random.chance(50) },
        embedded: ["x", "y"].filter { _ in random.chance(40) })
      watchers.append(Watched(query: query, watcher: Watcher(store, try prepare(query.document))))
    }
  }

  mutating func step(_ number: Int) async throws {
    if number == 0 { try await look("at first") }
    let choice = random.upTo(100)
    let context: String
    // The fields that a change may concern; `nil` when that is anything.
    var touched: Set<String>?
    switch choice {
    case ..<40:
      let data = randomData()
      context = "write \(data.json)"
      let summary = try await write(data, settling: nil)
      touched = check(summary, model.commit([.merge(data.records)]), context)
    case ..<58:
      let data = randomData()
      context = "add \(data.json)"
      let layer = try store.addOptimistic(data.json, for: data.operation)
      layers.append(layer)
      model.add(layer: layer.id, [.merge(data.records)])
      touched = fields(data.records)
    case ..<70:
      guard let layer = takeLayer() else { return }
      context = "remove layer \(layer.id)"
      touched = layerFields(layer)
      store.removeOptimistic(layer)
      model.remove(layer: layer.id)
    case ..<82:
      guard let layer = takeLayer() else { return }
      let data = randomData()
      context = "settle \(layer.id) with \(data.json)"
      let covered = layerFields(layer)
      let summary = try await write(data, settling: layer)
      let changed = check(
        summary, model.commit([.merge(data.records)], settling: layer.id), context)
      touched = covered.flatMap { covered in changed.map { covered.union($0) } }
    case ..<92:
      let removal = randomRemoval()
      context = "remove \(removal)"
      let transaction = try await store.records.begin()
      try await transaction.remove([removal])
      let summary = try await transaction.commit()
      touched = check(
        summary, model.commit([.remove(record: removal.recordKey, field: removal.field)]), context)
    case ..<97:
      let data = randomData()
      context = "roll back \(data.json)"
      let operation = data.operation
      let body = "{\"data\":\(data.json.jsonText())}"
      let normalizer = try await feed(body.utf8, operation, into: store, arrival: .byteByByte)
      try await normalizer.finish().write?.rollback()
      touched = []
    default:
      context = "clear"
      try await store.clear()
      layers = []
      model.clear()
    }
    for index in watchers.indices {
      if touched.map({ Self.isTouched(watchers[index].dependencies, $0) }) ?? true {
        watchers[index].isPending = true
      }
      let isPending = watchers[index].watcher.isPending
      if isPending != watchers[index].isPending {
        fail("\(watchers[index].query.document) pending: \(isPending) after \(context)")
      }
    }
    // Sometimes the watchers do not read, so that changes accumulate.
    if random.chance(80) { try await look(context) }
    let dump = try await CacheTests.dump(store)
    if dump != model.dump { fail("after \(context)\n\(dump)for\n\(model.dump)") }
  }

  private static func isTouched(_ dependencies: Set<String>, _ touched: Set<String>) -> Bool {
    let records = touched.map { $0.prefix { $0 != "." } + ".*" }
    return !dependencies.isDisjoint(with: touched.union(records.map { String($0) }))
  }

  /// Lets every watcher look, and holds what it sees against the model.
  private mutating func look(_ context: String) async throws {
    let view = model.view
    for index in watchers.indices {
      let (query, watcher) = (watchers[index].query, watchers[index].watcher)
      let last = watchers[index].last
      let expected = query.answer(view)
      let found = try await watcher.look().map { $0.hasPrefix("miss") ? "miss" : $0 }
      let shown = expected.text ?? "miss"
      if found != (shown == last ? nil : shown) {
        fail("\(query.document) shows \(found ?? "nothing new") for \(shown) after \(context)")
      }
      watchers[index].last = shown
      watchers[index].dependencies = expected.dependencies
      watchers[index].isPending = false
    }
  }

  /// Holds the changes of a commit against those of the model, and returns them.
  private mutating func check(
    _ summary: WriteSummary?, _ expected: Set<String>, _ context: String
  ) -> Set<String>? {
    let found = Set((summary?.changes ?? []).map { "\($0.recordKey).\($0.field)" })
    if summary?.changesAreKnown != true || found != expected {
      fail("changes \(found.sorted()) for \(expected.sorted()) after \(context)")
    }
    return found
  }

  private mutating func fail(_ message: String) {
    hasFailed = true
    Issue.record("seed \(seed): \(message)")
  }

  // MARK: Random data

  private struct RandomData {
    var operation: PreparedOperation
    var json: JSONValue
    var records: ModelStore.Records
  }

  private mutating func randomData() -> RandomData {
    let root = "r\(random.upTo(3))"
    let id = "\(random.upTo(4))"
    var selection = ["id"]
    var json: JSONObject = ["__typename": "T", "id": .string(id)]
    var record: [String: ModelStore.Value] = [
      "__typename": .leaf("\"T\""), "id": .leaf("\"\(id)\""),
    ]
    for field in ["a", "b", "c"] where random.chance(50) {
      let value = random.upTo(3)
      selection.append(field)
      json[field] = .number(JSONNumber(value))
      record[field] = .leaf("\(value)")
    }
    let inner = ["x", "y"].filter { _ in random.chance(40) }
    if !inner.isEmpty {
      selection.append("e { \(inner.joined(separator: " ")) }")
      if random.chance(20) {
        json["e"] = .null
        record["e"] = .leaf("null")
      } else {
        var object: JSONObject = ["__typename": "E"]
        var fields: [String: ModelStore.Value] = ["__typename": .leaf("\"E\"")]
        for name in inner {
          let value = random.upTo(2)
          object[name] = .number(JSONNumber(value))
          fields[name] = .leaf("\(value)")
        }
        json["e"] = .object(object)
        record["e"] = .object(fields)
      }
    }
    let document = "{ \(root) { \(selection.joined(separator: " ")) } }"
    guard let operation = try? prepare(document) else { preconditionFailure(document) }
    return RandomData(
      operation: operation, json: .object([root: .object(json)]),
      records: ["T:\(id)": record, "QUERY_ROOT": [root: .reference("T:\(id)")]])
  }

  private mutating func randomRemoval() -> RecordRemoval {
    if random.chance(25) {
      return RecordRemoval(record: "QUERY_ROOT", field: "r\(random.upTo(3))")
    }
    let record = "T:\(random.upTo(4))"
    if random.chance(40) { return RecordRemoval(record: record) }
    return RecordRemoval(record: record, field: random.pick(["a", "b", "c", "e"]))
  }

  private mutating func takeLayer() -> OptimisticLayer? {
    layers.isEmpty ? nil : layers.remove(at: random.upTo(layers.count))
  }

  private func layerFields(_ layer: OptimisticLayer) -> Set<String>? {
    var result: Set<String> = []
    for case .merge(let records) in model.layers.first(where: { $0.id == layer.id })?.edits ?? [] {
      result.formUnion(fields(records))
    }
    return result
  }

  private func fields(_ records: ModelStore.Records) -> Set<String> {
    Set(records.flatMap { key, fields in fields.keys.map { "\(key).\($0)" } })
  }

  private mutating func write(
    _ data: RandomData, settling layer: OptimisticLayer?
  ) async throws -> WriteSummary? {
    let arrival = random.chance(30) ? Arrival.byteByByte : Arrival()
    let body = "{\"data\":\(data.json.jsonText())}"
    let normalizer = try await feed(body.utf8, data.operation, into: store, arrival: arrival)
    return try await normalizer.finish().write?.commit(settling: layer)
  }
}
