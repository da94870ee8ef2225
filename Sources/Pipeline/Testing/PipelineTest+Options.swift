import GQLRunJSON
import GQLRunLanguage

extension PipelineFile {
  /// The options of a test.
  static let testOptions: [OptionDescription] = [
    OptionDescription("name", .string, required: true, "Name of the test: what it shows"),
    OptionDescription(
      "document", .string,
      "Text of the document; by default a query with the fields of the first answer that has data"),
    OptionDescription("document_file", .path, "File with the document"),
    OptionDescription(
      "operation", .string, "Name of the operation; needed if the document has several"),
    OptionDescription("variables", .json, "Variables, as a mapping"),
    OptionDescription(
      "policy", .choice(CachePolicy.names), "Fetch policy, instead of the chain's"),
    OptionDescription("context", .map(.string), "Context values, for ${context:NAME}"),
    OptionDescription(
      "tokens", .list(.string), default: "[old, new]",
      "Tokens that the token source returns, in order; the last one is repeated"),
    OptionDescription(
      "concurrent", .int(in: 1...10_000), default: "1", "Number of concurrent operations"),
    OptionDescription(
      "rounds", .int(in: 1...1_000), default: "1", "Number of rounds, one after the other"),
    OptionDescription(
      "upstream", .list(.object(answerOptions)), required: true,
      "Answers of the server; each request gets the first one that matches it"),
    OptionDescription("expect", .object(expectOptions), required: true, "Expected values"),
  ]

  private static let answerOptions: [OptionDescription] = [
    OptionDescription(
      "when",
      .object([
        OptionDescription("bearer", .string, "Bearer token of the field Authorization"),
        OptionDescription("operation", .list(.string), "Names of operations"),
        OptionDescription(
          "header", .map(.string), "Header fields of the request; * matches any value"),
        OptionDescription("attempt", .int(in: 1...25), "Number of the attempt, from 1"),
        OptionDescription("method", .choice(["GET", "POST"]), "HTTP method"),
        OptionDescription("has_document", .bool, "Whether the request contains the document"),
      ]), "Requests that it answers; all by default"),
    OptionDescription(
      "times", .int(in: 1...100_000),
      "Maximum number of requests that it answers; unlimited by default"),
    OptionDescription("status", .int(in: 100...999), default: "200", "HTTP status"),
    OptionDescription("headers", .map(.string), "Header fields of the response"),
    OptionDescription(
      "body", .json, "Body: a mapping is sent as JSON, text as it is; empty by default"),
    OptionDescription(
      "delay", .duration(in: .zero...(.seconds(86_400))), default: "0s",
      "Delay of the answer, on the test's clock"),
    OptionDescription(
      "fail", .choice(PipelineTest.Failure.allCases.map(\.rawValue)),
      "Failure instead of an answer: connection `refused`, `closed` before the answer or `dropped` "
        + "in the body, host name `unresolved`, or `tls`"),
  ]

  private static let expectOptions: [OptionDescription] = [
    OptionDescription(
      "succeeded", .int(in: 0...10_000_000), "Number of operations with a result without errors"),
    OptionDescription("failed", .int(in: 0...10_000_000), "Number of other operations"),
    OptionDescription(
      "requests", .int(in: 0...10_000_000), "Number of requests that the server receives"),
    OptionDescription("attempts", .int(in: 0...25), "Maximum number of attempts of an operation"),
    OptionDescription(
      "refreshes", .int(in: 0...10_000_000), "Number of token renewals"),
    OptionDescription("source", .choice(["cache", "server"]), "Source of the last result"),
    OptionDescription("data", .json, "Data of the last result"),
    OptionDescription(
      "error", .string, "Code of the first failure, or of the first error in a result"),
    OptionDescription("message", .string, "Part of the message of the first failure"),
    OptionDescription(
      "stages", .map(.int(in: 0...10_000_000)), "Number of calls of entries of the chain, by id"
    ),
    OptionDescription(
      "within", .duration(), "Time limit, on the test's clock"),
  ]
}

extension PipelineTest {
  init(_ options: PluginOptions) {
    name = options.string(ifGiven: "name") ?? "a test"
    location = options.location(of: "name")
    document = options.string(ifGiven: "document")
    documentFile = options.string(ifGiven: "document_file")
    operation = options.string(ifGiven: "operation")
    variables = options.json(ifGiven: "variables")?.objectValue ?? JSONObject()
    policy = options.string(ifGiven: "policy").flatMap { CachePolicy(name: $0) }
    context = Dictionary(options.stringMap("context").map { ($0.name, $0.value) }) { $1 }
    tokens = options.strings("tokens")
    concurrent = options.int(ifGiven: "concurrent") ?? 1
    rounds = options.int(ifGiven: "rounds") ?? 1
    upstream = options.objects("upstream").map(Answer.init)
    expectations = options.object(ifGiven: "expect").map(Self.expectations) ?? []
  }

  private static func expectations(_ options: PluginOptions) -> [Expectation] {
    func one(_ name: String, _ kind: Expectation.Kind?) -> [Expectation] {
      kind.map { [Expectation(location: options.location(of: name), kind: $0)] } ?? []
    }
    var result = one("succeeded", options.int(ifGiven: "succeeded").map { .succeeded($0) })
    result += one("failed", options.int(ifGiven: "failed").map { .failed($0) })
    result += one("requests", options.int(ifGiven: "requests").map { .requests($0) })
    result += one("attempts", options.int(ifGiven: "attempts").map { .attempts($0) })
    result += one("refreshes", options.int(ifGiven: "refreshes").map { .refreshes($0) })
    let source: GraphQLResponse.Source? = options.choice(ifGiven: "source")
    result += one("source", source.map { .source($0) })
    result += one("data", options.json(ifGiven: "data").map { .data($0) })
    result += one("error", options.string(ifGiven: "error").map { .error($0) })
    result += one("message", options.string(ifGiven: "message").map { .message($0) })
    result += one("within", options.duration(ifGiven: "within").map { .within($0) })
    if case .map(let entries)? = options["stages"]?.content {
      result += entries.compactMap { entry in
        guard case .int(let count) = entry.value.content else { return nil }
        return Expectation(location: entry.nameLocation, kind: .passes(entry: entry.name, count))
      }
    }
    return result
  }
}

extension PipelineTest.Answer {
  init(_ options: PluginOptions) {
    let wanted = options.object(ifGiven: "when")
    condition = PipelineTest.Condition(
      bearer: wanted?.string(ifGiven: "bearer"), operations: wanted?.strings("operation") ?? [],
      headers: wanted?.stringMap("header") ?? [], attempt: wanted?.int(ifGiven: "attempt"),
      method: wanted?.string(ifGiven: "method"), hasDocument: wanted?.bool(ifGiven: "has_document"))
    times = options.int(ifGiven: "times")
    status = options.int(ifGiven: "status") ?? 200
    headers = options.stringMap("headers")
    switch options.json(ifGiven: "body") {
    case .string(let text)?:
      body = Array(text.utf8)
      isJSON = false
    case let value?:
      body = value.jsonBytes()
      isJSON = true
    case nil:
      body = []
      isJSON = false
    }
    delay = options.duration(ifGiven: "delay") ?? .zero
    failure = options.choice(ifGiven: "fail")
  }
}

// MARK: The generated document

extension PipelineTest {
  /// The document of the test; without one, a query with the fields of the first answer that has
  /// data.
  func text(readFile: (String) throws -> [UInt8]) throws -> String {
    if let document { return document }
    if let documentFile {
      return String(decoding: try readFile(documentFile), as: UTF8.self)
    }
    for answer in upstream where answer.isJSON {
      guard let data = (try? JSONValue(parsing: answer.body))?["data"],
        let selection = Self.selection(data)
      else { continue }
      return "query Test \(selection)"
    }
    return "query Test { __typename }"
  }

  /// `{ user { id name } }` for `{"user": {"id": 1, "name": "Ada"}}`; `nil` for values without
  /// fields.
  private static func selection(_ value: JSONValue) -> String? {
    switch value {
    case .array(let elements): return elements.lazy.compactMap { selection($0) }.first
    case .object(let object):
      let fields = object.filter { isName($0.key) }.map { member in
        selection(member.value).map { "\(member.key) \($0)" } ?? member.key
      }
      return fields.isEmpty ? nil : "{ \(fields.joined(separator: " ")) }"
    default: return nil
    }
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
    }
  }
}
