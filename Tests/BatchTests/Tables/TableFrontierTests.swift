import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("The frontier of tables")
struct TableFrontierTests {
  // MARK: Random documents and data

  /// What is special in a random case.
  enum Trouble: CaseIterable {
    case none, concurrency, cuts, faults, complexity
  }

  @Test(
    "random documents over random data give every row once, however responses arrive, fail, cost or are cut",
    arguments: RandomTables.Finder.allCases)
  func random(finder: RandomTables.Finder) throws {
    var random = SeededRandom(
      0x7ab1e + UInt64(RandomTables.Finder.allCases.firstIndex(of: finder) ?? 0))
    for number in 0..<8 {
      let tables = RandomTables(&random, finder: finder)
      let plan = try tables.plan()
      var drive = TableDrive(plan)
      for round in 0..<25 {
        let trouble = Trouble.allCases[round % Trouble.allCases.count]
        let isLarge = round == number
        var server =
          isLarge
          ? tables.server(&random, scale: 12, most: 300) : tables.server(&random)
        drive.pack = 1 + random.upTo(6)
        drive.concurrency = trouble == .none ? 1 : 1 + random.upTo(4)
        drive.rowKey = random.chance(30) ? "row 7" : nil
        drive.cuts = trouble == .cuts ? 100 : trouble == .complexity ? 20 : 0
        let truth = tables.rows(of: server, rowKey: drive.rowKey)
        if trouble == .faults { tables.damage(&server, &random) }
        if trouble == .complexity { server.maxElements = tables.minElements(&random) }
        try drive.run(&server, &random)
        try #require(
          drive.texts == truth && drive.frontier.failed == [],
          """
          \(finder) \(number) \(round) \(trouble) pack \(drive.pack), concurrency \(drive.concurrency)
          \(tables.document)
          missing \(Set(truth).subtracting(drive.texts).sorted().prefix(5))
          wrong \(Set(drive.texts).subtracting(truth).sorted().prefix(5))
          rows \(drive.texts.count) of \(truth.count), failed \(drive.frontier.failed.prefix(3))
          """)
      }
    }
  }

  // MARK: Requests

  /// Customers with orders, of which each has the given number.
  private static func shop(_ orders: [Int]) -> ObjectServer {
    let customers = TreeObject.Value.connection(of: "Customer", orders.count, id: { "c\($0)" }) {
      customer in
      let orders = TreeObject.Value.connection(
        of: "Order", orders[customer], id: { "o\(customer).\($0)" }
      ) { _ in ["name": .leaf("order")] }
      return ["orders": orders]
    }
    return ObjectServer(TreeObject("Query", ["customers": customers]))
  }

  private static let schema = """
    type Query { customers(first: Int, after: String): CustomerConnection node(id: ID!): Node }
    interface Node { id: ID! }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type CustomerConnection { nodes: [Customer] pageInfo: PageInfo! }
    type Customer implements Node { id: ID! orders(first: Int, after: String): OrderConnection }
    type OrderConnection { totalCount: Int nodes: [Order] pageInfo: PageInfo! }
    type Order implements Node { id: ID! name: String }
    """

  private static func plan(customers: Int = 10, orders: Int = 2, total: Bool = false) throws
    -> TablePlan
  {
    let query = """
      query Shop {
        customers(first: \(customers)) {
          nodes { id orders(first: \(orders)) { \(total ? "totalCount" : "") nodes { id name } } }
        }
      }
      """
    return try TablePlanTests.plan(query, schema: schema)
  }

  /// The least number of requests for pages of 2 orders and of 10 customers.
  private static func least(_ orders: [Int], pack: Int) -> Int {
    let pages = orders.map { max(($0 + 1) / 2 - 1, 0) }
    return (orders.count + 9) / 10
      + max((pages.reduce(0, +) + pack - 1) / pack, pages.max() ?? 0)
  }

  @Test(
    "packs need few requests",
    arguments: [
      Array(repeating: 8, count: 60), (0..<60).map { $0 % 12 },
      (0..<60).map { $0 % 10 == 0 ? 40 : 3 }, [200] + Array(repeating: 6, count: 59),
    ], [1, 4])
  func requests(orders: [Int], concurrency: Int) throws {
    for total in [false, true] {
      var random = SeededRandom(3)
      var server = Self.shop(orders)
      var drive = TableDrive(try Self.plan(total: total))
      drive.concurrency = concurrency
      try drive.run(&server, &random)
      #expect(drive.rows.count == orders.count + orders.reduce(0, +))
      let least = Self.least(orders, pack: drive.pack)
      #expect(Double(server.requests) <= 1.2 * Double(least) + 2, "least \(least), total \(total)")
    }
  }

  @Test(
    "the frontier does not grow with the result: deeper pages come before more of the first level")
  func bounded() throws {
    var random = SeededRandom(4)
    var server = Self.shop(Array(repeating: 5, count: 400))
    var drive = TableDrive(try Self.plan())
    drive.pack = 5
    drive.concurrency = 2
    try drive.run(&server, &random)
    #expect(drive.rows.count == 2_400)
    // Two packs, what the bound allows, and a page of customers.
    #expect(drive.mostOpen <= 2 * 5 + 2 * 5 + 10, "\(drive.mostOpen)")
  }

  @Test("as many packs are in flight as may be, and a page of the first level goes first")
  func concurrency() throws {
    let plan = try Self.plan()
    var frontier = TableFrontier(plan, pack: 2, concurrency: 3)
    frontier.begin(TablePage(open: Self.open(customers: 1, orders: 5)))
    let packs = (0..<4).compactMap { _ in frontier.next() }
    #expect(packs.map { $0.continuations.map(\.connection) } == [[0], [1, 1], [1, 1]])
    // One more customer page may fill the pack of the last one.
    frontier.end(packs[1], [.success(TablePage()), .success(TablePage())])
    #expect(frontier.next() == nil)
    frontier.end(packs[2], [.success(TablePage()), .success(TablePage())])
    #expect(frontier.next() == nil)
    frontier.end(packs[0], [.success(TablePage())])
    let last = try frontier.nextPack()
    #expect(last.continuations.map(\.cursor) == ["o4"])
    frontier.end(last, [.success(TablePage())])
    #expect(frontier.isEmpty && frontier.next() == nil)
  }

  private static func open(customers: Int, orders: Int) -> [Continuation] {
    (0..<customers).map { Continuation(connection: 0, cursor: "c\($0)", pages: 1, mark: "c\($0)") }
      + (0..<orders).map {
        Continuation(
          connection: 1, cursor: "o\($0)", holder: ["id": .string("c\($0)")],
          parent: "Customer:c\($0)", count: 2, pages: 1, mark: "o\($0)")
      }
  }

  // MARK: Failures

  @Test(
    "a page that fails is requested three times, then kept, and nothing else is lost; a resumed run has exactly it"
  )
  func failures() throws {
    var random = SeededRandom(5)
    var server = Self.shop(Array(repeating: 5, count: 30))
    server.faults["Customer:c7.orders"] = ObjectServer.Fault(
      kind: .connection, count: 1_000, after: 1)
    var drive = TableDrive(try Self.plan())
    try drive.run(&server, &random)
    let failed = try #require(drive.frontier.failed.first)
    #expect(drive.frontier.failed.count == 1 && drive.frontier.isEmpty)
    #expect(failed.parent == "Customer:c7" && failed.count == 2 && failed.cursor == "c2")
    #expect(failed.problem?.contains("a fault of Customer:c7.orders") == true)
    #expect(server.faults["Customer:c7.orders"]?.count == 997)
    #expect(drive.rows.count == 30 + 150 - 3)

    server.faults = [:]
    let before = server.requests
    try drive.resume(drive.frontier.text, &server, &random)
    #expect(drive.rows.count == 30 + 150 && drive.frontier.failed == [])
    #expect(server.requests == before + 2)
  }

  @Test(
    "a request that fails as a whole counts for each of its pages, which are then requested one by one"
  )
  func wholeFailures() throws {
    let plan = try Self.plan()
    var frontier = TableFrontier(plan, pack: 3, concurrency: 9)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 3)))
    let problem = Result<TablePage, TaskProblem>.failure(TaskProblem("HTTP 500"))
    let pack = try frontier.nextPack()
    frontier.end(pack, [problem, problem, .success(TablePage())])
    for _ in 0..<2 {
      let singles = (0..<3).compactMap { _ in frontier.next() }
      #expect(singles.map(\.continuations.count) == [1, 1])
      for pack in singles { frontier.end(pack, [problem]) }
    }
    #expect(frontier.isEmpty && frontier.failed.map(\.problem) == ["HTTP 500", "HTTP 500"])
  }

  @Test("the text has the beginning of a long reason")
  func longReasons() throws {
    var frontier = TableFrontier(try Self.plan(), pack: 1, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 1)))
    let problem = TaskProblem(String(repeating: "e\u{301}", count: 1 << 18))
    for _ in 0..<3 { frontier.end(try frontier.nextPack(), [.failure(problem)]) }
    #expect(frontier.failed.count == 1 && frontier.text.utf8.count < 4_000)
  }

  @Test("a pack without a response is requested again, and ends only once")
  func givenBack() throws {
    var frontier = TableFrontier(try Self.plan(), pack: 2, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 3)))
    let pack = try frontier.nextPack()
    frontier.giveBack(pack, isTooCostly: false)
    frontier.end(pack, [.success(TablePage()), .success(TablePage())])
    #expect(frontier.next()?.continuations == pack.continuations)
  }

  @Test("a refusal as too costly halves the pack, then the pages, and both grow again")
  func costs() throws {
    var frontier = TableFrontier(try Self.plan(orders: 8), pack: 8, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 8)))
    var sizes: [[Int?]] = []
    for _ in 0..<6 {
      let pack = try frontier.nextPack()
      sizes.append([pack.continuations.count, pack.pageSize])
      frontier.giveBack(pack, isTooCostly: true)
    }
    #expect(sizes == [[8, nil], [4, nil], [2, nil], [1, nil], [1, 4], [1, 2]])
    let text = frontier.text
    var used: [[Int?]] = []
    // Each page has a next one.
    for number in 0..<2_000 {
      let pack = try frontier.nextPack()
      if used.last != [pack.continuations.count, pack.pageSize] {
        used.append([pack.continuations.count, pack.pageSize])
      }
      frontier.end(pack, nextCursor: "n\(number)")
    }
    #expect(used.first == [1, 1] && used.last == [8, nil])
    #expect(used.count == 15, "\(used)")
    let resumed = try TableFrontier(
      Self.plan(orders: 8), pack: 8, concurrency: 1, resuming: text)
    #expect(resumed.text == text)
  }

  @Test("a larger pack that is refused once is tried less often")
  func patience() throws {
    var frontier = TableFrontier(try Self.plan(), pack: 16, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 40)))
    var refused = 0
    for number in 0..<500 {
      let pack = try frontier.nextPack()
      if pack.continuations.count > 9 {
        refused += 1
        frontier.giveBack(pack, isTooCostly: true)
        continue
      }
      frontier.end(pack, nextCursor: "n\(number)")
    }
    #expect(refused <= 7, "\(refused)")
  }

  @Test("one page that is always too costly fails, and no other")
  func alwaysTooCostly() throws {
    var frontier = TableFrontier(try Self.plan(orders: 8), pack: 4, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 12)))
    var requests = 0
    while let pack = frontier.next() {
      requests += 1
      if pack.continuations.contains(where: { $0.cursor == "o5" }) {
        frontier.giveBack(pack, isTooCostly: true)
      } else {
        frontier.endLast(pack)
      }
    }
    #expect(frontier.failed.map(\.cursor) == ["o5"])
    #expect(
      frontier.failed.first?.problem
        == "the server refuses its next page as too costly, however small")
    #expect(requests < 20, "\(requests)")
  }

  @Test("the first response has smaller pages if it costs too much, until they cannot be smaller")
  func firstTooCostly() throws {
    var frontier = TableFrontier(try Self.plan(customers: 5), pack: 4, concurrency: 1)
    #expect(frontier.firstSizes == [:])
    var sizes: [Int?] = []
    while frontier.shrinkFirst() { sizes.append(frontier.firstSizes[0]) }
    #expect(sizes == [2, 1])
    frontier.begin(TablePage(open: Self.open(customers: 1, orders: 0)))
    #expect(frontier.next()?.pageSize == 1)
  }

  // MARK: In a journal

  @Test("what a response changes is a short part, also beside many open connections")
  func parts() throws {
    var frontier = TableFrontier(try Self.plan(), pack: 20, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 0, orders: 2_000)))
    let first = frontier.takePart()
    #expect(first.number == 0 && first.text == frontier.text)
    var (written, numbers) = (0, [Int]())
    while let pack = frontier.next() {
      frontier.endLast(pack)
      let part = frontier.takePart()
      written += part.text.utf8.count
      numbers.append(part.number)
    }
    #expect(numbers == Array(1...100))
    #expect(written < first.text.utf8.count, "\(written) of \(first.text.utf8.count)")
  }

  @Test("the whole text comes again once the changes are longer than it")
  func wholeParts() throws {
    var frontier = TableFrontier(try Self.plan(), pack: 1, concurrency: 1)
    frontier.begin(TablePage(open: Self.open(customers: 1, orders: 9)))
    var recorded = frontier.takePart().text
    var wholes = 0
    for number in 0..<400 {
      frontier.end(try frontier.nextPack(), nextCursor: "n\(number)")
      let part = frontier.takePart()
      recorded = part.number == 0 ? part.text : recorded + part.text
      if part.number == 0 { wholes += 1 }
      #expect(recorded.utf8.count < 3 * frontier.text.utf8.count)
    }
    #expect((20...100).contains(wholes), "\(wholes)")
  }

  @Test("the text of an older version, with failed connections by themselves, is read")
  func olderText() throws {
    let text = """
      {"of":"customers customers.nodes.orders(id)",\
      "open":[{"on":0,"after":"c1","count":10,"pages":1},{"on":1,"by":{"id":"c3"},"of":"Customer:c3"}],\
      "failed":[{"on":1,"after":"o","by":{"id":"c4"},"of":"Customer:c4","count":4,"problem":"gone","read":2}]}
      """
    var frontier = try TableFrontier(Self.plan(), pack: 9, concurrency: 9, resuming: text)
    var found: [String?] = []
    while let pack = frontier.next() {
      found += pack.continuations.map(\.parent)
      frontier.endLast(pack)
    }
    #expect(found == [nil, "Customer:c3", "Customer:c4"])
    #expect(frontier.failed == [])
  }

  @Test("the text has all that a continuation has")
  func text() throws {
    let plan = try Self.plan()
    var frontier = TableFrontier(plan, pack: 2, concurrency: 4)
    var open = Self.open(customers: 1, orders: 3)
    open[2].mark = "an earlier one"
    open[3].total = 17
    open.append(Continuation(connection: 1, holder: ["a": 1, "b": "x\"y"], failures: 2))
    open.append(Continuation(connection: 1, cursor: "z", pages: 3, mark: "z", problem: "gone"))
    frontier.begin(TablePage(open: open))
    let inFlight = try frontier.nextPack()
    #expect(inFlight.continuations.map(\.failures) == [2])
    let resumed = try TableFrontier(plan, pack: 2, concurrency: 4, resuming: frontier.text)
    var all: [Continuation] = []
    var other = resumed
    while let pack = other.next() {
      all += pack.continuations
      other.endLast(pack)
    }
    open[5].problem = nil
    for index in all.indices { all[index].number = 0 }
    #expect(all.count == 6 && open.allSatisfy { all.contains($0) }, "\(all)")
    #expect(resumed.failed == [] && !resumed.isEmpty)
  }

  /// The whole text of one open connection, with the number 0.
  private static let whole =
    #"{"of":"customers customers.nodes.orders(id)","open":[{"n":0,"on":0,"after":"c1"}]}"#

  @Test(
    "a text that a frontier did not write is a problem of the task",
    arguments: [
      "", "x", "{}", "[]", #"{"open":[],"failed":1}"#, #"{"open":[{}],"failed":[]}"#,
      #"{"open":[{"on":9}],"failed":[]}"#, #"{"open":[{"on":-1}],"failed":[]}"#,
      #"{"of":"customers customers.nodes.orders(id)","open":[{"on":9}],"failed":[]}"#,
      #"{"of":"customers customers.nodes.orders(id)","open":[],"failed":[],"lacks":[[9,1,1]]}"#,
      #"{"of":"customers customers.nodes.orders","open":[],"failed":[]}"#,
      // Parts that contradict each other.
      #"\#(whole)\#n{"closed":[0]}\#n{"open":[]}"#,
      #"\#(whole)\#n{"closed":[0,1],"open":[]}"#,
      #"\#(whole)\#n{"closed":["0"],"open":[]}"#,
    ])
  func broken(text: String) throws {
    let plan = try Self.plan()
    let error = #expect(throws: TaskProblem.self) {
      try TableFrontier(plan, pack: 1, concurrency: 1, resuming: text)
    }
    #expect(error?.message.hasPrefix("the journal's state of the task cannot be read: ") == true)
  }

  @Test("numbers of a text are bounded, so that those of responses can be added to them")
  func bounds() throws {
    let largest = Int.max
    let text =
      #"{"of":"customers customers.nodes.orders(id)","open":[{"on":1,"after":"c","by":{"id":"1"},"count":\#(largest),"pages":\#(largest),"total":\#(largest),"failures":-1}],"failed":[],"lacks":[[1,\#(largest),-1]]}"#
    let plan = try Self.plan()
    var frontier = try TableFrontier(plan, pack: 1, concurrency: 1, resuming: text)
    #expect(frontier.lacks[1] == TableFrontier.Lack(objects: 1 << 32, elements: 0))
    let first = frontier.next()
    let pack = try #require(first)
    let page: JSONValue = [
      "p0": [
        "orders": ["nodes": [["id": "2"]], "pageInfo": ["hasNextPage": true, "endCursor": "d"]]
      ]
    ]
    frontier.end(pack, TableReader(plan: plan).read(page, errors: [], pack: pack))
    let second = frontier.next()
    let next = try #require(second?.continuations.first)
    #expect(next.count == (1 << 32) + 1 && next.pages == (1 << 32) + 1)
  }

  @Test("a text of the same document is read, and one of a document with other connections is not")
  func otherPlans() throws {
    let text = #"{"of":"customers customers.nodes.orders(id)","open":[]}"#
    let plan = try Self.plan()
    #expect(TableFrontier(plan, pack: 1, concurrency: 1).text == text)
    #expect(try TableFrontier(plan, pack: 1, concurrency: 1, resuming: text).isEmpty)
  }

  @Test("a text that is cut at any byte is a problem of the task")
  func cutTexts() throws {
    let plan = try Self.plan()
    var frontier = TableFrontier(plan, pack: 2, concurrency: 4)
    frontier.begin(TablePage(open: Self.open(customers: 1, orders: 3)))
    let text = frontier.text
    for count in 0..<text.count {
      #expect(throws: TaskProblem.self) {
        try TableFrontier(plan, pack: 1, concurrency: 1, resuming: String(text.prefix(count)))
      }
    }
  }
}

extension RandomTables {
  /// Makes some pages of one connection fail.
  fileprivate func damage(_ server: inout ObjectServer, _ random: inout SeededRandom) {
    let connection = random.pick(connections)
    for object in server.root.all where object.fields[connection.field] != nil {
      guard random.chance(50) else { continue }
      let kind = random.pick(ObjectServer.Fault.Kind.allCases)
      // Then the page above fails with it, and all of its faults must end together.
      let isAbove = kind == .connection && connection.hasTotal
      server.faults["\(object.type):\(object.id).\(connection.field)"] = ObjectServer.Fault(
        kind: kind, count: 1 + random.upTo(2), after: isAbove ? 0 : random.upTo(2))
    }
  }

  /// A number of elements with which one object of each connection can be requested; `nil` if a page cannot be smaller.
  fileprivate func minElements(_ random: inout SeededRandom) -> Int? {
    if finder == .nodeWithoutSchema, connections.contains(where: { $0.size == nil }) { return nil }
    func cost(_ connection: Connection) -> Int {
      // With two tags, and the list of `nodes(ids:)`.
      4 + connection.inner.reduce(0) { $0 + cost($1) * ($1.size ?? Self.maxPageSize) }
    }
    let least = max(connections.map(cost).max() ?? 0, roots.map(cost).reduce(0, +))
    return least * (1 + random.upTo(3))
  }
}

extension TableFrontier {
  /// Ends a pack each of whose pages has a next one, after this cursor.
  fileprivate mutating func end(_ pack: ContinuationPack, nextCursor: String) {
    end(
      pack,
      pack.continuations.map {
        var next = $0
        next.cursor = nextCursor
        return .success(TablePage(open: [next]))
      })
  }

  /// Ends a pack whose pages are the last ones.
  fileprivate mutating func endLast(_ pack: ContinuationPack) {
    end(pack, pack.continuations.map { _ in .success(TablePage()) })
  }

  /// The next pack, which there must be.
  fileprivate mutating func nextPack() throws -> ContinuationPack {
    let pack = next()
    return try #require(pack)
  }
}
