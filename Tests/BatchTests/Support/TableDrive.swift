import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunTestSupport

@testable import GQLRunBatch

/// Requests all pages of a plan from a ``ObjectServer``, as a task does, with a frontier that a crash may cut at any response.
struct TableDrive {
  let plan: TablePlan
  let reader: TableReader
  let documents: ContinuationDocuments
  var pack = 20
  var concurrency = 1
  var rowKey: String?
  var variables = JSONObject()
  /// The percentage of responses after which the frontier is read from the parts of its text, and the packs in flight are
  /// lost.
  var cuts = 0
  /// The parts since the last whole text, as a journal has them.
  private(set) var recorded = ""

  private(set) var rows: [TableRow] = []
  /// The frontier after the last response.
  private(set) var frontier: TableFrontier
  /// The largest number of continuations in a text of the frontier.
  private(set) var mostOpen = 0

  /// The documents that were sent, by text.
  private var sent: [String: Document] = [:]

  init(_ plan: TablePlan) {
    self.plan = plan
    reader = TableReader(plan: plan)
    documents = ContinuationDocuments(plan)
    frontier = TableFrontier(plan, pack: pack, concurrency: concurrency)
  }

  /// The rows as text, sorted.
  var texts: [String] { rows.map { RandomTables.text($0, plan) }.sorted() }

  /// Requests everything.
  mutating func run(_ server: inout ObjectServer, _ random: inout SeededRandom) throws {
    frontier = TableFrontier(plan, pack: pack, concurrency: concurrency)
    rows = []
    try begin(&server)
    try record()
    try goOn(&server, &random)
  }

  /// Continues with a text of the frontier, and adds to the rows.
  mutating func resume(
    _ text: String, _ server: inout ObjectServer, _ random: inout SeededRandom
  ) throws {
    recorded = text
    try readRecorded()
    try goOn(&server, &random)
  }

  private mutating func goOn(_ server: inout ObjectServer, _ random: inout SeededRandom) throws {
    var inFlight: [ContinuationPack] = []
    while true {
      while let pack = frontier.next() { inFlight.append(pack) }
      guard !inFlight.isEmpty else { break }
      let pack = inFlight.remove(at: random.upTo(inFlight.count))
      let request = try documents.request(pack, variables: variables)
      let answer = try answer(&server, request.template, request.variables)
      if FailureKind.isTooCostly(answer.errors.filter { $0.path == nil }) {
        frontier.giveBack(pack, isTooCostly: true)
      } else {
        let pages = reader.read(answer.data, errors: answer.errors, pack: pack)
        for case .success(let page) in pages { rows += page.rows }
        frontier.end(pack, pages)
      }
      // Failures alone are not recorded.
      if random.chance(70) { try record(compares: random.chance(20)) }
      if random.chance(cuts) {
        try record()
        inFlight = []
        try readRecorded()
      }
    }
    try record()
  }

  private mutating func readRecorded() throws {
    frontier = try TableFrontier(
      plan, pack: pack, concurrency: concurrency, resuming: recorded)
  }

  /// Records the next part, and compares what all parts have with the whole frontier.
  private mutating func record(compares: Bool = true) throws {
    let part = frontier.takePart()
    recorded = part.number == 0 ? part.text : recorded + part.text
    let value = try JSONValue(parsing: frontier.text)
    mostOpen = max(mostOpen, value["open"]?.arrayValue?.count ?? 0)
    guard compares else { return }
    let whole = try TableFrontier(
      plan, pack: pack, concurrency: concurrency, resuming: frontier.text)
    let read = try TableFrontier(plan, pack: pack, concurrency: concurrency, resuming: recorded)
    guard whole.text == read.text else {
      throw TaskProblem("the parts have \(read.text), and the frontier has \(whole.text)")
    }
  }

  /// Requests the operation itself.
  private mutating func begin(_ server: inout ObjectServer) throws {
    var attempts = 0
    while true {
      let request = try documents.first(sizes: frontier.firstSizes, variables: variables)
      let answer = try answer(&server, request.template, request.variables)
      if FailureKind.isTooCostly(answer.errors.filter { $0.path == nil }), frontier.shrinkFirst() {
        continue
      }
      attempts += 1
      do {
        let page = try reader.read(answer.data, errors: answer.errors, rowKey: rowKey)
        rows += page.rows
        frontier.begin(page)
        return
      } catch {
        if attempts == TableFrontier.maxFailures { throw error }
      }
    }
  }

  private mutating func answer(
    _ server: inout ObjectServer, _ template: OperationTemplate, _ variables: JSONObject
  ) throws -> ObjectServer.Answer {
    // As it is sent.
    let text = template.document
    let document = try sent[text] ?? Document(parsing: text)
    sent[text] = document
    return try server.answer(document, variables: template.coerce(variables))
  }
}
