import GQLRunDemoServer
import GQLRunJSON
import Synchronization
import Testing

@Suite struct MisbehaviourTests {
  private let query = "{ country(code: \"CA\") { name capital } }"
  private let answer = #"{"data":{"country":{"name":"Canada","capital":"Ottawa"}}}"#

  @Test func `a status, for as often as wished`() async throws {
    try await RawClient.withServer { client, _ in
      var statuses: [Int] = []
      for key in ["a", "a", "b", "a", "b", "b", "a"] {
        let path = "/graphql?status=503&times=2&key=\(key)"
        statuses.append(try await client.post(query, path: path).status)
      }
      #expect(statuses == [503, 503, 503, 200, 503, 200, 200])
    }
  }

  @Test func `a status, for every third request`() async throws {
    try await RawClient.withServer { client, _ in
      var statuses: [Int] = []
      for _ in 1...10 {
        let path = "/graphql?status=503&every=3&times=2"
        statuses.append(try await client.post(query, path: path).status)
      }
      #expect(statuses == [200, 200, 503, 200, 200, 503, 200, 200, 200, 200])
    }
  }

  @Test func `a failing status has a GraphQL error as its body`() async throws {
    let reply = try await RawClient.reply(to: query, path: "/graphql?status=500")
    #expect(reply.status == 500)
    #expect(
      reply.text
        == #"{"errors":[{"message":"The request asked for status 500.","#
        + #""extensions":{"code":"DEMO_STATUS"}}]}"#)
  }

  @Test func `retry-after comes with failures, and makes one alone`() async throws {
    try await RawClient.withServer { client, _ in
      let alone = try await client.post(query, path: "/graphql?retry-after=3")
      #expect(alone.status == 503 && alone[header: "retry-after"] == "3")
      let limited = try await client.post(query, path: "/graphql?status=429&retry-after=1")
      #expect(limited.status == 429 && limited[header: "retry-after"] == "1")
      let once = "/graphql?status=429&retry-after=1&times=1&key=x"
      _ = try await client.post(query, path: once)
      let after = try await client.post(query, path: once)
      #expect(after.status == 200 && after[header: "retry-after"] == nil)
    }
  }

  @Test func `a token is demanded`() async throws {
    try await RawClient.withServer { client, _ in
      for authorization in [nil, "Bearer old", "Basic new", "Bearer"] {
        let reply = try await client.post(
          query, path: "/graphql?auth=new",
          headers: authorization.map { ["Authorization": $0] } ?? [:])
        #expect(reply.status == 401)
        #expect(reply[header: "www-authenticate"] == "Bearer realm=\"demo\"")
        let code = try JSONValue(parsing: reply.body)["errors"]?[0]?["extensions"]?["code"]
        #expect(code == "UNAUTHENTICATED")
      }
      let reply = try await client.post(
        query, path: "/graphql?auth=new", headers: ["Authorization": "Bearer new"])
      #expect(reply.status == 200 && reply.text == answer)
    }
  }

  @Test func `a proxy's page`() async throws {
    try await RawClient.withServer { client, _ in
      let reply = try await client.post(query, path: "/graphql?html")
      #expect(reply.status == 502)
      #expect(reply[header: "content-type"] == "text/html; charset=utf-8")
      #expect(reply.text.contains("<h1>502 Bad Gateway</h1>"))
      let other = try await client.post(query, path: "/graphql?html&status=200")
      #expect(other.status == 200 && other.text.contains("<html>"))
    }
  }

  @Test func `bodies that are none`() async throws {
    try await RawClient.withServer { client, _ in
      let empty = try await client.post(query, path: "/graphql?empty=1")
      #expect(empty.status == 200 && empty.text.isEmpty && empty.isComplete)
      let garbage = try await client.post(query, path: "/graphql?garbage=true")
      #expect(garbage.status == 200)
      #expect(throws: JSONError.self) { try JSONValue(parsing: garbage.body) }
    }
  }

  @Test func `another media type`() async throws {
    let reply = try await RawClient.reply(to: query, path: "/graphql?content-type=text/plain")
    #expect(reply[header: "content-type"] == "text/plain")
    #expect(reply.text == answer)
  }

  @Test(arguments: [0, 1, 20, 56])
  func `a short body is cut`(_ count: Int) async throws {
    let reply = try await RawClient.reply(to: query, path: "/graphql?truncate=\(count)")
    #expect(reply.status == 200)
    #expect(reply[header: "content-length"] == "\(answer.utf8.count)")
    #expect(reply.text == String(answer.prefix(count)))
    #expect(!reply.isComplete)
  }

  @Test func `a body shorter than the cut is whole`() async throws {
    try await RawClient.withServer { client, _ in
      for count in [answer.utf8.count, 100_000] {
        let reply = try await client.post(query, path: "/graphql?truncate=\(count)")
        #expect(reply.isComplete && reply.text == answer)
      }
    }
  }

  @Test(arguments: [0, 1000, 65_536, 300_000])
  func `a streamed body is cut`(_ count: Int) async throws {
    try await DemoServer.withServer { server in
      let query = "{ feed(first: 5000) { edges { node { id body } } } }"
      let client = RawClient(server)
      let whole = try await client.post(query)
      let cut = try await client.post(query, path: "/graphql?truncate=\(count)")
      #expect(whole.isComplete && whole[header: "transfer-encoding"] == "chunked")
      #expect(!cut.isComplete)
      #expect(cut.body == Array(whole.body.prefix(count)))
    }
  }

  @Test func `partial data with an error`() async throws {
    try await RawClient.withServer { client, _ in
      let leaf = try await client.post(query, path: "/graphql?errors")
      #expect(
        leaf.text
          == #"{"data":{"country":{"name":"Canada","capital":null}},"errors":[{"message":"#
          + #""This field fails because the request asked for errors.","locations":"#
          + #"[{"line":1,"column":30}],"path":["country","capital"],"#
          + #""extensions":{"code":"DEMO_ERROR"}}]}"#)
      let object = try await client.post(
        "{ country(code: \"CA\") { name } }", path: "/graphql?errors")
      #expect(try JSONValue(parsing: object.body)["data"] == ["country": nil])
      let none = try await client.post("{ __typename }", path: "/graphql?errors")
      #expect(try JSONValue(parsing: none.body)["data"] == ["__typename": "Query"])
      #expect(try JSONValue(parsing: none.body)["errors"]?.arrayValue?.count == 1)
    }
  }

  @Test func `a delay is waited for`() async throws {
    let waited = Mutex<[Duration]>([])
    var configuration = DemoServer.Configuration()
    configuration.sleep = { duration in waited.withLock { $0.append(duration) } }
    let reply = try await RawClient.reply(
      to: query, path: "/graphql?delay=1500", configuration: configuration)
    #expect(reply.text == answer)
    #expect(waited.withLock { $0 } == [.milliseconds(1500)])
  }

  @Test func `a request in a delay ends with the server`() async throws {
    let (delays, continuation) = AsyncStream.makeStream(of: Void.self)
    var configuration = DemoServer.Configuration()
    configuration.sleep = { _ in
      continuation.yield()
      try await waitForCancellation()
    }
    let query = query
    let waiting = try await DemoServer.withServer(configuration) { server in
      let client = RawClient(server)
      let waiting = Task { try await client.post(query, path: "/graphql?delay=1") }
      _ = await delays.first { _ in true }
      // Other requests are answered meanwhile.
      let other = try await client.post(query)
      #expect(other.status == 200)
      return waiting
    }
    let reply = try await waiting.value
    #expect(reply.status != 200 && !reply.isComplete || reply.body.isEmpty)
  }

  @Test func `header fields do what parameters do`() async throws {
    try await RawClient.withServer { client, server in
      let reply = try await client.post(
        query, headers: ["X-Demo-Status": "429", "x-demo-retry-after": "7"])
      #expect(reply.status == 429 && reply[header: "retry-after"] == "7")
      #expect(server.log.last?.header("x-demo-status") == "429")
    }
  }

  @Test func `the program asks for it`() async throws {
    var configuration = DemoServer.Configuration()
    configuration.misbehaviour.status = 500
    try await RawClient.withServer(configuration) { client, server in
      var statuses: [Int] = []
      func ask(_ path: String = "/graphql") async throws {
        statuses.append(try await client.post(query, path: path).status)
      }
      try await ask()
      try await ask("/graphql?status=502")
      var misbehaviour = Misbehaviour()
      misbehaviour.times = 1
      misbehaviour.status = 503
      for wish in [misbehaviour, misbehaviour, nil] {
        server.misbehave(wish)
        try await ask()
        try await ask()
      }
      #expect(statuses == [500, 502, 503, 200, 503, 200, 200, 200])
      #expect(server.requestCount == 8)
    }
  }

  @Test(arguments: [
    "status=99", "status=600", "status=x", "status=", "times=-1", "delay=60001", "delay=-1",
    "truncate=x", "auth=", "html=maybe", "content-type=", "content-type=a%0D%0Ab", "dealy=5", "=",
    "retry-after=99999999999999999999",
  ])
  func `what is not understood is refused`(_ wish: String) async throws {
    let reply = try await RawClient.reply(to: query, path: "/graphql?\(wish)")
    #expect(reply.status == 400)
    #expect(try JSONValue(parsing: reply.body)["errors"]?.arrayValue?.count == 1)
  }

  @Test func `every option is explained and has its position in the type`() {
    let names = Misbehaviour.options.map(\.name)
    #expect(Set(names).count == names.count)
    let properties = Mirror(reflecting: Misbehaviour()).children.compactMap(\.label)
    func words(_ name: String) -> String { name.lowercased().filter { $0 != "-" } }
    #expect(Set(names.map(words)) == Set(properties.map(words)))
    #expect(Misbehaviour.options.allSatisfy { $0.help.hasSuffix(".") })
  }

  @Test(arguments: [204, 205, 304])
  func `a status without a body has none`(_ status: Int) async throws {
    let reply = try await RawClient.reply(to: query, path: "/graphql?status=\(status)")
    #expect(reply.status == status && reply.body.isEmpty)
  }
}
