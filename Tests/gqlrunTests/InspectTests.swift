import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import gqlrun

/// The server of `gqlrun inspect`, asked over a socket.
@Suite("The page of gqlrun inspect", .timeLimit(.minutes(10)))
struct InspectTests {
  // MARK: Access

  /// A request that is refused: its method, its path after the token (`nil` for a wrong one), its header fields, and the
  /// status. PORT is that of the server.
  static let refusals: [(String, String?, [String], Int)] = [
    ("GET", nil, ["Host: 127.0.0.1:PORT"], 404),
    ("GET", "", ["Host: rebound.example:PORT"], 403),
    ("GET", "", ["Host: 127.0.0.1"], 403),
    ("GET", "", ["Host: 127.0.0.1:1"], 403),
    ("GET", "api/nothing", ["Host: 127.0.0.1:PORT"], 404),
    ("PUT", "", ["Host: 127.0.0.1:PORT"], 405),
    ("POST", "api/gc", ["Host: 127.0.0.1:PORT", "Content-Type: application/json"], 403),
    (
      "POST", "api/gc",
      [
        "Host: 127.0.0.1:PORT", "Content-Type: application/json", "Origin: http://127.0.0.1:1",
      ], 403
    ),
    (
      "POST", "api/gc",
      ["Host: 127.0.0.1:PORT", "Content-Type: application/json", "Origin: null"], 403
    ),
    (
      "POST", "api/gc",
      ["Host: 127.0.0.1:PORT", "Content-Type: text/plain", "Origin: http://127.0.0.1:PORT"], 415
    ),
  ]

  @Test("a request without the token, or of another origin, is refused", arguments: refusals)
  func refuses(request: (String, String?, [String], Int)) async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 1)
    try await Page.with([folder.file("cache.db")]) { page in
      let wrong = String(page.token.reversed()) == page.token ? "0" : String(page.token.reversed())
      let path = request.1.map { "/\(page.token)/\($0)" } ?? "/\(wrong)/"
      let response = try await page.exchange(request.0, path, fields: request.2)
      #expect(response.status == request.3, "\(response.text)")
      #expect(!response.text.contains(page.token))
    }
  }

  @Test(
    "the page and its parts forbid other sources, and are not stored",
    arguments: [
      "", "page.css", "page.js", "api/subjects",
    ])
  func policies(path: String) async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 1)
    try await Page.with([folder.file("cache.db")]) { page in
      let response = try await page.get(path)
      #expect(response.status == 200 && !response.text.isEmpty)
      let head = response.head.lowercased()
      for field in [
        "content-security-policy: default-src 'none'; script-src 'self'", "frame-ancestors 'none'",
        "base-uri 'none'", "form-action 'none'", "referrer-policy: no-referrer",
        "cache-control: no-store", "x-content-type-options: nosniff",
      ] {
        #expect(head.contains(field), "\(field) is not in \(head)")
      }
    }
  }

  @Test("two servers have different tokens of 128 bits")
  func tokens() {
    let tokens = (0..<2).map { _ in
      InspectServer(pipelines: [], caches: [], runs: [], allowsWrites: false).token
    }
    #expect(Set(tokens).count == 2)
    #expect(tokens.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }

  // MARK: Caches

  @Test("a cache is shown by type, searched page by page, and followed in both directions")
  func cache() async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 10_000)
    try await Page.with([folder.file("cache.db")]) { page in
      let cache = try await page.json("api/cache")
      let types = cache["types"]?.arrayValue ?? []
      #expect(types.first?["type"]?.stringValue == "Post")
      #expect(types.first?["records"]?.intValue == 10_000)
      var keys: [String] = []
      var after = ""
      repeat {
        let found = try await page.json("api/records?type=Post&after=\(after)")
        let records = found["records"]?.arrayValue ?? []
        #expect(records.count <= 100)
        keys += records.compactMap { $0["key"]?.stringValue }
        after = found["next"]?.stringValue ?? ""
      } while !after.isEmpty
      #expect(keys.count == 10_000 && Set(keys).count == 10_000)
      let post = try await page.json("api/record?key=Post:17")
      let fields = post["fields"]?.arrayValue ?? []
      let author = fields.first { $0["name"]?.stringValue == "author" }
      #expect(author?["references"] == ["User:1"])
      let title = fields.first { $0["name"]?.stringValue == "title" }
      // The stored text is JSON, in which the control character is escaped.
      #expect(title?["text"]?.stringValue?.contains("</script>") == true)
      let referrers = try await page.json("api/referrers?key=User:1")
      #expect(referrers["hasMore"] == true && referrers["records"]?.arrayValue?.count == 100)
      #expect(try await page.json("api/record?key=Post:none")["missing"] == true)
    }
  }

  @Test("the page explains why a query misses")
  func miss() async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 1)
    try await Page.with([folder.file("cache.db")]) { page in
      let found = try await page.post(
        "api/explain",
        ["document": "query Q { feed { __typename id title body author { __typename id } } }"])
      #expect(found["hit"] == false)
      let text = found.jsonText()
      #expect(text.contains(#""status":"missing""#) && text.contains("\"Post:0\""), "\(text)")
      let wrong = try await page.post("api/explain", ["document": "{ a"])
      #expect(wrong["error"]?.stringValue?.contains("the document:1:") == true)
      let mutation = try await page.post("api/explain", ["document": "mutation { a }"])
      #expect(mutation["error"]?.stringValue?.contains("mutations") == true)
    }
  }

  @Test("records are removed with --allow-write only", arguments: [false, true])
  func removal(isAllowed: Bool) async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 3)
    let arguments = [folder.file("cache.db")] + (isAllowed ? ["--allow-write"] : [])
    try await Page.with(arguments) { page in
      let before = try await page.json("api/cache")["records"]?.intValue
      let unnamed = try await page.post("api/evict", [:])
      let evicted = try await page.post("api/evict", ["pattern": "Post:2"])
      let collected = try await page.post("api/gc", [:])
      if isAllowed {
        #expect(unnamed["error"]?.stringValue?.contains("an empty pattern") == true)
        #expect(evicted["records"]?.intValue == 1)
        #expect(collected["records"]?.intValue == 0)
      } else {
        #expect(evicted["error"]?.stringValue?.contains("--allow-write") == true)
        #expect(collected["error"]?.stringValue?.contains("--allow-write") == true)
      }
      let after = try await page.json("api/cache")["records"]?.intValue
      #expect(after == before.map { $0 - (isAllowed ? 1 : 0) })
    }
  }

  @Test("a damaged cache is an error of the question, and the server continues")
  func damage() async throws {
    let folder = try Folder()
    let path = folder.file("cache.db")
    try await Self.fill(path, posts: 100)
    try await Page.with([path]) { page in
      var bytes = try folder.bytes("cache.db")
      for index in 200..<bytes.count { bytes[index] = 0xff }
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      for question in ["api/cache", "api/records", "api/record?key=Post:1", "api/referrers?key=a"] {
        let response = try await page.get(question)
        #expect(response.status == 400 && response.text.contains("\"error\""), "\(response.text)")
      }
      #expect(try await page.json("api/subjects")["caches"] == [.string(path)])
    }
  }

  // MARK: Pipelines

  private static let pipeline = """
    version: 1
    name: inspected
    endpoint: { url: "${env:GQL_URL}", headers: { X-Api-Key: "${file:key.txt}" } }
    store: { kind: memory }
    keys: { types: { Country: [code] } }
    chain:
      - cache-read
      - max-retry: { max_retries: 3, backoff: { base: 1ms, max: 1ms } }
      - fetch
      - response-code
      - parse
      - cache-write

    """

  /// Writes a pipeline file, and the secret that it reads.
  private static func write(_ pipeline: String, to folder: Folder) throws -> String {
    try folder.write("a-secret-of-the-file", to: "key.txt")
    return try folder.write(pipeline, to: "p.pipeline.yaml")
  }

  @Test("a request is sent through the pipeline, and the page gets what each entry did, and when")
  func send() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let file = try Self.write(Self.pipeline, to: folder)
      let url = "\(server.url)?key=a-secret-of-the-url&status=503&times=1"
      try await Page.with([file, "--endpoint", url]) { page in
        let question: JSONValue = [
          "document": "query C($code: ID!) { country(code: $code) { code name } }",
          "variables": #"{"code": "DE"}"#,
        ]
        let first = try await page.post("api/send", question)
        #expect(first["error"] == .null, "\(first)")
        let result = first["results"]?.arrayValue?.first
        #expect(result?["source"] == "server" && result?["attempt"] == 2)
        #expect(result?["text"]?.stringValue?.contains("Germany") == true)
        let spans = first["spans"]?.arrayValue ?? []
        func notes(_ entry: String) -> [String] {
          spans.filter { $0["entry"]?.stringValue == entry }
            .flatMap { $0["notes"]?.arrayValue ?? [] }.compactMap(\.stringValue)
        }
        #expect(notes("fetch") == ["HTTP 503", "HTTP 200"])
        #expect(notes("cache-read").first?.hasPrefix("cache miss") == true)
        let entries = Set(spans.compactMap { $0["entry"]?.stringValue })
        #expect(entries.isSuperset(of: ["max-retry", "parse", "cache-write"]))
        for span in spans {
          let (start, end) = (span["start"]?.doubleValue ?? -1, span["end"]?.doubleValue ?? -1)
          #expect(0 <= start && start <= end && end <= first["milliseconds"]?.doubleValue ?? 0)
        }
        // The same store answers the next request.
        let second = try await page.post("api/send", question)
        #expect(second["results"]?[0]?["source"] == "cache")
        #expect(second["spans"]?.arrayValue?.count == 1)
        #expect(second["spans"]?[0]?["notes"] == ["cache hit"])
        let shown = try await page.json("api/subjects")
        for text in [shown, first, second].map({ $0.jsonText() }) {
          #expect(!text.contains("a-secret-of-the"))
        }
      }
    }
  }

  /// An operation, and what its refusal says.
  static let unsent = [
    ("mutation { likePost(id: \"P_1\") { id } }", "--allow-write"),
    ("subscription { postLiked { id } }", "is a subscription"),
    ("{ a", "the document:1:"), ("", "the document is empty"),
  ]

  @Test("operations that the page may not send are refused", arguments: unsent)
  func refusesOperations(document: String, reason: String) async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      let file = try Self.write(Self.pipeline, to: folder)
      try await Page.with([file, "--endpoint", server.url]) { page in
        let answer = try await page.post("api/send", ["document": .string(document)])
        #expect(answer["error"]?.stringValue?.contains(reason) == true, "\(answer)")
      }
      #expect(server.requestCount == 0)
    }
  }

  @Test(
    "without --allow-write, no result is stored in the file of a pipeline",
    arguments: [false, true])
  func stores(isAllowed: Bool) async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try await Self.fill(folder.file("cache.db"), posts: 1)
      let file = try Self.write(
        Self.pipeline.replacing("{ kind: memory }", with: "{ kind: sqlite, path: cache.db }"),
        to: folder)
      let arguments = [file, "--endpoint", server.url] + (isAllowed ? ["--allow-write"] : [])
      try await Page.with(arguments) { page in
        let answer = try await page.post(
          "api/send", ["document": "{ country(code: \"DE\") { code name } }"])
        #expect(answer["error"] == .null, "\(answer)")
        let country = try await page.json("api/record?key=Country:DE")
        #expect((country["missing"] == true) == !isAllowed)
        #expect(answer.jsonText().contains("not stored") == !isAllowed)
      }
    }
  }

  @Test("a pipeline whose programs are not trusted is drawn and sends nothing")
  func trust() async throws {
    let folder = try Folder()
    let file = try folder.write(
      Self.pipeline.replacing("${file:key.txt}", with: "${exec:touch \(folder.file("ran"))}"),
      to: "p.pipeline.yaml")
    try await Page.with([file, "--endpoint", "http://127.0.0.1:1/"]) { page in
      let shown = try await page.json("api/subjects")
      #expect(shown["pipelines"]?[0]?["problem"]?.stringValue?.contains("trust") == true)
      #expect(shown["pipelines"]?[0]?["entries"]?.arrayValue?.count == 6)
      let answer = try await page.post("api/send", ["document": "{ a }"])
      #expect(answer["error"]?.stringValue?.contains("trust") == true, "\(answer)")
    }
    #expect(!folder.exists("ran"))
  }

  // MARK: Subscriptions and runs

  @Test("the events of a subscription arrive with the states of the connection")
  func subscription() async throws {
    var configuration = DemoServer.Configuration()
    configuration.likeInterval = .milliseconds(5)
    try await DemoServer.withServer(configuration) { server in
      let folder = try Folder()
      let file = try Self.write(Self.pipeline, to: folder)
      try await Page.with([file, "--endpoint", server.url]) { page in
        let text = try await page.stream(
          "POST", "api/subscribe",
          body: ["document": "subscription { likesChanged(post: \"P_0\") { id likeCount } }"]
        ) { $0.components(separatedBy: "event: next").count > 3 }
        #expect(text.lowercased().contains("content-type: text/event-stream"))
        #expect(text.contains(#"{"state":"open"}"#) && text.contains("likeCount"), "\(text)")
        let refused = try await page.post("api/subscribe", ["document": "{ countries { code } }"])
        #expect(refused["error"]?.stringValue?.contains("is no subscription") == true)
      }
    }
  }

  @Test("a run is shown from its journal, which stays as it is")
  func run() async throws {
    try await DemoServer.withServer { server in
      let folder = try Folder()
      try folder.write("code\nDE\nFR\nXX\n", to: "codes.csv")
      let manifest = try folder.write(
        """
        version: 1
        name: nightly
        sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
        operations:
          - id: countries
            query: "query C($code: ID!) { country(code: $code) { code name } }"
            foreach: { csv: codes.csv, as: row, key: "{{row.code}}" }
            variables: { code: "{{row.code}}" }
            expect: ["data.country != null"]

        """, to: "nightly.batch.yaml")
      let batch = try await Program.run(
        ["batch", "run", "nightly.batch.yaml", "-e", server.url], in: folder)
      #expect(batch.status == 1, "\(batch)")
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder.file("runs"))
          .first { $0.hasSuffix(".journal") })
      let before = try folder.bytes("runs/\(name)")
      for subject in [folder.file("runs"), folder.file("runs/\(name)"), manifest] {
        try await Page.with([subject, "--endpoint", server.url]) { page in
          let text = try await page.stream("GET", "api/run?at=0") {
            $0.contains("event: run") && $0.hasSuffix("\n\n\r\n")
          }
          let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("data: ") })
          let run = try JSONValue(parsing: String(line.dropFirst(6)))
          #expect(run["ended"] == true && run["state"] == "ended", "\(run)")
          #expect(run["tasks"]?["done"] == 2 && run["tasks"]?["failed"] == 1 && run["total"] == 3)
          #expect(run["reasons"]?[0]?["first"] == "XX" && run["reasons"]?[0]?["count"] == 1)
          #expect(run["waterfall"]?.arrayValue?.count == 3)
        }
      }
      #expect(try folder.bytes("runs/\(name)") == before)
    }
  }

  // MARK: Arguments

  /// An argument, and what its refusal says.
  static let wrong = [
    ("folder", "has no journal of a batch"),
    ("foreign.db", "is a SQLite database of another program"),
  ]

  @Test("an argument that is no subject is refused, with what would work", arguments: wrong)
  func refusesArguments(name: String, reason: String) throws {
    let folder = try Folder()
    let head = Array("SQLite format 3\0".utf8) + [UInt8](repeating: 1, count: 200)
    try Data(head).write(to: URL(fileURLWithPath: folder.file("foreign.db")))
    let error = #expect(throws: Failure.self) {
      _ = try InspectSubjects([folder.file(name)], endpoint: nil)
    }
    #expect(error?.message.contains(reason) == true)
  }

  @Test("a cache with an endpoint is shown with the default pipeline")
  func cacheWithEndpoint() async throws {
    let folder = try Folder()
    let path = folder.file("cache.db")
    try await Self.fill(path, posts: 1)
    let found = try InspectSubjects([path], endpoint: "http://127.0.0.1:1/")
    #expect(found.pipelines == [nil] && found.caches == [path])
    #expect(try InspectSubjects([path], endpoint: nil).pipelines.isEmpty)
  }

  @Test("the program prints the URL, serves, and ends at an interrupt")
  func program() async throws {
    let folder = try Folder()
    try await Self.fill(folder.file("cache.db"), posts: 1)
    for name in ["typo.pipeline.yaml", "plugin.pipeline.yaml"] {
      try FileManager.default.removeItem(atPath: folder.file(name))
    }
    let result = try await Program.run(["inspect"], in: folder) { process in
      try await Program.prints("/\n", in: folder)
      kill(process, SIGINT)
    }
    #expect(result.output.hasPrefix("http://127.0.0.1:"), "\(result)")
    #expect([0, 130].contains(result.status) && result.errors.isEmpty, "\(result)")
    try FileManager.default.removeItem(atPath: folder.file("cache.db"))
    let nothing = try await Program.run(["inspect", "folder"], in: folder)
    #expect(nothing.status == 65 && nothing.errors.contains("has no journal"), "\(nothing)")
  }

  // MARK: Help

  /// Writes posts with hostile titles by one author into a new cache.
  private static func fill(_ path: String, posts: Int) async throws {
    let operation = try PreparedOperation(
      document: Document(
        parsing: "query Q { feed { __typename id title author { __typename id name } } }"))
    let feed = (0..<posts).map { number -> JSONValue in
      [
        "__typename": "Post", "id": .string("\(number)"),
        "title": .string("</script>\u{1}\u{1b}[31m \(number)"),
        "author": ["__typename": "User", "id": "1", "name": "<img src=x>"],
      ]
    }
    let store = try CacheStore.sqlite(path: path)
    try await store.transaction { [feed] in
      try await $0.write(["feed": .array(feed)], for: operation)
    }
    try await store.checkpoint()
    try store.close()
  }
}

/// A running server of the page, with a client.
private struct Page {
  struct Answer {
    var head: String
    var text: String
    var status: Int { Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }
  }

  let port: Int
  let token: String

  /// Runs the server that a command line describes.
  static func with(
    _ arguments: [String], _ body: (Page) async throws -> Void
  ) async throws {
    let server = try await InspectCommand.parse(arguments).server()
    let (ready, continuation) = AsyncStream.makeStream(of: Int.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { continuation.finish() }
        try await server.run(port: 0) { url in
          continuation.yield(Int(url.split(separator: ":")[2].prefix { $0 != "/" }) ?? 0)
        }
      }
      defer { group.cancelAll() }
      let port = try #require(await ready.first { _ in true })
      try await body(Page(port: port, token: server.token))
    }
    await server.shutdown()
  }

  func get(_ path: String) async throws -> Answer {
    try await exchange("GET", "/\(token)/\(path)", fields: ["Host: 127.0.0.1:PORT"])
  }

  func json(_ path: String) async throws -> JSONValue {
    let answer = try await get(path)
    #expect(answer.status == 200, "\(path): \(answer.text)")
    return try JSONValue(parsing: answer.text)
  }

  func post(_ path: String, _ body: JSONValue) async throws -> JSONValue {
    try JSONValue(
      parsing: try await exchange(
        "POST", "/\(token)/\(path)", fields: postFields, body: body.jsonText()
      ).text)
  }

  private var postFields: [String] {
    ["Host: localhost:PORT", "Origin: http://localhost:PORT", "Content-Type: application/json"]
  }

  func exchange(
    _ method: String, _ path: String, fields: [String], body: String = ""
  ) async throws -> Answer {
    let text = try await send(method, path, fields: fields, body: body) { _ in false }
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    return Answer(head: String(parts[0]), text: parts.count > 1 ? String(parts[1]) : "")
  }

  /// The bytes of a response with events until they satisfy a condition.
  func stream(
    _ method: String, _ path: String, body: JSONValue? = nil,
    until isEnough: @escaping @Sendable (String) -> Bool
  ) async throws -> String {
    try await send(
      method, "/\(token)/\(path)", fields: method == "GET" ? ["Host: 127.0.0.1:PORT"] : postFields,
      body: body?.jsonText() ?? "", until: isEnough)
  }

  /// Sends a request on a connection of its own, and reads until the server closes it.
  private func send(
    _ method: String, _ path: String, fields: [String], body: String,
    until isEnough: @escaping @Sendable (String) -> Bool
  ) async throws -> String {
    let port = port
    let head =
      ["\(method) \(path) HTTP/1.1"] + fields.map { $0.replacing("PORT", with: "\(port)") }
      + ["Connection: close", "Content-Length: \(body.utf8.count)"]
    let request = Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try Self.read(request, port: port, until: isEnough) })
      }
    }
  }

  private static func read(
    _ request: [UInt8], port: Int, until isEnough: (String) -> Bool
  ) throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    try #require(isConnected)
    try #require(write(descriptor, request, request.count) == request.count)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      bytes += buffer[..<count]
      if isEnough(String(decoding: bytes, as: UTF8.self)) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
