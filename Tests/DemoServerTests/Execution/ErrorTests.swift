import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Errors of fields: partial data, null propagation, paths.
@Suite struct ErrorTests {
  /// `error` at these places, as the response shows it.
  private static func error(
    _ path: String, column: Int, message: String = "This field always fails."
  ) -> String {
    #"{"message":"\#(message)","locations":[{"line":1,"column":\#(column)}],"path":\#(path),"#
      + #""extensions":{"code":"DEMO_ERROR"}}"#
  }

  @Test(arguments: [
    ExecutionCase(
      "a nullable field is null",
      "{ trouble { ok error } country(code: \"CA\") { code } }",
      gives:
        #"{"data":{"trouble":{"ok":"ok","error":null},"country":{"code":"CA"}},"errors":["#
        + error(#"["trouble","error"]"#, column: 16) + "]}"),
    ExecutionCase(
      "a non-null field nulls the object around it",
      "{ trouble { ok nested { ok requiredError } } }",
      gives:
        #"{"data":{"trouble":{"ok":"ok","nested":null}},"errors":["#
        + error(#"["trouble","nested","requiredError"]"#, column: 28) + "]}"),
    ExecutionCase(
      "null goes up to the next nullable field",
      "{ a: trouble { ok b: requiredNested { requiredNested { requiredError } } } c: __typename }",
      gives:
        #"{"data":{"a":null,"c":"Query"},"errors":["#
        + error(#"["a","b","requiredNested","requiredError"]"#, column: 56) + "]}"),
    ExecutionCase(
      "elements of a list",
      "{ trouble { items(size: 3) } }",
      gives:
        #"{"data":{"trouble":{"items":[0,null,2]}},"errors":["#
        + error(#"["trouble","items",1]"#, column: 13, message: "Element 1 fails.") + "]}"),
    ExecutionCase(
      "a required element nulls the list",
      "{ trouble { ok requiredItems(size: 5, failEvery: 4) last: ok } }",
      gives:
        #"{"data":{"trouble":{"ok":"ok","requiredItems":null,"last":"ok"}},"errors":["#
        + error(#"["trouble","requiredItems",3]"#, column: 16, message: "Element 3 fails.") + "]}"),
    ExecutionCase(
      "the message and the code of the argument",
      "{ trouble { error(message: \"no\", code: \"FORBIDDEN\") } }",
      gives:
        #"{"data":{"trouble":{"error":null}},"errors":[{"message":"no","locations":"#
        + #"[{"line":1,"column":13}],"path":["trouble","error"],"#
        + #""extensions":{"code":"FORBIDDEN"}}]}"#),
    ExecutionCase(
      "merged fields have several locations",
      "{ trouble { error error } }",
      gives:
        #"{"data":{"trouble":{"error":null}},"errors":[{"message":"This field always fails.","#
        + #""locations":[{"line":1,"column":13},{"line":1,"column":19}],"#
        + #""path":["trouble","error"],"extensions":{"code":"DEMO_ERROR"}}]}"#),
    ExecutionCase(
      "a non-null field of the root nulls the data",
      "{ __typename feed(first: -1) { totalCount } }",
      gives:
        #"{"data":null,"errors":[{"message":"Argument \"first\" must be at least 0; it is -1.","#
        + #""locations":[{"line":1,"column":14}],"path":["feed"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a wrong argument deep inside",
      "{ post(id: \"P_1\") { id comments(first: -5) { totalCount } } t: __typename }",
      gives:
        #"{"data":{"post":null,"t":"Query"},"errors":[{"message":"#
        + #""Argument \"first\" must be at least 0; it is -5.","#
        + #""locations":[{"line":1,"column":24}],"path":["post","comments"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a cursor of a post for its comments",
      "{ post(id: \"P_1\") { comments(first: 1, after: \"cDo5OTc=\") { totalCount } } }",
      gives:
        #"{"data":{"post":null},"errors":[{"message":"#
        + #""Argument \"after\" is not the cursor of a comment.","#
        + #""locations":[{"line":1,"column":21}],"path":["post","comments"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a cursor of another list",
      "{ feed(first: 1, after: \"YzoxMw==\") { totalCount } }",
      gives:
        #"{"data":null,"errors":[{"message":"Argument \"after\" is not the cursor of a post.","#
        + #""locations":[{"line":1,"column":3}],"path":["feed"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a wrong pattern",
      "{ countries(filter: { name: { regex: \"(\" } }) { code } }",
      gives:
        #"{"data":null,"errors":[{"message":"The filter of \"name\" is wrong: The pattern "#
        + #"is not a regular expression.","locations":[{"line":1,"column":3}],"#
        + #""path":["countries"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a pattern that takes too many steps",
      "{ countries(filter: { name: { regex: \"^(.|.)*!$\" } }) { code } }",
      gives:
        #"{"data":null,"errors":[{"message":"The filter of \"name\" is wrong: The pattern "#
        + #"takes too many steps; use a simpler one.","locations":[{"line":1,"column":3}],"#
        + #""path":["countries"],"extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a nullable variable for a required argument with a default, and null given",
      "query ($n: Int = 2) { search(text: \"user\", first: $n) { __typename } }",
      variables: ["n": nil],
      gives:
        #"{"data":null,"errors":[{"message":"Argument \"first\" of non-null type \"Int!\" must not "#
        + #"be null.","locations":[{"line":1,"column":23}],"path":["search"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
    ExecutionCase(
      "a nullable variable for a required field of an input object, and null given",
      "mutation ($b: String = \"x\") { addComment(input: { postId: \"P_1\", body: $b }) { id } }",
      variables: ["b": nil],
      gives:
        #"{"data":null,"errors":[{"message":"Expected value of type \"String!\", found $b.","#
        + #""locations":[{"line":1,"column":31}],"path":["addComment"],"#
        + #""extensions":{"code":"BAD_USER_INPUT"}}]}"#),
  ])
  func `field errors`(_ example: ExecutionCase) {
    example.check()
  }

  @Test func `the number of errors is limited`() throws {
    let response = try JSONValue(
      parsing: DemoExecutor().execute("{ trouble { items(size: 5000, failEvery: 1) } }"))
    #expect(response["data"]?["trouble"]?["items"]?.arrayValue?.count == 5000)
    #expect(response["errors"]?.arrayValue?.count == 1000)
  }

  @Test func `what an error may null is limited, the answer is valid`() throws {
    // Every post is sent, until the last field turns out to fail: all of it must be held back.
    let query = """
      { feed(first: 30000) { edges { node { body } } }
        last: feed(first: 1) { edges { node { comments(first: -1) { totalCount } } } } }
      """
    let response = DemoExecutor().execute(query)
    let text = String(decoding: response, as: UTF8.self)
    #expect(
      text.hasPrefix(#"{"data":null,"errors":[{"message":"The value is too large to be held"#))
    #expect(try JSONValue(parsing: response)["errors"]?.arrayValue?.count == 1)
  }
}
