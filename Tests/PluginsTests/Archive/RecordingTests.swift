import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// What is kept of exchanges for curl and for HTTP archives.
@Suite(.timeLimit(.minutes(10))) struct RecordingTests {
  private func request(
    _ body: String? = #"{"query":"{ a }"}"#, path: String = "/graphql",
    fields: [(String, String)] = []
  ) -> HTTPRequestMessage {
    var head = HTTPRequest(
      method: body == nil ? .get : .post, scheme: "https", authority: "api.example.com", path: path)
    for (name, value) in fields {
      if let name = HTTPField.Name(name) {
        head.headerFields.append(HTTPField(name: name, value: value))
      }
    }
    return HTTPRequestMessage(head: head, body: body.map { Array($0.utf8) })
  }

  @Test func `a curl command sends the same request, with secrets as variables`() {
    let fields = [
      ("Content-Type", "application/json"), ("Authorization", "Bearer \(Bench.canary)"),
      ("X-Api-Key", Bench.canary),
    ]
    #expect(
      request(
        #"{"query":"{ a(x: \"it's\") }","variables":{"password":"\#(Bench.canary)"}}"#,
        path: "/graphql?key=\(Bench.canary)", fields: fields
      ).curlCommand == #"""
        curl \
          'https://api.example.com/graphql?key=•••' \
          -H 'Content-Type: application/json' \
          -H "Authorization: $AUTHORIZATION" \
          -H "X-Api-Key: $X_API_KEY" \
          --compressed \
          --data-raw '{"query":"{ a(x: \"it'\''s\") }","variables":{"password":"•••"}}'
        """#)
    #expect(
      request(nil, path: "/graphql?query=%7Ba%7D&onError=NULL").curlCommand == #"""
        curl \
          'https://api.example.com/graphql?query=%7Ba%7D&onError=NULL' \
          --compressed
        """#)
  }

  @Test(
    arguments: [
      (.post, "{}", nil), (.get, nil, nil), (.query, "{}", "-X QUERY"), (.get, "{}", "-X GET"),
      (.post, nil, "-X POST"),
    ] as [(HTTPRequest.Method, String?, String?)])
  func `a curl command names the method that curl would not use by itself`(
    method: HTTPRequest.Method, body: String?, option: String?
  ) {
    var message = request(body)
    message.head.method = method
    let words = message.curlCommand.split(separator: " \\\n  ").map(String.init)
    #expect(words.first { $0.hasPrefix("-X") } == option)
  }

  @Test func `an operation over WebSocket has no curl command`() {
    var message = request(nil, path: "/graphql?key=\(Bench.canary)")
    message.webSocket = WebSocketRequest(subprotocols: [], isSubscription: true)
    let line = message.curlCommand
    #expect(
      line
        == "# curl cannot send an operation over WebSocket: https://api.example.com/graphql?key=•••"
    )
  }

  @Test func `a shell reads back every text that is quoted`() async throws {
    let texts = ["it's", "a\nb", #"\"$HOME`x`"#, "''", "•é", "-n"]
    for text in texts {
      let message = request(text)
      let line = message.curlCommand.replacing("curl ", with: "printf '%s\\037' ")
      let output = try ChildProcess("/bin/sh", ["-c", line]).finish().output
      let words = output.split(separator: "\u{1F}")
      #expect(words.last.map(String.init) == text)
    }
  }

  /// Runs operations over a recorder, and gives what it kept.
  private func archive(
    _ network: FakeNetwork, keptBytes: Int = 1 << 20
  ) async throws -> (JSONValue, requests: Int) {
    let recorder = ExchangeRecorder(
      keptBytes: keptBytes, secondsSince1970: { 1_750_000_000.125 })
    let setup = Bench.Setup(transport: RecordingTransport(network, recorder: recorder))
    return try await Bench.with(url: "http://localhost/?key=\(Bench.canary)", setup: setup) {
      _ = await $0.run()
      return (await recorder.archive(creator: "gqlrun", version: "1"), await network.count)
    }
  }

  @Test func `a recorded transport has the executors of its base`() async {
    let base = AsyncHTTPTransport()
    let recording = RecordingTransport(base, recorder: ExchangeRecorder())
    #expect(!base.executors.isEmpty && recording.executors.count == base.executors.count)
    await base.shutdown()
  }

  @Test func `an archive has every exchange with times and texts, and no secret`() async throws {
    let (archive, _) = try await archive(
      FakeNetwork(
        .body(
          HTTPText.user.replacing("Ada", with: "Bearer \(Bench.canary)"),
          headers: ["Set-Cookie": "session=\(Bench.canary)"])))
    let log = try #require(archive["log"])
    #expect(log["version"]?.stringValue == "1.2")
    let entry = try #require(log["entries"]?.arrayValue?.first)
    #expect(entry["startedDateTime"]?.stringValue == "2025-06-15T15:06:40.125Z")
    #expect(entry["request"]?["method"]?.stringValue == "POST")
    #expect(entry["request"]?["url"]?.stringValue == "http://localhost/?key=•••")
    #expect(entry["request"]?["postData"]?["text"]?.stringValue?.contains("query User") == true)
    #expect(entry["response"]?["status"]?.intValue == 200)
    #expect(
      entry["response"]?["content"]?["text"]?.stringValue
        == HTTPText.user.replacing("Ada", with: "•••"))
    for key in ["time", "cache", "timings"] { #expect(entry[key] != nil) }
    #expect(!archive.jsonText().contains(Bench.canary))
  }

  @Test func `an exchange without an answer has status 0 and says why`() async throws {
    let (archive, _) = try await archive(FakeNetwork(.failure(.connectionFailed, .notSent)))
    let entry = archive["log"]?["entries"]?.arrayValue?.first
    #expect(entry?["response"]?["status"]?.intValue == 0)
    #expect(entry?["comment"]?.stringValue?.contains("no luck") == true)
  }

  @Test func `no more of a body is kept than asked for`() async throws {
    let (archive, _) = try await archive(FakeNetwork(.ok), keptBytes: 10)
    let content = archive["log"]?["entries"]?.arrayValue?.first?["response"]?["content"]
    #expect(content?["text"]?.stringValue?.utf8.count == 10)
    #expect(content?["size"]?.intValue == HTTPText.user.utf8.count)
    #expect(content?["comment"]?.stringValue == "only the first 10 bytes are kept")
  }
}
