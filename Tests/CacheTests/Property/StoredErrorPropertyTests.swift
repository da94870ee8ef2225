import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Responses with errors at random fields, read again from each store.
///
/// `GQLRUN_SEED=n` runs one case alone; `GQLRUN_CASES=n` runs more or fewer of them.
@Suite("Random errors")
struct StoredErrorPropertyTests {
  private static let count =
    PropertyTests.environment["GQLRUN_CASES"].flatMap { UInt64($0) } ?? 120

  @Test("are read from the cache as they came from the network", arguments: Way.allCases)
  func replayed(way: Way) async throws {
    var errors = 0
    // Each case has a database of its own.
    let count = way == .postgres ? Self.count / 10 : Self.count
    for seed in PropertyTests.only.map({ $0...$0 }) ?? 0...count {
      try await way.withCache { errors += try await run(seed, $0, reopened: { $0 }) }
    }
    #expect(errors > Int(count) || PropertyTests.only != nil)
  }

  @Test("arrive in parts, and are read with the whole", arguments: StoreKind.allCases)
  func inParts(kind: StoreKind) async throws {
    var errors = 0
    let count = kind == .postgres ? Self.count / 10 : Self.count
    for seed in PropertyTests.only.map({ $0...$0 }) ?? 0...count {
      try await kind.withStore { errors += try await runInParts(seed, $0) }
    }
    #expect(errors > Int(count) || PropertyTests.only != nil)
  }

  @Test("are in a SQLite file after it was closed")
  func reopenedFile() async throws {
    for seed in 0..<40 as Range<UInt64> {
      let directory = try TemporaryDirectory()
      let store = try CacheStore.sqlite(path: directory.path("cache.db"))
      _ = try await run(seed, CacheUnderTest(store: store)) { store in
        try store.close()
        return try CacheStore.sqlite(path: directory.path("cache.db"))
      }
    }
  }

  @Test(
    "are in PostgreSQL for another process", .enabled(if: PostgresServer.isInstalled))
  func reopenedDatabase() async throws {
    for seed in 0..<10 as Range<UInt64> {
      let options = CacheStore.PostgresOptions(url: try PostgresSchema.newForTest())
      let store = try await CacheStore.postgres(options)
      let other = try await CacheStore.postgres(options)
      _ = try await run(seed, CacheUnderTest(store: store), reopened: { _ in other })
      try store.close()
      try other.close()
    }
  }

  /// Writes several responses, and compares what is read after each one with it; returns the number of errors.
  private func run(
    _ seed: UInt64, _ cache: CacheUnderTest,
    reopened: (CacheStore) async throws -> CacheStore
  ) async throws -> Int {
    var random = SeededRandom(seed)
    let selections = RandomSelections(&random)
    let operation = try prepare(selections.document)
    var errors = 0
    var last: (found: FoundErrors, refused: FoundErrors)?
    for round in 0..<3 {
      // The last round has few errors, so that earlier ones are removed.
      let rate = random.pick([5, 20, 40]) / (round == 2 ? 5 : 1)
      var server = FailingServer(selections, seed: seed &* 31 &+ UInt64(round), rate: rate)
      guard let data = server.data() else { continue }
      let response =
        #"{"data":\#(data.jsonText()),"errors":\#(JSONValue.array(server.errors).jsonText())}"#
      let written = try await cache.write(response, operation)
      errors += server.errors.count
      let expected = try FoundErrors(try #require(written.data), errors: server.errors)
      let found = try await cache.store.found(operation, .replay)
      guard found == expected else {
        Issue.record(
          "seed \(seed), round \(round)\n\(selections.document)\n\(response)\nexpected \(expected)\nfound    \(found)"
        )
        return errors
      }
      #expect(try await cache.store.found(operation, .keep) == FoundErrors(expected.data))
      let refused = try await cache.store.found(operation, .refuse)
      if server.errors.isEmpty { #expect(refused == expected, "seed \(seed), round \(round)") }
      #expect(refused.errors == [])
      last = (expected, refused)
    }
    guard let last else { return errors }
    let other = try await reopened(cache.store)
    #expect(try await other.found(operation, .replay) == last.found, "seed \(seed), reopened")
    #expect(try await other.found(operation, .refuse) == last.refused, "seed \(seed), reopened")
    return errors
  }

  /// As ``run(_:_:reopened:)``, with responses in parts.
  private func runInParts(_ seed: UInt64, _ store: CacheStore) async throws -> Int {
    var random = SeededRandom(seed)
    let selections = RandomSelections(&random)
    let parts = RandomParts(selections, &random)
    let operation = try prepare(parts.document)
    let whole = try prepare(selections.document)
    var errors = 0
    for round in 0..<3 {
      let rate = random.pick([5, 20, 40]) / (round == 2 ? 5 : 1)
      var server = FailingServer(selections, seed: seed &* 31 &+ UInt64(round), rate: rate)
      guard let data = server.data()?.objectValue else { continue }
      let messages = parts.messages(data, errors: server.errors)
      _ = try await receive(messages, operation, into: store)
      errors += server.errors.count
      let expected = try FoundErrors(
        Self.withoutTypes(.object(data)).jsonText(), errors: server.errors)
      let found = try await store.found(whole, .replay)
      guard found == expected else {
        Issue.record(
          "seed \(seed), round \(round)\n\(parts.document)\n\(messages.joined(separator: "\n"))\nexpected \(expected)\nfound    \(found)"
        )
        return errors
      }
    }
    return errors
  }

  private static func withoutTypes(_ value: JSONValue) -> JSONValue {
    if let elements = value.arrayValue { return .array(elements.map(withoutTypes)) }
    guard let object = value.objectValue else { return value }
    var result = JSONObject()
    for member in object where member.key != "__typename" {
      result[member.key] = withoutTypes(member.value)
    }
    return .object(result)
  }
}

/// Fields of the query root that arrive later, and objects of it whose fields do.
private struct RandomParts {
  private let fields: [RandomSelections.Field]
  private var deferred: Set<String> = []
  private var split: Set<String> = []
  let document: String

  init(_ selections: RandomSelections, _ random: inout SeededRandom) {
    fields = selections.fields["Query"] ?? []
    for field in fields {
      if random.chance(40) {
        deferred.insert(field.key)
      } else if field.kind == .object || field.kind == .entity, random.chance(60) {
        split.insert(field.key)
      }
    }
    let texts = fields.map { [split] field in
      guard let type = field.type else { return field.text }
      let key = type.hasPrefix("R") ? "id " : ""
      return split.contains(field.key)
        ? "\(field.text) { \(key)... @defer { ...F\(type) } }" : "\(field.text) { ...F\(type) }"
    }
    let now = zip(fields, texts).filter { [deferred] in !deferred.contains($0.0.key) }.map(\.1)
    let later = zip(fields, texts).filter { [deferred] in deferred.contains($0.0.key) }.map(\.1)
    let part = later.isEmpty ? "" : " ... @defer { \(later.joined(separator: " ")) }"
    let fragments = selections.document.drop { $0 != "}" }.dropFirst()
    document = "{ __typename \(now.joined(separator: " "))\(part) }\(fragments)"
  }

  /// The messages of a response: the data of the first one, and a part each for what is deferred.
  func messages(_ data: JSONObject, errors: [JSONValue]) -> [String] {
    var first: JSONObject = ["__typename": "Query"]
    var later = JSONObject()
    var inner: [(key: String, data: JSONObject)] = []
    for field in fields {
      let value = data[field.key] ?? .null
      if deferred.contains(field.key) {
        later[field.key] = value
      } else if split.contains(field.key), var object = value.objectValue {
        var head = JSONObject()
        for key in ["__typename", "id"] { head[key] = object[key] }
        object["__typename"] = nil
        first[field.key] = .object(head)
        inner.append((field.key, object))
      } else {
        first[field.key] = value
      }
    }
    func message(_ keys: Set<String>, _ body: (String) -> String) -> String {
      let found = errors.filter { keys.contains($0["path"]?[0]?.stringValue ?? "") }
      return body(
        found.isEmpty ? "" : #","errors":\#(JSONValue.array(found).jsonText())"#)
    }
    func part(_ path: [JSONValue], data: JSONObject, keys: Set<String>) -> String {
      message(keys) { errors in
        #"{"incremental":[{"path":\#(JSONValue.array(path).jsonText()),"data":\#(JSONValue.object(data).jsonText())\#(errors)}],"hasNext":true}"#
      }
    }
    let innerKeys = Set(inner.map(\.key))
    let firstKeys = Set(fields.map(\.key)).subtracting(deferred).subtracting(innerKeys)
    var messages = [
      message(firstKeys) {
        #"{"data":\#(JSONValue.object(first).jsonText())\#($0),"hasNext":true}"#
      }
    ]
    if !deferred.isEmpty { messages.append(part([], data: later, keys: deferred)) }
    for (key, data) in inner { messages.append(part([.string(key)], data: data, keys: [key])) }
    return messages + [#"{"hasNext":false}"#]
  }
}

/// Selection sets for types by depth: `R0`, `R1`, … are entities, `E1`, … are objects without a key. All objects of a
/// type have the same selection, so that a field of an entity is never both a value and a null.
private struct RandomSelections {
  enum Kind: CaseIterable {
    case leaf, leaves, object, objects, entity, entities, grid
  }

  struct Field {
    var key: String
    /// The field as in the document, without its selection set.
    var text: String
    /// What determines its value.
    var stored: String
    var kind: Kind
    var isNonNull: Bool
    var hasNonNullElements: Bool
    /// The type of the objects.
    var type: String?
  }

  static let maxDepth = 4
  private(set) var fields: [String: [Field]] = [:]

  init(_ random: inout SeededRandom) {
    for depth in 0...Self.maxDepth {
      for type in depth == 0 ? ["Query"] : ["R\(depth)", "E\(depth)"] {
        fields[type] = Self.fields(depth, &random)
      }
    }
  }

  private static func fields(_ depth: Int, _ random: inout SeededRandom) -> [Field] {
    var fields: [Field] = []
    for number in 0..<(1 + random.upTo(4)) {
      let kind =
        depth == maxDepth ? (random.chance(50) ? .leaf : .leaves) : random.pick(Kind.allCases)
      let name = "\(kind)\(random.upTo(3))"
      // Whether a field is non-null is part of the schema: it depends on its name alone.
      let isNonNull = name.hasSuffix("1") && depth > 0
      let stored = random.chance(30) ? "\(name)(n: \(random.upTo(2)))" : name
      let key = random.chance(40) || fields.contains { $0.key == name } ? "k\(number)" : name
      var type: String?
      switch kind {
      case .leaf, .leaves: break
      case .object, .objects, .grid: type = "E\(depth + 1)"
      case .entity, .entities: type = "R\(depth + 1)"
      }
      guard !fields.contains(where: { $0.key == key }) else { continue }
      // Without an alias, the key is the name, which may have one set of arguments only.
      let text = key == name ? stored : "\(key): \(stored)"
      fields.append(
        Field(
          key: key, text: text, stored: stored, kind: kind, isNonNull: isNonNull,
          hasNonNullElements: name.hasSuffix("2"), type: type))
    }
    return fields
  }

  var document: String {
    let fragments = fields.keys.sorted().map { type in
      let fields = (fields[type] ?? []).map { field in
        field.text + (field.type.map { " { ...F\($0) }" } ?? "")
      }
      let key = type.hasPrefix("R") ? "id " : ""
      return "fragment F\(type) on \(type) { \(key)\(fields.joined(separator: " ")) }"
    }
    return "{ ...FQuery } \(fragments.joined(separator: " "))"
  }
}

/// A server whose fields fail at random, but each field of an entity always in the same way.
private struct FailingServer {
  private let selections: RandomSelections
  private let seed: UInt64
  private let rate: Int
  private(set) var errors: [JSONValue] = []

  /// A non-null field failed.
  private struct Null: Error {}

  init(_ selections: RandomSelections, seed: UInt64, rate: Int) {
    self.selections = selections
    self.seed = seed
    self.rate = rate
  }

  /// The data of a response; `nil` if it is null.
  mutating func data() -> JSONValue? {
    errors = []
    guard let data = try? object("Query", "Query", at: []), data != .null else { return nil }
    return data
  }

  private func number(_ identity: String, below limit: Int) -> Int {
    var hash = seed
    for byte in identity.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= hash >> 31
    return Int(hash % UInt64(limit))
  }

  private mutating func fail(_ identity: String, _ path: [JSONValue]) {
    errors.append(["message": .string("no \(identity)"), "path": .array(path)])
  }

  private func fails(_ identity: String) -> Bool { number(identity + "!", below: 100) < rate }

  private mutating func object(
    _ type: String, _ identity: String, at path: [JSONValue]
  ) throws(Null) -> JSONValue {
    var object = JSONObject()
    if type != "Query" { object["__typename"] = .string(type) }
    if type.hasPrefix("R") { object["id"] = .string(identity) }
    var isNull = false
    for field in selections.fields[type] ?? [] {
      let identity = "\(identity).\(field.stored)"
      let value = value(field, identity, at: path + [.string(field.key)])
      if value == .null, field.isNonNull { isNull = true }
      object[field.key] = value
    }
    if isNull { throw Null() }
    return .object(object)
  }

  private mutating func value(
    _ field: RandomSelections.Field, _ identity: String, at path: [JSONValue]
  ) -> JSONValue {
    if fails(identity) {
      fail(identity, path)
      return .null
    }
    switch field.kind {
    case .leaf, .object, .entity: return element(field, identity, at: path)
    case .leaves, .objects, .entities: return list(field, identity, at: path, depth: 1)
    case .grid: return list(field, identity, at: path, depth: 2)
    }
  }

  private mutating func list(
    _ field: RandomSelections.Field, _ identity: String, at path: [JSONValue], depth: Int
  ) -> JSONValue {
    var elements: [JSONValue] = []
    var isNull = false
    for index in 0..<number(identity + "#", below: 4) {
      let (identity, path) = ("\(identity)[\(index)]", path + [.number(JSONNumber(index))])
      var value = JSONValue.null
      if fails(identity) {
        fail(identity, path)
      } else {
        value =
          depth > 1
          ? list(field, identity, at: path, depth: depth - 1) : element(field, identity, at: path)
      }
      if value == .null, field.hasNonNullElements { isNull = true }
      elements.append(value)
    }
    return isNull ? .null : .array(elements)
  }

  private mutating func element(
    _ field: RandomSelections.Field, _ identity: String, at path: [JSONValue]
  ) -> JSONValue {
    guard let type = field.type else { return .number(JSONNumber(number(identity, below: 1000))) }
    let isEntity = type.hasPrefix("R")
    let identity = isEntity ? "\(type)-\(number(identity, below: 3))" : identity
    return (try? object(type, identity, at: path)) ?? .null
  }
}
