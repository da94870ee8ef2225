import DemoServer
import JSONStream
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
      "query ($n: Int!) { feed(first: $n) { totalCount } }", variables: ["n": 2147483648],
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
      says: #"Variable "$y" got invalid value "yes"; Boolean cannot represent a non boolean value: "yes""#),
    Refused(
      "query ($f: CountryFilterInput) { countries(filter: $f) { code } }", variables: ["f": "CA"],
      says: #"Variable "$f" got invalid value "CA"; Expected type "CountryFilterInput" to be an object."#),
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
      "mutation ($i: AddCommentInput!) { addComment(input: $i) { id } }", variables: ["i": ["body": "x"]],
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
    Refused("{ country(", says: "Syntax Error: Expected Name, found <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused("", says: "Syntax Error: Unexpected <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused("{", says: "Syntax Error: Expected Name, found <EOF>.", code: "GRAPHQL_PARSE_FAILED"),
    Refused("{ é }", says: "Syntax Error: Unexpected character: U+00E9.", code: "GRAPHQL_PARSE_FAILED"),
  ])
  func `no operation to execute`(_ refused: Refused) throws {
    try check(refused)
  }
}
