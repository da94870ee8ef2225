import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// Watched queries and optimistic mutations over a chain with the real parser and store.
@Suite("Watching an operation", .timeLimit(.minutes(10)))
struct OperationWatchTests {
  private func bench(
    _ answers: Answer..., gate: Gate? = nil, reached: Gate? = nil, store: CacheStore = .memory(),
    errors: ErrorReadPolicy = .refuse
  ) -> (PipelineRunner, Server, CacheStore) {
    let server = Server(answers: answers)
    var entries = [
      PipelineEntry(id: "cache-read", .cacheRead(StoreTests.StoreCache(errors: errors)))
    ]
    if let gate {
      let hold = HTTPWrap { request, _, next in
        await reached?.open()
        await gate.pass()
        return try await next(request)
      }
      entries.append(PipelineEntry(id: "hold", .http(hold)))
    }
    entries += [
      PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server))),
      PipelineEntry(id: "parse", .parsing(StoreTests.StreamParser())),
      PipelineEntry(id: "cache-write", .cacheWrite(StoreTests.StoreCache())),
    ]
    let pipeline = Pipeline(endpoint: testEndpoint, entries: entries)
    return (PipelineRunner(pipeline, services: Services(store: store)), server, store)
  }

  private func body(_ login: String) -> String {
    #"{"data":{"viewer":{"__typename":"User","id":"1","login":"\#(login)"}}}"#
  }

  private func operation(_ text: String) throws -> PreparedOperation {
    try PreparedOperation(document: Document(parsing: text))
  }

  private func query() throws -> PreparedOperation {
    try operation("query Q { viewer { id login } }")
  }

  private func request(_ policy: CachePolicy) throws -> GraphQLRequest {
    GraphQLRequest(try query(), cachePolicy: policy)
  }

  /// Writes like another operation.
  private func write(_ login: String, to store: CacheStore) async throws {
    try await store.transaction {
      try await $0.write(
        ["viewer": ["__typename": "User", "id": "1", "login": .string(login)]], for: query())
    }
  }

  private func text(_ event: WatchEvent?) -> String {
    switch event {
    case .response(let response): response.text
    case .missing(let miss): "missing \(miss.path)"
    case .failure(let error): "failure \((error as? ChainError)?.code.rawValue ?? "\(error)")"
    case nil: "end"
    }
  }

  private func shown(_ login: String, from source: String = "cache") -> String {
    #"\#(source):{"viewer":{"id":"1","login":"\#(login)"}}"#
  }

  @Test("the policy decides what comes first, and every later change of the cache follows once")
  func policies() async throws {
    for policy in [CachePolicy.cacheFirst, .networkOnly, .cacheAndNetwork, .networkFirst] {
      let (runner, server, store) = bench(.results([body("server")]))
      if policy != .cacheFirst { try await write("old", to: store) }
      var iterator = try runner.watch(request(policy)).makeAsyncIterator()
      if policy == .cacheAndNetwork { #expect(text(await iterator.next()) == shown("old")) }
      #expect(text(await iterator.next()) == shown("server", from: "server"), "\(policy)")
      try await write("server", to: store)
      try await write("new", to: store)
      #expect(text(await iterator.next()) == shown("new"))
      try await write("newer", to: store)
      #expect(text(await iterator.next()) == shown("newer"))
      #expect(await server.count == 1)
    }
  }

  @Test("a hit uses no network, and is the first element")
  func hit() async throws {
    let (runner, server, store) = bench(.results([body("server")]))
    try await write("old", to: store)
    var iterator = try runner.watch(request(.cacheFirst)).makeAsyncIterator()
    #expect(text(await iterator.next()) == shown("old"))
    try await write("new", to: store)
    #expect(text(await iterator.next()) == shown("new"))
    #expect(await server.count == 0)
  }

  @Test("with `replay`, an error that appears or disappears is a change")
  func storedErrors() async throws {
    let failed =
      #"{"data":{"viewer":{"__typename":"User","id":"1","login":null}},"errors":[{"message":"no","locations":[{"line":1,"column":2}],"path":["viewer","login"]}]}"#
    for errors in ErrorReadPolicy.allCases {
      let (runner, _, store) = bench(.results([failed]), errors: errors)
      var iterator = try runner.watch(request(.networkOnly)).makeAsyncIterator()
      #expect(text(await iterator.next()).hasPrefix("server:"))
      // The cache has what the network had: that is no change.
      try await write("new", to: store)
      #expect(text(await iterator.next()) == shown("new"))
      #expect(await outcome(of: runner.execute(try request(.networkOnly))).error == nil)
      guard errors != .refuse else { continue }
      guard case .response(let response)? = await iterator.next() else {
        Issue.record("no response with \(errors)")
        continue
      }
      #expect(response.source == .cache)
      #expect(response.errors.map(\.message) == (errors == .replay ? ["no"] : []))
    }
  }

  @Test("cache-only says what is missing, and waits for it")
  func cacheOnly() async throws {
    let (runner, server, store) = bench(.results([body("server")]))
    var iterator = try runner.watch(request(.cacheOnly)).makeAsyncIterator()
    #expect(text(await iterator.next()) == "missing viewer")
    try await write("new", to: store)
    #expect(text(await iterator.next()) == shown("new"))
    #expect(await server.count == 0)
  }

  @Test("a change while the network is asked does not wait for it")
  func duringFetch() async throws {
    let gate = Gate()
    let (runner, _, store) = bench(.results([body("server")]), gate: gate)
    try await write("old", to: store)
    var iterator = try runner.watch(request(.cacheAndNetwork)).makeAsyncIterator()
    #expect(text(await iterator.next()) == shown("old"))
    let layer = try store.addOptimistic(
      ["rename": ["__typename": "User", "id": "1", "login": "guess"]],
      for: operation("mutation { rename { id login } }"))
    #expect(text(await iterator.next()) == shown("guess"))
    store.removeOptimistic(layer)
    #expect(text(await iterator.next()) == shown("old"))
    await gate.open()
    #expect(text(await iterator.next()) == shown("server", from: "server"))
  }

  @Test("a change between a result of the cache and its reading is the next element")
  func beforeReading() async throws {
    let (gate, reached) = (Gate(), Gate())
    let (runner, _, store) = bench(.results([body("server")]), gate: gate, reached: reached)
    try await write("old", to: store)
    var iterator = try runner.watch(request(.cacheAndNetwork)).makeAsyncIterator()
    // The cached result is ready when the network is asked.
    await reached.pass()
    try await write("new", to: store)
    #expect(text(await iterator.next()) == shown("old"))
    #expect(text(await iterator.next()) == shown("new"))
    await gate.open()
    #expect(text(await iterator.next()) == shown("server", from: "server"))
    try await write("later", to: store)
    #expect(text(await iterator.next()) == shown("later"))
  }

  @Test("a failure is an element, and the watch continues")
  func failure() async throws {
    let (runner, _, store) = bench(.offline)
    var iterator = try runner.watch(request(.networkOnly)).makeAsyncIterator()
    #expect(text(await iterator.next()) == "failure \(ChainError.Code.connectionFailed.rawValue)")
    try await write("new", to: store)
    #expect(text(await iterator.next()) == shown("new"))
  }

  @Test("what is cleared away is missing, and fetched again when that is wanted")
  func clearing() async throws {
    for refetches in [false, true] {
      let (runner, server, store) = bench(.results([body("one")]), .results([body("two")]))
      var iterator = try runner.watch(request(.cacheFirst), refetches: refetches)
        .makeAsyncIterator()
      #expect(text(await iterator.next()) == shown("one", from: "server"))
      try await store.clear()
      #expect(text(await iterator.next()) == "missing viewer")
      if refetches {
        #expect(text(await iterator.next()) == shown("two", from: "server"))
      } else {
        try await write("new", to: store)
        #expect(text(await iterator.next()) == shown("new"))
      }
      #expect(await server.count == (refetches ? 2 : 1))
    }
  }

  @Test("cancelling ends the watch and its request")
  func cancelling() async throws {
    let gate = Gate()
    let (runner, server, store) = bench(.results([body("server")]), gate: gate)
    try await write("old", to: store)
    let watch = try runner.watch(request(.cacheAndNetwork))
    let first = Gate()
    let seen = Task {
      var seen: [String] = []
      for await event in watch {
        seen.append(text(event))
        await first.open()
      }
      return seen
    }
    await first.pass()
    seen.cancel()
    #expect(await seen.value == [shown("old")])
    await gate.open()
    #expect(await server.count == 0)
  }

  @Test("only prepared queries over a store can be watched")
  func refusals() throws {
    let (runner, _, _) = bench(.offline)
    #expect(throws: ChainError.self) { try runner.watch(.test()) }
    #expect(throws: ChainError.self) {
      try runner.watch(GraphQLRequest(operation("mutation { a }")))
    }
    let bare = PipelineRunner(runner.pipeline, services: Services())
    #expect(throws: ChainError.self) { try bare.watch(request(.cacheFirst)) }
    #expect(throws: ChainError.self) {
      try bare.execute(request(.cacheFirst), optimistic: [:])
    }
  }

  // MARK: Optimistic mutations

  private func rename(_ login: String) -> JSONValue {
    ["rename": ["__typename": "User", "id": "1", "login": .string(login)]]
  }

  private func mutation() throws -> GraphQLRequest {
    GraphQLRequest(try operation("mutation M { rename { id login } }"))
  }

  @Test("a guess is shown at once, and the answer replaces it")
  func optimistic() async throws {
    for answer in ["guess", "other"] {
      let gate = Gate()
      let (runner, _, store) = bench(
        .results([
          #"{"data":{"rename":{"__typename":"User","id":"1","login":"\#(answer)"}}}"#
        ]), gate: gate)
      try await write("old", to: store)
      var watch = try runner.watch(request(.cacheOnly)).makeAsyncIterator()
      #expect(text(await watch.next()) == shown("old"))
      let stream = try runner.execute(mutation(), optimistic: rename("guess"))
      #expect(text(await watch.next()) == shown("guess"))
      await gate.open()
      let response = try await stream.next()
      #expect(response?.text == #"server:{"rename":{"id":"1","login":"\#(answer)"}}"#)
      if answer == "other" { #expect(text(await watch.next()) == shown("other")) }
      try await write("later", to: store)
      #expect(text(await watch.next()) == shown("later"), "and there was nothing in between")
    }
  }

  @Test(
    "an optimistic layer is removed if the mutation fails, has no data, or is not read to its end",
    arguments: [
      Answer.offline, .results([#"{"data":null,"errors":[{"message":"no"}]}"#]), .truncated,
    ]
  )
  func takenBack(answer: Answer) async throws {
    let (runner, _, store) = bench(answer)
    try await write("old", to: store)
    var watch = try runner.watch(request(.cacheOnly)).makeAsyncIterator()
    #expect(text(await watch.next()) == shown("old"))
    do {
      let stream = try runner.execute(mutation(), optimistic: rename("guess"))
      #expect(text(await watch.next()) == shown("guess"))
      _ = try? await stream.next()
    }
    #expect(text(await watch.next()) == shown("old"))
    do { _ = try runner.execute(mutation(), optimistic: rename("dropped")) }
    try await write("later", to: store)
    #expect(text(await watch.next()) == shown("later"))
  }

  @Test("a guess that is not complete is refused before anything is sent")
  func incompleteGuess() async throws {
    let (runner, server, _) = bench(.offline)
    let error = #expect(throws: CacheError.self) {
      try runner.execute(
        mutation(), optimistic: ["rename": ["__typename": "User", "id": "1"]])
    }
    #expect(error?.path == "rename.login")
    #expect(await server.count == 0)
  }
}
