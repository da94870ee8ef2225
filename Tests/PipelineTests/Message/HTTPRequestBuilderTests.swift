import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes
import Testing

@Suite("The HTTP request of an operation")
struct HTTPRequestBuilderTests {
  /// What reaches the fetch.
  private func sent(
    _ request: GraphQLRequest, to endpoint: Endpoint = testEndpoint
  ) async throws -> HTTPRequestMessage {
    let server = Server(.ok)
    let pipeline = Pipeline(
      endpoint: endpoint,
      entries: [
        PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server))),
        PipelineEntry(id: "parse", .parsing(FakeParser())),
      ])
    _ = try await PipelineRunner(pipeline, services: Services()).results(of: request)
    return try #require(await server.requests.first)
  }

  private func body(_ message: HTTPRequestMessage) -> String? {
    message.body.map { String(decoding: $0, as: UTF8.self) }
  }

  private let preflight = HTTPField.Name("Apollo-Require-Preflight") ?? .accept

  @Test("is a POST with query, variables, operationName and extensions")
  func post() async throws {
    var request = GraphQLRequest(
      document: "query Q($a: Int) {\n  \"\u{1}é\" }", operationName: "Q",
      variables: ["a": 1.5])
    request.extensions = ["b": 1, "a": ["x": nil, "y": [true]]]
    let message = try await sent(request)
    #expect(message.head.method == .post)
    #expect(message.head.scheme == "https")
    #expect(message.head.authority == "api.example.com")
    #expect(message.head.path == "/graphql")
    #expect(message.head.headerFields[.contentType] == "application/json")
    #expect(
      message.head.headerFields[.accept]
        == "application/graphql-response+json, application/json;q=0.9")
    #expect(message.head.headerFields[preflight] == nil)
    #expect(
      body(message) == #"{"query":"query Q($a: Int) {\n  \"\u0001é\" }","variables":{"a":1.5},"#
        + #""operationName":"Q","extensions":{"b":1,"a":{"x":null,"y":[true]}}}"#
    )
  }

  @Test("leaves out what is not there, and the document when it is named by its hash")
  func sparse() async throws {
    let plain = try await sent(GraphQLRequest(document: "{ a }"))
    #expect(body(plain) == #"{"query":"{ a }"}"#)
    var hashed = GraphQLRequest(document: "{ a }")
    hashed.sendsDocument = false
    hashed.extensions["persistedQuery"] = ["version": 1]
    #expect(body(try await sent(hashed)) == #"{"extensions":{"persistedQuery":{"version":1}}}"#)
    let unnamed = GraphQLRequest(document: "{ a }", operationName: "")
    #expect(body(try await sent(unnamed)) == #"{"query":"{ a }"}"#)
  }

  @Test("has the identifier of a persisted document in place of the document")
  func persisted() async throws {
    var request = GraphQLRequest(document: "{ a }", operationName: "Q", variables: ["a": 1])
    request.documentID = "sha256:00"
    #expect(
      body(try await sent(request))
        == #"{"documentId":"sha256:00","operationName":"Q","variables":{"a":1}}"#)
    request.method = .get
    let message = try await sent(request)
    #expect(
      message.head.path
        == "/graphql?documentId=sha256%3A00&operationName=Q&variables=%7B%22a%22%3A1%7D")
  }

  @Test("leaves out what is empty in a URL")
  func sparseURL() async throws {
    var request = GraphQLRequest(document: "{a}", operationName: "")
    request.method = .get
    #expect(try await sent(request).head.path == "/graphql?query=%7Ba%7D")
  }

  @Test("is a QUERY with the body of a POST for a query that asks for it")
  func query() async throws {
    var request = GraphQLRequest(document: "{ a }", variables: ["a": 1])
    let posted = try await sent(request)
    request.method = .query
    let message = try await sent(request)
    #expect(message.head.method == .query && message.body == posted.body)
    #expect(message.head.path == posted.head.path)
    #expect(message.head.headerFields == posted.head.headerFields)
  }

  @Test("is a GET for a query that asks for it, with everything encoded")
  func get() async throws {
    var request = GraphQLRequest(
      document: "{ a(x: \"+;&=é\") }", operationName: "Q", variables: ["b": 2, "a": 1]
    )
    request.method = .get
    let message = try await sent(request, to: try Endpoint(url: "http://x:81/g?k=v"))
    #expect(message.head.method == .get)
    #expect(
      message.head.path == "/g?k=v&query=%7B%20a%28x%3A%20%22%2B%3B%26%3D%C3%A9%22%29%20%7D"
        + "&variables=%7B%22a%22%3A1%2C%22b%22%3A2%7D&operationName=Q")
    #expect(message.body == nil)
    #expect(message.head.headerFields[.contentType] == nil)
    #expect(message.head.headerFields[preflight] == "true")
    let other = try await sent(request)
    #expect(other.head.path?.hasPrefix("/graphql?query=") == true)
  }

  @Test(
    "is a POST for mutations and subscriptions, with any option",
    arguments: Endpoint.Method.allCases)
  func neverSafe(method: Endpoint.Method) async throws {
    let endpoint = try Endpoint(url: "https://api.example.com/graphql", method: method)
    for type in [OperationType.mutation, .subscription] {
      var request = GraphQLRequest(document: "\(type.rawValue) { a }", operationType: type)
      #expect(try await sent(request, to: endpoint).head.method == .post)
      request.method = method
      #expect(try await sent(request).head.method == .post)
    }
  }

  @Test("is a POST for what is too long for a URL")
  func neverGet() async throws {
    let endpoint = try Endpoint(url: "https://api.example.com/graphql", method: .get)
    #expect(try await sent(GraphQLRequest(document: "{ a }"), to: endpoint).head.method == .get)
    let long = GraphQLRequest(document: String(repeating: "a ", count: 5_000))
    #expect(try await sent(long, to: endpoint).head.method == .post)
  }

  @Test("has the fields of the endpoint, and over them those of the request")
  func headers() async throws {
    var endpoint = testEndpoint
    endpoint.headers = [.acceptLanguage: "en", .userAgent: "endpoint", .accept: "a/b"]
    var request = GraphQLRequest(document: "{ a }")
    request.additionalHeaders = [.userAgent: "one"]
    request.additionalHeaders.append(HTTPField(name: .userAgent, value: "two"))
    let fields = try await sent(request, to: endpoint).head.headerFields
    #expect(fields[.acceptLanguage] == "en")
    #expect(fields[values: .userAgent] == ["one", "two"])
    #expect(fields[values: .accept] == ["a/b"])
  }

  @Test(
    "needs a URL that can be one",
    arguments: [
      "", "x", "ftp://x", "http://", "http:///x", "http://u:p@x", "http://x y", "http://é", "//x",
      "http://:80", "http://x:99999", "http://x:0", "http://x:http", "http://x:-1",
      "http://[::1]:70000",
      "http://x:99999999999999999999", "http://x:1:2",
      "http://\(String(repeating: "a", count: 256))",
    ])
  func urls(url: String) {
    #expect(throws: Endpoint.InvalidURL.self) { try Endpoint(url: url) }
  }

  @Test(
    "shows of a URL that cannot be one what is no secret",
    arguments: [
      ("http://x:99999/a", "http://x:99999/a"), ("http://u:hunter2@x/a", "http://•••@x/a"),
      ("u:hunter2@x", "•••@x"), ("ftp://x/?key=hunter2", "ftp://x/?•••"), ("x#hunter2", "x?•••"),
      ("http://u:hunter2@x?hunter2", "http://•••@x"), ("http://u:hunter2#2@x/a", "http://•••"),
      ("http://x:99999/a?e=a@b", "http://x:99999/a?•••"),
    ])
  func shown(url: String, text: String) {
    #expect(Endpoint.shownText(url) == text)
  }

  @Test("goes where the URL says")
  func parts() throws {
    let endpoint = try Endpoint(url: "HTTPS://Example.com:8443?a=b#c")
    #expect(endpoint.scheme == "https")
    #expect(endpoint.authority == "Example.com:8443")
    #expect(endpoint.path == "/?a=b")
    #expect(endpoint.shownURL == "https://Example.com:8443/")
    #expect(try Endpoint(url: "http://x").path == "/")
    let longest = "http://\(String(repeating: "a", count: 255)):80"
    for url in ["http://x:", "http://x:65535", "http://[::1]", "http://[::1]:80/", longest] {
      #expect(throws: Never.self) { try Endpoint(url: url) }
    }
  }
}
