import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

import enum GQLRunLanguage.OperationType

extension CacheCommand {
  struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Explain for each field of an operation whether the cache has it.",
      discussion: """
        Prints one line per field: its state, its age and its record. The states are hit, accepted \
        (stale, but within max_stale), stale, missing, left out (the field of a fragment that, \
        without a schema, is assumed not to apply), and errored (the field failed on the server and is \
        null, with --errors replay or keep). Stored errors are shown, and with which --errors the cache \
        answers. Of a list, the first element and incomplete \
        elements are shown. If the arguments of a missing field identify a stored record, the cache \
        redirect for the pipeline file is printed. The exit code is 0 if the cache can answer the \
        operation, otherwise 3.

        EXAMPLES
          gqlrun cache explain feed.graphql --var first=60 --store sqlite:cache.db
          gqlrun cache explain feed.graphql --var first=60 --store sqlite:cache.db \\
            --pipeline default.pipeline.yaml
          gqlrun cache explain feed.graphql --var first=60 --store sqlite:cache.db \\
            --max-age 5m --json
        """)

    @Argument(help: "GraphQL document; - is standard input.")
    var document: String
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @OptionGroup var rules: CacheRules
    @Flag(help: "Print one JSON object.")
    var json = false
    @Flag(help: "Show all elements of lists.")
    var all = false

    /// The maximum number of incomplete list elements to show.
    private static let shownProblems = 3

    func run() async throws {
      let loaded = try rules.load()
      let operation = try operationOptions.prepare(
        document, pipeline: loaded.pipeline)
      guard operation.type != .mutation else {
        throw Failure(
          .usage,
          "cannot explain \(operation.label): mutations are never answered from the cache")
      }
      let store = try await storeOptions.openForReading()
      let explanation = try await store.explain(
        operation, options: loaded.options,
        showing: all || json ? .everything : .problems(Self.shownProblems))
      try store.close()
      if json {
        try ResultPrinter.print(
          explanation.json(of: operation).jsonText(), isPretty: Terminal.isOutputTerminal)
      } else {
        let text =
          explanation.tree(of: operation) + explanation.advice(loaded.pipeline, operation)
        try Terminal.write(Terminal.safe(text) + "\n")
      }
      if !explanation.isHit { throw Failure(.cacheMiss, "") }
    }
  }
}

extension CacheExplanation {
  fileprivate static let order: [Status] = [
    .hit, .accepted, .stale, .missing, .leftOut, .errored,
  ]
  /// The maximum number of errors of a field to show.
  private static let maxShownErrors = 3

  // MARK: Tree

  fileprivate func tree(of operation: PreparedOperation) -> String {
    let total = counts.values.reduce(0, +)
    let parts = Self.order.compactMap { status in
      counts[status].map { "\($0) \(status.words)" }
    }
    var lines = [
      "\(operation.label): \(Quantity.count(total, "field")), \(parts.joined(separator: ", "))"
    ]
    for field in fields { Self.add(field, depth: 0, to: &lines) }
    if omittedProblems > 0 {
      lines.append(
        "\(Quantity.count(omittedProblems, "more element")) of lists with something missing or stale; "
          + "--all shows them")
    }
    if hasErrors {
      let answering = ErrorReadPolicy.allCases.map { policy in
        "\(policy.rawValue): \(policies.contains(policy) ? "a hit" : "a miss")"
      }
      lines.append("--errors \(answering.joined(separator: "; "))")
    }
    return lines.joined(separator: "\n")
  }

  /// The redirects that would answer missing fields, as lines of a pipeline file.
  fileprivate func advice(_ pipeline: Pipeline?, _ operation: PreparedOperation) -> String {
    guard !proposals.isEmpty else { return "" }
    let records = OrderedGroups(proposals.flatMap(\.records), by: { $0 }).all.map(\.key)
    let isOne = records.count == 1
    var lines = [
      "", "",
      "\(Self.shown(records)) \(isOne ? "is" : "are") in the cache. If "
        + "\(proposals.map(\.field).joined(separator: ", ")) \(proposals.count == 1 ? "returns" : "return") "
        + "\(isOne ? "it" : "them"), these lines of a pipeline file redirect reads there:",
      "",
    ]
    var types: [String] = []
    for (type, _) in OrderedGroups(proposals.compactMap(\.redirect.type), by: { $0 }).all {
      let fields = operation.keyFields(of: type)
      if fields != ["id"], pipeline?.keys.types[type] != fields {
        types.append("\(type): [\(fields.joined(separator: ", "))]")
      }
    }
    if !types.isEmpty { lines.append("keys: { types: { \(types.joined(separator: ", ")) } }") }
    lines.append("fields:")
    lines += proposals.map { "  \($0.rule)" }
    return lines.joined(separator: "\n")
  }

  private static func add(_ field: Field, depth: Int, to lines: inout [String]) {
    let name = String(repeating: "  ", count: depth) + field.responseKey
    var line =
      field.status.words.padded(to: 9) + (field.age.map(Staleness.text) ?? "").padded(to: 11)
      + name.padded(to: 32) + " "
    switch field.status {
    case .missing:
      line += "\(field.recordKey) has no \(field.field)"
      if !field.redirect.isEmpty { line += ", redirected to \(shown(field.redirect))" }
    case .leftOut: line += "a fragment's; \(field.recordKey) has no \(field.field)"
    default:
      line += "\(field.recordKey) \(field.field)" + (field.redirect.isEmpty ? "" : ", redirected")
    }
    if let maxAge = field.maxAge {
      if field.age == nil, field.received != nil {
        line += ", received in the future"
      }
      line += ", max_age \(Staleness.text(maxAge))"
    }
    lines.append(line + note(on: field.value))
    let indent = String(repeating: " ", count: 20 + 2 * (depth + 1))
    for error in field.errors.prefix(maxShownErrors) {
      let time = error.age.map { "\(Staleness.text($0)) ago" } ?? "in the future"
      lines.append("\(indent)error at \(error.path), received \(time): \(error.message)")
    }
    if field.errors.count > maxShownErrors {
      lines.append("\(indent)\(field.errors.count - maxShownErrors) more errors; --json shows them")
    }
    add(field.value, field.fields, depth: depth, to: &lines)
  }

  private static func add(
    _ value: Value, _ fields: [Field], depth: Int, to lines: inout [String]
  ) {
    for field in fields { add(field, depth: depth + 1, to: &lines) }
    guard case .list(_, let elements, let leftOut) = value else { return }
    let indent = String(repeating: " ", count: 20 + 2 * (depth + 1))
    for element in elements {
      lines.append("\(indent)[\(element.index)]" + note(on: element.value))
      add(element.value, element.fields, depth: depth + 1, to: &lines)
    }
    if leftOut > 0 {
      lines.append("\(indent)\(Quantity.count(leftOut, "more element")), complete")
    }
  }

  private static func shown(_ keys: [String]) -> String {
    keys.prefix(3).joined(separator: ", ") + (keys.count > 3 ? ", …" : "")
  }

  private static func note(on value: Value) -> String {
    switch value {
    case .leaf, .object: ""
    case .null: ", null"
    case .reference(let key): " → \(key)"
    case .missingRecord(let key): " → \(key), which is not there"
    case .list(let count, _, _): ", a list of \(count)"
    case .unfit: ", which has not the fields asked for"
    }
  }

  // MARK: JSON

  func json(of operation: PreparedOperation) -> JSONValue {
    var counts = JSONObject()
    for status in Self.order {
      if status == .errored, self.counts[status] == nil { continue }
      counts[status.rawValue] = .number(JSONNumber(self.counts[status] ?? 0))
    }
    var object: JSONObject = [
      "operation": operation.name.map { .string($0) } ?? .null,
      "hit": .boolean(isHit),
      "counts": .object(counts),
      "fields": .array(fields.map(Self.json)),
      "proposals": .array(
        proposals.map {
          .object([
            "rule": .string($0.rule), "records": .array($0.records.map { .string($0) }),
          ])
        }),
    ]
    if hasErrors {
      object["errors"] = .object(
        ErrorReadPolicy.allCases.reduce(into: JSONObject()) { result, policy in
          result[policy.rawValue] = .string(policies.contains(policy) ? "hit" : "miss")
        })
    }
    return .object(object)
  }

  private static func json(_ field: Field) -> JSONValue {
    var object: JSONObject = [
      "path": .string(field.path), "record": .string(field.recordKey),
      "field": .string(field.field), "status": .string(field.status.rawValue),
    ]
    let numbers = [
      ("received", field.received), ("age", field.age), ("max_age", field.maxAge),
    ]
    for (name, number) in numbers {
      object[name] = number.map { .number(JSONNumber($0)) } ?? .null
    }
    if !field.redirect.isEmpty {
      object["redirect"] = .array(field.redirect.map { .string($0) })
    }
    if !field.errors.isEmpty {
      object["errors"] = .array(
        field.errors.map { error in
          .object([
            "path": .string(error.path), "message": .string(error.message),
            "received": .number(JSONNumber(error.received)),
          ])
        })
    }
    add(field.value, field.fields, to: &object)
    return .object(object)
  }

  private static func add(_ value: Value, _ fields: [Field], to object: inout JSONObject) {
    switch value {
    case .leaf: object["value"] = .string("leaf")
    case .null: object["value"] = .string("null")
    case .object: object["value"] = .string("object")
    case .unfit: object["value"] = .string("unfit")
    case .reference(let key):
      object["value"] = .string("reference")
      object["reference"] = .string(key)
    case .missingRecord(let key):
      object["value"] = .string("missing-record")
      object["reference"] = .string(key)
    case .list(let count, let elements, _):
      object["value"] = .string("list")
      object["count"] = .number(JSONNumber(count))
      object["elements"] = .array(
        elements.map { element in
          var part: JSONObject = ["index": .number(JSONNumber(element.index))]
          add(element.value, element.fields, to: &part)
          return .object(part)
        })
    }
    if !fields.isEmpty { object["fields"] = .array(fields.map(json)) }
  }
}

extension CacheExplanation.Status {
  fileprivate var words: String { self == .leftOut ? "left out" : rawValue }
}
