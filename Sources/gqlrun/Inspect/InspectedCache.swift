import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage

/// A cache in a SQLite file, opened for each question of the page.
struct InspectedCache: Sendable {
  let path: String
  /// The pipeline whose key rules, ages and schema apply; `nil` for the defaults.
  let rules: InspectedPipeline?

  /// The maximum number of records of a search, and of those that refer to a record.
  private static let maxRecords = 100

  private func reading<Result>(
    _ body: (CacheStore) async throws -> Result
  ) async throws -> Result {
    try await StoreChoice.sqlite(path).open(mustExist: true, access: .readOnly)
      .close(after: body)
  }

  /// Answers a question of the page; `nil` for an unknown one.
  func answer(_ name: String, _ request: LocalRequest) async throws -> JSONValue? {
    let key = request[parameter: "key"] ?? ""
    switch name {
    case "api/cache": return try await statistics()
    case "api/records":
      let page = try await reading {
        try await $0.search(
          request[parameter: "find"] ?? "", type: request[parameter: "type"],
          after: request[parameter: "after"], max: Self.maxRecords)
      }
      return [
        "records": .array(
          page.records.map {
            [
              "key": .string($0.key), "type": .string($0.type),
              "bytes": .number(JSONNumber($0.bytes)),
            ]
          }), "next": page.next.map { .string($0) } ?? .null,
      ]
    case "api/record":
      guard let record = try await reading({ try await $0.inspect(key) }) else {
        return ["key": .string(key), "missing": true]
      }
      return Self.json(record)
    case "api/referrers":
      let found = try await reading { try await $0.referrers(to: key, max: Self.maxRecords) }
      return [
        "hasMore": .boolean(found.hasMore),
        "records": .array(
          found.all.map { ["key": .string($0.key), "field": .string($0.field)] }),
      ]
    default: return nil
    }
  }

  private func statistics() async throws -> JSONValue {
    let statistics = try await reading { try await $0.statistics() }
    let types = statistics.types.sorted { ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key) }
    return [
      "path": .string(path), "records": .number(JSONNumber(statistics.records)),
      "bytes": .number(JSONNumber(statistics.bytes)),
      "errors": .number(JSONNumber(statistics.errors)),
      "damaged": .number(JSONNumber(statistics.damagedRecords)),
      "file": statistics.fileBytes.map { .number(JSONNumber($0)) } ?? .null,
      "types": .array(
        types.map { type, counts in
          [
            "type": .string(type), "records": .number(JSONNumber(counts.records)),
            "bytes": .number(JSONNumber(counts.bytes)),
          ]
        }),
    ]
  }

  private static func json(_ record: InspectedRecord) -> JSONValue {
    [
      "key": .string(record.key), "bytes": .number(JSONNumber(record.bytes)),
      "received": .number(JSONNumber(record.received)),
      "fieldCount": .number(JSONNumber(record.fieldCount)),
      "fields": .array(
        record.fields.map { field in
          [
            "name": .string(field.name), "text": .string(field.text),
            "bytes": .number(JSONNumber(field.bytes)),
            "shortened": .boolean(field.bytes > InspectedRecord.maxTextBytes),
            "references": .array(field.references.map { .string($0) }),
            "referenceCount": .number(JSONNumber(field.referenceCount)),
          ]
        }),
    ]
  }

  /// Explains field by field what the cache has of an operation, as `gqlrun cache explain --json`.
  func explain(_ question: InspectQuestion) async throws -> JSONValue {
    let (keys, schema) = try rules?.rules ?? (KeyRules(), nil)
    let operation = try question.prepare(keys, schema, isSent: false)
    guard operation.type != .mutation else {
      throw Failure(.usage, "mutations are never answered from the cache")
    }
    let options = ReadOptions(now: rules?.drawn)
    let explanation = try await reading {
      try await $0.explain(operation, options: options, showing: .problems(10))
    }
    return explanation.json(of: operation)
  }

  /// Removes the records of a pattern, or those that nothing reaches.
  func remove(_ pattern: String?, allowsWrites: Bool) async throws -> JSONValue {
    guard allowsWrites else {
      throw Failure(
        .usage, "the cache is only read; start gqlrun inspect with --allow-write to remove records")
    }
    let selection = try pattern.map { try RecordSelection($0, fields: nil) }
    let (keys, schema) = try rules?.rules ?? (KeyRules(), nil)
    let summary = try await StoreChoice.sqlite(path).open(mustExist: true).close { store in
      if let selection { return try await store.remove(selection) }
      return try await store.collectGarbage(
        rootsBefore: nil, keys: keys, facts: schema.map { TypeFacts($0) })
    }
    return [
      "records": .number(JSONNumber(summary.records)),
      "changed": .number(JSONNumber(summary.changedRecords)),
      "bytes": .number(JSONNumber(summary.bytes)),
    ]
  }
}
