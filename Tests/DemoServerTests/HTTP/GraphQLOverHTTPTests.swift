import GQLRunDemoServer
import GQLRunJSON
import Testing

/// How requests and responses travel: https://graphql.github.io/graphql-over-http/draft/
@Suite struct GraphQLOverHTTPTests {
  private let query = "{ country(code: \"CA\") { name } }"
  private let answer = #"{"data":{"country":{"name":"Canada"}}}"#
  private let json = "application/json; charset=utf-8"
  private let graphQL = "application/graphql-response+json; charset=utf-8"

  @Test func `an operation is posted`() async throws {
    try await DemoServer.withServer { server in
      let reply = try await RawClient(server).post(query)
      #expect(reply.status == 200)
      #expect(reply.text == answer)
      #expect(reply[header: "content-type"] == graphQL)
      #expect(reply[header: "content-length"] == "\(answer.utf8.count)")
      #expect(reply[header: "server"] == "gqlrun-demo")
      #expect(server.requestCount == 1)
      #expect(server.log.last?.method == "POST")
      #expect(server.log.last?.header("Content-Type") == "application/json")
      #expect(server.log.last?.bodyText == #"{"query":"{ country(code: \"CA\") { name } }"}"#)
      #expect(server.log.bytesWritten == answer.utf8.count)
      server.log.clear()
      #expect(server.requestCount == 0 && server.log.requests.isEmpty)
    }
  }

  @Test func `a connection is used again`() async throws {
    try await DemoServer.withServer { server in
      let body = #"{"query":"{ __typename }"}"#
      let head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      let first = "\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
      let second = "\(head)Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      let reply = try await RawClient(server).exchange(Array((first + second).utf8))
      #expect(reply.isComplete)
      #expect(server.requestCount == 2)
    }
  }

  @Test(arguments: [
    "query=%7B%20country(code:%20%22CA%22)%20%7B%20name%20%7D%20%7D",
    "query={country(code:%22CA%22){name}}&operationName=&variables=&extensions=",
    "query=query+Q($c:ID!){country(code:$c){name}}+query+R{__typename}&operationName=Q"
      + "&variables=%7B%22c%22%3A%22CA%22%7D",
  ])
  func `a query is got`(_ parameters: String) async throws {
    let reply = try await RawClient.reply("GET", "/graphql?\(parameters)")
    #expect(reply.status == 200)
    #expect(reply.text == answer)
  }

  private static let mutation = "mutation { likePost(id: \"P_1\") { likeCount } }"

  /// The method, the URL and the body of a request with a mutation.
  @Test(arguments: [
    ("GET", "/graphql?query=mutation%7BlikePost(id:%22P_1%22)%7BlikeCount%7D%7D", ""),
    (
      "QUERY", "/graphql",
      JSONValue.object(["query": .string(GraphQLOverHTTPTests.mutation)]).jsonText()
    ),
  ])
  func `a mutation is not executed by a safe method`(
    _ method: String, path: String, body: String
  ) async throws {
    let reply = try await RawClient.reply(method, path, headers: RawClient.json, body: body)
    #expect(reply.status == 405)
    #expect(reply[header: "allow"] == "POST")
    #expect(reply[header: "content-type"] == graphQL)
  }

  @Test func `a query is sent by QUERY, with a body as of POST`() async throws {
    let body = JSONValue.object(["query": .string(query)]).jsonText()
    try await RawClient.withServer { client, _ in
      let reply = try await client.send("QUERY", "/graphql", headers: RawClient.json, body: body)
      #expect(reply.status == 200 && reply.text == answer)
      let untyped = try await client.send("QUERY", "/graphql", body: body)
      #expect(untyped.status == 415)
    }
  }

  @Test(arguments: ["DELETE", "PATCH", "OPTIONS", "HEAD"])
  func `other methods are refused`(_ method: String) async throws {
    let reply = try await RawClient.reply(method)
    #expect(reply.status == 405)
    #expect(reply[header: "allow"] == "GET, POST, PUT, QUERY")
  }

  @Test(arguments: [
    (nil, "application/graphql-response+json"),
    ("*/*", "application/graphql-response+json"),
    ("application/json", "application/json"),
    (
      "application/graphql-response+json, application/json;q=0.9",
      "application/graphql-response+json"
    ),
    ("application/graphql-response+json;q=0.5, application/json", "application/json"),
    ("text/html, application/*;q=0.1", "application/graphql-response+json"),
    ("application/json;q=0, */*", "application/graphql-response+json"),
    ("APPLICATION/JSON ; charset=utf-8", "application/json"),
  ])
  func `the media type is negotiated`(_ accept: String?, type: String) async throws {
    let reply = try await RawClient.reply(
      to: query, headers: accept.map { ["Accept": $0] } ?? [:])
    #expect(reply.status == 200)
    #expect(reply[header: "content-type"] == "\(type); charset=utf-8")
  }

  @Test func `no acceptable media type is 406`() async throws {
    let reply = try await RawClient.reply(to: query, headers: ["Accept": "text/html"])
    #expect(reply.status == 406)
  }

  /// An operation, and the status of its response for clients that accept `application/graphql-response+json`.
  @Test(arguments: [
    ("{ country(code: 1.5) { name } }", 422), ("{", 400),
    ("query A { __typename } query B { __typename }", 422),
    ("query ($n: Int!) { feed(first: $n) { totalCount } }", 422),
    ("fragment F on Query { __typename }", 422), ("{ nope }", 422),
  ])
  func `a refused operation has its status and no data, whatever the client accepts`(
    _ query: String, status: Int
  ) async throws {
    try await RawClient.withServer { client, _ in
      for accept in ["application/json", "application/graphql-response+json", "*/*"] {
        let reply = try await client.post(query, headers: ["Accept": accept])
        #expect(reply.status == status)
        #expect(reply[header: "content-type"] == graphQL)
        #expect(reply.text.hasPrefix(#"{"errors":["#))
      }
    }
  }

  /// An operation, its status, the one for clients that accept `application/json` only, and the start of its response.
  @Test(arguments: [
    ("{ __typename }", 200, 200, #"{"data":{"#),
    ("{ feed(first: -1) { totalCount } }", 294, 200, #"{"data":null,"errors""#),
    ("{ trouble { error } }", 294, 200, #"{"data":{"#),
  ])
  func `data with errors is partial success where that status is defined`(
    _ query: String, own: Int, json: Int, text: String
  ) async throws {
    try await RawClient.withServer { client, _ in
      for (accept, status) in [
        ("application/json", json), ("application/graphql-response+json", own),
      ] {
        let reply = try await client.post(query, headers: ["Accept": accept])
        #expect(reply.status == status)
        #expect(reply[header: "content-type"] == "\(accept); charset=utf-8")
        #expect(reply.text.hasPrefix(text), "\(reply.text)")
      }
    }
  }

  @Test(arguments: [
    ("application/json", "", 400), ("application/json", "NONSENSE", 400),
    ("application/json", "[]", 422), ("application/json", "{\"query\":", 400),
    ("application/json", "7", 422), ("application/json", #"{"qeury":"{__typename}"}"#, 422),
    ("application/json", #"{"query":5}"#, 422),
    ("application/json", #"{"query":"{__typename}","variables":[7]}"#, 422),
    ("application/json", #"{"query":"{__typename}","operationName":{}}"#, 422),
    ("application/json", #"{"query":"{__typename}","extensions":"x"}"#, 422),
    ("application/json", #"{"query":"{__typename}","more":{"a":[1]}}"#, 200),
    ("application/json", #"{"query":"{__typename}","variables":null,"operationName":null}"#, 200),
    ("application/json;charset=UTF-8", #"{"query":"{__typename}"}"#, 200),
    ("application/json; charset=latin1", #"{"query":"{__typename}"}"#, 415),
    ("text/plain", #"{"query":"{__typename}"}"#, 415),
    ("application/graphql", "{__typename}", 415),
  ])
  func `bodies are JSON objects`(_ type: String, body: String, status: Int) async throws {
    let reply = try await RawClient.reply("POST", headers: ["Content-Type": type], body: body)
    #expect(reply.status == status)
    let errors = try JSONValue(parsing: reply.body)["errors"]
    #expect((errors == nil) == (status == 200))
  }

  @Test func `a body without a type is refused`() async throws {
    let reply = try await RawClient.reply("POST", body: "{}")
    #expect(reply.status == 415)
  }

  @Test func `a body that is too large is refused`() async throws {
    var configuration = DemoServer.Configuration()
    configuration.maxBodyBytes = 1000
    let query = "{ __typename } #" + String(repeating: "x", count: 2000)
    let reply = try await RawClient.reply(to: query, configuration: configuration)
    #expect(reply.status == 413)
  }

  @Test func `there are a health check, the schema, and nothing else`() async throws {
    try await RawClient.withServer { client, server in
      let health = try await client.send("GET", "/health")
      #expect(health.status == 200 && health.text == #"{"status":"ok"}"#)
      let schema = try await client.send("GET", "/schema.graphql")
      #expect(schema.text == DemoExecutor.schemaText)
      #expect(try await client.send("GET", "/").status == 404)
      #expect(try await client.send("GET", "/graphql/x?status=503").status == 404)
      #expect(server.requestCount == 0)
    }
  }

  @Test func `a document is registered and named by its hash`() async throws {
    let hash = "ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38"
    let extensions = #""extensions":{"persistedQuery":{"version":1,"sha256Hash":"\#(hash)"}}"#
    try await RawClient.withServer { client, _ in
      func post(_ body: String) async throws -> HTTPReply {
        try await client.send("POST", "/graphql", headers: RawClient.json, body: body)
      }
      let unknown = try await post("{\(extensions)}")
      #expect(unknown.status == 400)
      #expect(
        unknown.text
          == #"{"errors":[{"message":"PersistedQueryNotFound","#
          + #""extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#)
      #expect(try await post(#"{"query":"{ __typename }",\#(extensions)}"#).status == 422)
      #expect(try await post(#"{"query":"{__typename}",\#(extensions)}"#).status == 200)
      let known = try await post("{\(extensions)}")
      #expect(known.text == #"{"data":{"__typename":"Query"}}"#)
      let got = try await client.send(
        "GET",
        "/graphql?extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22"
          + "\(hash)%22%7D%7D")
      #expect(got.text == known.text)
    }
  }

  @Test func `a document is identified by documentId`() async throws {
    let hash = "ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38"
    var configuration = DemoServer.Configuration()
    configuration.persistedDocuments = ["canada": query]
    try await RawClient.withServer(configuration) { client, _ in
      func post(_ body: String) async throws -> HTTPReply {
        try await client.send("POST", "/graphql", headers: RawClient.json, body: body)
      }
      let given = try await post(#"{"documentId":"canada"}"#)
      #expect(given.status == 200 && given.text == answer)
      let got = try await client.send("GET", "/graphql?documentId=canada")
      #expect(got.text == answer)
      let unknown = try await post(#"{"documentId":"sha256:\#(hash)"}"#)
      #expect(unknown.status == 400)
      #expect(
        unknown.text
          == #"{"errors":[{"message":"The server does not know the document.","#
          + #""extensions":{"code":"PERSISTED_DOCUMENT_NOT_FOUND"}}]}"#)
      let extensions = #""extensions":{"persistedQuery":{"version":1,"sha256Hash":"\#(hash)"}}"#
      #expect(try await post(#"{"query":"{__typename}",\#(extensions)}"#).status == 200)
      let registered = try await post(#"{"documentId":"sha256:\#(hash)"}"#)
      #expect(registered.text == #"{"data":{"__typename":"Query"}}"#)
      let both = try await post(#"{"documentId":"canada","query":"{__typename}"}"#)
      #expect(both.status == 422)
      #expect(try await post(#"{"documentId":7}"#).status == 422)
    }
  }
}
