import GQLRunDemoServer
import GQLRunJSON
import Testing

/// The parameter `onError`, and the capability that announces it.
@Suite struct ErrorBehaviourTests {
  private static let query = "{ trouble { ok nested { ok requiredError } } }"
  private static let error =
    #"{"message":"This field always fails.","locations":[{"line":1,"column":28}],"#
    + #""path":["trouble","nested","requiredError"],"extensions":{"code":"DEMO_ERROR"}}"#

  private static let responses = [
    (
      "PROPAGATE", #"{"data":{"trouble":{"ok":"ok","nested":null}},"errors":[\#(error)]}"#
    ),
    (
      "NULL",
      #"{"data":{"trouble":{"ok":"ok","nested":{"ok":"ok","requiredError":null}}},"errors":[\#(error)]}"#
    ),
    ("HALT", #"{"data":null,"errors":[\#(error)]}"#),
  ]

  private static func body(_ query: String, onError: JSONValue) -> String {
    JSONValue.object(["query": .string(query), "onError": onError]).jsonText()
  }

  @Test(arguments: responses)
  func `a request determines what becomes of errors`(
    behaviour: String, expected: String
  ) async throws {
    let query =
      "query=%7B%20trouble%20%7B%20ok%20nested%20%7B%20ok%20requiredError%20%7D%20%7D%20%7D"
    try await RawClient.withServer { client, _ in
      let posted = try await client.send(
        "POST", "/graphql", headers: RawClient.json,
        body: Self.body(Self.query, onError: .string(behaviour)))
      #expect(posted.text == expected)
      let got = try await client.send("GET", "/graphql?\(query)&onError=\(behaviour)")
      #expect(got.text == expected)
    }
  }

  @Test(arguments: [
    ("\"null\"", #"\"null\""#), ("3", "3"), ("null", "null"), ("[]", "[]"),
  ])
  func `another value is an error of the request`(value: String, shown: String) async throws {
    let reply = try await RawClient.reply(
      "POST", headers: RawClient.json,
      body: #"{"query":"{__typename}","onError":\#(value)}"#)
    #expect(reply.status == 422)
    #expect(
      reply.text.contains(
        "The parameter onError is \(shown); it is one of PROPAGATE, NULL, HALT."), "\(reply.text)")
  }

  @Test func `errors of several fields are one with HALT, and all with NULL`() async throws {
    let query = "{ trouble { requiredItems(size: 5, failEvery: 2) requiredError error } }"
    try await RawClient.withServer { client, _ in
      for (behaviour, count) in [("HALT", 1), ("NULL", 4)] {
        let reply = try await client.send(
          "POST", "/graphql", headers: RawClient.json,
          body: Self.body(query, onError: .string(behaviour)))
        let response = try JSONValue(parsing: reply.text)
        #expect(response["errors"]?.arrayValue?.count == count, "\(reply.text)")
        #expect((response["data"]?.isNull == true) == (behaviour == "HALT"))
      }
    }
  }

  @Test func `the capability is announced`() {
    ExecutionCase(
      "capabilities", "{ __service { capabilities { identifier value } } }",
      gives:
        #"{"data":{"__service":{"capabilities":[{"identifier":"graphql.onError","value":null},"#
        + #"{"identifier":"graphql.defaultErrorBehavior","value":"PROPAGATE"}]}}}"#
    ).check()
  }
}
