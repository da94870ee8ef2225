import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// The engine against a cache that is obviously right, over random schemas, operations and answers.
///
/// `GQLRUN_SEED=n` runs one case alone; `GQLRUN_CASES=n` runs more or fewer of them.
@Suite("Random responses")
struct PropertyTests {
  static let environment = ProcessInfo.processInfo.environment
  static let only = environment["GQLRUN_SEED"].flatMap { UInt64($0) }
  static let count = environment["GQLRUN_CASES"].flatMap { UInt64($0) } ?? 1200
  static let blocks: UInt64 = 8

  @Test("the engine matches the reference implementation", arguments: 0..<blocks)
  func engineEqualsReference(block: UInt64) async throws {
    if let only = Self.only {
      guard block == 0 else { return }
      try await StoreKind.sqlite.withStore {
        try await Run(seed: only, sqlite: $0).run(isVerbose: true)
      }
      return
    }
    // Block 5 has memory in front of the file.
    try await (block == 5 ? StoreKind.chain : .sqlite).withStore { sqlite in
      var seed = block
      var guessless = 0
      while seed < Self.count {
        let run = try Run(seed: seed, sqlite: seed % 4 == 1 ? sqlite : nil)
        try await run.run(isVerbose: false)
        if run.hasFailed { return }
        guessless += run.readsWithoutGuess
        seed += Self.blocks
      }
      // Of the reads without a schema, enough had conditions on other concrete types only.
      #expect(guessless * 40 > Self.count / Self.blocks)
    }
  }

  @Test(
    "a response without the fields that the cache adds is delivered whole, or missed",
    arguments: 0..<blocks)
  func withoutAddedFields(block: UInt64) async throws {
    var hits = 0
    var seed = Self.only ?? block
    while seed < Self.only.map({ $0 + 1 }) ?? Self.count {
      for kind in seed % 4 == 1 ? [StoreKind.memory, .sqlite] : [.memory] {
        hits += try await Imported(seed: seed).check(kind)
      }
      seed += Self.blocks
    }
    #expect(Self.only != nil || hits * 4 > Self.count / Self.blocks)
  }
}

/// A response as a server sends it to a client that asks for no more than the caller: `__typename` and key fields only
/// where the document selects them. Imported and read with and without the schema.
private struct Imported {
  let seed: UInt64

  /// Fails if a read has fewer fields than the response; returns the number of hits.
  func check(_ kind: StoreKind) async throws -> Int {
    var random = SeededRandom(seed)
    let schema = RandomSchema(&random)
    let isConsistent = random.chance(60)
    let server = RandomServer(schema, seed: seed &+ 1_000_003, isConsistent: isConsistent)
    let operation = RandomOperation(schema, &random, hasConcreteConditions: random.chance(60))
    let document = try Document(parsing: operation.document)
    let variables = try JSONValue(parsing: operation.variables).objectValue ?? JSONObject()
    // Prepared again for each use, because an operation keeps the plans of the types that it has met.
    func prepared(_ hasFacts: Bool) throws -> PreparedOperation {
      try PreparedOperation(
        document: document, operationName: nil, variables: variables, keys: schema.keys,
        facts: hasFacts ? schema.facts : nil)
    }
    let sent = try prepared(true)
    let answer = server.answer(
      try FieldCollector(parsing: sent.document, of: sent, schema: schema))
    let caller = try FieldCollector(parsing: operation.document, of: sent, schema: schema)
    let shown = ReferenceCache.shown(answer, [caller.root], type: "Query", caller)
    // Values may contradict each other within a response, and the last one is stored.
    let fields = ReferenceCache.shown(
      answer, [caller.root], type: "Query", caller, leaf: { _ in .null })
    let body = #"{"data":\#(shown.jsonText())}"#
    guard body.utf8.count < 100_000 else { return 0 }
    var hits = 0
    for (writes, reads) in [(true, true), (true, false), (false, true), (false, false)] {
      try await kind.withStore { store in
        _ = try await normalize(body.utf8, try prepared(writes), into: store)
        guard case .hit(let data) = try await store.read(try prepared(reads)) else { return }
        hits += 1
        let found = try JSONValue(parsing: try data.bytes())
        if let path = Self.missing(fields, in: found) {
          Issue.record(
            """
            seed \(seed), \(kind), schema at import \(writes), at read \(reads): \(path) is missing
            \(operation.document)
            \(body)
            \(found.jsonText())
            """)
        }
      }
    }
    return hits
  }

  /// The path of a field of a response that a result does not have.
  ///
  /// Objects and lists that contradict each other within a response replace each other, so lists of other lengths are not
  /// compared.
  static func missing(_ wanted: JSONValue, in found: JSONValue) -> String? {
    switch (wanted, found) {
    case (.object(let wanted), .object(let found)):
      for member in wanted {
        guard let value = found[member.key] else { return member.key }
        if let path = missing(member.value, in: value) { return "\(member.key).\(path)" }
      }
      return nil
    case (.array(let wanted), .array(let found)) where wanted.count == found.count:
      for (index, pair) in zip(wanted, found).enumerated() {
        if let path = missing(pair.0, in: pair.1) { return "\(index).\(path)" }
      }
      return nil
    default: return nil
    }
  }
}

/// One random case: a schema, and several responses in a row into one store.
private final class Run {
  let seed: UInt64
  var random: SeededRandom
  /// Where responses are cut, so that the case is the same for any number of stores.
  var cutRandom: SeededRandom
  let schema: RandomSchema
  let hasFacts: Bool
  let isConsistent: Bool
  let sqlite: CacheStore?
  /// When the last response was received.
  private var now: UInt32 = 1_700_000_000
  private(set) var hasFailed = false
  /// Reads without a schema whose type conditions all name types that the store has met.
  private(set) var readsWithoutGuess = 0

  init(seed: UInt64, sqlite: CacheStore?) throws {
    self.seed = seed
    random = SeededRandom(seed)
    cutRandom = SeededRandom(seed &+ 7)
    schema = RandomSchema(&random)
    hasFacts = random.chance(60)
    isConsistent = random.chance(80)
    self.sqlite = sqlite
  }

  func run(isVerbose: Bool) async throws {
    let server = RandomServer(schema, seed: seed &+ 1_000_003, isConsistent: isConsistent)
    var reference = ReferenceCache(schema)
    let store = CacheStore(MemoryStore(collectsChanges: true))
    let cutStore = CacheStore(MemoryStore(collectsChanges: true))
    try await sqlite?.clear()
    var asked: [Asked] = []
    var exact = TimeModel(granularity: 0)
    var coarse = TimeModel(granularity: 60)
    for round in 0..<3 where !hasFailed {
      let operation = RandomOperation(
        schema, &random, hasConcreteConditions: !hasFacts && random.chance(60))
      let prepared = try prepare(
        operation.document, variables: operation.variables, keys: schema.keys,
        facts: hasFacts ? schema.facts : nil)
      let collector = try FieldCollector(parsing: prepared.document, of: prepared, schema: schema)
      let caller = try FieldCollector(parsing: operation.document, of: prepared, schema: schema)
      let answer = server.answer(collector)
      let errorCount = isConsistent && random.chance(35) ? 1 + random.upTo(3) : 0
      let errors = RandomErrors(answer, collector, schema, count: errorCount, &random)
      let body = self.body(errors.data, errors.paths)
      // A few answers grow out of all proportion.
      guard body.utf8.count < 300_000 else { return }
      let context = "seed \(seed), round \(round), facts \(hasFacts)"
      if isVerbose {
        print(
          "\(context)\n\(operation.document)\n\(operation.variables)\nsent:\n\(prepared.document)\n\(body)\n"
        )
      }
      now += random.pick([0, 1, 30, 59, 60, 61, 3600])
      let before = reference.records
      // Without a schema, what a fragment asks for is shown wherever it may apply.
      let isExact = hasFacts || operation.conditions.isSubset(of: reference.types)
      let expected = reference.write(
        errors.data, errors: errors.paths, collector, hasFacts: hasFacts)
      exact.write(reference.said, before: before, after: reference.records, at: now)
      coarse.write(reference.said, before: before, after: reference.records, at: now)
      if !errors.paths.isEmpty, reference.hidesPaths { return }
      let shown = ReferenceCache.shown(errors.data, [caller.root], type: "Query", caller)
      var stores: [(String, CacheStore, Arrival)] = [
        ("memory", store, Arrival()), ("memory, cut", cutStore, cut()),
      ]
      // What is said twice in one response, in conflict or as a list that an error spoils, may depend
      // on whether it reaches the store together.
      let isCut = isConsistent && !reference.dropsLists
      if let sqlite { stores.append(("sqlite", sqlite, isCut ? cut() : Arrival())) }
      asked.append(try Asked(prepared, conditions: operation.conditions, schema))
      let expectedDump = reference.dump
      let expectations = expectations(asked, reference)
      for (name, store, arrival) in stores {
        let written = try await normalize(
          body.utf8, prepared, into: store, arrival: arrival, received: Int(now))
        let dump = try await dump(store)
        if isVerbose, name == "memory" { print("dump:\n\(dump)expected:\n\(expectedDump)") }
        check(dump, expectedDump, "dump", "\(context), \(name)")
        let changes = written.summary?.changes ?? []
        if changes != expected {
          fail(
            "changes of \(context), \(name): too many \(changes.subtracting(expected)), missing \(expected.subtracting(changes))"
          )
        }
        let delivered = try JSONValue(parsing: written.data ?? "")
        let isSame =
          isExact ? delivered == shown : Self.contains(delivered, shown)
        if !isSame {
          fail("delivered data of \(context), \(name): \(delivered) for \(shown)")
        }
        try await checkReads(store, expectations, name, context)
        let isSQLite = name == "sqlite"
        try await check(
          times: isSQLite ? coarse : exact, store, isExact: !isSQLite || !isCut,
          "\(context), \(name)")
        if hasFacts, !isSQLite {
          try await checkAges(store, expectations, exact, "\(context), \(name)")
        }
        if hasFailed { return }
      }
      server.advance()
    }
  }

  /// Whether `found` is `wanted`, with more of `__typename` and the key fields: without a schema, one
  /// that a fragment asks for is shown wherever the fragment may apply.
  private static func contains(_ found: JSONValue, _ wanted: JSONValue) -> Bool {
    switch (found, wanted) {
    case (.object(let found), .object(let wanted)):
      let extra = found.keys.filter { wanted[$0] == nil }
      return extra.allSatisfy { ["__typename", "id", "code", "num"].contains($0) }
        && wanted.allSatisfy { member in
          found[member.key].map { contains($0, member.value) } ?? false
        }
    case (.array(let found), .array(let wanted)):
      return found.count == wanted.count && zip(found, wanted).allSatisfy { contains($0, $1) }
    default: return found == wanted
    }
  }

  /// An operation of this case.
  private struct Asked {
    var operation: PreparedOperation
    /// The types of its fragments.
    var conditions: Set<String>
    /// Its fields, as its author wrote them.
    var caller: FieldCollector

    init(
      _ operation: PreparedOperation, conditions: Set<String>, _ schema: RandomSchema
    ) throws {
      self.operation = operation
      self.conditions = conditions
      caller = try FieldCollector(
        parsing: operation.callerDocument, of: operation, schema: schema)
    }
  }

  /// What the reference implementation answers to an operation from the records so far, whichever the store.
  private struct Expectation {
    var operation: PreparedOperation
    /// `nil` without a schema, if whether a fragment on a type applies that no object had is guessed; other tests say how.
    var answer: ReferenceCache.Answer?
    var hasConditions: Bool
    /// The fields that the answer consists of.
    var fields: [(record: ReferenceCache.Text, field: String)]
  }

  private func expectations(_ asked: [Asked], _ reference: ReferenceCache) -> [Expectation] {
    let types = reference.types
    return asked.map { asked in
      let visits = ReferenceCache.Visits()
      let isKnown = hasFacts || asked.conditions.isSubset(of: types)
      let answer = isKnown ? reference.read(asked.caller, visits: visits) : nil
      return Expectation(
        operation: asked.operation, answer: answer, hasConditions: !asked.conditions.isEmpty,
        fields: visits.fields)
    }
  }

  private func checkReads(
    _ store: CacheStore, _ expectations: [Expectation], _ name: String, _ context: String
  ) async throws {
    for (number, expectation) in expectations.enumerated() {
      let result = try await store.read(expectation.operation)
      guard let expected = expectation.answer else { continue }
      if !hasFacts, expectation.hasConditions { readsWithoutGuess += 1 }
      let found: ReferenceCache.Answer
      switch result {
      case .hit(let data): found = .hit(try JSONValue(parsing: try data.bytes()))
      case .miss(let miss): found = .miss(miss.path)
      }
      // Fields that the cache asks for come first, so another field may be the first that is missing.
      if case .miss = found, case .miss = expected { continue }
      if found != expected {
        fail("answer \(number) of \(context), \(name): \(found) for \(expected)")
      }
    }
  }

  /// Holds the times of a store against the model. One that got the response in pieces may keep an
  /// earlier time where a null was not known to be a fact, and never a later one.
  private func check(
    times model: TimeModel, _ store: CacheStore, isExact: Bool, _ context: String
  ) async throws {
    let found = try await times(of: store)
    for (key, fields) in model.times {
      for (field, time) in fields {
        let other = found[key]?[field] ?? 0
        if other == time || !isExact && other < time && other > 0 { continue }
        return fail("time of \(key.string).\(field) of \(context): \(other) for \(time)")
      }
    }
  }

  /// Reads with a limit of age: an answer is stale when a field of it is.
  private func checkAges(
    _ store: CacheStore, _ expectations: [Expectation], _ model: TimeModel, _ context: String
  ) async throws {
    let limit = cutRandom.pick([1, 30, 60, 90, 3600])
    var options = ReadOptions(
      ages: AgeRules(maxAge: .seconds(limit)), now: Int(now) + cutRandom.pick([0, 1, 29, 3599]))
    for expectation in expectations {
      guard case .hit = expectation.answer else { continue }
      let operation = expectation.operation
      let isStale = expectation.fields.contains { record, field in
        field != "__typename"
          && options.now - Int(model.times[record]?[field] ?? 0) >= limit
      }
      options.stale = .upTo(.zero)
      let strict = try await store.read(operation, options: options)
      options.stale = .whatever
      let lenient = try await store.read(operation, options: options)
      switch (strict.result, lenient.result, isStale) {
      case (.hit, .hit, false) where lenient.stale == nil: continue
      case (.miss(let miss), .hit, true) where miss == lenient.stale: continue
      default: return fail("age of \(context): \(strict), \(lenient) for stale \(isStale)")
      }
    }
  }

  private func check(_ found: String, _ expected: String, _ what: String, _ context: String) {
    if found.utf8.elementsEqual(expected.utf8) { return }
    let one = Set(found.split(separator: "\n").map { Array($0.utf8) })
    let other = Set(expected.split(separator: "\n").map { Array($0.utf8) })
    let extra = one.subtracting(other).map { String(decoding: $0, as: UTF8.self) }
    let missing = other.subtracting(one).map { String(decoding: $0, as: UTF8.self) }
    fail(
      "\(what) of \(context)\n  found \(extra.joined(separator: "\n  "))\n  for \(missing.joined(separator: "\n  "))"
    )
  }

  private func fail(_ message: String) {
    hasFailed = true
    Issue.record("\(message.prefix(3000))")
  }

  private func cut() -> Arrival {
    let pieces = (0..<400).map { _ in
      cutRandom.chance(5) ? 1 + cutRandom.upTo(5000) : 1 + cutRandom.upTo(60)
    }
    return Arrival(
      pieces: pieces + [1000], minimumPiece: cutRandom.chance(70) ? 1 : 4096,
      flushThreshold: cutRandom.pick([1, 200, 3000, 1 << 20]), isTaped: seed % 2 == 0)
  }

  /// The response as text: fields in any order, errors first or last, with white space and escapes.
  private func body(_ data: JSONValue, _ errors: [[JSONValue]]) -> String {
    // Where answers contradict each other, the order of the fields would decide.
    let isShuffled = isConsistent && random.chance(50)
    let isLoose = random.chance(40)
    var members = ["\"data\":\(text(data, isShuffled, isLoose))"]
    if !errors.isEmpty {
      let paths = errors.map { "{\"message\":\"no\",\"path\":\(JSONValue.array($0).jsonText())}" }
      members.insert(
        "\"errors\":[\(paths.joined(separator: ","))]", at: random.chance(50) ? 0 : 1)
    }
    return "{\(members.joined(separator: ","))}"
  }

  private func text(_ value: JSONValue, _ isShuffled: Bool, _ isLoose: Bool) -> String {
    let space = isLoose && random.chance(20) ? random.pick([" ", "\n", "\t ", "\r\n"]) : ""
    switch value {
    case .object(let object):
      var members = object.map { ($0.key, $0.value) }
      // A custom scalar is kept as it came; its order is part of it.
      let isSelected = object["__typename"] != nil || object.isEmpty
      if isShuffled && isSelected { members.shuffle(using: &random) }
      let texts = members.map {
        "\(string($0, isLoose))\(space):\(text($1, isShuffled && isSelected, isLoose))"
      }
      return "{\(space)" + texts.joined(separator: ",\(space)") + "}\(space)"
    case .array(let elements):
      return "[\(space)"
        + elements.map { text($0, isShuffled, isLoose) }.joined(separator: "\(space),") + "]"
    case .string(let string): return self.string(string, isLoose)
    default: return value.jsonText()
    }
  }

  private func string(_ text: String, _ isLoose: Bool) -> String {
    guard isLoose, random.chance(20) else { return JSONText.quoted(text) }
    let units = text.utf16.map { unit in
      let hex = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }
    return "\"" + units.joined() + "\""
  }
}
