import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport

@testable import GQLRunCache

/// The document of the targets that read any response.
private let responseDocument: Document = {
  do {
    return try Document(
      parsing: """
        query Q($n: Int = 2) {
          me { __typename id name friends(first: $n) { __typename id name best { __typename id age } } tags grid }
          list { __typename x y { z } } any count search { __typename ... on User { id name } ... on Post { title } }
        }
        """)
  } catch { fail("\(error)") }
}()

private func responseOperation(hasFacts: Bool) throws -> PreparedOperation {
  try PreparedOperation(document: responseDocument, facts: hasFacts ? responseFacts : nil)
}

private let responseFacts: TypeFacts = {
  do { return try facts(responseSchema) } catch { fail("\(error)") }
}()

private let responseSchema = """
  scalar JSON
  type Query { me: User list: [Row] any: JSON count: Int search: [Content] }
  type User { id: ID! name: String friends(first: Int): [User] best: Pet tags: [String] grid: [[Int]] }
  type Pet { id: ID age: Int }
  type Row { x: Int y: Inner }
  type Inner { z: Float }
  type Post { title: String }
  union Content = User | Post
  """

/// What a response did to a store.
private struct Effect: Equatable {
  var data: String?
  var errors: [JSONValue] = []
  var changes: [String] = []
  var dump = ""
  var failure: String?
}

/// Any response, whole and in chunks that are written as they arrive: the same data, records and errors. What was stored
/// is read back as it was delivered.
@Sendable func fuzzResponses(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  let bytes = input.bytes
  try wait {
    let operation = try responseOperation(hasFacts: decision % 2 == 0)
    let whole = CacheStore(MemoryStore(collectsChanges: true))
    let cut = CacheStore(MemoryStore(collectsChanges: true))
    // A second response with the same bytes changes nothing.
    for round in 0..<2 {
      let expected = await effect(bytes, operation, into: whole)
      let found = await effect(
        bytes, operation, into: cut,
        arrival: Arrival(
          pieces: chunks(of: bytes, decision).map(\.count) + [1], minimumPiece: 1, flushThreshold: 1
        ))
      // A response in chunks may have written records before a value contradicts an earlier one.
      expectEqual(found.data, expected.data, of: "data, round \(round)")
      expectEqual(found.errors, expected.errors, of: "errors")
      expectEqual(found.failure, expected.failure, of: "failure")
      expectEqual(found.dump, expected.dump, of: "records")
    }
    _ = try await whole.read(operation)
    _ = try await whole.explain(operation, options: ReadOptions(), showing: .everything)
    _ = try await whole.collectGarbage(rootsBefore: nil)
  }
}

private func effect(
  _ bytes: [UInt8], _ operation: PreparedOperation, into store: CacheStore,
  arrival: Arrival = Arrival()
) async -> Effect {
  var effect = Effect()
  do {
    let written = try await normalize(
      bytes, operation, into: store, arrival: arrival, received: 1_700_000_000)
    effect.data = written.data
    effect.errors = written.response.errors
    effect.changes = written.changes
  } catch let error as CacheError {
    effect.failure = error.code.rawValue
  } catch {
    effect.failure = "\(error)"
  }
  do { effect.dump = try await dump(store) } catch { effect.dump = "\(error)" }
  return effect
}

/// Any messages of a response in parts, one on each line: refused or taken, the same in any chunks.
@Sendable func fuzzMessages(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  let messages = input.bytes.split(separator: 0x0A, maxSplits: 8).map {
    String(decoding: $0, as: UTF8.self)
  }
  try wait {
    let operation = try prepare(
      """
      { me { __typename id ... @defer(label: "A") { name best { __typename id age } }
        friends @stream(initialCount: 1, label: "S") { __typename id name } } }
      """)
    let whole = CacheStore(MemoryStore(collectsChanges: true))
    let cut = CacheStore(MemoryStore(collectsChanges: true))
    let expected = await arrival(messages, operation, into: whole, chunk: .max)
    let found = await arrival(messages, operation, into: cut, chunk: 1 + Int(decision % 40))
    expectEqual(found, expected, of: "in chunks")
  }
}

private func arrival(
  _ messages: [String], _ operation: PreparedOperation, into store: CacheStore, chunk: Int
) async -> [String] {
  var lines: [String] = []
  do {
    let arrived = try await receive(messages, operation, into: store, chunk: chunk)
    lines = arrived.results.map { $0.data?.value.jsonText() ?? "none" } + arrived.errors
  } catch {
    // A parser finds an error, or the splitter before it, which has the next bytes of a chunk already. So messages before
    // it may have been taken, or not.
    return ["refused"]
  }
  do { lines.append(try await dump(store)) } catch { lines.append("\(error)") }
  return lines
}

/// Random schemas, operations and answers, which the input decides: the engine in memory, in chunks, against the
/// reference implementation of the tests.
@Sendable func fuzzCache(_ input: FuzzInput) throws {
  SeededRandom.draw(from: input.bytes[...])
  try wait {
    var random = SeededRandom(1)
    let schema = RandomSchema(&random)
    let hasFacts = random.chance(60)
    let server = RandomServer(schema, seed: 2, isConsistent: true)
    let isInFile = random.chance(3)
    var reference = ReferenceCache(schema)
    let whole = CacheStore(MemoryStore(collectsChanges: true))
    let cut = CacheStore(MemoryStore(collectsChanges: true))
    let file = isInFile ? try ScratchFolder.newStore() : nil
    for _ in 0..<2 {
      let operation = RandomOperation(
        schema, &random, hasConcreteConditions: !hasFacts && random.chance(60))
      let prepared = try prepare(
        operation.document, variables: operation.variables, keys: schema.keys,
        facts: hasFacts ? schema.facts : nil)
      let collector = try FieldCollector(parsing: prepared.document, of: prepared, schema: schema)
      let answer = server.answer(collector)
      let body = #"{"data":\#(answer.jsonText())}"#
      guard body.utf8.count < 50_000 else { return }
      _ = reference.write(answer, errors: [], collector, hasFacts: hasFacts)
      let arrival = Arrival(
        pieces: (0..<100).map { _ in 1 + random.upTo(60) } + [997], minimumPiece: 1,
        flushThreshold: random.pick([1, 200, 1 << 20]))
      let one = try await normalize(body.utf8, prepared, into: whole)
      let other = try await normalize(body.utf8, prepared, into: cut, arrival: arrival)
      // Without a schema, what a fragment selects may be shown where it does not apply.
      if hasFacts { expectEqual(other.data, one.data, of: "data in chunks") }
      expectEqual(other.changes, one.changes, of: "changes in chunks")
      let caller = try FieldCollector(parsing: operation.document, of: prepared, schema: schema)
      if hasFacts {
        expectEqual(
          try JSONValue(parsing: one.data ?? ""),
          ReferenceCache.shown(answer, [caller.root], type: "Query", caller), of: "data")
      }
      let records = reference.dump
      expectSameLines(try await dump(whole), records, of: operation.document)
      expectSameLines(try await dump(cut), records, of: operation.document)
      if let file {
        _ = try await normalize(body.utf8, prepared, into: file, arrival: arrival)
        expectSameLines(try await dump(file), records, of: operation.document)
      }
      // What was just written is there.
      let read = try await whole.read(prepared)
      if hasFacts, case .hit(let hit) = reference.read(caller) {
        guard case .hit(let body) = read else { fail("a miss: \(read) of \(operation.document)") }
        expectEqual(try JSONValue(parsing: try body.bytes()), hit, of: "read")
      }
      server.advance()
    }
    guard let file else { return }
    _ = try await file.collectGarbage(rootsBefore: nil)
    _ = try await whole.collectGarbage(rootsBefore: nil)
    expectSameLines(try await dump(file), try await dump(whole), of: "garbage")
    try file.close()
  }
}

private func expectSameLines(_ found: String, _ expected: String, of document: String) {
  if found.utf8.elementsEqual(expected.utf8) { return }
  fail("records of \(document)\nfound\n\(found)instead of\n\(expected)")
}

/// Responses in parts, in an order that the input decides, against the same response in one piece.
@Sendable func fuzzDelivery(_ input: FuzzInput) throws {
  SeededRandom.draw(from: input.bytes[...])
  var random = SeededRandom(1)
  let schema = RandomSchema(&random)
  let server = RandomServer(schema, seed: 2, isConsistent: true)
  let operation = RandomOperation(schema, &random, hasConcreteConditions: false)
  var directives = RandomDirectives(streams: random.chance(40))
  let document = directives.applied(to: try Document(parsing: operation.document), schema, &random)
  let prepared = try prepare(
    document.printed(), variables: operation.variables, keys: schema.keys, facts: schema.facts)
  let collector = try FieldCollector(parsing: prepared.document, of: prepared, schema: schema)
  let answer = server.answer(collector)
  let body = #"{"data":\#(answer.jsonText())}"#
  guard body.utf8.count < 50_000 else { return }
  let delivery = ModelDelivery(
    answer, collector, random.pick(ModelDelivery.Format.allCases), random)
  let chunk = 1 + random.upTo(400)
  try wait {
    let whole = CacheStore(MemoryStore())
    let parts = CacheStore(MemoryStore())
    let expected = try await normalize(body.utf8, prepared, into: whole)
    let arrived = try await receive(delivery.messages, prepared, into: parts, chunk: chunk)
    expectEqual(
      arrived.data, try JSONValue(parsing: expected.data ?? ""),
      of: "data of \(document.printed()) in \(delivery.messages)")
    expectSameLines(try await dump(parts), try await dump(whole), of: document.printed())
  }
}

/// Records of a damaged store, `key`, a tabulator and text on each line: never an access out of bounds, in reading,
/// explaining, merging, housekeeping, or with errors and segments.
@Sendable func fuzzRecords(_ input: FuzzInput) throws {
  var input = input
  let decision = input.decide()
  let lines = input.bytes.split(separator: 0x0A, maxSplits: 30).map { line in
    line.split(separator: 0x09, maxSplits: 1, omittingEmptySubsequences: false).map { Array($0) }
  }
  for line in lines where line.count > 1 { readParts(line[1]) }
  try wait {
    let records = MemoryStore(collectsChanges: decision % 2 == 0)
    await records.load(lines)
    let store = CacheStore(records)
    let operation = try PreparedOperation(
      document: responseDocument,
      keys: KeyRules(
        pages: decision % 8 < 4
          ? ["Query": ["list": .append], "User": ["friends": .connection]] : [:]),
      facts: decision % 4 < 2 ? responseFacts : nil)
    _ = try? await store.read(operation)
    _ = try? await store.read(operation, options: ReadOptions(ages: AgeRules(maxAge: .seconds(5))))
    _ = try? await store.explain(operation, options: ReadOptions(), showing: .everything)
    _ = try? await dump(store)
    _ = try? await store.statistics()
    _ = await effect(Array(goodResponse.utf8), operation, into: store)
    _ = try? await store.read(operation)
    if decision % 3 == 0 { _ = try? await store.remove(RecordSelection("User:*", fields: "name")) }
    _ = try? await store.collectGarbage(rootsBefore: Int(decision % 16))
    _ = try? await store.trim(to: 50)
    _ = try? await dump(store)
  }
}

extension MemoryStore {
  /// Inserts records as they are.
  fileprivate func load(_ lines: [[[UInt8]]]) {
    for line in lines where !line[0].isEmpty && table.find(line[0]) == nil {
      line[0].withBytes { key in
        (line.count > 1 ? line[1] : []).withBytes { text in
          _ = table.insert(key, hash: RecordTable.hash(key), text: text, received: 7)
        }
      }
    }
  }
}

private let goodResponse = """
  {"data":{"me":{"__typename":"User","id":"1","name":"a","friends":[{"__typename":"User","id":"2","name":null,
  "best":{"__typename":"Pet","id":null,"age":3}}],"tags":["x",null],"grid":[[1],[2,3]]},
  "list":[{"__typename":"Row","x":1,"y":{"z":0.5}},{"__typename":"Row","x":2,"y":null}],"any":{"a":[1]},"count":2,
  "search":[{"__typename":"User","id":"1","name":"a"},{"__typename":"Post","title":"t"}]},
  "errors":[{"message":"no","path":["me","friends",0,"name"]},{"message":"no","path":["list",1,"y"]}]}
  """

/// The readers of record text, alone and in pairs.
private func readParts(_ text: [UInt8]) {
  text.withBytes { bytes in
    var cursor = FieldCursor(bytes)
    while let field = cursor.next() {
      let value = bytes[field.value]
      _ = RecordText.kind(value)
      _ = RecordText.referenceText(value)
      _ = RecordText.typename(of: value)
      _ = Segments.keys(of: value)
      _ = StoredErrors.steps(ofQuoted: bytes[field.key])
      if var list = ListReader(value.array, access: nil) {
        var count = 0
        while list.next() != nil { count += 1 }
        expect(count <= text.count, "more elements than bytes")
      }
      _ = StoredErrors(value).text
    }
    let errors = StoredErrors(bytes)
    let again = errors.text.withBytes { StoredErrors($0) }
    expectEqual(again.positions.count, errors.positions.count, of: "positions")
    expectEqual(again.text, errors.text, of: "stored errors")
    var object = ObjectText(bytes)
    _ = object.takePages()
    _ = object.text
    var merge = Merge()
    var out = ByteStack(capacity: 64)
    _ = merge.records(old: bytes, new: bytes, into: &out)
  }
}

/// A folder in memory for the files of this process.
enum ScratchFolder {
  static let path: String = {
    let path = "/dev/shm/gqlrun-fuzz-\(getpid())"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(atPath: ScratchFolder.path) }
    return path
  }()

  /// An empty store in a file.
  static func newStore() throws -> CacheStore {
    let path = "\(Self.path)/new.db"
    try CacheStore.removeFiles(at: path)
    return CacheStore(try SQLiteStore(path: path))
  }

  /// The bytes of a database with records, errors and segments.
  static let database: [UInt8] = {
    let path = "\(Self.path)/original.db"
    do {
      try wait {
        let store = try SQLiteStore(path: path)
        let operation = try responseOperation(hasFacts: true)
        _ = await effect(Array(goodResponse.utf8), operation, into: CacheStore(store))
        let rows = (0..<600).map { #"{"__typename":"Row","x":\#($0),"y":{"z":1.5}}"# }
        let long = #"{"data":{"list":[\#(rows.joined(separator: ","))]}}"#
        _ = await effect(Array(long.utf8), operation, into: CacheStore(store))
        try store.close()
      }
      return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch { fail("\(error)") }
  }()
}

/// Databases with changed bytes: opened, read, collected and written to; never a crash, and an error is one of the store.
@Sendable func fuzzDatabases(_ input: FuzzInput) throws {
  let path = "\(ScratchFolder.path)/damaged.db"
  try CacheStore.removeFiles(at: path)
  try Data(edited(ScratchFolder.database, input)).write(to: URL(fileURLWithPath: path))
  try wait {
    do {
      let store = try SQLiteStore(path: path)
      defer { try? store.close() }
      let operation = try responseOperation(hasFacts: true)
      _ = try await CacheStore(store).read(operation)
      _ = try await dump(store)
      _ = try await CacheStore(store).collectGarbage(rootsBefore: nil)
      _ = await effect(Array(goodResponse.utf8), operation, into: CacheStore(store))
      _ = try await CacheStore(store).read(operation)
    } catch let error as CacheError {
      expect(error.isStoreFailure || error.code == .foreignDatabase, "\(error)")
    }
  }
}
