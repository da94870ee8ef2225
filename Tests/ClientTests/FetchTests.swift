import Foundation
import GQLRun
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

@Suite("PipelineClient: results", .timeLimit(.minutes(10)))
struct FetchTests {
  @Test("the second answer comes from the store", arguments: ["memory", "sqlite"])
  func stores(kind: String) async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let store = kind == "sqlite" ? "{ kind: sqlite, path: cache.db }" : "{ kind: memory }"
      let file = try folder.pipeline(server.url, store: store)
      try await PipelineClient(file: file).shutdown { client in
        for source in [GraphQLResponse.Source.server, .cache] {
          let result = try await client.fetch(
            Documents.country, variables: ["code": "FR"], as: CountryData.self)
          #expect(result.data?.country?.name == "France")
          #expect(result.source == source)
          #expect(result.errors.isEmpty && result.staleness == nil && result.extensions == nil)
          #expect((result.http?.status == .ok) == (source == .server))
        }
      }
      #expect(server.requestCount == 1)
    }
  }

  @Test("requests have the clock that measures their connections")
  func meterClock() async throws {
    let time = TestClock()
    var configuration = PipelineClient.Configuration()
    configuration.meter = ConnectionMeter(clock: ServiceClock(time))
    try await PipelineClient(endpoint: "http://localhost/", configuration: configuration)
      .shutdown { client in
        time.advance(by: .seconds(7))
        #expect(client.services.clock.now() == .seconds(7))
      }
  }

  @Test("the file of the pipeline answers when the server has stopped")
  func fileOutlivesServer() async throws {
    let folder = try Folder()
    let file = try await DemoServer.withServer { server in
      let file = try folder.pipeline(server.url, store: "{ kind: sqlite, path: cache.db }")
      try await PipelineClient(file: file).shutdown {
        _ = try await $0.fetch(Documents.country, variables: ["code": "FR"])
      }
      return file
    }
    try await PipelineClient(file: file).shutdown { client in
      let result = try await client.fetch(
        Documents.country, variables: ["code": "FR"], as: CountryData.self)
      #expect(result.data?.country?.name == "France" && result.source == .cache)
      let error = await #expect(throws: ChainError.self) {
        try await client.fetch(Documents.country, variables: ["code": "DE"])
      }
      #expect(error?.layer == .transport)
    }
  }

  @Test("an endpoint is enough, and its header fields are sent")
  func endpoint() async throws {
    try await DemoServer.withServer { server in
      let client = try await PipelineClient(
        endpoint: server.url, headers: [.authorization: "Bearer t"])
      let result = try await client.fetch(Documents.country, variables: ["code": "JP"])
      try await client.shutdown()
      #expect(result.data == ["country": ["name": "Japan"]])
      #expect(server.log.last?.header("Authorization") == "Bearer t")
      #expect(server.log.last?.header("User-Agent") == "gqlrun")
    }
  }

  /// A client whose server answers one body.
  private func withAnswer(
    _ body: String, _ use: (PipelineClient) async throws -> Void
  ) async throws {
    let folder = try Folder()
    var configuration = PipelineClient.Configuration()
    configuration.transport = FixedAnswer(body: body)
    let client = try await PipelineClient(
      file: folder.pipeline("http://localhost/graphql"), configuration: configuration)
    try await client.shutdown(after: use)
  }

  private struct Numbers: Decodable {
    var large: UInt64
    var integer: Int64
    var price: Decimal
    var ratio: Double
    var any: JSONValue
  }

  @Test("numbers are exact, as JSON, as bytes and in a type of the program")
  func numbers() async throws {
    let data =
      #"{"large":18446744073709551615,"integer":-9007199254740993,"price":0.1000000000000000055511,"#
      + #""ratio":1e-7,"any":[9007199254740993,12.5,true,null,{"a":"b"}]}"#
    try await withAnswer(#"{"data":\#(data)}"#) { client in
      let document = "{ large integer price ratio any }"
      // From the server, then from the store.
      for _ in 0..<2 {
        let numbers = try #require(try await client.fetch(document, as: Numbers.self).data)
        #expect(numbers.large == .max)
        #expect(numbers.integer == -9_007_199_254_740_993)
        #expect(numbers.price == Decimal(string: "0.1000000000000000055511"))
        #expect(numbers.ratio == 1e-7)
        #expect(numbers.any == [9_007_199_254_740_993, 12.5, true, nil, ["a": "b"]])
        let json = try #require(try await client.fetch(document).data)
        #expect(json.jsonText() == data)
        #expect(try await client.fetch(document, as: [UInt8].self).data == Array(data.utf8))
        #expect(try await client.fetch(document, as: Data.self).data == Data(data.utf8))
      }
    }
  }

  private struct Required: Decodable {
    struct Country: Decodable { let name: String }
    let country: Country
  }

  @Test("a null that an error explains leaves no data of a type that cannot hold it")
  func partial() async throws {
    let error = #"{"message":"no such country","path":["country","name"]}"#
    try await withAnswer(
      #"{"data":{"country":null},"errors":[\#(error)],"extensions":{"cost":3}}"#
    ) { client in
      let typed = try await client.fetch(
        Documents.country, variables: ["code": "FR"], as: Required.self)
      #expect(typed.data == nil)
      #expect(typed.errors.map(\.message) == ["no such country"])
      #expect(typed.extensions?["cost"] == 3)
      let partial = try await client.fetch(
        Documents.country, variables: ["code": "FR"], as: CountryData.self)
      #expect(partial.data == CountryData(country: nil) && partial.errors.count == 1)
      let first = await #expect(throws: GraphQLError.self) {
        try await client.fetch(
          Documents.country, variables: ["code": "FR"], onErrors: .firstError, as: Required.self)
      }
      #expect(first?.message == "no such country")
    }
  }

  @Test("a response without data has none, and its errors")
  func noData() async throws {
    try await withAnswer(#"{"data":null,"errors":[{"message":"down"}]}"#) { client in
      let result = try await client.fetch(
        Documents.country, variables: ["code": "FR"], as: CountryData.self)
      #expect(result.data == nil && result.errors.first?.message == "down")
    }
  }

  @Test("a null that no error explains is an error of the type")
  func undecodable() async throws {
    try await withAnswer(
      #"{"data":{"country":null},"errors":[{"message":"other","path":["continent"]}]}"#
    ) { client in
      let error = await #expect(throws: ChainError.self) {
        try await client.fetch(Documents.country, variables: ["code": "FR"], as: Required.self)
      }
      #expect(error?.code == .undecodableData && error?.message.contains("data of C") == true)
    }
  }

  @Test("what cannot be sent is an error before anything is sent")
  func invalid() async throws {
    try await DemoServer.withServer { server in
      try await PipelineClient(endpoint: server.url).shutdown { client in
        await #expect(throws: GraphQLSyntaxError.self) { try await client.fetch("query {") }
        let error = await #expect(throws: CacheError.self) {
          try await client.fetch(Documents.country, variables: [:])
        }
        #expect(error?.code == .invalidVariables)
        let query = await #expect(throws: ChainError.self) {
          try await client.perform(Documents.country, variables: ["code": "FR"])
        }
        #expect(query?.message.contains("use `fetch`") == true)
      }
      #expect(server.requestCount == 0)
    }
  }

  @Test("the schema that a pipeline names checks variables and identifies objects")
  func schema() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      _ = try folder.write(DemoExecutor.schemaText, to: "schema.graphql")
      let file = try folder.pipeline(server.url, more: "schema: schema.graphql")
      try await PipelineClient(file: file).shutdown { client in
        let error = await #expect(throws: CacheError.self) {
          try await client.fetch(
            "query U($r: Role) { users(role: $r) { login } }", variables: ["r": "ABSENT"])
        }
        #expect(error?.code == .invalidVariables)
      }
      _ = try folder.write("type Query {", to: "schema.graphql")
      let broken = await #expect(throws: ChainError.self) { try await PipelineClient(file: file) }
      #expect(broken?.message.contains("schema.graphql cannot be used") == true)
    }
  }
}
