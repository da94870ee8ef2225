import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// A task of an operation whose tables a bulk operation of Shopify fills:
///
/// ```
/// bulkOperationRunQuery ─▶ node(id:), every 1 s to 10 s ─▶ GET url ─▶ BulkLines ─▶ rows, connection after connection
/// ```
///
/// The journal has a name of the bulk operation before it is submitted, then its id, then the number of lines whose rows are
/// in the tables. So a resumed task does not submit it again, and continues after these lines of the same result.
///
/// https://shopify.dev/docs/api/usage/bulk-operations/queries
struct BulkOperation {
  /// What the journal has of a bulk operation.
  struct State: Sendable, Equatable {
    /// The name of the query, by which the bulk operation is found if its id is not known.
    var name: String
    /// `nil` before the server has accepted it.
    var id: String?
    /// The number of lines whose rows are in the tables.
    var lines = 0
  }

  /// The run stops, or the task is not its own any more.
  private struct Stopped: Error {}

  /// The server does not have the result at this URL, or not any more.
  private struct MissingResult: Error {
    var status: Int
  }

  private let requests: TableRequester
  private var update: TaskUpdate
  private(set) var results: TaskResults
  private var state: State

  private var runner: TaskRunner { requests.runner }
  private var services: Services { runner.runner.services }
  private var progress: RunProgress { runner.feed.progress }

  private static let firstDelay = Duration.seconds(1)
  private static let maxDelay = Duration.seconds(10)
  /// The number of requests for a result, and of submissions without a response.
  private static let maxAttempts = 3

  init(_ requests: TableRequester, update: TaskUpdate, results: TaskResults) {
    self.requests = requests
    self.update = update
    self.results = results
    state = update.cursor.flatMap { State($0) } ?? State(name: Self.newName(requests))
  }

  /// A name that no other task and no other run has.
  private static func newName(_ requests: TableRequester) -> String {
    let number = UInt64(requests.runner.runner.services.random() * 0x1p52)
    return "gqlrun_\(requests.item.id.text.prefix(12))_\(String(number, radix: 16))"
  }

  /// Fills the tables. Returns `false` if the run stops before they have all rows.
  mutating func run() async throws -> Bool {
    progress.change { $0.begin(requests.tables.plan) }
    do {
      return try await fill()
    } catch is Stopped {
      return false
    } catch let problem as TaskProblem {
      return try await end(problem.message)
    }
  }

  private mutating func fill() async throws -> Bool {
    // With an error, the loader refuses the manifest.
    let document = try BulkDocument(requests.tables.plan)
    let text = try document.text(requests.item.variables, name: state.name)
    var isNew = false
    if state.id == nil {
      if update.cursor != nil { state.id = try await found() }
      if state.id == nil {
        try await record()
        state.id = try await submitted(text)
        isNew = true
      }
      try await record()
    }
    guard let id = state.id else { throw TaskProblem("the bulk operation has no id") }
    let status = try await ended(id, afterDelay: isNew)
    if let url = status.result {
      try await write(try await download(status, at: url, document), document)
    }
    guard let problem = status.problem.map({ services.secrets.hide(in: $0) }) else {
      return try await end()
    }
    // Another attempt needs another bulk operation.
    update.cursor = nil
    guard requests.tables.settings.allowPartial, status.partialURL != nil else {
      return try await end(problem, keepsOperation: false)
    }
    requests.countPartial(problem)
    update.error = problem
    return try await end()
  }

  // MARK: Submitting

  /// Submits the query, and waits while the server runs as many others as it may. Returns the id of the bulk operation.
  private mutating func submitted(_ text: String) async throws -> String {
    let start = services.clock.now()
    var delay = Self.firstDelay
    var lost = 0
    while true {
      let page = try await send(.submission, variables: ["query": .string(text)])
      if let error = page.error {
        lost += 1
        guard case .unknown = page.kind, lost < Self.maxAttempts else {
          throw TaskProblem("\(error)")
        }
        // The server may have accepted it.
        if let id = try await found() { return id }
        continue
      }
      let payload = try data(page)["bulkOperationRunQuery"]
      if let id = payload?["bulkOperation"]?["id"]?.stringValue { return id }
      let errors = payload?["userErrors"]?.arrayValue ?? []
      let messages = errors.compactMap { $0["message"]?.stringValue }.joined(separator: "; ")
      let mayWait = errors.contains {
        ["OPERATION_IN_PROGRESS", "LIMIT_REACHED"].contains($0["code"]?.stringValue)
          || $0["message"]?.stringValue?.contains("already in progress") == true
      }
      guard mayWait else {
        throw TaskProblem(
          "the server refuses the bulk operation: \(messages.isEmpty ? "no reason given" : messages)"
        )
      }
      // It is ours if the response to an earlier submission was lost.
      if let id = try await found() { return id }
      let patience = runner.manifest.settings.patience
      guard services.clock.now() - start + delay <= patience else {
        let other = try await current().map { " (\($0.id), \($0.status))" } ?? ""
        throw TaskProblem(
          "another bulk operation\(other) runs, and did not end in \(patience.optionText): wait for it, or cancel "
            + "it with the mutation `bulkOperationCancel`; the server says: \(messages)")
      }
      try await pause(delay)
      delay = Self.longer(delay)
    }
  }

  /// The id of the bulk operation with our name, if the server has accepted it.
  private mutating func found() async throws -> String? {
    guard let current = try await current(), current.query.contains(state.name) else { return nil }
    return current.id
  }

  /// The newest bulk operation; `nil` if there is none.
  private mutating func current() async throws -> (id: String, status: String, query: String)? {
    let found = try await answered(.current, variables: [:])["currentBulkOperation"]
    return found?["id"]?.stringValue.map {
      ($0, found?["status"]?.stringValue ?? "", found?["query"]?.stringValue ?? "")
    }
  }

  // MARK: Waiting

  /// The status of the bulk operation after its end.
  private mutating func ended(_ id: String, afterDelay: Bool) async throws -> BulkStatus {
    var delay = Self.firstDelay
    if afterDelay { try await pause(delay) }
    defer { progress.change { $0.bulkObjects = 0 } }
    while true {
      let status = try await status(of: id)
      guard status.isRunning else { return status }
      progress.change { $0.bulkObjects = status.objectCount }
      try await pause(delay)
      delay = Self.longer(delay)
    }
  }

  private mutating func status(of id: String) async throws -> BulkStatus {
    let found = try await answered(.status, variables: ["id": .string(id)])
    guard let status = BulkStatus(found["node"] ?? .null) else {
      state.id = nil
      update.cursor = nil
      throw TaskProblem("the server does not have the bulk operation \(id) any more")
    }
    return status
  }

  private static func longer(_ delay: Duration) -> Duration { min(delay * 1.5, maxDelay) }

  private func checkStop() throws(Stopped) {
    if runner.stop.reason != nil || !results.isHeld { throw Stopped() }
  }

  /// Suspends. Throws within a second after the run stops.
  private func pause(_ duration: Duration) async throws {
    var left = duration
    while left > .zero {
      try checkStop()
      let part = min(left, .seconds(1))
      try await services.clock.sleep(for: part)
      left -= part
    }
    try checkStop()
  }

  // MARK: The result

  /// The lines of a result. They are complete before the first row is written.
  private mutating func download(
    _ status: BulkStatus, at url: String, _ document: BulkDocument
  ) async throws -> BulkLines {
    let problem = "the result of the bulk operation cannot be had:"
    var (url, delay, attempt) = (url, Self.firstDelay, 1)
    while true {
      do {
        return try await received(status, at: url, document)
      } catch let error as MissingResult {
        guard attempt < Self.maxAttempts else {
          throw TaskProblem("\(problem) status \(error.status), \(attempt) times")
        }
        guard error.status >= 500 || [403, 404, 408, 410, 429].contains(error.status) else {
          throw TaskProblem("\(problem) status \(error.status)")
        }
        // The signature of a URL has an end.
        url = try await self.status(of: status.id).result ?? url
      } catch let error as ChainError {
        guard attempt < Self.maxAttempts else { throw TaskProblem("\(problem) \(error)") }
      }
      try await pause(delay)
      delay = Self.longer(delay)
      attempt += 1
    }
  }

  private mutating func received(
    _ status: BulkStatus, at text: String, _ document: BulkDocument
  ) async throws -> BulkLines {
    guard let transport = services.transport else { throw Stopped() }
    let url: Endpoint
    do throws(Endpoint.InvalidURL) {
      url = try Endpoint(url: text)
    } catch {
      throw TaskProblem("the URL of the result cannot be used: \(error.reason)")
    }
    let endpoint = runner.manifest.pipeline.endpoint
    guard url.scheme == "https" || url.scheme == "http" && endpoint?.scheme != "https" else {
      throw TaskProblem("the URL of the result is not one of https, as that of the endpoint is")
    }
    // Without the credentials of the endpoint: the URL has a signature of its own.
    let message = HTTPRequestMessage(
      head: HTTPRequest(
        method: .get, scheme: url.scheme, authority: url.authority, path: url.path,
        headerFields: [.accept: "application/jsonl, */*"]))
    let response = try await transport.send(
      message, limits: limits(isEndpoint: url.authority == endpoint?.authority))
    guard response.head.status.code == 200 else {
      throw MissingResult(status: response.head.status.code)
    }
    let lines = try BulkLines(document)
    var held: [UInt8] = []
    var count = 0
    for try await chunk in response.body {
      chunk.withUnsafeBytes { held.append(contentsOf: $0) }
      guard held.count >= 256 << 10 else { continue }
      try checkStop()
      count += held.count
      try await lines.add(held)
      held.removeAll(keepingCapacity: true)
    }
    count += held.count
    try await lines.add(held)
    if let size = status.fileSize, status.problem == nil, count < size {
      throw ChainError(
        .transport, code: .truncatedResponse,
        message: "the result of the bulk operation ended after \(count) of \(size) bytes")
    }
    update.bytes += count
    _ = try await lines.end()
    return lines
  }

  /// The limits of the pipeline, without those of one response.
  private func limits(isEndpoint: Bool) -> HTTPLimits {
    let fetch = runner.manifest.pipeline.entries.lazy.compactMap { $0.plugin as? FetchPlugin }.first
    let environment = PluginEnvironment(entryID: FetchPlugin.name, variable: services.variable)
    var limits = (try? fetch?.limits(environment)) ?? HTTPLimits()
    limits.total = .seconds(86_400)
    limits.bodyBytes = ByteSize(bytes: .max)
    if !isEndpoint {
      limits.connection.unixSocket = nil
      limits.connection.tls.serverName = nil
      limits.connection.tls.certificateFile = nil
      limits.connection.tls.keyFile = nil
    }
    return limits
  }

  /// Writes the rows of all lines that the tables do not have.
  private mutating func write(_ lines: BulkLines, _ document: BulkDocument) async throws {
    while true {
      let groups = try await lines.groups(after: state.lines)
      guard !groups.isEmpty else { return }
      var rows: [TableRow] = []
      for group in groups {
        let parent = try document.parentKey(group.parent, of: group.connection)
        rows += try requests.rows(
          document.value(of: group.connection, lines: group.lines), of: group.connection,
          parent: parent, position: group.position)
        state.lines += group.lines.count
      }
      let addition = try requests.addition(of: [TablePage(rows: rows)])
      update.page += 1
      update.records += rows.count
      update.state = .running
      update.error = nil
      update.cursor = state.text
      requests.count(addition)
      guard try await results.submit(requests.outcome(update, addition)) else { throw Stopped() }
      try checkStop()
    }
  }

  // MARK: Outcomes

  /// Makes the state durable before the task continues.
  private mutating func record() async throws {
    update.state = .running
    update.error = nil
    update.cursor = state.text
    update.ended = progress.now()
    guard try await results.begin(requests.outcome(update)) else { throw Stopped() }
  }

  /// Ends the task.
  ///
  /// - Parameters:
  ///   - message: Why it fails; `nil` if it is done.
  ///   - keepsOperation: Whether another attempt continues with the same bulk operation.
  private mutating func end(_ message: String? = nil, keepsOperation: Bool = true) async throws
    -> Bool
  {
    update.state = message == nil ? .done : .failed
    update.error = message ?? update.error
    update.cursor = message == nil || !keepsOperation ? nil : update.cursor
    update.ended = progress.now()
    return try await results.end(requests.outcome(update))
  }

  // MARK: Requests

  /// A request about bulk operations.
  private enum Request: String {
    case submission = """
      mutation RunBulkOperation($query: String!) {
        bulkOperationRunQuery(query: $query) { bulkOperation { id status } userErrors { field message code } }
      }
      """
    case status = """
      query BulkOperation($id: ID!) {
        node(id: $id) {
          ... on BulkOperation { id status errorCode objectCount fileSize url partialDataUrl }
        }
      }
      """
    case current = "query CurrentBulkOperation { currentBulkOperation { id status query } }"

    func template() throws -> OperationTemplate {
      try OperationTemplate(document: Document(parsingUTF8: Array(rawValue.utf8)))
    }
  }

  private mutating func send(
    _ request: Request, variables: JSONObject
  ) async throws -> TaskRunner.Page {
    let template = try request.template()
    let own = requests.operation
    var operation = BatchOperation(
      index: own.index, id: own.id, location: own.location, template: template)
    operation.timeout = own.timeout
    var message = GraphQLRequest(
      try template.prepared(coerced: template.coerce(variables), isStored: false),
      cachePolicy: .noCache)
    message.timeout = own.timeout
    guard let page = try await runner.send(message, operation) else { throw Stopped() }
    update.add(page, at: progress.now())
    progress.change { $0.tables?.requests += page.response?.attempt ?? 1 }
    return page
  }

  /// The data of the response to a request that can be repeated.
  private mutating func answered(
    _ request: Request, variables: JSONObject
  ) async throws -> JSONValue {
    let page = try await send(request, variables: variables)
    if let error = page.error { throw TaskProblem("\(error)") }
    return try data(page)
  }

  private func data(_ page: TaskRunner.Page) throws -> JSONValue {
    if let error = page.response?.errors.first {
      throw TaskProblem("the server refuses a request about bulk operations: \(error.message)")
    }
    return try page.response?.data.map { try JSONValue(parsing: $0.bytes()) } ?? .null
  }
}

extension BulkOperation.State {
  /// Reads what ``text`` has; `nil` for another text.
  init?(_ text: String) {
    guard let value = try? JSONValue(parsing: text), let name = value["bulk"]?.stringValue else {
      return nil
    }
    self.init(
      name: name, id: value["id"]?.stringValue,
      lines: Continuation.bounded(value["lines"]?.intValue ?? 0))
  }

  /// The state as the journal records it.
  var text: String {
    var object: JSONObject = ["bulk": .string(name)]
    object["id"] = id.map { .string($0) }
    if lines > 0 { object["lines"] = .number(JSONNumber(lines)) }
    return JSONValue.object(object).jsonText()
  }
}

/// The state of a bulk operation on the server.
///
/// https://shopify.dev/docs/api/admin-graphql/latest/objects/BulkOperation
struct BulkStatus: Sendable {
  var id: String
  /// `CREATED`, `RUNNING`, `CANCELING`, `COMPLETED`, `CANCELED`, `FAILED` or `EXPIRED`.
  var status: String
  var errorCode: String?
  var objectCount: Int
  /// The size of the result in bytes; `nil` if there is none.
  var fileSize: Int?
  /// The URL of the result; `nil` if it has no lines.
  var url: String?
  /// The URL of what a failed operation has read.
  var partialURL: String?

  /// Reads a `BulkOperation`; `nil` for another value.
  init?(_ value: JSONValue) {
    guard let id = value["id"]?.stringValue, let status = value["status"]?.stringValue else {
      return nil
    }
    // UnsignedInt64 is a string.
    func number(_ name: String) -> Int? {
      value[name].flatMap { $0.intValue ?? $0.stringValue.flatMap { Int($0) } }
    }
    self.id = id
    self.status = status
    errorCode = value["errorCode"]?.stringValue
    objectCount = number("objectCount") ?? 0
    fileSize = number("fileSize")
    url = value["url"]?.stringValue
    partialURL = value["partialDataUrl"]?.stringValue
  }

  /// The URL of the lines that there are; `nil` if there are none.
  var result: String? { problem == nil ? url : partialURL }

  var isRunning: Bool { ["CREATED", "RUNNING", "CANCELING"].contains(status) }

  /// Why the result is not complete; `nil` if it is.
  var problem: String? {
    let reason: String
    switch status {
    case "COMPLETED":
      guard url == nil, objectCount > 0 else { return nil }
      reason = "completed, and the server has no URL of its result"
    case "FAILED":
      let meaning =
        switch errorCode {
        case "ACCESS_DENIED": ": the credentials lack an access scope for a field of the document"
        case "INTERNAL_SERVER_ERROR": ": an error of the server, which may not occur again"
        case "TIMEOUT": ": fewer fields may take less time"
        default: ""
        }
      reason = "failed with \(errorCode ?? "no code")\(meaning)"
    case "CANCELED": reason = "was canceled"
    case "EXPIRED": reason = "has expired, and its result was removed"
    default: reason = "has the status \(status)"
    }
    let rows = partialURL == nil ? "" : "; the tables have what it read before"
    return CompletenessCheck.prefix + "the bulk operation \(id) \(reason), after "
      + "\(Quantity.count(objectCount, "object"))\(rows)"
  }
}
