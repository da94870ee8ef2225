public import GQLRunJSON
import GQLRunLanguage
import HTTPTypes

/// A test in a pipeline file: operations, the answers of a scripted server, and expectations.
public struct PipelineTest: OptionSection {
  /// The name of the test.
  @Option("Name of the test: what it shows")
  public var name: String
  /// The text of the document; `nil` queries the fields of the first answer that has data.
  @Option(
    "Text of the document; by default a query with the fields of the first answer that has data")
  public var document: String?
  /// The path of a file with the document; only if ``document`` is `nil`.
  @Option("File with the document")
  public var documentFile: OptionPath?
  /// The name of the operation; `nil` if the document has only one.
  @Option("Name of the operation; needed if the document has several")
  public var operation: String?
  /// The variables of the operation, an object.
  @Option("Variables, as a mapping")
  public var variables: JSONValue?
  /// The fetch policy; `nil` uses that of the chain.
  @Option("Fetch policy, instead of the chain's")
  public var policy: CachePolicy?
  /// The values of `${context:…}`.
  @Option("Context values, for ${context:NAME}")
  public var context: [String: String] = [:]
  /// The tokens that the token source returns, in order; the last one is repeated.
  @Option("Tokens that the token source returns, in order; the last one is repeated")
  public var tokens = ["old", "new"]
  /// The number of concurrent operations. 1 by default.
  @Option(1...10_000, "Number of concurrent operations")
  public var concurrent = 1
  /// The number of rounds, one after the other. 1 by default.
  @Option(1...1_000, "Number of rounds, one after the other")
  public var rounds = 1
  /// The number of events after which a subscription is ended; `nil` is one more than expected, or 10,000.
  @Option(
    1...1_000_000,
    "Number of events after which a subscription is ended; by default after one more than `expect` has, "
      + "or 10,000")
  public var first: Int?
  /// The answers of the server; the first one that matches a request is sent.
  @Option("Answers of the server; each request gets the first one that matches it")
  public var upstream: [Answer]
  @Option("Expected values")
  var expect: Expected

  /// Creates a test without a name, answers and expectations.
  public init() {}

  /// Checks that a test has one document at most, and expects something.
  public func validate() throws(OptionError) {
    if document != nil, documentFile != nil {
      throw $documentFile.error("`document` is given, too", remedy: "remove one of them")
    }
    if $expect.isGiven, !expect.hasGivenOptions {
      throw $expect.error(
        "a test that expects nothing always passes",
        remedy: "add what must hold, such as `succeeded: 1`")
    }
  }

  /// The source location of the name.
  public var location: FileLocation { $name.location }

  /// An answer of the server, with the condition for requests that it answers.
  public struct Answer: OptionSection {
    /// The requests that it answers.
    @Option("Requests that it answers; all by default")
    public var when: Condition?
    /// The most requests that it answers; `nil` has no limit.
    @Option(1...100_000, "Maximum number of requests that it answers; unlimited by default")
    public var times: Int?
    /// The status code.
    @Option(100...999, "HTTP status")
    public var status = 200
    /// The header fields.
    @Option("Header fields of the response")
    public var headers = OptionMap<String>()
    /// The body: a text is sent as it is, another value as JSON, nothing if `nil`.
    @Option("Body: a mapping is sent as JSON, text as it is; empty by default")
    public var body: JSONValue?
    /// The delay of the answer, on the test's clock.
    @Option(.zero ... .seconds(86_400), "Delay of the answer, on the test's clock")
    public var delay = Duration.zero
    /// The failure in place of an answer; `nil` answers.
    @Option(
      "Failure instead of an answer: connection `refused`, `closed` before the answer or `dropped` "
        + "in the body, host name `unresolved`, or `tls`")
    public var fail: Failure?
    /// The events of a scripted connection, sent one after the other; `nil` for an answer with a body.
    @Option("Events of a subscription, in their order; the answer is then a stream, not a body")
    public var events: [Event]?
    /// How the stream of ``events`` ends.
    @Option(
      "How the stream of `events` ends: the server completes the subscription, the connection is `lost`, "
        + "or it stays open and `silent`")
    public var end = End.complete
    /// The code with which the server closes the WebSocket connection after ``events``; `nil` if it does not.
    @Option(
      1000...4999,
      "Code with which the server closes the WebSocket connection after `events`, such as 4403; 1006 loses it"
    )
    public var close: Int?

    /// Checks that an answer is either a body or a stream, and the number of header fields.
    public func validate() throws(OptionError) {
      if headers.entries.count > HTTPFields.maxCount {
        throw $headers.error(
          "an answer has at most \(HTTPFields.maxCount) header fields", remedy: "leave some out")
      }
      if events != nil, body != nil || fail != nil {
        throw $events.error(
          "an answer with `events` has no `\(body == nil ? "fail" : "body")`",
          remedy: "write another answer for it, or `end: lost`")
      }
      if events == nil, $end.isGiven {
        throw $end.error("`end` is the end of `events`", remedy: "add `events`, or remove it")
      }
      if close != nil, events == nil || $end.isGiven {
        throw $close.error(
          events == nil
            ? "`close` is the end of `events`" : "a stream has one end: `end` or `close`",
          remedy: events == nil ? "add `events`, which may be empty" : "remove one")
      }
    }

    /// Creates an answer with status 200 and an empty body.
    public init() {}

    /// The bytes of the body.
    var bytes: [UInt8] { isJSON ? body?.jsonBytes() ?? [] : Array((body?.stringValue ?? "").utf8) }
    /// Whether the body is JSON.
    var isJSON: Bool { body != nil && body?.stringValue == nil }
  }

  /// An event of a subscription.
  public struct Event: OptionSection {
    /// The data; `nil` sends none.
    @Option("Data of the event")
    public var data: JSONValue?
    /// The GraphQL errors, a list; `nil` sends none.
    @Option("GraphQL errors of the event, a list")
    public var errors: JSONValue?
    /// The time since the last event, on the test's clock.
    @Option(.zero ... .seconds(86_400), "Time since the last event, on the test's clock")
    public var delay = Duration.zero

    /// Creates an event without data and delay.
    public init() {}
  }

  /// How the stream of a scripted connection ends if the server does not close it with a code.
  public enum End: String, CaseIterable, ExpressibleByOption {
    /// The server completes the subscription, the connection is lost, or nothing arrives any more.
    case complete, lost, silent
  }

  /// Selects requests; a request must match all parts that are set.
  public struct Condition: OptionSection {
    /// The bearer token of the field `Authorization`.
    @Option("Bearer token of the field Authorization")
    public var bearer: String?
    /// The names of operations; empty for all.
    @Option("Names of operations")
    public var operation: [String] = []
    /// The header fields of the request; the value `*` matches any value.
    @Option("Header fields of the request; * matches any value")
    public var header = OptionMap<String>()
    /// The attempt, from 1.
    @Option(1...25, "Number of the attempt, from 1")
    public var attempt: Int?
    /// The HTTP method.
    @Option("HTTP method")
    public var method: Endpoint.Method?
    /// Whether the request contains the document.
    @Option("Whether the request contains the document")
    public var hasDocument: Bool?

    /// Creates a condition that selects all requests.
    public init() {}
  }

  /// The `expect` section.
  struct Expected: OptionSection {
    @Option(0...10_000_000, "Number of operations with a result without errors")
    var succeeded: Int?
    @Option(0...10_000_000, "Number of other operations") var failed: Int?
    @Option(0...10_000_000, "Number of requests that the server receives") var requests: Int?
    @Option(0...25, "Maximum number of attempts of an operation") var attempts: Int?
    @Option(0...10_000_000, "Number of token renewals") var refreshes: Int?
    @Option("Source of the last result") var source: GraphQLResponse.Source?
    @Option("Data of the last result") var data: JSONValue?
    @Option("Code of the first failure, or of the first error in a result") var error: String?
    @Option("Part of the message of the first failure") var message: String?
    @Option(0...10_000_000, "Number of calls of entries of the chain, by id")
    var stages = OptionMap<Int>()
    @Option(0...10_000_000, "Number of delivered events of subscriptions") var events: Int?
    @Option("Data of the delivered events, in their order, a list") var delivered: JSONValue?
    @Option(0...10_000_000, "Number of announced gaps after lost connections") var gaps: Int?
    @Option(
      0...10_000_000, "Number of events that were dropped, because they were not read in time")
    var dropped: Int?
    @Option("Time limit, on the test's clock") var within: Duration?

    func validate() throws(OptionError) {
      if $stages.isGiven, stages.entries.isEmpty {
        throw $stages.error("no entry is named", remedy: "name one, such as `fetch: 1`")
      }
    }

    /// The expected calls of entries, each with its source location.
    var calls: [(entry: String, location: FileLocation, count: Int)] {
      stages.entries.map { ($0.name, $0.nameLocation ?? $stages.location, $0.value) }
    }
  }

  /// A failure in place of an answer.
  public enum Failure: String, CaseIterable, ExpressibleByOption {
    /// The connection is refused, closed before the answer, or dropped in the body; the name does
    /// not resolve; TLS fails.
    case refused, closed, dropped, unresolved, tls
  }
}

extension GraphQLResponse.Source: ExpressibleByOption {}

extension PipelineTest {
  /// The document of the test; without one, a subscription with the fields of the first event, or a
  /// query with the fields of the first answer that has data.
  func text(readFile: (String) throws -> [UInt8]) throws -> String {
    if let document { return document }
    if let documentFile = documentFile?.path {
      return String(decoding: try readFile(documentFile), as: UTF8.self)
    }
    for answer in upstream {
      if let event = answer.events?.first(where: { $0.data != nil }),
        let selection = event.data.flatMap({ Self.selection($0) })
      {
        return "subscription Test \(selection)"
      }
    }
    for answer in upstream where answer.isJSON {
      guard let data = answer.body?["data"], let selection = Self.selection(data)
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
      let fields = object.filter { Name.isValid($0.key) }.map { member in
        selection(member.value).map { "\(member.key) \($0)" } ?? member.key
      }
      return fields.isEmpty ? nil : "{ \(fields.joined(separator: " ")) }"
    default: return nil
    }
  }
}
