import GQLRunJSON
import Testing

@testable import GQLRunDemoServer

@Suite struct ExecutionTests {
  @Test(arguments: [
    ExecutionCase(
      "fields in the order of the selection",
      "{ country(code: \"CA\") { name code capital } }",
      gives: #"{"data":{"country":{"name":"Canada","code":"CA","capital":"Ottawa"}}}"#),
    ExecutionCase(
      "a named operation, its variables and their defaults",
      "query Q($code: ID! = \"JP\", $lang: String) { country(code: $code) { name(lang: $lang) } }",
      variables: ["lang": "fr"],
      gives: #"{"data":{"country":{"name":"Japon"}}}"#),
    ExecutionCase(
      "a variable's value instead of its default",
      "query Q($code: ID! = \"JP\") { country(code: $code) { name } }",
      variables: ["code": "FR"],
      gives: #"{"data":{"country":{"name":"France"}}}"#),
    ExecutionCase(
      "one of several operations",
      "query A { country(code: \"CA\") { name } } query B { country(code: \"JP\") { name } }",
      operationName: "B",
      gives: #"{"data":{"country":{"name":"Japan"}}}"#),
    ExecutionCase(
      "empty selection sets",
      "{ country(code: \"CA\") { } a: country(code: \"CA\") { ... on Country { } continent { } } b: country(code: \"ZZ\") { } }",
      gives: #"{"data":{"country":{},"a":{"continent":{}},"b":null}}"#),
    ExecutionCase(
      "empty selection sets beside others",
      "{ country(code: \"CA\") { } country(code: \"CA\") { code } ...F } fragment F on Query { }",
      gives: #"{"data":{"country":{"code":"CA"}}}"#),
    ExecutionCase("an empty operation", "query Q { }", gives: #"{"data":{}}"#),
    ExecutionCase(
      "aliases",
      "{ a: country(code: \"CA\") { n: name } b: country(code: \"JP\") { n: name } }",
      gives: #"{"data":{"a":{"n":"Canada"},"b":{"n":"Japan"}}}"#),
    ExecutionCase(
      "nothing found",
      "{ country(code: \"ZZ\") { name } node(id: \"X\") { id } user(id: \"P_1\") { id } }",
      gives: #"{"data":{"country":null,"node":null,"user":null}}"#),
    ExecutionCase(
      "an integer as ID",
      "{ country(code: 5) { name } }",
      gives: #"{"data":{"country":null}}"#),
    ExecutionCase(
      "fragments in fragments",
      """
      { country(code: "CH") { ...C } }
      fragment C on Country { code ...L }
      fragment L on Country { languages { ...N } }
      fragment N on Language { code }
      """,
      gives:
        #"{"data":{"country":{"code":"CH","languages":[{"code":"de"},{"code":"fr"},"#
        + #"{"code":"it"},{"code":"rm"}]}}}"#),
    ExecutionCase(
      "inline fragments with and without a type",
      "{ country(code: \"CA\") { ... { code } ... on Country { name } ... @include(if: false) { phone } } }",
      gives: #"{"data":{"country":{"code":"CA","name":"Canada"}}}"#),
    ExecutionCase(
      "fields merged",
      """
      { country(code: "CA") { continent { code } ...F continent { name } } }
      fragment F on Country { continent { __typename code } code }
      """,
      gives:
        #"{"data":{"country":{"continent":{"code":"NA","__typename":"Continent","#
        + #""name":"North America"},"code":"CA"}}}"#),
    ExecutionCase(
      "an interface",
      """
      { nodes(ids: ["U_1", "T_1", "P_1", "C_1", "no"]) {
        __typename id ... on User { login } ... on Tag { name } ... on Node { same: id } } }
      """,
      gives:
        #"{"data":{"nodes":[{"__typename":"User","id":"U_1","login":"user1","same":"U_1"},"#
        + #"{"__typename":"Tag","id":"T_1","name":"tag-1","same":"T_1"},"#
        + #"{"__typename":"Post","id":"P_1","same":"P_1"},"#
        + #"{"__typename":"Comment","id":"C_1","same":"C_1"},null]}}"#),
    ExecutionCase(
      "a union",
      """
      { search(text: "user19", first: 3) { __typename ... on User { login } ... on Post { id } } }
      """,
      gives:
        #"{"data":{"search":[{"__typename":"User","login":"user19"},"#
        + #"{"__typename":"User","login":"user190"},{"__typename":"User","login":"user191"}]}}"#),
    ExecutionCase(
      "skip and include",
      """
      query ($yes: Boolean!, $no: Boolean!) { country(code: "CA") {
        a: code @skip(if: $yes) b: code @skip(if: $no) c: code @include(if: $yes)
        d: code @include(if: $no) e: code @skip(if: $no) @include(if: $yes)
        f: code @skip(if: $yes) @include(if: $yes) ...F @include(if: $no) } }
      fragment F on Country { g: code }
      """,
      variables: ["yes": true, "no": false],
      gives: #"{"data":{"country":{"b":"CA","c":"CA","e":"CA"}}}"#),
    ExecutionCase(
      "everything skipped",
      "{ country(code: \"CA\") @skip(if: true) { code } }",
      gives: #"{"data":{}}"#),
    ExecutionCase(
      "type names",
      "{ __typename country(code: \"CA\") { __typename t: __typename } }",
      gives: #"{"data":{"__typename":"Query","country":{"__typename":"Country","t":"Country"}}}"#),
    ExecutionCase(
      "enums, nulls, booleans and numbers",
      "{ user(id: \"U_0\") { role name followers } post(id: \"P_0\") { isPinned } }",
      gives:
        #"{"data":{"user":{"role":"ADMIN","name":null,"followers":14156},"#
        + #""post":{"isPinned":false}}}"#),
    ExecutionCase(
      "an enum as argument",
      """
      query ($role: Role = ADMIN) { a: users(role: GUEST, first: 2) { id role }
        b: users(role: $role, first: 2) { id } c: users(first: 1) { id } }
      """,
      gives:
        #"{"data":{"a":[{"id":"U_1","role":"GUEST"},{"id":"U_21","role":"GUEST"}],"#
        + #""b":[{"id":"U_0"},{"id":"U_20"}],"c":[{"id":"U_0"}]}}"#),
    ExecutionCase(
      "a page of the feed",
      """
      { feed(first: 2, after: "cDo5OTY=") { totalCount edges { cursor node { id } }
        pageInfo { hasNextPage endCursor } } }
      """,
      gives:
        #"{"data":{"feed":{"totalCount":1000,"edges":[{"cursor":"cDo5OTc=","node":{"id":"P_997"}},"#
        + #"{"cursor":"cDo5OTg=","node":{"id":"P_998"}}],"#
        + #""pageInfo":{"hasNextPage":true,"endCursor":"cDo5OTg="}}}}"#),
    ExecutionCase(
      "an empty page",
      "{ feed(first: 0) { edges { cursor } pageInfo { hasNextPage endCursor } } }",
      gives:
        #"{"data":{"feed":{"edges":[],"pageInfo":{"hasNextPage":true,"endCursor":null}}}}"#),
    ExecutionCase(
      "comments of a post",
      """
      { post(id: "P_2") { comments(first: 1) { totalCount edges { cursor node { id } }
        pageInfo { hasNextPage endCursor } } } }
      """,
      gives:
        #"{"data":{"post":{"comments":{"totalCount":6,"edges":[{"cursor":"YzoxMw==","#
        + #""node":{"id":"C_13"}}],"pageInfo":{"hasNextPage":true,"endCursor":"YzoxMw=="}}}}}"#),
    ExecutionCase(
      "the next comments of a post, and those after the cursor of another one",
      """
      { post(id: "P_2") {
          comments(first: 1, after: "YzoxMw==") { edges { node { id } } pageInfo { hasNextPage } }
          rest: comments(first: 9, after: "YzoxNg==") { edges { node { id } } pageInfo { hasNextPage } }
          none: comments(first: 9, after: "Yzox") { edges { node { id } } pageInfo { hasNextPage endCursor } } } }
      """,
      gives:
        #"{"data":{"post":{"comments":{"edges":[{"node":{"id":"C_14"}}],"pageInfo":{"hasNextPage":true}},"#
        + #""rest":{"edges":[{"node":{"id":"C_17"}},{"node":{"id":"C_18"}}],"pageInfo":{"hasNextPage":false}},"#
        + #""none":{"edges":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}}}}"#),
    ExecutionCase(
      "states and subdivisions",
      """
      { country(code: "GB") { states { code name country { code } } subdivisions { code emoji } } }
      """,
      gives:
        #"{"data":{"country":{"states":[{"code":"ENG","name":"England","country":{"code":"GB"}},"#
        + #"{"code":"NIR","name":"Northern Ireland","country":{"code":"GB"}},"#
        + #"{"code":"SCT","name":"Scotland","country":{"code":"GB"}},"#
        + #"{"code":"WLS","name":"Wales","country":{"code":"GB"}}],"subdivisions":["#
        + #"{"code":"ENG","emoji":"🏴󠁧󠁢󠁥󠁮󠁧󠁿"},{"code":"NIR","emoji":null},"#
        + #"{"code":"SCT","emoji":"🏴󠁧󠁢󠁳󠁣󠁴󠁿"},{"code":"WLS","emoji":"🏴󠁧󠁢󠁷󠁬󠁳󠁿"}]}}}"#),
    ExecutionCase(
      "keys and texts escaped",
      "{ trouble { error(message: \"\"\"a \"quoted\" \\ text\n\"\"\") } }",
      gives:
        #"{"data":{"trouble":{"error":null}},"errors":[{"message":"a \"quoted\" \\ text","#
        + #""locations":[{"line":1,"column":13}],"path":["trouble","error"],"#
        + #""extensions":{"code":"DEMO_ERROR"}}]}"#),
  ])
  func `answers`(_ example: ExecutionCase) {
    example.check()
  }

  @Test(arguments: [
    (#"{ code: { eq: "CA" } }"#, "CA"),
    (#"{ code: { in: ["CA", "JP", "ZZ"] } }"#, "CA JP"),
    (#"{ code: { in: "CA" } }"#, "CA"),
    (#"{ code: { in: [] } }"#, ""),
    (#"{ continent: { eq: "AN" } }"#, "AQ BV GS HM TF"),
    (#"{ continent: { eq: "AN" }, code: { ne: "AQ" } }"#, "BV GS HM TF"),
    (#"{ continent: { eq: "AN" }, code: { nin: ["AQ", "BV"] } }"#, "GS HM TF"),
    (#"{ currency: { eq: "CHW" } }"#, "CH"),
    (#"{ currency: { glob: "A[D]*" } }"#, ""),
    (#"{ name: { regex: "^Ice" } }"#, "IS"),
    (#"{ name: { glob: "*stan" }, continent: { eq: "AS" } }"#, "AF KG KZ PK TJ TM UZ"),
    (#"{ code: { eq: null, glob: "C?" }, continent: { eq: "OC" } }"#, "CK"),
    (#"{ code: null, name: { eq: "Peru" } }"#, "PE"),
  ])
  func `countries are filtered`(_ filter: String, codes: String) throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute("{ countries(filter: \(filter)) { code } }"))
    let found = response["data"]?["countries"]?.arrayValue?.compactMap { $0["code"]?.stringValue }
    #expect(found?.joined(separator: " ") == codes)
  }

  @Test func `filters may be variables, whole and in parts`() throws {
    let query = """
      query ($whole: CountryFilterInput, $part: [String!], $absent: String) {
        a: countries(filter: $whole) { code }
        b: countries(filter: { code: { in: $part, eq: $absent } }) { code }
        c: countries { code }
      }
      """
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        query, variables: ["whole": ["code": ["eq": "FR"]], "part": ["DE", "AT"]]))
    #expect(response["data"]?["a"] == [["code": "FR"]])
    #expect(response["data"]?["b"] == [["code": "AT"], ["code": "DE"]])
    #expect(response["data"]?["c"]?.arrayValue?.count == 250)
  }

  @Test func `every field of the schema has a behaviour, and none is left over`() throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        "{ __schema { types { name kind fields(includeDeprecated: true) { name } } } }"))
    let types = try #require(response["data"]?["__schema"]?["types"]?.arrayValue)
    var expected: [String: Set<String>] = [:]
    for type in types where type["kind"]?.stringValue == "OBJECT" {
      let fields = type["fields"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
      expected[type["name"]?.stringValue ?? ""] = Set(fields)
    }
    // Introspection does not list what the capabilities need: no edition has them.
    expected["Query"]?.formUnion(["__schema", "__type", "__service"])
    expected["__Service"] = ["capabilities"]
    expected["__Capability"] = ["identifier", "value", "description"]
    #expect(Resolvers.all.mapValues { Set($0.keys) } == expected)
  }

  @Test func `the benchmark's operation gives its shape`() throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute(Self.benchmark, variables: ["first": 25]))
    let edges = try #require(response["data"]?["feed"]?["edges"]?.arrayValue)
    #expect(edges.count == 25)
    let post = try #require(edges[0]["node"])
    #expect(
      post.objectValue.map { Array($0.keys) } == [
        "__typename", "id", "title", "body", "publishedAt", "likeCount", "ratio", "isPinned",
        "author", "tags", "comments",
      ])
    #expect(post["comments"]?["edges"]?.arrayValue?.count == 6)
    #expect(post["tags"]?.arrayValue?.count == 3)
  }

  static let benchmark = """
    query Feed($first: Int!, $after: String) {
      feed(first: $first, after: $after) {
        __typename
        totalCount
        edges {
          __typename
          cursor
          node {
            __typename id title body publishedAt likeCount ratio isPinned
            author { ...UserFields }
            tags { __typename id name color }
            comments(first: 10) {
              __typename
              totalCount
              edges {
                __typename cursor
                node { __typename id body createdAt score author { ...UserFields } }
              }
              pageInfo { __typename hasNextPage endCursor }
            }
          }
        }
        pageInfo { __typename hasNextPage endCursor }
      }
    }
    fragment UserFields on User {
      __typename id login name bio avatarUrl followers reputation
    }
    """
}
