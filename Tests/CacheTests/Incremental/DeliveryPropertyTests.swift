import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Responses in parts against the same responses in one piece, over random schemas, operations and answers.
///
/// `GQLRUN_SEED=n` runs one case alone; `GQLRUN_CASES=n` runs more or fewer of them: 10000 take half a minute.
@Suite("Random responses in parts")
struct DeliveryPropertyTests {
  private static let count =
    PropertyTests.environment["GQLRUN_CASES"].flatMap { UInt64($0) } ?? 4000

  @Test(
    "have the data and the records of the whole response, in every format",
    arguments: 0..<PropertyTests.blocks)
  func partsEqualWhole(block: UInt64) async throws {
    if let only = PropertyTests.only {
      guard block == 0 else { return }
      return try await StoreKind.sqlite.withStore { _ = try await run(only, $0, isVerbose: true) }
    }
    try await (block % 2 == 0 ? StoreKind.memory : .sqlite).withStore { store in
      var deferred = 0
      var seed = block
      while seed < Self.count {
        deferred += try await run(seed, store, isVerbose: false)
        seed += PropertyTests.blocks
      }
      // Many operations have a directive that applies.
      #expect(deferred > Int(Self.count / PropertyTests.blocks) / 3)
    }
  }

  /// Whether `value` has everything that `part` has.
  private static func contains(_ value: JSONValue, _ part: JSONValue) -> Bool {
    switch (value, part) {
    case (.object(let object), .object(let fields)):
      fields.allSatisfy { field in object[field.key].map { contains($0, field.value) } ?? false }
    case (.array(let list), .array(let elements)):
      list.count == elements.count && zip(list, elements).allSatisfy { contains($0, $1) }
    default: value == part
    }
  }

  private func run(_ seed: UInt64, _ store: CacheStore, isVerbose: Bool) async throws -> Int {
    var random = SeededRandom(seed &+ 99)
    let schema = RandomSchema(&random)
    let hasFacts = random.chance(60)
    let server = RandomServer(schema, seed: seed &+ 1_000_003, isConsistent: true)
    let operation = RandomOperation(schema, &random, hasConcreteConditions: !hasFacts)
    var directives = RandomDirectives(streams: random.chance(40))
    let document = directives.applied(
      to: try Document(parsing: operation.document), schema, &random)
    let prepared = try prepare(
      document.printed(), variables: operation.variables, keys: schema.keys,
      facts: hasFacts ? schema.facts : nil)
    let collector = try FieldCollector(parsing: prepared.document, of: prepared, schema: schema)
    let answer = server.answer(collector)
    let body = #"{"data":\#(answer.jsonText())}"#
    guard body.utf8.count < 100_000 else { return 0 }
    try await store.clear()
    let whole = try await normalize(body.utf8, prepared, into: store)
    let expected = try await dump(store)
    let data = try json(whole.data ?? "")
    let format = random.pick(ModelDelivery.Format.allCases)
    let delivery = ModelDelivery(answer, collector, format, SeededRandom(seed &+ 5))
    if isVerbose {
      print(document.printed(), prepared.document, body, delivery.messages.joined(separator: "\n"))
    }
    try await store.clear()
    let size = delivery.messages.reduce(0) { $0 + $1.utf8.count }
    let chunk = size < 3000 ? 1 : 1 + random.upTo(400)
    let arrived: Arrived
    do {
      arrived = try await receive(
        delivery.messages, prepared, into: store, chunk: chunk, together: 1 + random.upTo(3))
    } catch {
      Issue.record("seed \(seed), \(format): \(error)")
      return 1
    }
    if hasFacts {
      #expect(arrived.data == data, "data of seed \(seed), \(format)")
    } else {
      // Without a schema, what a fragment selects is shown wherever it may apply.
      let caller = try FieldCollector(parsing: operation.document, of: prepared, schema: schema)
      let shown = ReferenceCache.shown(answer, [caller.root], type: "Query", caller)
      #expect(
        Self.contains(arrived.data ?? .null, shown), "data of seed \(seed), \(format)")
    }
    #expect(arrived.errors == [])
    #expect(arrived.results.last?.hasNext == false)
    // Without a schema, an object may get its key fields with a deferred fragment only.
    let records = try await dump(store)
    if isVerbose { print("whole:\n\(expected)\nparts:\n\(records)") }
    if hasFacts { #expect(records == expected, "records of seed \(seed), \(format)") }
    return prepared.hasDeferredParts ? 1 : 0
  }
}
