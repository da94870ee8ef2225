import ArgumentParser
import GQLRun
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes
import Synchronization
import Testing

@testable import gqlrun

/// Answers requests by their bodies, and keeps these.
private struct PageServer: HTTPTransport {
  final class Bodies: Sendable {
    let all = Mutex<[JSONValue]>([])
  }

  var answer: @Sendable (JSONValue) throws -> String
  let bodies = Bodies()

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let body = try JSONValue(parsing: request.body ?? [])
    bodies.all.withLock { $0.append(body) }
    let text = try answer(body)
    return HTTPResponseMessage(
      head: HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]),
      body: HTTPBody([Array(text.utf8)]))
  }
}

/// Executes operations over a tree: an object has connections of any name, with up to five objects in pages of two.
private struct TreeServer {
  /// Whether the last page of a connection has a cursor.
  var endsWithCursor = true

  func answer(_ body: JSONValue) throws -> String {
    let document = try Document(parsing: body["query"]?.stringValue ?? "")
    let root = try #require(document.operations.first)
    let data = object(
      root.selectionSet, id: "r", document, variables: body["variables"] ?? .null)
    return #"{"data":\#(data.jsonText())}"#
  }

  /// The ids of all objects of a connection.
  static func ids(_ name: String, of id: String) -> [String] {
    let count = id == "r" ? 5 : "\(id)\(name)".utf8.reduce(0) { $0 + Int($1) } % 6
    return (0..<count).map { "\(id).\(name)\($0)" }
  }

  private func fields(_ set: SelectionSet, _ document: Document) -> [Field] {
    set.selections.flatMap { selection in
      switch selection {
      case .field(let field): [field]
      case .inlineFragment(let fragment): fields(fragment.selectionSet, document)
      case .fragmentSpread(let spread):
        document.fragments.first { $0.name.value == spread.name.value }
          .map { fields($0.selectionSet, document) } ?? []
      }
    }
  }

  private func object(
    _ set: SelectionSet, id: String, _ document: Document, variables: JSONValue
  ) -> JSONValue {
    var result = JSONObject()
    for field in fields(set, document) {
      func argument(_ name: String) -> JSONValue? {
        guard
          case .variable(let name)? = field.arguments.first(where: { $0.name.value == name })?.value
        else { return nil }
        return variables[name.value]
      }
      let value: JSONValue
      switch field.name.value {
      case "__typename": value = .string(id == "r" ? "Query" : id == "v" ? "Viewer" : "Item")
      case "id": value = .string(id)
      case "viewer":
        value = object(
          field.selectionSet ?? set, id: "v", document, variables: variables)
      case "node":
        value = object(
          field.selectionSet ?? set, id: argument("id")?.stringValue ?? "", document,
          variables: variables)
      case let name:
        let all = Self.ids(name, of: id)
        let start = argument("after")?.stringValue.flatMap { Int($0) } ?? 0
        let end = min(start + 2, all.count)
        value = connection(
          field.selectionSet ?? set, ids: all[min(start, end)..<end],
          cursor: end > start && (endsWithCursor || end < all.count) ? "\(end)" : nil,
          hasMore: end < all.count, document, variables: variables)
      }
      result[field.responseKey] = value
    }
    return .object(result)
  }

  private func connection(
    _ set: SelectionSet, ids: ArraySlice<String>, cursor: String?, hasMore: Bool,
    _ document: Document, variables: JSONValue
  ) -> JSONValue {
    var result = JSONObject()
    for field in fields(set, document) {
      let value: JSONValue
      switch field.name.value {
      case "pageInfo":
        var info = JSONObject()
        for field in field.selectionSet.map({ fields($0, document) }) ?? [] {
          info[field.responseKey] =
            switch field.name.value {
            case "hasNextPage": .boolean(hasMore)
            case "endCursor": cursor.map { .string($0) } ?? .null
            default: .string("PageInfo")
            }
        }
        value = .object(info)
      case "nodes":
        value = .array(
          ids.map { object(field.selectionSet ?? set, id: $0, document, variables: variables) })
      default: value = .string("Items")
      }
      result[field.responseKey] = value
    }
    return .object(result)
  }
}

@Suite("gqlrun run --paginate", .timeLimit(.minutes(10)))
struct RunPagesTests {
  private struct Followed {
    var pages: [JSONValue] = []
    var requests: [JSONValue] = []
    var problems: [String: String] = [:]
    var error: Failure?
  }

  /// The pages that a server answers, and the error at their end.
  private func follow(
    _ document: String, keys: KeyRules = KeyRules(), options: [String] = [],
    schema: String? = nil,
    _ answer: @escaping @Sendable (JSONValue) throws -> String
  ) async throws -> Followed {
    let operation = try PreparedOperation(
      document: Document(parsing: document), keys: keys,
      facts: try schema.map { try TypeFacts(Schema(sdl: Document(parsing: $0))) })
    let server = PageServer(answer: answer)
    var configuration = PipelineClient.Configuration()
    configuration.transport = server
    let pipeline = try EndpointArguments.parse(["--endpoint", "http://127.0.0.1:1/"]).load()
    let client = try await PipelineClient(pipeline, configuration: configuration)
    let options = try PageOptions.parse(["--paginate"] + options)
    var followed = try await client.shutdown { client in
      var followed = Followed()
      var pages = try RunPages(
        GraphQLRequest(operation), options: options, client: client,
        results: client.execute(GraphQLRequest(operation)), name: "q.graphql")
      do {
        while let page = try await pages.next() {
          followed.pages.append(try JSONValue(parsing: page.data?.bytes() ?? []))
        }
      } catch let error as Failure {
        followed.error = error
      }
      followed.problems = pages.problems
      return followed
    }
    followed.requests = server.bodies.all.withLock { $0 }
    return followed
  }

  /// The ids of the nodes of a connection.
  private func nodes(_ connection: JSONValue?) -> [String] {
    (connection?["nodes"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }

  private static let page = "{ nodes { id } pageInfo { hasNextPage endCursor } }"

  @Test(
    "connections with variables of their own are followed together, each element once",
    arguments: [true, false])
  func siblings(endsWithCursor: Bool) async throws {
    let tree = TreeServer(endsWithCursor: endsWithCursor)
    let found = try await follow(
      """
      query($a: String, $b: String) {
        a: list(after: $a) \(Self.page)
        viewer { id b: list(after: $b) \(Self.page) }
      }
      """, tree.answer)
    let short = TreeServer.ids("list", of: "v")
    #expect(found.error == nil && found.problems == [:], "\(found)")
    #expect(
      found.pages.map { nodes($0["a"]) } == [
        ["r.list0", "r.list1"], ["r.list2", "r.list3"], ["r.list4"],
      ])
    let others = found.pages.flatMap { nodes($0["viewer"]?["b"]) }
    #expect(others == short && found.pages.count == 3, "\(others)")
    #expect(found.pages.last?["a"]?["pageInfo"]?["hasNextPage"] == .boolean(false))
    #expect(found.requests.count == 3)
  }

  @Test(
    "of several selections of `pageInfo`, those that a result has are followed",
    arguments: [
      "a: pageInfo @skip(if: true) { hasNextPage endCursor } nodes { v } pageInfo { hasNextPage endCursor }",
      "pageInfo { a: hasNextPage @skip(if: true) hasNextPage endCursor } nodes { v }",
      "pageInfo { hasNextPage } nodes { v } pageInfo { endCursor }",
      "pageInfo { hasNextPage } } list(after: $after) { nodes { v } pageInfo { endCursor }",
    ])
  func selections(list: String) async throws {
    let found = try await follow("query($after: String) { list(after: $after) { \(list) } }") {
      body in
      let page = body["variables"]?["after"]?.stringValue.flatMap { Int($0) } ?? 1
      return
        #"{"data":{"list":{"nodes":[{"v":\#(page)}],"pageInfo":{"hasNextPage":\#(page < 3),"endCursor":"\#(page + 1)"}}}}"#
    }
    #expect(found.error == nil && found.problems == [:], "\(found)")
    #expect(found.pages.map { $0["list"]?["nodes"]?[0]?["v"] } == [1, 2, 3], "\(found)")
  }

  @Test(
    "the note of a cursor has the command that sends it, unless a terminal cannot show it on a line",
    arguments: [
      ("c'a", #", --var 'after=c'\''a' the next one"#), (#"c\u2028a"#, ""), (#"c\nerror: a"#, ""),
      (#"c\r\na"#, ""), (#"c\ta"#, ""), (#"c\u001ba"#, ""),
    ])
  func cursorNotes(cursor: String, command: String) throws {
    let operation = try PreparedOperation(
      document: Document(parsing: "query($after: String) { list(after: $after) \(Self.page) }"),
      keys: KeyRules())
    var pages = UnreadPages(of: operation)
    Array(#"{"list":{"pageInfo":{"hasNextPage":true,"endCursor":"\#(cursor)"}}}"#.utf8)
      .withUnsafeBytes { pages.read($0) }
    #expect(
      pages.unread.map { $0.note(problem: nil) } == [
        "`list` has more pages (hasNextPage is true): --paginate requests all of them" + command
      ])
  }

  @Test("a result whose `pageInfo` has only other names is an error, not the last page")
  func skippedPageInfo() async throws {
    let found = try await follow(
      """
      query($after: String) {
        list(after: $after) { pageInfo @skip(if: true) { hasNextPage endCursor } a: pageInfo { hasNextPage } nodes { v } }
      }
      """
    ) { _ in #"{"data":{"list":{"a":{"hasNextPage":true},"nodes":[]}}}"# }
    #expect(found.pages.count == 1)
    #expect(
      found.error?.message.contains(
        "`list` has more pages after page 1; select its `pageInfo { hasNextPage endCursor }` without aliases and "
          + "directives") == true, "\(found)")
  }

  @Test("all selections of `pageInfo` are those of the last page of a completed connection")
  func completedSelections() async throws {
    let found = try await follow(
      """
      query($after: String) {
        viewer { id list { a: pageInfo { more: hasNextPage end: endCursor } nodes { id } pageInfo { hasNextPage endCursor } } }
        other: list(after: $after) \(Self.page)
      }
      """, TreeServer().answer)
    #expect(found.error == nil && found.problems == [:], "\(found)")
    let lists = found.pages.map { $0["viewer"]?["list"] }
    #expect(lists.map { nodes($0) } == [TreeServer.ids("list", of: "v"), [], []])
    #expect(lists.map { $0?["a"]?["more"] } == [false, false, false], "\(found)")
    #expect(found.pages.last?["viewer"]?["list"]?["a"]?["end"] == .null, "\(found)")
  }

  @Test("connections without a variable of their own are complete in the first result")
  func paths() async throws {
    let found = try await follow(
      """
      query Q($after: String, $c: String) {
        a: list(after: $after) \(Self.page)
        b: list(after: $after) \(Self.page)
        ...V
        c: list(after: $c) \(Self.page)
      }
      fragment V on Query { viewer { id ... on Viewer { owned(first: 2) \(Self.page) } } }
      """, TreeServer().answer)
    #expect(found.error == nil && found.problems == [:], "\(found)")
    let all = TreeServer.ids("list", of: "r")
    #expect(found.pages.map { nodes($0["a"]) } == [all, [], []])
    #expect(found.pages.map { nodes($0["b"]) } == [all, [], []])
    #expect(
      found.pages.map { nodes($0["viewer"]?["owned"]) } == [
        TreeServer.ids("owned", of: "v"), [], [],
      ])
    #expect(found.pages.flatMap { nodes($0["c"]) } == all)
    #expect(found.pages[1]["a"]?["pageInfo"]?["hasNextPage"] == .boolean(false))
    let next = found.requests.compactMap { $0["query"]?.stringValue }
      .filter { $0.contains("query QNextPage($gqlrunAfter: String)") }
    #expect(next.count { $0.contains("a: list(after: $gqlrunAfter)") } == 2, "\(next)")
  }

  @Test("connections in lists are complete at any depth, with and without a schema")
  func nested() async throws {
    let schema = """
      interface Node { id: ID! }
      type Query { node(id: ID!): Node list(after: String): Items! }
      type Items { nodes: [Item!]! pageInfo: PageInfo! }
      type Item implements Node { id: ID! in(first: Int, after: String): Items! leaf(after: String): Items! }
      type PageInfo { hasNextPage: Boolean! endCursor: String }
      """
    func document(_ typename: String) -> String {
      """
      query Q($after: String) {
        list(after: $after) {
          nodes { id \(typename) x: in(first: 2) { nodes { id ...Leaf } pageInfo { hasNextPage endCursor } } }
          pageInfo { hasNextPage endCursor }
        }
      }
      fragment Leaf on Item { leaf(after: $after) \(Self.page) y: leaf \(Self.page) }
      """
    }
    for (text, schema) in [(document("__typename"), nil), (document(""), schema)] {
      // The variable is that of two lists.
      let found = try await follow(text, schema: schema, TreeServer().answer)
      #expect(found.error == nil && found.problems == [:], "\(found)")
      #expect(found.pages.count == 1)
      let list = TreeServer.ids("list", of: "r")
      #expect(nodes(found.pages[0]["list"]) == list)
      for item in found.pages[0]["list"]?["nodes"]?.arrayValue ?? [] {
        let ids = TreeServer.ids("in", of: item["id"]?.stringValue ?? "")
        #expect(nodes(item["x"]) == ids)
        for inner in item["x"]?["nodes"]?.arrayValue ?? [] {
          let leaves = TreeServer.ids("leaf", of: inner["id"]?.stringValue ?? "")
          #expect(nodes(inner["leaf"]) == leaves && nodes(inner["y"]) == leaves)
        }
      }
    }
    let paged = try await follow(
      document("__typename").replacing("leaf(after: $after)", with: "leaf"), TreeServer().answer)
    #expect(paged.pages.count == 3 && paged.error == nil && paged.problems == [:], "\(paged)")
    let items = paged.pages.flatMap { $0["list"]?["nodes"]?.arrayValue ?? [] }
    let all = TreeServer.ids("list", of: "r").flatMap { TreeServer.ids("in", of: $0) }
    #expect(items.flatMap { nodes($0["x"]) } == all)
  }

  @Test(
    "a connection that cannot be followed has a reason with what would work",
    arguments: [
      (
        "list { nodes { in PAGE } pageInfo { hasNextPage } }", "list", "select its `endCursor`, too"
      ),
      ("list { nodes { __typename in PAGE } }", "list.nodes.in", "select the `id` of the objects"),
      ("list { nodes { id in PAGE } }", "list.nodes.in", "select `__typename` next to the `id`"),
      (
        "list { nodes { id } p: pageInfo { hasNextPage endCursor } }", "list",
        "without aliases"
      ),
      ("list { pageInfo { hasNextPage endCursor } }", "list", "select its `nodes` or `edges`"),
    ])
  func problems(query: String, path: String, problem: String) async throws {
    let found = try await follow(
      "{ \(query.replacing("PAGE", with: Self.page)) }", TreeServer().answer)
    #expect(found.pages.count == 1 && found.error == nil, "\(found)")
    #expect(found.problems[path]?.contains(problem) == true, "\(found.problems)")
  }

  @Test("with a schema, a connection that no field requests has a reason, and nothing else is sent")
  func refusedPages() async throws {
    let found = try await follow(
      "{ list { nodes { id in \(Self.page) } } viewer { owned \(Self.page) } }",
      schema: """
        type Query { list: Items! viewer: Viewer! }
        type Viewer { owned: Items! }
        type Items { nodes: [Item!]! pageInfo: PageInfo! }
        type Item { id: ID! in(after: String): Items! }
        type PageInfo { hasNextPage: Boolean! endCursor: String }
        """, TreeServer().answer)
    #expect(found.requests.count == 1 && found.error == nil)
    #expect(
      found.problems["list.nodes.in"]?.contains("it cannot be requested through `node(id:)`: ")
        == true, "\(found.problems)")
    #expect(
      found.problems["viewer.owned"]?.contains("it cannot be requested from a cursor: ") == true,
      "\(found.problems)")
  }

  @Test(
    "a page that is null without an error is an error",
    arguments: [
      (#"{"data":{"list":null}}"#, "page 2 of `list` is null"),
      (#"{"data":null}"#, "page 2 has no data and no error"),
    ])
  func missingPage(page: String, message: String) async throws {
    let found = try await follow("query($a: String) { list(after: $a) \(Self.page) }") { body in
      try body["variables"]?["a"]?.stringValue == nil ? TreeServer().answer(body) : page
    }
    #expect(found.pages.count == 2 && found.error?.status == .failed, "\(found)")
    #expect(found.error?.message.contains(message) == true, "\(found.error as Any)")
  }

  @Test("a first page without data and without an error is the result")
  func firstPage() async throws {
    let found = try await follow("query($a: String) { list(after: $a) \(Self.page) }") { _ in
      #"{"data":null}"#
    }
    #expect(found.pages == [.null] && found.error == nil, "\(found)")
  }

  @Test(
    "the first page of a connection that may have more is an error after the result",
    arguments: [
      "", #","pageInfo":null"#, #","pageInfo":{"hasNextPage":null,"endCursor":"c"}"#,
      #","pageInfo":{"hasNextPage":"true","endCursor":"c"}"#,
    ])
  func unknownPages(info: String) async throws {
    let found = try await follow("query($a: String) { list(after: $a) \(Self.page) }") { _ in
      #"{"data":{"list":{"nodes":[{"id":"1"}]\#(info)}}}"#
    }
    #expect(found.pages.count == 1 && found.error?.status == .failed, "\(found)")
    #expect(
      found.error?.message
        == "the result is incomplete: `list` may have more pages, because its `hasNextPage` is missing "
        + "or not a Boolean",
      "\(found.error as Any)")
  }

  @Test("a page of a connection that fails ends with an error after the result")
  func failingPages() async throws {
    let query = "{ list { nodes { id __typename in \(Self.page) } } }"
    for (answer, message) in [
      (
        #"{"data":{"p0":null}}"#,
        "the server did not complete `list.nodes[*].in` through node(id:)"
      ),
      (
        #"{"data":{"p0":{"gqlrunID":"x","in":{"nodes":[],"pageInfo":{"hasNextPage":false}}}}}"#,
        "through node(id:): it gave an object with another `id`"
      ),
      (#"{"errors":[{"message":"no \u001b node"}]}"#, "a page of a connection failed: no "),
    ] {
      let found = try await follow(query) { body in
        try body["variables"]?["gqlrunID_0"] == nil ? TreeServer().answer(body) : answer
      }
      #expect(found.pages.count == 1 && found.error?.status == .failed, "\(found)")
      #expect(found.error?.message.contains(message) == true, "\(found.error as Any)")
      #expect(found.error?.message.contains("\u{1b}") == false)
    }
    let limited = try await follow(
      "{ list \(Self.page) }", options: ["--max-pages", "2"], TreeServer().answer)
    #expect(limited.pages.count == 1, "\(limited)")
    #expect(
      limited.error?.message.contains("there are more pages of `list` than --max-pages 2") == true,
      "\(limited.error as Any)")
    let exact = try await follow(
      "{ list \(Self.page) }", options: ["--max-pages", "3"], TreeServer().answer)
    #expect(exact.error == nil && nodes(exact.pages.first?["list"]).count == 5, "\(exact)")
  }

  @Test("a cursor that comes twice ends with an error", arguments: ["a", #"a\n\u001b[1m"#])
  func loop(cursor: String) async throws {
    let found = try await follow(
      "query($c: ID) { list(after: $c) { pageInfo { hasNextPage endCursor } } }"
    ) { body in
      let next = body["variables"]?["c"]?.stringValue ?? "b" == "b" ? cursor : "b"
      return #"{"data":{"list":{"pageInfo":{"hasNextPage":true,"endCursor":"\#(next)"}}}}"#
    }
    #expect(found.pages.count == 3)
    #expect(
      found.error?.message.contains("the cursor \"\(cursor)\" a second time") == true,
      "\(found.error as Any)")
  }

  @Test("a list with a rule for offsets is followed until a page is empty")
  func offsets() async throws {
    let found = try await follow(
      "query($o: Int) { items(offset: $o) { v } }",
      keys: KeyRules(pages: ["Query": ["items": .offset]])
    ) { body in
      let start = body["variables"]?["o"]?.intValue ?? 0
      let items = (start..<max(start, min(start + 2, 5))).map { #"{"v":\#($0)}"# }
      return #"{"data":{"items":[\#(items.joined(separator: ","))]}}"#
    }
    #expect(found.pages.count == 4 && found.error == nil)
  }
}
