import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import Testing

@testable import GQLRunBatch

@Suite("Complete results")
struct CompletenessTests {
  private let location: Place

  init() throws { location = try Place() }

  private static let list =
    #"query: "query L($after: String) { list(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }""#

  private func manifest(_ operation: String, more: String = "") throws -> Manifest {
    try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: o.ndjson } }, { ndjson: { path: r.ndjson, lines: results } }]
      report: { junit: j.xml, json: j.json, html: j.html }
      operations:
        - id: a
          \(operation)
      \(more)
      """, in: location)
  }

  private static func page(_ hasNextPage: Bool, id: Int = 1) -> HTTPResponseMessage {
    .page(of: "list", #"{"id":\#(id)}"#, hasNextPage: hasNextPage, endCursor: "c")
  }

  // MARK: Failures

  @Test("a task with unread pages fails at once, writes no record, and is counted in all reports")
  func incomplete() async throws {
    let manifest = try manifest(Self.list + "\n    emit: list.nodes[*]")
    let transport = ScriptedTransport { _ in Self.page(true) }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1 && summary.hasFailures && transport.count == 1)
    #expect(try location.lines("o.ndjson") == [])
    let line = try JSONValue(parsing: location.text("r.ndjson"))
    let message =
      "incomplete: `list` has more pages (hasNextPage is true in 1 of 1): follow it with "
      + "`paginate: { connection: list }`; if the first page is enough, add `paginate: none`"
    #expect(line["ok"] == .boolean(false) && line["data"] == nil)
    #expect(line["errors"]?[0]?["message"]?.stringValue == message)
    let report = try JSONValue(parsing: location.text("j.json"))
    #expect(report["incomplete"]?.intValue == 1 && report["tasks"]?["failed"]?.intValue == 1)
    #expect(
      try location.text("j.xml").contains("<failure type=\"incomplete\" message=\"incomplete: "))
    #expect(try location.text("j.html").contains("Incomplete"))
    let inspection = try RunInspection(manifest, journal: summary.journal)
    #expect(try inspection.status().contains("incomplete  1 of those that failed"))
    #expect(try JSONValue(parsing: inspection.statusJSON())["incomplete"]?.intValue == 1)
    let reasons = try #require(summary.failures)
    #expect(reasons.all.map(\.message) == [message] && reasons.all[0].isIncomplete)
    #expect(try JSONValue(parsing: reasons.json("m"))[0]?["incomplete"] == .boolean(true))
  }

  @Test("a task is incomplete, whichever selection of `hasNextPage` its result has")
  func otherSelections() async throws {
    for info in [
      "a: pageInfo @skip(if: true) { hasNextPage } pageInfo { hasNextPage }",
      "pageInfo { a: hasNextPage @skip(if: true) hasNextPage }",
    ] {
      let summary = try await Bench.run(
        manifest("query: \"{ list { nodes { id } \(info) } }\""),
        transport: ScriptedTransport { _ in Self.page(true) })
      #expect(summary.counters.failed == 1 && summary.counters.done == 0, "\(info)")
    }
  }

  @Test("a task is incomplete if its result does not have the `hasNextPage` of a connection")
  func unknownPages() async throws {
    for (info, failed) in [
      ("null", 1), (#"{"hasNextPage":null}"#, 1), (#"{"hasNextPage":false}"#, 0),
    ] {
      let summary = try await Bench.run(
        manifest(Self.list + "\n    paginate: { connection: list }"),
        transport: ScriptedTransport { _ in
          .data(#"{"list":{"nodes":[{"id":1}],"pageInfo":\#(info)}}"#)
        })
      #expect(summary.counters.failed == failed, "\(info)")
      #expect(
        summary.failures?.all.map(\.message) ?? []
          == Array(
            repeating:
              "incomplete: `list` may have more pages, because its `hasNextPage` is missing or not a "
              + "Boolean", count: failed))
    }
  }

  @Test("a task is incomplete if a page that the page before has announced is null")
  func nullPage() async throws {
    let summary = try await Bench.run(
      manifest(Self.list + "\n    paginate: { connection: list }\n    emit: list.nodes[*]"),
      transport: ScriptedTransport { (number: Int) in
        number == 1 ? Self.page(true) : .data(#"{"list":null}"#)
      })
    #expect(summary.counters.failed == 1 && summary.counters.done == 0)
    #expect(
      summary.failures?.all.map(\.message) == [
        "incomplete: a page of `list` is null, and the page before it has a next one"
      ])
    // Without a page before it, null is a value.
    let first = try await Bench.run(
      manifest(Self.list + "\n    paginate: { connection: list }\n    emit: list.nodes[*]"),
      transport: ScriptedTransport { _ in .data(#"{"list":null}"#) })
    #expect(first.counters.done == 1)
  }

  @Test("a task of another failure is not counted as incomplete")
  func otherFailures() async throws {
    let manifest = try manifest(Self.list + "\n    emit: list.nodes[*]")
    let transport = ScriptedTransport { _ in .errors("no") }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1)
    #expect(try JSONValue(parsing: location.text("j.json"))["incomplete"] == nil)
    #expect(try !location.text("j.xml").contains("type=\"incomplete\""))
    #expect(
      try !RunInspection(manifest, journal: summary.journal).status().contains("incomplete"))
  }

  @Test("tasks that differ in their counts have one reason")
  func reasons() async throws {
    let manifest = try manifest(
      """
      query: "query Q($id: ID!) { user(id: $id) { posts { id tags { nodes { name } pageInfo { hasNextPage } } } } }"
          foreach: { inline: [{ id: 1 }, { id: 2 }], key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          emit: user.posts[*]
      """)
    let transport = ScriptedTransport { number in
      let post = #"{"id":1,"tags":{"nodes":[],"pageInfo":{"hasNextPage":true}}}"#
      let posts = Array(repeating: post, count: number).joined(separator: ",")
      return .data(#"{"user":{"posts":[\#(posts)]}}"#)
    }
    let reasons = try #require(
      try await Bench.run(manifest, transport: transport).failures)
    #expect(reasons.all.map(\.count) == [2])
    #expect(
      reasons.all.first?.message
        == "incomplete: `user.posts.tags` has more pages (hasNextPage is true in 1 of 1): complete it with "
        + "`nested: [{ path: tags, type: … }]` of `paginate`; if the first page is enough, do not select its "
        + "`hasNextPage`")
  }

  @Test("`paginate: none` accepts a task with unread pages, also for one that failed before")
  func firstPage() async throws {
    let transport = ScriptedTransport { _ in Self.page(true) }
    let operation = Self.list + "\n    emit: list.nodes[*]"
    let first = try await Bench.run(manifest(operation), transport: transport)
    #expect(first.counters.failed == 1)
    let resumed = try await Bench.run(manifest(operation), Bench.resuming, transport: transport)
    #expect(resumed.counters.started == 0 && transport.count == 1)
    let second = try await Bench.run(
      manifest(operation + "\n    paginate: none"), Bench.repeating, transport: transport)
    #expect(second.counters.done == 1 && second.counts[.failed] == 0)
    #expect(try location.lines("o.ndjson") == [#"{"id":1}"#])
  }

  @Test("a cursor that does not fit its variable fails the task, after the pages before it")
  func unfitCursor() async throws {
    let operation = Self.list.replacing("$after: String", with: "$after: Int")
    let summary = try await Bench.run(
      manifest(operation + "\n    paginate: { connection: list }\n    emit: list.nodes[*]"),
      transport: ScriptedTransport { _ in Self.page(true) })
    #expect(summary.counters.failed == 1)
    let found = summary.failures?.all.first?.message ?? ""
    #expect(found.contains("expected Int"), "\(found)")
    #expect(try location.lines("o.ndjson").count == 1)
  }

  @Test("a task without further pages, and one that follows them, are done")
  func complete() async throws {
    let one = try await Bench.run(
      manifest(Self.list), transport: ScriptedTransport { _ in Self.page(false) })
    #expect(one.counters.done == 1)
    let all = try await Bench.run(
      manifest(Self.list + "\n    paginate: { connection: list }\n    emit: list.nodes[*]"),
      transport: ScriptedTransport { number in Self.page(number < 2, id: number) })
    #expect(all.counters.done == 1)
    #expect(try location.lines("o.ndjson") == [#"{"id":1}"#, #"{"id":2}"#])
  }

  @Test("of several connections at the path of a followed one, the others count")
  func followedByIndex() async throws {
    let manifest = try manifest(
      """
      query: "query($after: String) { lists { items(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } } }"
          paginate: { connection: "lists[0].items" }
          emit: "lists[0].items.nodes[*]"
      """)
    @Sendable func answer(_ first: Bool, _ second: Bool, page number: Int) -> HTTPResponseMessage {
      func items(_ hasNextPage: Bool) -> String {
        #"{"items":{"nodes":[{"id":1}],"pageInfo":{"hasNextPage":\#(hasNextPage),"endCursor":"\#(number)"}}}"#
      }
      return .data(#"{"lists":[\#(items(first)),\#(items(second))]}"#)
    }
    let done = try await Bench.run(
      manifest, transport: ScriptedTransport { answer($0 < 3, false, page: $0) })
    #expect(done.counters.done == 1 && done.counters.records == 3)
    let failed = try await Bench.run(
      manifest, transport: ScriptedTransport { answer($0 < 3, true, page: $0) })
    #expect(failed.counters.failed == 1)
    #expect(
      failed.failures?.all.first?.message.hasPrefix(
        "incomplete: `lists.items` has more pages (hasNextPage is true in 1 of 2): ") == true)
  }

  @Test("an offset that no further one can follow is an error")
  func lastOffset() throws {
    var pager = try #require(
      Pager(items: "list", offset: "offset", variables: ["offset": .number(JSONNumber(Int.max))]))
    let result = Result { try pager.advance(over: Array(#"{"list":[1]}"#.utf8)) }
    #expect(throws: TaskProblem.self) { try result.get() }
  }

  @Test(
    "the pages of an offset begin at its default, and end with an empty one, whatever `hasNextPage` is"
  )
  func offset() async throws {
    for (type, first) in [("Int", 0), ("Int = 7", 7), ("Int = null", 0)] {
      let manifest = try manifest(
        """
        query: "query($offset: \(type)) { list(offset: $offset) { nodes { id } pageInfo { hasNextPage } } }"
            paginate: { offset: { items: list.nodes } }
            emit: list.nodes[*]
        """)
      let transport = ScriptedTransport { body, number in
        #expect(body.contains(#""offset":\#(first + number - 1)}"#), "\(body)")
        let nodes = number < 3 ? #"{"id":\#(number)}"# : ""
        return .data(#"{"list":{"nodes":[\#(nodes)],"pageInfo":{"hasNextPage":true}}}"#)
      }
      let summary = try await Bench.run(manifest, transport: transport)
      #expect(summary.counters.done == 1 && summary.counters.records == 2)
    }
  }

  @Test(
    "the message names what would request the pages",
    arguments: [
      (
        "{ a { nodes { id } pageInfo { hasNextPage } } }", "",
        "pass a variable as its cursor, such as `a(after: $after)`, and follow it with `paginate: { connection: a }`"
      ),
      (
        "query($c: ID) { a(after: $c) { nodes { id } pageInfo { hasNextPage } } }", "",
        "select its `endCursor`, and follow it with `paginate: { connection: a, cursor: c }`"
      ),
      (
        "query($after: ID) { a(after: $after) { nodes { id } pageInfo { hasNextPage end: endCursor } } }",
        "", "select its `pageInfo { hasNextPage endCursor }` without aliases, and follow it with"
      ),
      (
        "query($after: ID) { a(after: $after) { nodes { id b { nodes { id } pageInfo { hasNextPage } } } pageInfo { hasNextPage endCursor } } }",
        "paginate: { connection: a }",
        "complete it with `nested: [{ path: a.nodes[*].b, type: … }]`"
      ),
      (
        "query($after: ID) { b { nodes { id } pageInfo { hasNextPage } } a(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }",
        "paginate: { connection: a }\n    emit: a.nodes[*]", "request it in another operation"
      ),
    ])
  func advice(query: String, more: String, text: String) async throws {
    let manifest = try manifest("query: \"\(query)\"\n    \(more)")
    let open = #""nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"x","end":"x"}"#
    let closed = #""pageInfo":{"hasNextPage":false}"#
    let inner = #""nodes":[{"id":1,"b":{\#(open)}}]"#
    let a = more.isEmpty ? "{\(open)}" : "{\(inner),\(closed)}"
    let transport = ScriptedTransport { _ in .data(#"{"b":{\#(open)},"a":\#(a)}"#) }
    let summary = try await Bench.run(manifest, transport: transport)
    let message = summary.failures?.all.first?.message ?? ""
    #expect(message.hasPrefix("incomplete: ") && message.contains(text), "\(message)")
  }

  @Test(
    "a connection below a list of the result is completed by `nested`, and a list of them is not")
  func listAdvice() async throws {
    let connection = #"{"nodes":[],"pageInfo":{"hasNextPage":true}}"#
    for (value, text) in [
      (connection, "`nested: [{ path: users[*].posts, type: … }]`"),
      ("[\(connection)]", "request it in another operation"),
    ] {
      let summary = try await Bench.run(
        manifest(#"query: "{ users { id posts { nodes { id } pageInfo { hasNextPage } } } }""#),
        transport: ScriptedTransport { _ in .data(#"{"users":[{"id":1,"posts":\#(value)}]}"#) })
      let message = summary.failures?.all.first?.message ?? ""
      #expect(message.contains(text), "\(message)")
    }
  }

  // MARK: Manifests

  @Test(
    "`paginate` takes `none` or its keys",
    arguments: [
      ("paginate: nothing", "`paginate` of the operation `a` takes a mapping or `none`"),
      ("paginate: [none]", "`paginate` of the operation `a` takes"),
      ("paginate: {}", "`paginate` needs a `connection`, an `offset` or `nested`"),
    ])
  func forms(text: String, message: String) throws {
    let findings = try Bench.findings(
      "version: 1\noperations:\n  - id: a\n    \(Self.list)\n    \(text)", in: location)
    #expect(findings.count == 1 && findings[0].contains(message), "\(findings)")
  }

  @Test("a mutation is not sent again for further pages, so its connections need `paginate: none`")
  func mutations() throws {
    let mutation =
      #"query: "mutation { add { list { nodes { id } pageInfo { hasNextPage } } } }""#
    let start = "version: 1\noperations:\n  - id: a\n    "
    let findings = try Bench.findings(start + mutation, in: location)
    #expect(
      findings.count == 1
        && findings[0].contains("the mutation `a` selects `hasNextPage` of `add.list`")
        && findings[0].contains("`paginate: none`"), "\(findings)")
    #expect(try Bench.findings(start + mutation + "\n    paginate: none", in: location) == [])
  }

  private static let schema = """
    type Query { customers(first: Int, after: Cursor): Customers!, node(id: ID!): Node }
    interface Node { id: ID! }
    scalar Cursor
    type Info { hasNextPage: Boolean!, endCursor: Cursor }
    type Customers { nodes: [Customer!]!, pageInfo: Info!, totalCount: Int }
    type Customer implements Node { id: ID!, name: String, orders(first: Int, after: Cursor): Orders!, address: Address! }
    type Address { id: ID!, lines(after: Cursor): Lines! }
    type Orders { nodes: [Order!]!, pageInfo: Info! }
    type Order implements Node { id: ID!, lines(first: Int, after: Cursor): Lines! }
    type Lines { nodes: [Line!]!, edges: [LineEdge!]!, pageInfo: Info! }
    type LineEdge { node: Line! }
    type Line { id: ID! }
    """

  private func warnings(_ operation: String) throws -> [String] {
    try location.write(Self.schema, to: "s.graphql")
    try location.write(
      """
      version: 1
      schema: s.graphql
      operations:
        - id: a
          \(operation)
      """, to: "w.batch.yaml")
    return try Bench.loaded("w.batch.yaml", in: location).warnings.all.map(\.message)
  }

  @Test("a connection whose pageInfo is not selected is a warning if there is a schema")
  func withoutPageInfo() throws {
    let found = try warnings(
      """
      query: "query($after: Cursor) { customers(after: $after) { ...Rest nodes { orders { nodes { id } } } } } fragment Rest on Customers { nodes { few: orders { totals: __typename } } pageInfo { hasNextPage endCursor } }"
          paginate: { connection: customers }
      """)
    #expect(
      found == [
        "`a` does not select `pageInfo` of the connection `customers.nodes.orders`, so pages after the first one "
          + "are left out without an error"
      ])
    #expect(
      try warnings("query: \"{ customers { nodes { id } } }\"\n    paginate: none") == [])
    #expect(try warnings(#"query: "{ customers { totalCount } }""#) == [])
  }

  // MARK: Nested connections

  @Test(
    "what `nested` cannot complete is refused",
    arguments: [
      (
        "customers.nodes[*].orders", "Customer", "leads to `id`",
        "customers { nodes { ORDERS } }"
      ),
      (
        "orders", "Customer", "leads to `hasNextPage`",
        "customers { nodes { id orders { nodes { id } pageInfo { endCursor } } } }"
      ),
      (
        "orders.nodes[*]", "Customer", "names the elements", "customers { nodes { id ORDERS } }"
      ),
      (
        "orders", "Customer", "selects neither",
        "customers { nodes { id orders { pageInfo { hasNextPage endCursor } } } }"
      ),
      (
        "address.lines", "Address", "cannot be requested through `node(id:)`",
        "customers { nodes { id address { id LINES } } }"
      ),
      (
        "orders", "Order", "cannot be requested through `node(id:)`",
        "customers { nodes { id ORDERS } }"
      ),
      (
        "orders", "Nothing", "cannot be requested through `node(id:)`",
        "customers { nodes { id ORDERS } }"
      ),
    ])
  func refusals(path: String, type: String, message: String, query: String) throws {
    try location.write(Self.schema, to: "s.graphql")
    let connection = "{ nodes { id } pageInfo { hasNextPage endCursor } }"
    let text = query.replacing("ORDERS", with: "orders \(connection)")
      .replacing("LINES", with: "lines \(connection)")
    let emit = path.hasPrefix("customers") ? "" : "emit: customers.nodes[*]"
    let findings = try Bench.findings(
      """
      version: 1
      schema: s.graphql
      operations:
        - id: a
          query: "{ \(text) }"
          paginate: { nested: [{ path: "\(path)", type: \(type) }] }
          \(emit)
      """, in: location)
    #expect(
      findings.contains { $0.contains("B007") && $0.contains(message) },
      "\(findings)")
  }

  private static let tree = #"""
    query: "query T($first: Int!, $after: Cursor, $inner: Int) { customers(first: $first, after: $after) { nodes { id name ...Orders } pageInfo { hasNextPage endCursor } } } fragment Orders on Customer { o: orders(first: $inner) { nodes { id } ...Info } o: orders(first: $inner) { nodes { lines(first: $inner) { edges { node { id } } items: nodes { id } pageInfo { hasNextPage endCursor } } } } } fragment Info on Orders { pageInfo { hasNextPage endCursor } }"
        variables: { inner: 2 }
        paginate:
          connection: customers
          page_size: { variable: first, start: 2 }
          nested:
            - { path: "o.nodes[*].lines", type: Order }
            - { path: o, type: Customer }
        emit: customers.nodes[*]
    """#

  @Test(
    "connections in connections are complete at any depth, with aliases and fragments",
    arguments: [(true, 20), (false, 20), (true, 2)])
  func tree(hasSchema: Bool, maxPages: Int) async throws {
    let server = TreeServer(seed: 11)
    try location.write(Self.schema, to: "s.graphql")
    let manifest = try manifest(Self.tree, more: hasSchema ? "schema: s.graphql" : "")
    let next = try #require(manifest.operations[0].pagination?.nested)
    #expect(next.map(\.path.description) == ["o", "o.nodes[*].lines"])
    #expect(next.map(\.lists) == [["nodes"], ["edges", "items"]])
    let cursor = hasSchema ? "Cursor" : "String"
    let document = try next[0].nextPage
    #expect(
      document.contains(
        "query TNextPage($gqlrunID_0: ID!, $gqlrunAfter_0: \(cursor), $inner: Int)"),
      "\(document)")
    let transport = ScriptedTransport { body, _ in
      body.contains("$gqlrunID_\(maxPages):")
        ? .response(400, #"{"errors":[{"message":"Aliases limit exceeded"}]}"#)
        : try server.answer(body)
    }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 1, "\(summary.failures?.all ?? [])")
    // Four pages of customers, and the next pages of all of their orders, or of all of their lines, at a time.
    #expect(maxPages < 20 ? transport.count > 18 : transport.count == 18)
    var found: [String] = []
    for record in try location.lines("o.ndjson").map({ try JSONValue(parsing: $0) }) {
      for order in record["o"]?["nodes"]?.arrayValue ?? [] {
        let lines = order["lines"]?["items"]?.arrayValue ?? []
        #expect(order["lines"]?["edges"]?.arrayValue?.map { $0["node"] } == lines)
        let ids = lines.compactMap { $0["id"]?.stringValue }.joined(separator: ",")
        found.append("\(record["id"]?.stringValue ?? "") \(order["id"]?.stringValue ?? ""): \(ids)")
      }
    }
    #expect(found == server.all)
  }

  @Test("without `nested`, a tree fails as incomplete")
  func openTree() async throws {
    let server = TreeServer(seed: 11)
    let open = Self.tree.components(separatedBy: "\n").filter {
      !$0.contains("nested:") && !$0.contains("type:")
    }
    let summary = try await Bench.run(
      manifest(open.joined(separator: "\n")),
      transport: ScriptedTransport { body, _ in try server.answer(body) })
    let message = summary.failures?.all.first?.message ?? ""
    #expect(summary.counters.failed == 1)
    #expect(message.contains("`customers.nodes.o` has more pages"), "\(message)")
    #expect(message.contains("`customers.nodes.o.nodes.lines` has more pages"), "\(message)")
    #expect(message.contains("path: o.nodes[*].lines"), "\(message)")
  }

  private static let nested = #"""
    query: "{ list { id in { nodes { id } pageInfo { hasNextPage endCursor } } } }"
        paginate: { nested: [{ path: in, type: L }] }
        emit: list
    """#

  @Test(
    "a nested page that cannot be used fails its task",
    arguments: [
      (
        #"{"p0":{"in":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":null}}}}"#,
        "gives no cursor"
      ),
      (
        #"{"p0":{"in":{"nodes":[{}],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}"#,
        "a second time"
      ),
      (
        #"{"p0":{"in":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}"#,
        "there are more with the same cursor"
      ),
      (#"{"p0":{"in":{"nodes":null,"pageInfo":{"hasNextPage":false}}}}"#, "has no list `nodes`"),
      (#"{"p0":{"in":{"nodes":[],"pageInfo":null}}}"#, "does not have `pageInfo.hasNextPage`"),
      (#"{"p0":null}"#, "did not complete"),
    ])
  func nestedFaults(data: String, message: String) async throws {
    let transport = ScriptedTransport { number in
      let first =
        #"{"list":{"id":1,"in":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}"#
      return .data(number == 1 ? first : data)
    }
    let summary = try await Bench.run(manifest(Self.nested), transport: transport)
    let found = summary.failures?.all.first?.message ?? ""
    #expect(summary.counters.failed == 1 && found.contains(message), "\(found)")
  }

  @Test("an object whose `id` is not an ID fails its task, and not the run")
  func unusableID() async throws {
    let transport = ScriptedTransport { _ in
      .data(
        #"{"list":{"id":true,"in":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}"#)
    }
    let summary = try await Bench.run(manifest(Self.nested), transport: transport)
    let found = summary.failures?.all.first?.message ?? ""
    #expect(summary.counters.failed == 1 && found.contains("cannot be requested"), "\(found)")
  }

  @Test("a nested connection whose pages never end fails its task")
  func endlessPages() async throws {
    let transport = ScriptedTransport { number in
      let info = #""pageInfo":{"hasNextPage":true,"endCursor":"\#(number)"}"#
      let list = #"{"id":1,"in":{"nodes":[],\#(info)}}"#
      return .data(#"{"\#(number == 1 ? "list" : "p0")":\#(list)}"#)
    }
    let limited = Self.nested.replacing("{ nested:", with: "{ max_pages: 7, nested:")
    let summary = try await Bench.run(manifest(limited), transport: transport)
    #expect(summary.counters.failed == 1 && transport.count == 7)
    #expect(
      summary.failures?.all.first?.message
        == "there are more than 7 pages of `in`; raise `max_pages` of `paginate`")
  }

  @Test("a run that stops between nested pages gives its task back, and --resume completes it")
  func stopsBetweenPages() async throws {
    let control = RunControl()
    let transport = ScriptedTransport { number in
      if number == 2 { await control.stop() }
      let info = #""pageInfo":{"hasNextPage":\#(number % 3 != 0),"endCursor":"\#(number)"}"#
      let list = #"{"id":1,"in":{"nodes":[{"id":\#(number)}],\#(info)}}"#
      let name = number == 1 || number == 3 ? "list" : "p0"
      return .data(#"{"\#(name)":\#(list)}"#)
    }
    let first = try await Bench.run(
      manifest(Self.nested), control: control, transport: transport)
    #expect(first.stop == .interrupted && first.counters.failed == 0 && transport.count == 2)
    let second = try await Bench.run(manifest(Self.nested), Bench.resuming, transport: transport)
    #expect(second.counters.done == 1)
  }

  @Test("a mutation that was executed is not sent again if the run stops between its nested pages")
  func stopsInMutation() async throws {
    let control = RunControl()
    let transport = ScriptedTransport { number in
      if number == 2 { await control.stop() }
      let info = #""pageInfo":{"hasNextPage":true,"endCursor":"\#(number)"}"#
      let list = #"{"id":1,"in":{"nodes":[{"id":\#(number)}],\#(info)}}"#
      return .data(#"{"\#(number == 1 ? "list" : "p0")":\#(list)}"#)
    }
    let mutation = Self.nested.replacing("query: \"{", with: "query: \"mutation {")
    let first = try await Bench.run(manifest(mutation), control: control, transport: transport)
    #expect(first.stop == .interrupted && first.counters.unknown == 1 && transport.count == 2)
    #expect(first.failures?.all.first?.message.hasPrefix("executed, and the run stopped") == true)
    let second = try await Bench.run(manifest(mutation), Bench.resuming, transport: transport)
    #expect(second.counts[.unknown] == 1 && transport.count == 2)
  }

  @Test("nested connections are completed in a response with errors that the conditions accept")
  func acceptedErrors() async throws {
    let transport = ScriptedTransport { number in
      let info = #""pageInfo":{"hasNextPage":\#(number == 1),"endCursor":"\#(number)"}"#
      let list = #"{"id":1,"in":{"nodes":[{"id":\#(number)},null],\#(info)}}"#
      return .response(
        200,
        number == 1
          ? #"{"data":{"list":\#(list)},"errors":[{"message":"no","path":["list","in","nodes",1]}]}"#
          : #"{"data":{"p0":\#(list)}}"#)
    }
    let summary = try await Bench.run(
      manifest(Self.nested + "\n    expect: [\"count(errors) <= 1\"]"), transport: transport)
    #expect(summary.counters.done == 1, "\(summary.failures?.all ?? [])")
    let record = try JSONValue(parsing: location.text("o.ndjson"))
    let nodes = record["in"]?["nodes"]?.arrayValue ?? []
    #expect(nodes.map { $0["id"]?.intValue } == [1, nil, 2, nil])
  }

  // MARK: New manifests

  private func new(_ document: String) throws -> String {
    try location.write(document, to: "d.graphql")
    var new = NewManifest(name: "n", folder: location.path)
    new.document = location.file("d.graphql")
    let text = try new.text()
    #expect(try Bench.findings(text, in: location) == [], "\(text)")
    return text
  }

  @Test("a new manifest follows the connection of its document")
  func newManifest() throws {
    let text = try new(
      """
      query All($size: Int!, $c: String) {
        shop { customers(first: $size, after: $c) {
          edges { node { id orders { nodes { id } pageInfo { hasNextPage endCursor } } } }
          pageInfo { hasNextPage endCursor }
        } }
      }
      """)
    for line in [
      "    connection: shop.customers\n", "    cursor: c\n",
      "    page_size: { variable: size, start: 100, on_error: halve }\n",
      "    #   - { path: orders, type: TYPE }\n", "  emit: shop.customers.edges[*].node ",
    ] {
      #expect(text.contains(line), "\(text)")
    }
    #expect(!text.contains("variables:"), "\(text)")
    let mutation = try new("mutation M { m { list { nodes { id } pageInfo { hasNextPage } } } }")
    #expect(mutation.contains("  paginate: none "), "\(mutation)")
    let open = try new("{ list { nodes { id } pageInfo { hasNextPage } } }")
    #expect(open.contains("# paginate: { connection: list }   # first pass a variable"), "\(open)")
    let alias = try new(
      "query A($c: ID) { list(after: $c) { nodes { id } info: pageInfo { hasNextPage endCursor } } }"
    )
    #expect(alias.contains("first select its pageInfo { hasNextPage endCursor }"), "\(alias)")
  }
}

/// Customers with orders with lines.
private struct TreeServer: Sendable {
  private let server: ObjectServer
  /// Each order with the ids of its lines.
  let all: [String]

  init(seed: Int) {
    var all: [String] = []
    let customers = TreeObject.Value.connection(of: "Customer", 7, id: { "c\($0)" }) { customer in
      let orders = TreeObject.Value.connection(
        of: "Order", customer * seed % 8, id: { "c\(customer).o\($0)" }
      ) { order in
        let (id, count) = ("c\(customer).o\(order)", (customer + order * seed) % 7)
        all.append(
          "c\(customer) \(id): \((0..<count).map { "\(id).l\($0)" }.joined(separator: ","))")
        return ["lines": .connection(of: "Line", count, id: { "\(id).l\($0)" }) { _ in [:] }]
      }
      return ["name": .leaf("n"), "orders": orders]
    }
    self.all = all
    server = ObjectServer(TreeObject("Query", ["customers": customers]))
  }

  func answer(_ body: String) throws -> HTTPResponseMessage {
    let body = try JSONValue(parsing: body)
    var server = server
    let answer = try server.answer(
      Document(parsing: body["query"]?.stringValue ?? ""),
      variables: body["variables"]?.objectValue ?? [:])
    return .response(200, JSONValue.object(answer.body).jsonText())
  }
}
