import GQLRunCache
import GQLRunPipeline
import HTTPTypes
import Testing

@Suite("A pipeline read from a file")
struct PipelineReadTests {
  private let yaml = """
    version: 1
    name: demo
    endpoint:
      url: "${env:GQL_URL}"
      headers: { Accept-Language: en, Authorization: "Bearer ${env:TOKEN}" }
      method: GET
    schema: ./schema.graphql
    store: { kind: sqlite, path: cache.db, max_size: 256MiB, memory: 8MiB }
    keys: { default: [id, uuid], types: { Country: [code] } }
    chain:
      - logging: { level: debug }
      - max-retry: { max_retries: 1, backoff: { base: 1s } }
      - token-refresh: { token: "${file:token.txt}", claims: { a: "${context:a}" } }
        id: auth
        when: { operation: [B, A] }
      - headers: { set: { X-Api-Key: "${env:TOKEN}", X-B: b } }
      - fetch: { timeout: "${env:TIMEOUT}", ca_file: ca.pem }
      - parse
    """

  @Test("has everything that the file says")
  func contents() throws {
    let pipeline = try load(yaml)
    #expect(pipeline.name == "demo")
    #expect(pipeline.file == "dir/x.pipeline.yaml")
    let endpoint = try #require(pipeline.endpoint)
    #expect(endpoint.scheme == "https")
    #expect(endpoint.authority == "api.example.com")
    #expect(endpoint.path == "/graphql?key=hunter2")
    #expect(endpoint.headers[.authorization] == "Bearer hunter2")
    #expect(endpoint.headers[.acceptLanguage] == "en")
    #expect(endpoint.method == .get)
    #expect(pipeline.schema == "dir/schema.graphql")
    #expect(
      pipeline.store
        == StoreConfiguration(
          kind: .sqlite, path: "dir/cache.db", maxSize: .mebibytes(256), memory: .mebibytes(8)))
    #expect(
      pipeline.keys
        == KeyRules(default: ["id", "uuid"], types: ["Country": ["code"]]))
    #expect(
      pipeline.entries.map(\.id) == ["logging", "max-retry", "auth", "headers", "fetch", "parse"])
    let fetch = try #require(pipeline.entries[4].plugin as? TestPlugins.Fetch)
    #expect(fetch.timeout == .seconds(45))
  }

  @Test("shows its chain with defaults and without secrets")
  func show() throws {
    #expect(
      try load(yaml).show() == """
        pipeline demo (dir/x.pipeline.yaml)
          endpoint:
            url: ${env:GQL_URL}
            headers: { Accept-Language: en, Authorization: ••• }
            method: GET
          schema: ./schema.graphql
          store:
            kind: sqlite
            path: cache.db
            max_size: 256MiB
            memory: 8MiB
            required: false  (default)
          keys:
            default: [id, uuid]
            types: { Country: [code] }
        chain
          - logging  [wrap, GraphQL and HTTP]
              level: debug
              headers: false  (default)
          - max-retry  [wrap, GraphQL]
              max_retries: 1
              on: [transport, 429]  (default)
              backoff:
                base: 1s
                factor: 2  (default)
                max: 20s  (default)
                jitter: equal  (default)
              respect_retry_after: true  (default)
              mutations: unsent  (default)
          - auth (token-refresh)  [wrap, GraphQL]  when operation: [A, B]
              token: •••
              claims: { a: ${context:a} }
          - headers  [wrap, HTTP]
              set: { X-Api-Key: •••, X-B: b }
          - fetch  [step, HTTP]
              timeout: ${env:TIMEOUT}
              max_body: 1GiB  (default)
              http2: true  (default)
              ca_file: ca.pem
          - parse  [step, parsing]

        """)
  }

  @Test("shows a name in place of a file in one pair of parentheses")
  func showName() throws {
    var pipeline = try load(yaml)
    pipeline.file = "(default pipeline)"
    #expect(pipeline.show().hasPrefix("pipeline demo (default pipeline)\n"))
  }

  @Test("is not assembled while commands are not run, and is still checked")
  func commands() throws {
    let yaml = file(
      chain: """
          - max-retry
          - token-refresh: { token: "${exec:print {hunter2}}" }
          - fetch: { timeout: "${exec:false}", http2: on }
          - parse
        """)
    #expect(check(yaml).all.map(\.message) == ["`http2` of `fetch` takes true or false"])
    #expect(throws: PipelineDiagnostics.self) { try load(yaml) }
    let sound = file(
      chain:
        "  - max-retry\n  - token-refresh: { token: \"${exec:print {hunter2}}\" }\n  - fetch\n  - parse"
    )
    #expect(check(sound).all.isEmpty)
    let auth = try #require(try load(sound).entries[1].plugin as? TestPlugins.TokenRefresh)
    #expect(auth.token?.reveal() == "hunter2")
  }

  @Test("does not show secrets when it is dumped")
  func dumping() throws {
    let pipeline = try load(yaml)
    var request = GraphQLRequest(document: "{ a }")
    request.additionalHeaders[.authorization] = "hunter2"
    request.context.named["token"] = "hunter2"
    let message = HTTPRequestMessage(
      head: HTTPRequest(
        method: .get, scheme: "https", authority: "x", path: "/g?key=hunter2",
        headerFields: [.authorization: "hunter2"]))
    var text = "\(pipeline) \(request) \(message) \(String(reflecting: request.context))"
    dump(pipeline, to: &text)
    dump(request, to: &text)
    dump(message, to: &text)
    #expect(!text.contains("hunter2"))
    #expect("\(message)" == "GET https://x/g")
    #expect("\(request)" == "the anonymous query, attempt 1")
  }

  @Test("may have commands anywhere, which a check takes to be right")
  func commandsEverywhere() throws {
    let yaml = """
      version: "${exec:x}"
      name: "${exec:x}"
      endpoint: { url: "${exec:x}", headers: { A: "${exec:x}" }, method: "${exec:x}" }
      schema: "${exec:x}"
      store: { kind: "${exec:x}", path: "${exec:x}", max_size: "${exec:x}" }
      keys: { default: ["${exec:x}"], types: { A: ["${exec:x}"] } }
      chain:
        - logging: { level: "${exec:x}", headers: "${exec:x}" }
          when: { operation: ["${exec:x}"], type: "${exec:x}" }
        - max-retry: { on: ["${exec:x}"], backoff: { base: "${exec:x}" } }
        - cache-read: { policy: "${exec:x}" }
        - headers: { set: { A: "${exec:x}" }, remove: ["${exec:x}"] }
        - fetch: { timeout: "${exec:x}" }
        - parse
        - cache-write
      """
    #expect(check(yaml).all.isEmpty)
    let unrunnable = PipelineFileEnvironment(variable: { _ in nil })
    #expect(throws: PipelineDiagnostics.self) {
      try PipelineFile.load(
        Array(file(chain: "  - fetch: { proxy: \"${exec:x}\" }\n  - parse").utf8), file: "x",
        registry: TestPlugins.registry, environment: unrunnable)
    }
  }

  @Test("has warnings beside it")
  func warnings() throws {
    let loaded = try PipelineFile.load(
      Array(file(chain: "  - cache-read\n  - fetch\n  - parse").utf8), file: "x",
      registry: TestPlugins.registry, environment: testEnvironment)
    #expect(loaded.warnings.all.map(\.code) == [.cacheRead])
    #expect(loaded.pipeline.entries.count == 3)
  }
}
