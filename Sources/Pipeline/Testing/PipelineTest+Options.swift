import GQLRunJSON
import GQLRunLanguage

extension PipelineFile {
  /// The options of a test.
  static let testOptions: [OptionDescription] = [
    OptionDescription("name", .string, required: true, "What the test shows"),
    OptionDescription(
      "document", .string,
      "The text of the document; made from the first answer that has data when not given"),
    OptionDescription("document_file", .path, "The file of the document"),
    OptionDescription("operation", .string, "Which operation of the document is run"),
    OptionDescription("variables", .json, "The variables, as a mapping"),
    OptionDescription(
      "policy", .choice(CachePolicy.names), "The cache policy, instead of the chain's"),
    OptionDescription("context", .map(.string), "Values for ${context:NAME}"),
    OptionDescription(
      "tokens", .list(.string), default: "[old, new]",
      "What the source of a token gives, one after the other; the last one again and again"),
    OptionDescription(
      "concurrent", .int(in: 1...10_000), default: "1", "How many operations run at a time"),
    OptionDescription(
      "rounds", .int(in: 1...1_000), default: "1", "How often they run, one after the other"),
    OptionDescription(
      "upstream", .list(.object(answerOptions)), required: true,
      "What the server answers: to each request the first one that is for it"),
    OptionDescription("expect", .object(expectOptions), required: true, "What is to come of it"),
  ]

  private static let answerOptions: [OptionDescription] = [
    OptionDescription(
      "when",
      .object([
        OptionDescription("bearer", .string, "The token of the field Authorization"),
        OptionDescription("operation", .list(.string), "The names of operations"),
        OptionDescription(
          "header", .map(.string), "Fields the request has; * stands for any value"),
        OptionDescription("attempt", .int(in: 1...25), "The attempt of the operation, from 1"),
        OptionDescription("method", .choice(["GET", "POST"]), "The method of the request"),
        OptionDescription("has_document", .bool, "Whether the request holds the document"),
      ]), "The requests it is for; all when not given"),
    OptionDescription("times", .int(in: 1...100_000), "The most requests it is for"),
    OptionDescription("status", .int(in: 100...999), default: "200", "The status"),
    OptionDescription("headers", .map(.string), "Fields of the response"),
    OptionDescription(
      "body", .json, "What is sent: a mapping as JSON, a text as it is, nothing when not given"),
    OptionDescription(
      "delay", .duration(in: .zero...(.seconds(86_400))), default: "0s",
      "How long the server takes, on the test's own clock"),
    OptionDescription(
      "fail", .choice(PipelineTest.Failure.allCases.map(\.rawValue)),
      "What happens in place of an answer: refused, closed (before an answer), dropped (in the "
        + "body), unresolved (the name), tls"),
  ]

  private static let expectOptions: [OptionDescription] = [
    OptionDescription(
      "succeeded", .int(in: 0...10_000_000), "How many operations have a result without errors"),
    OptionDescription("failed", .int(in: 0...10_000_000), "How many operations have not"),
    OptionDescription("requests", .int(in: 0...10_000_000), "How many requests reach the server"),
    OptionDescription("attempts", .int(in: 0...25), "The most attempts of an operation"),
    OptionDescription(
      "refreshes", .int(in: 0...10_000_000), "How often a token was fetched after the first"),
    OptionDescription("source", .choice(["cache", "server"]), "Where the last result is from"),
    OptionDescription("data", .json, "The data of the last result"),
    OptionDescription(
      "error", .string, "The code of the first failure, or of the first error in a result"),
    OptionDescription("message", .string, "A part of what the first failure says"),
    OptionDescription(
      "stages", .map(.int(in: 0...10_000_000)), "How often entries of the chain were passed, by id"
    ),
    OptionDescription(
      "within", .duration(), "The longest time it may take, on the test's own clock"),
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
    func one(_ name: String, _ what: Expectation.What?) -> [Expectation] {
      what.map { [Expectation(location: options.location(of: name), what: $0)] } ?? []
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
        return Expectation(location: entry.nameLocation, what: .passes(entry: entry.name, count))
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
