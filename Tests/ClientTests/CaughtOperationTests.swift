import GQLRun
import GQLRunDemoServer
import Testing

// As `gqlrun generate` writes it for
// `query Trouble($message: String!) { trouble { ok error(message: $message) @catch
//   nested @catch(to: NULL) { requiredError } requiredNested { requiredError @catch } } }`
struct TroubleQuery: GraphQLQuery {
  static let operationName = "Trouble"
  static let document =
    "query Trouble($message:String!){trouble{ok error(message:$message)nested{requiredError}"
    + "requiredNested{requiredError}}}"
  static let catchesErrors = true
  let message: String

  func write(to variables: inout ObjectWriter) { variables.write("message", message) }

  struct Data: GraphQLObject {
    let trouble: Trouble?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(trouble: object.read("trouble", "Trouble"))
    }
    func write(to object: inout ObjectWriter) { object.write("trouble", trouble) }

    struct Trouble: GraphQLObject {
      let ok: String
      let error: Result<String?, FieldError>
      let nested: Nested?
      let requiredNested: RequiredNested

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(
          ok: object.read("ok", "String!"),
          error: object.read("error", "String") { try $0.result() },
          nested: object.read("nested", "Trouble") { try $0.nullOnError() },
          requiredNested: object.read("requiredNested", "Trouble!"))
      }
      func write(to object: inout ObjectWriter) {
        object.write([
          "ok": ok, "error": error, "nested": nested, "requiredNested": requiredNested,
        ])
      }

      struct Nested: GraphQLObject {
        let requiredError: String

        static func read(from object: inout ObjectReader) throws -> Self {
          try Self(requiredError: object.read("requiredError", "String!"))
        }
        func write(to object: inout ObjectWriter) { object.write("requiredError", requiredError) }
      }

      struct RequiredNested: GraphQLObject {
        let requiredError: Result<String, FieldError>

        static func read(from object: inout ObjectReader) throws -> Self {
          try Self(requiredError: object.read("requiredError", "String!") { try $0.result() })
        }
        func write(to object: inout ObjectWriter) { object.write("requiredError", requiredError) }
      }
    }
  }
}

// As `gqlrun generate` writes it for `query Thrown { trouble { error @catch(to: THROW) } }`
struct ThrownQuery: GraphQLQuery {
  static let operationName = "Thrown"
  static let document = "query Thrown{trouble{error}}"
  static let catchesErrors = true

  struct Data: GraphQLObject {
    let trouble: Trouble?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(trouble: object.read("trouble", "Trouble"))
    }
    func write(to object: inout ObjectWriter) { object.write("trouble", trouble) }

    struct Trouble: GraphQLObject {
      let error: String?

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(error: object.read("error", "String") { try $0.throwing() })
      }
      func write(to object: inout ObjectWriter) { object.write("error", error) }
    }
  }
}

// As `gqlrun generate` writes it for
// `query Uncaught { trouble { __typename error @catch requiredNested { requiredError } } }`
struct UncaughtQuery: GraphQLQuery {
  static let operationName = "Uncaught"
  static let document =
    "query Uncaught{trouble{__typename error requiredNested{requiredError}}}"
  static let catchesErrors = true

  struct Data: GraphQLObject {
    let trouble: Trouble?

    static func read(from object: inout ObjectReader) throws -> Self {
      try Self(trouble: object.read("trouble", "Trouble"))
    }
    func write(to object: inout ObjectWriter) { object.write("trouble", trouble) }

    struct Trouble: GraphQLObject {
      let error: Result<String?, FieldError>
      let requiredNested: RequiredNested

      static func read(from object: inout ObjectReader) throws -> Self {
        try Self(
          error: object.read("error", "String") { try $0.result() },
          requiredNested: object.read("requiredNested", "Trouble!"))
      }
      func write(to object: inout ObjectWriter) {
        object.write(["__typename": "Trouble", "error": error, "requiredNested": requiredNested])
      }

      struct RequiredNested: GraphQLObject {
        let requiredError: String

        static func read(from object: inout ObjectReader) throws -> Self {
          try Self(requiredError: object.read("requiredError", "String!"))
        }
        func write(to object: inout ObjectWriter) {
          object.write(["__typename": "Trouble", "requiredError": requiredError])
        }
      }
    }
  }
}

/// Operations whose types have the errors of fields, with a server that propagates no null.
@Suite(.timeLimit(.minutes(10))) struct CaughtOperationTests {
  private func with<Value>(
    onError: String?, _ body: (PipelineClient) async throws -> Value
  ) async throws -> Value {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let fetch = onError.map { "{ fetch: { on_error: \($0) } }" } ?? "fetch"
      let file = try folder.pipeline(
        server.url, chain: "[cache-read, \(fetch), response-code, parse, cache-write]")
      let client = try await PipelineClient(file: file)
      let value = try await body(client)
      try await client.shutdown()
      return value
    }
  }

  @Test func `every field has its own error if the server propagates none`() async throws {
    try await with(onError: "null") { client in
      let result = try await client.fetch(TroubleQuery(message: "broken"))
      #expect(result.errors.count == 3)
      let trouble = try #require(result.data?.trouble)
      #expect(trouble.ok == "ok")
      let error = #expect(throws: FieldError.self) { try trouble.error.get() }
      #expect(error?.message == "broken")
      #expect(error?.path == [.key("trouble"), .key("error")])
      #expect(error?.code == "DEMO_ERROR")
      #expect(trouble.nested == nil)
      let inner = #expect(throws: FieldError.self) {
        try trouble.requiredNested.requiredError.get()
      }
      #expect(
        inner?.path == [.key("trouble"), .key("requiredNested"), .key("requiredError")])
    }
  }

  @Test func `a propagated null has no object left that has the error`() async throws {
    try await with(onError: nil) { client in
      let result = try await client.fetch(TroubleQuery(message: "broken"))
      let data = try #require(result.data)
      #expect(data.trouble == nil)
    }
  }

  @Test func `nothing has data if the server stops at the first error`() async throws {
    try await with(onError: "halt") { client in
      let result = try await client.fetch(TroubleQuery(message: "broken"))
      #expect(result.data == nil)
      #expect(result.errors.map(\.message) == ["broken"])
    }
  }

  @Test func `an error that nothing catches is thrown`() async throws {
    try await with(onError: nil) { client in
      let error = await #expect(throws: FieldError.self) { try await client.fetch(ThrownQuery()) }
      #expect(error?.path == [.key("trouble"), .key("error")])
      #expect(error.map { "\($0)" } == "trouble.error: This field always fails. [DEMO_ERROR]")
    }
  }

  @Test func `a null that nothing catches leaves no data, also if other fields are caught`()
    async throws
  {
    let error = FieldError(
      message: "m", path: [.key("trouble"), .key("requiredNested"), .key("requiredError")])
    let text =
      #"{"trouble":{"__typename":"Trouble","error":"a","requiredNested":{"requiredError":null}}}"#
    #expect(throws: error) { try UncaughtQuery().data(json: text.utf8, errors: [error]) }
    try await with(onError: "null") { client in
      let result = try await client.fetch(UncaughtQuery())
      #expect(result.data == nil)
      #expect(result.errors.count == 2)
    }
  }

  @Test func `data with an error of a field is not written`() async throws {
    try await with(onError: nil) { client in
      let trouble = UncaughtQuery.Data.Trouble(
        error: .failure(FieldError(message: "broken")), requiredNested: .init(requiredError: "a"))
      let error = await #expect(throws: CacheError.self) {
        try await client.write(.init(trouble: trouble), for: UncaughtQuery())
      }
      #expect(error?.code == .invalidData)
      #expect(error?.path == "trouble.error")
      let stored = try await client.read(UncaughtQuery())
      #expect(stored == nil)
    }
  }

  @Test func `the directives of a document are not sent`() async throws {
    try await with(onError: nil) { client in
      let result = try await client.fetch(
        "query Q @catchByDefault(to: NULL) { trouble { ok @catch } }")
      #expect(result.errors.isEmpty)
      #expect(result.data?["trouble"]?["ok"] == "ok")
    }
  }
}
