import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Requests that are refused before anything is executed: errors, and no data.
@Suite struct RefusalTests {
  /// One refused request: what it says about itself, and with which code.
  struct Refused: Sendable, CustomTestStringConvertible {
    var query: String
    var operationName: String?
    var variables: JSONValue
    var message: String
    var code: String

    init(
      _ query: String, operationName: String? = nil, variables: JSONValue = [:],
      says message: String, code: String = "BAD_USER_INPUT"
    ) {
      self.query = query
      self.operationName = operationName
      self.variables = variables
      self.message = message
      self.code = code
    }

    var testDescription: String { message }
  }

  private func check(_ refused: Refused) throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        refused.query, operationName: refused.operationName, variables: refused.variables))
    #expect(response["data"] == nil)
    let errors = try #require(response["errors"]?.arrayValue)
    #expect(errors.first?["message"]?.stringValue == refused.message)
    #expect(errors.first?["extensions"]?["code"]?.stringValue == refused.code)
  }

  @Test(arguments: [
    Refused(
      "query ($c: ID!) { country(code: $c) { name } }",
      says: #"Variable "$c" of required type "ID!" was not provided."#),
    Refused(
      "query ($c: ID!) { country(code: $c) { name } }", variables: ["c": nil],
      says: #"Variable "$c" of non-null type "ID!" must not be null."#),
    Refused(
      "query ($c: ID!) { country(code: $c) { name } }", variables: ["c": true],
      says: #"Variable "$c" got invalid value true; ID cannot represent value: true"#),
    Refused(
      "query ($c: ID!) { country(code: $c) { name } }", variables: ["c": 1.5],
      says: #"Variable "$c" got invalid value 1.5; ID cannot represent value: 1.5"#),
    Refused(
      "query ($n: Int!) { feed(first: $n) { totalCount } }", variables: ["n": "5"],
      says: #"Variable "$n" got invalid value "5"; Int cannot represent non-integer value: "5""#),
    Refused(
      "query ($n: Int!) { feed(first: $n) { totalCount } }", variables: ["n": 2_147_483_648],
      says: #"Variable "$n" got invalid value 2147483648; "#
        + "Int cannot represent non 32-bit signed integer value: 2147483648"),
    Refused(
      "query ($n: Int!) { feed(first: $n) { totalCount } }", variables: ["n": 1.5],
      says: #"Variable "$n" got invalid value 1.5; Int cannot represent non-integer value: 1.5"#),
    Refused(
      "query ($t: String!) { search(text: $t) { __typename } }", variables: ["t": 5],
      says: #"Variable "$t" got invalid value 5; String cannot represent a non string value: 5"#),
    Refused(
      "query ($y: Boolean!) { __typename @skip(if: $y) }", variables: ["y": "yes"],
      says:
        #"Variable "$y" got invalid value "yes"; Boolean cannot represent a non boolean value: "yes""#
    ),
    Refused(
      "query ($f: CountryFilterInput) { countries(filter: $f) { code } }", variables: ["f": "CA"],
      says:
        #"Variable "$f" got invalid value "CA"; Expected type "CountryFilterInput" to be an object."#
    ),
    Refused(
      "query ($f: CountryFilterInput) { countries(filter: $f) { code } }",
      variables: ["f": ["code": ["in": ["CA", 5]]]],
      says: #"Variable "$f" got invalid value 5 at "f.code.in[1]"; "#
        + "String cannot represent a non string value: 5"),
    Refused(
      "query ($f: CountryFilterInput) { countries(filter: $f) { code } }",
      variables: ["f": ["code": ["in": ["CA", nil]]]],
      says: #"Variable "$f" got invalid value null at "f.code.in[1]"; "#
        + #"Expected non-nullable type "String!" not to be null."#),
    Refused(
      "query ($f: CountryFilterInput) { countries(filter: $f) { code } }",
      variables: ["f": ["cod": ["eq": "CA"]]],
      says: #"Variable "$f" got invalid value {"cod":{"eq":"CA"}}; "#
        + #"Field "cod" is not defined by type "CountryFilterInput". Did you mean "code"?"#),
    Refused(
      "query ($r: Role) { users(role: $r) { id } }", variables: ["r": "ADMN"],
      says: #"Variable "$r" got invalid value "ADMN"; Value "ADMN" does not exist in "Role" enum. "#
        + #"Did you mean the enum value "ADMIN"?"#),
    Refused(
      "query ($r: Role) { users(role: $r) { id } }", variables: ["r": 1],
      says: #"Variable "$r" got invalid value 1; Enum "Role" cannot represent non-string value: 1."#
    ),
    Refused(
      "mutation ($i: AddCommentInput!) { addComment(input: $i) { id } }",
      variables: ["i": ["body": "x"]],
      says: #"Variable "$i" got invalid value {"body":"x"}; "#
        + #"Field "postId" of required type "ID!" was not provided."#),
  ])
  func `wrong variables`(_ refused: Refused) throws {
    try check(refused)
  }

  @Test func `all wrong variables are named`() throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute(
        "query ($a: ID!, $b: ID!) { a: country(code: $a) { name } b: country(code: $b) { name } }"))
    #expect(response["errors"]?.arrayValue?.count == 2)
    #expect(response["errors"]?[1]?["locations"] == [["line": 1, "column": 17]])
  }

  @Test(arguments: [
    Refused(
      "query A { __typename } query B { __typename }",
      says: "Must provide operation name if query contains multiple operations.",
      code: "OPERATION_RESOLUTION_FAILURE"),
    Refused(
      "query A { __typename } query B { __typename }", operationName: "C",
      says: #"Unknown operation named "C"."#, code: "OPERATION_RESOLUTION_FAILURE"),
    Refused(
      "{ __typename }", operationName: "C", says: #"Unknown operation named "C"."#,
      code: "OPERATION_RESOLUTION_FAILURE"),
    Refused(
      "{ country(", says: "Syntax Error: Expected Name, found <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused("", says: "Syntax Error: Unexpected <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused("{", says: "Syntax Error: Expected Name, found <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused(
      "{ é }", says: "Syntax Error: Unexpected character: U+00E9.", code: "GRAPHQL_PARSE_FAILED"),
  ])
  func `no operation to execute`(_ refused: Refused) throws {
    try check(refused)
  }

  private static func invalid(_ query: String, says message: String) -> Refused {
    Refused(query, says: message, code: "GRAPHQL_VALIDATION_FAILED")
  }

  @Test(arguments: [
    invalid("{ x }", says: #"Cannot query field "x" on type "Query"."#),
    invalid(
      "{ country(code: \"CA\") { nam } }",
      says: #"Cannot query field "nam" on type "Country". Did you mean "name"?"#),
    invalid(
      "{ node(id: \"x\") { login } }",
      says: #"Cannot query field "login" on type "Node". "#
        + #"Did you mean to use an inline fragment on "User"?"#),
    invalid(
      "{ search(text: \"x\") { id } }",
      says: #"Cannot query field "id" on type "SearchResult". "#
        + #"Did you mean to use an inline fragment on "Node", "Post", or "User"?"#),
    invalid(
      "{ country { name } }",
      says: #"Field "country" argument "code" of type "ID!" is required, but it was not provided."#),
    invalid(
      "{ country(code: \"CA\", cod: 1) { name } }",
      says: #"Unknown argument "cod" on field "Query.country". Did you mean "code"?"#),
    invalid(
      "{ feed(first: \"many\") { totalCount } }",
      says: #"Int cannot represent non-integer value: "many""#),
    invalid(
      "{ feed(first: null) { totalCount } }",
      says: #"Expected value of type "Int!", found null."#),
    invalid(
      "{ country(code: \"CA\") }",
      says: #"Field "country" of type "Country" must have a selection of subfields. "#
        + #"Did you mean "country { ... }"?"#),
    invalid(
      "{ country(code: \"CA\") { name { first } } }",
      says: #"Field "name" must not have a selection since type "String!" has no subfields."#),
    invalid("{ ...F }", says: #"Unknown fragment "F"."#),
    invalid(
      "{ __typename } fragment F on Query { __typename }", says: #"Fragment "F" is never used."#),
    invalid(
      "{ ...F } fragment F on Query { ...F }", says: #"Cannot spread fragment "F" within itself."#),
    invalid(
      "{ ...F } fragment F on Nirgendwo { name }", says: #"Unknown type "Nirgendwo"."#),
    invalid(
      "{ country(code: \"CA\") { ... on User { id } } }",
      says:
        #"Fragment cannot be spread here as objects of type "Country" can never be of type "User"."#
    ),
    invalid("{ country(code: $c) { name } }", says: #"Variable "$c" is not defined."#),
    invalid(
      "query Q($c: ID) { __typename }", says: #"Variable "$c" is never used in operation "Q"."#),
    invalid(
      "query ($c: ID) { country(code: $c) { name } }",
      says: #"Variable "$c" of type "ID" used in position expecting type "ID!"."#),
    invalid("{ __typename @x }", says: #"Unknown directive "@x"."#),
    invalid(
      "{ __typename @skip }",
      says:
        #"Directive "@skip" argument "if" of type "Boolean!" is required, but it was not provided."#
    ),
    invalid(
      "{ a: country(code: \"CA\") { code } a: country(code: \"JP\") { code } }",
      says: #"Fields "a" conflict because they have differing arguments. "#
        + "Use different aliases on the fields to fetch both if this was intentional."),
    invalid("type Query { x: Int } { x }", says: #"The "Query" definition is not executable."#),
    invalid(
      "subscription { x }",
      says: #"Cannot query field "x" on type "Subscription"."#),
  ])
  func `invalid documents`(_ refused: Refused) throws {
    try check(refused)
  }

  @Test func `errors have their positions, and there may be several`() throws {
    let response = DemoExecutor().execute("{ x\n  country(code: \"CA\") { y } }")
    #expect(
      String(decoding: response, as: UTF8.self)
        == #"{"errors":[{"message":"Cannot query field \"x\" on type \"Query\".","#
        + #""locations":[{"line":1,"column":3}],"#
        + #""extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}},"#
        + #"{"message":"Cannot query field \"y\" on type \"Country\".","#
        + #""locations":[{"line":2,"column":25}],"#
        + #""extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#)
  }
}
