import GQLRunJSON
import Testing

@testable import GQLRunDemoServer

/// Connections in connections: their pages, how objects are found, and what an operation costs.
@Suite struct ListTests {
  private static let page = "pageInfo { hasNextPage endCursor }"

  private func run(
    _ query: String, _ variables: JSONValue = [:], _ executor: DemoExecutor = DemoExecutor()
  ) throws -> JSONValue {
    try JSONValue(parsing: executor.execute(query, variables: variables))
  }

  /// The nodes of all pages of a connection.
  ///
  /// - Parameters:
  ///   - query: Has the variable `$after`.
  ///   - path: The keys from the data to the connection.
  private func all(_ query: String, at path: [String], _ executor: DemoExecutor) throws
    -> [JSONValue]
  {
    var nodes: [JSONValue] = []
    var cursor = JSONValue.null
    while true {
      let response = try run(query, ["after": cursor], executor)
      let connection = try #require(path.reduce(response["data"]) { $0?[$1] }, "\(response)")
      nodes += connection["nodes"]?.arrayValue ?? []
      guard connection["pageInfo"]?["hasNextPage"] == true else { return nodes }
      cursor = connection["pageInfo"]?["endCursor"] ?? .null
      try #require(cursor != .null)
    }
  }

  @Test func `pages through node and through order are what one page has`() throws {
    let executor = DemoExecutor()
    let whole = try run(
      """
      { customers(first: 999) { totalCount nodes { id updatedAt
          orders(first: 999) { totalCount nodes { id total customer { id }
            lines(first: 999) { nodes { id quantity price } } } } } } }
      """, [:], executor)
    let customers = whole["data"]?["customers"]?["nodes"]?.arrayValue ?? []
    #expect(whole["data"]?["customers"]?["totalCount"] == 120)
    #expect(customers.count == 120)
    let paged = try all(
      "query ($after: String) { customers(first: 7, after: $after) { nodes { id } \(Self.page) } }",
      at: ["customers"], executor)
    #expect(paged.map { $0["id"] } == customers.map { $0["id"] })
    var counts = (orders: 0, lines: 0)
    for customer in customers {
      let id = try #require(customer["id"]?.stringValue)
      let orders = try all(
        """
        query ($after: String) { node(id: "\(id)") { ... on Customer {
          orders(first: 7, after: $after) { nodes { id } \(Self.page) } } } }
        """, at: ["node", "orders"], executor)
      let found = customer["orders"]?["nodes"]?.arrayValue ?? []
      #expect(orders.map { $0["id"] } == found.map { $0["id"] })
      #expect(customer["orders"]?["totalCount"]?.intValue == found.count)
      counts.orders += found.count
      for order in found {
        let lines = order["lines"]?["nodes"]?.arrayValue ?? []
        counts.lines += lines.count
        let cents = lines.reduce(0) { sum, line in
          sum + (line["quantity"]?.intValue ?? 0)
            * Int(((line["price"]?.doubleValue ?? 0) * 100).rounded())
        }
        #expect(Int(((order["total"]?.doubleValue ?? 0) * 100).rounded()) == cents)
        #expect(order["customer"]?["id"]?.stringValue == id)
      }
    }
    #expect(counts.orders == 1780 && counts.lines == 12_629)
    let lines = try all(
      "query ($after: String) { order(id: \"O_5\") { lines(first: 2, after: $after) { nodes { id } \(Self.page) } } }",
      at: ["order", "lines"], executor)
    #expect(lines.count == Lists.lines.numbers(of: 5).count)
  }

  @Test(arguments: [
    ExecutionCase(
      "objects by id, and those that are no nodes",
      """
      { nodes(ids: ["CU_1", "R_0", "I_2", "IC_3", "LA_4", "O_1", "L_1", "CU_120", "I_366"]) { __typename id }
        customer(id: "CU_119") { id } order(id: "O_1779") { id } none: order(id: "O_1780") { id }
        other: customer(id: "O_1") { id } repository(owner: "gqlrun", name: "nothing") { id } }
      """,
      gives:
        #"{"data":{"nodes":[{"__typename":"Customer","id":"CU_1"},{"__typename":"Repository","id":"R_0"},"#
        + #"{"__typename":"Issue","id":"I_2"},{"__typename":"IssueComment","id":"IC_3"},"#
        + #"{"__typename":"Label","id":"LA_4"},null,null,null,null],"customer":{"id":"CU_119"},"#
        + #""order":{"id":"O_1779"},"none":null,"other":null,"repository":null}}"#),
    ExecutionCase(
      "edges, cursors and type names",
      """
      { customers(first: 1, after: "Q1VfMTg=") { __typename totalCount edges { __typename cursor node { __typename id } }
          pageInfo { __typename hasNextPage endCursor } } }
      """,
      gives:
        #"{"data":{"customers":{"__typename":"CustomerConnection","totalCount":120,"edges":["#
        + #"{"__typename":"CustomerEdge","cursor":"Q1VfMTk=","node":{"__typename":"Customer","id":"CU_19"}}],"#
        + #""pageInfo":{"__typename":"PageInfo","hasNextPage":true,"endCursor":"Q1VfMTk="}}}}"#),
    ExecutionCase(
      "an empty list",
      "{ customer(id: \"CU_10\") { orders { totalCount nodes { id } pageInfo { hasNextPage endCursor } } } }",
      gives:
        #"{"data":{"customer":{"orders":{"totalCount":0,"nodes":[],"#
        + #""pageInfo":{"hasNextPage":false,"endCursor":null}}}}}"#),
    ExecutionCase(
      "a cursor of another list",
      """
      { customer(id: "CU_1") { email orders(after: "Q1VfMTk=") { totalCount } } }
      """,
      gives:
        #"{"data":{"customer":null},"errors":[{"message":"Argument \"after\" is not the cursor of an object of the type \"Order\".","#
        + #""locations":[{"line":1,"column":32}],"path":["customer","orders"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#
    ),
  ])
  func `answers`(_ example: ExecutionCase) {
    example.check()
  }

  @Test func `issues have their comments, and share labels`() throws {
    let executor = DemoExecutor()
    var issues: [JSONValue] = []
    for name in Lists.repositories.map(\.name) {
      issues += try all(
        """
        query ($after: String) { repository(owner: "gqlrun", name: "\(name)") {
          issues(first: 50, after: $after) { \(Self.page) nodes { id number createdAt updatedAt
            labels { nodes { id } } comments(first: 99) { totalCount nodes { id createdAt } } } } } }
        """, at: ["repository", "issues"], executor)
    }
    #expect(issues.count == 366)
    #expect(issues[240]["number"] == 1)
    let comments = issues.flatMap { $0["comments"]?["nodes"]?.arrayValue ?? [] }
    #expect(Set(comments.compactMap { $0["id"]?.stringValue }).count == 1500)
    #expect(comments.count == 1500)
    let labels = issues.flatMap { $0["labels"]?["nodes"]?.arrayValue ?? [] }
    #expect(Set(labels.compactMap { $0["id"]?.stringValue }).count == 18)
    #expect(labels.count > 300)
    for issue in issues {
      let written = (issue["comments"]?["nodes"]?.arrayValue ?? []).compactMap {
        $0["createdAt"]?.stringValue
      }
      let times =
        [issue["createdAt"]?.stringValue ?? ""] + written + [issue["updatedAt"]?.stringValue ?? ""]
      #expect(times == times.sorted())
    }
  }

  @Test func `what a mutation changes is what is newer`() throws {
    let executor = DemoExecutor()
    let newest = try run("{ customers(first: 999) { nodes { updatedAt } } }", [:], executor)
    let times = newest["data"]?["customers"]?["nodes"]?.arrayValue?.compactMap {
      $0["updatedAt"]?.stringValue
    }
    let last = try #require(times?.max())
    let newer =
      "query ($t: DateTime) { customers(updatedAfter: $t) { totalCount nodes { id name updatedAt } } }"
    #expect(
      try run(newer, ["t": .string(last)], executor)["data"]?["customers"]?["totalCount"] == 0)
    #expect(try run(newer, ["t": nil], executor)["data"]?["customers"]?["totalCount"] == 120)
    let changed = try run(
      """
      mutation { renameCustomer(id: "CU_5", name: "Zoë") { id name } none: renameCustomer(id: "CU_500", name: "") { id }
        closeIssue(id: "I_0") { id state closedAt updatedAt } }
      """, [:], executor)
    #expect(changed["data"]?["renameCustomer"] == ["id": "CU_5", "name": "Zoë"])
    #expect(changed["data"]?["none"] == .null)
    #expect(changed["data"]?["closeIssue"]?["state"] == "CLOSED")
    #expect(
      changed["data"]?["closeIssue"]?["closedAt"] == changed["data"]?["closeIssue"]?["updatedAt"])
    let after = try run(newer, ["t": .string(last)], executor)["data"]?["customers"]
    #expect(after?["totalCount"] == 1)
    #expect(after?["nodes"]?[0]?["name"] == "Zoë")
    let since = try run(
      """
      query ($t: DateTime) { repository(owner: "gqlrun", name: "app") {
        issues(filterBy: { since: $t }) { nodes { id } } } }
      """, ["t": changed["data"]?["closeIssue"]?["updatedAt"] ?? .null], executor)
    #expect(since["data"]?["repository"]?["issues"]?["nodes"] == [["id": "I_0"]])
    let wrong = try run(newer, ["t": "yesterday"], executor)
    #expect(wrong["errors"]?[0]?["extensions"]?["code"] == "BAD_USER_INPUT")
  }

  @Test(arguments: [
    ("{ country(code: \"CA\") { name } }", 1),
    ("{ customers(first: 10) { edges { node { id } } nodes { id } } }", 10),
    ("{ customers { nodes { id } } }", 50),
    (
      "{ customers(first: 10) { nodes { address { city } orders(first: 5) { nodes { id } } } } }",
      70
    ),
    (
      "{ nodes(ids: [\"CU_1\", \"CU_2\"]) { ... on Customer { orders(first: 5) { nodes { id } } } } }",
      12
    ),
    (
      "{ a: order(id: 1) { lines(first: 9) { nodes { id } } } b: order(id: 1) { lines(first: 9) { nodes { id } } } }",
      20
    ),
  ])
  func `an operation costs the objects that it asks for`(_ query: String, cost: Int) throws {
    let enough = try run(query, [:], DemoExecutor(maxComplexity: cost))
    #expect(enough["errors"] == nil)
    guard cost > 1 else { return }
    let little = try run(query, [:], DemoExecutor(maxComplexity: cost - 1))
    #expect(little["data"] == nil)
    #expect(
      little["errors"]?[0]?["message"]?.stringValue
        == "Query cost is \(cost), which exceeds the single query max cost limit (\(cost - 1)).")
    #expect(little["errors"]?[0]?["extensions"]?["code"] == "MAX_COST_EXCEEDED")
  }

  @Test func `a cost beyond all numbers is refused`() throws {
    let size = "(first: 2000000000) { nodes { id"
    let query =
      "{ customers\(size) orders\(size) lines(first: 2000000000) { nodes { id } } } } } } }"
    let response = try run(query, [:], DemoExecutor(maxComplexity: 1_000_000))
    #expect(response["errors"]?[0]?["extensions"]?["code"] == "MAX_COST_EXCEEDED")
  }
}
