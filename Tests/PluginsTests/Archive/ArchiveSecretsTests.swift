import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import Synchronization
import Testing

/// Secrets in `--curl` and in archives: those of forms, of the environment, and those received during the run.
@Suite(.timeLimit(.minutes(10))) struct ArchiveSecretsTests {
  private static let first = "first/refresh+token=1"
  private static let rotated = "rotated/refresh token\"2"
  private static let access = "access-é-token-3"
  private static let client = "client&secret%4"
  private static let team = "team-secret-5"

  /// A token server that rotates refresh tokens, and a GraphQL server that repeats all of them.
  private struct Network: HTTPTransport {
    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "application/json"
      let all = [first, rotated, access, client, team]
      let body: JSONValue
      if request.head.path == "/token" {
        body = ["access_token": .string(access), "refresh_token": .string(rotated)]
      } else {
        if let name = HTTPField.Name("X-Echo") { head.headerFields[name] = "team=\(team)" }
        let encoded = all.compactMap {
          $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        }
        let base64 = all.map { Data("reports:\($0)".utf8).base64EncodedString() }
        body = [
          "data": ["user": ["__typename": "User", "id": "1", "name": "Ada"]],
          "extensions": ["echo": .array((all + encoded + base64).map { .string($0) })],
        ]
      }
      return .init(head: head, body: HTTPBody([body.jsonBytes()]))
    }
  }

  private static let chain = """
    - max-retry
    - token-refresh:
        oauth2:
          token_url: "http://localhost/token"
          client_id: reports
          client_secret: "${env:CLIENT}"
          client_auth: post
          grant: refresh-token
          refresh_token: "${env:REFRESH}"
          store: "${env:DIR}/token.json"
    - headers: { set: { X-Team: "${env:TEAM}", X-Lang: pt } }
    - logging: { headers: true, body: true }
    - fetch
    - response-code
    - parse
    - cache-write
    """

  /// What is printed and kept of a run: the curl commands, the archive, the log.
  private func outputs() async throws -> (curl: String, archive: JSONValue, log: String) {
    let known = KnownSecrets()
    let commands = Commands()
    let recorder = ExchangeRecorder(
      secrets: known,
      onRequest: { request in
        let line = request.curlCommand(hiding: known)
        commands.lines.withLock { $0.append(line) }
      })
    let setup = Bench.Setup(
      variables: ["CLIENT": Self.client, "REFRESH": Self.first, "TEAM": Self.team], secrets: known,
      transport: RecordingTransport(Network(), recorder: recorder))
    return try await Bench.with(Self.chain, url: "http://localhost/graphql", setup: setup) {
      bench in
      let outcome = await bench.run()
      #expect(outcome.texts.count == 1, "\(outcome.message)")
      return (
        commands.lines.withLock { $0.joined(separator: "\n") },
        await recorder.archive(creator: "gqlrun", version: "1"), bench.log.everything
      )
    }
  }

  @Test func `the form of an OAuth server has no secrets in a curl command`() async throws {
    let curl = try await outputs().curl
    #expect(
      curl.contains(
        "--data-raw 'grant_type=refresh_token&refresh_token=•••&client_id=reports&client_secret=•••'"
      ), "\(curl)")
  }

  @Test func `an archive hides the secrets of forms, of the environment and of answers`()
    async throws
  {
    let (_, archive, _) = try await outputs()
    let entries = try #require(archive["log"]?["entries"]?.arrayValue)
    #expect(entries.count == 2)
    #expect(
      entries.first?["request"]?["postData"]?["text"]?.stringValue
        == "grant_type=refresh_token&refresh_token=•••&client_id=reports&client_secret=•••")
    #expect(
      entries.first?["response"]?["content"]?["text"]?.stringValue
        == #"{"access_token":"•••","refresh_token":"•••"}"#)
    let text = entries.last?["response"]?["content"]?["text"]?.stringValue ?? ""
    #expect(text.contains(#""name":"Ada""#) && text.contains("•••"), "\(text)")
  }

  @Test func `a secret is in no output, whatever its spelling`() async throws {
    let (curl, archive, log) = try await outputs()
    for secret in [Self.first, Self.rotated, Self.access, Self.client, Self.team] {
      let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      let escaped = String(JSONValue.string(secret).jsonText().dropFirst().dropLast())
      let base64 = Data("reports:\(secret)".utf8).base64EncodedString()
      for spelling in [secret, encoded, escaped, String(base64.dropFirst(14).dropLast(4))] {
        for (name, output) in [
          ("curl", curl), ("archive", archive.jsonText()), ("log", log),
        ] {
          #expect(!output.contains(spelling), "\(name): \(spelling)")
        }
      }
    }
  }

  @Test func `one rule decides about fields, in curl commands, archives and the log`() async throws
  {
    let (curl, archive, log) = try await outputs()
    let fields = archive["log"]?["entries"]?.arrayValue?.last?["request"]?["headers"]?.arrayValue
    func value(_ name: String) -> String? {
      fields?.first { $0["name"]?.stringValue == name }?["value"]?.stringValue
    }
    #expect(curl.contains("-H 'X-Lang: pt'") && log.contains("> X-Lang: pt"))
    #expect(value("X-Lang") == "pt")
    // Open by its name, and secret as its value comes from the environment.
    #expect(curl.contains(#"-H "X-Team: $X_TEAM""#) && log.contains("> X-Team: •••"))
    #expect(value("X-Team") == "•••")
  }

  @Test func `the form of an answer is hidden by its names, too`() async throws {
    let recorder = ExchangeRecorder()
    let network = FakeNetwork(
      .body(
        "access_token=gho-1234567&scope=repo&note=gho-1234567",
        type: "application/x-www-form-urlencoded; charset=utf-8"))
    let head = HTTPRequest(
      method: .post, scheme: "http", authority: "localhost",
      path: "/t?variables=%7B%22password%22%3A%22hunter2-1%22%7D&key=k-secret-9")
    let response = try await RecordingTransport(network, recorder: recorder)
      .send(HTTPRequestMessage(head: head), limits: HTTPLimits())
    for try await _ in response.body {}
    let archive = await recorder.archive(creator: "gqlrun", version: "1")
    let entry = archive["log"]?["entries"]?.arrayValue?.first
    #expect(
      entry?["response"]?["content"]?["text"]?.stringValue
        == "access_token=•••&scope=repo&note=•••")
    let text = archive.jsonText()
    #expect(!text.contains("hunter2-1") && !text.contains("k-secret-9"), "\(text)")
    #expect(!HTTPRequestMessage(head: head).curlCommand.contains("hunter2-1"))
  }

  private final class Commands: Sendable {
    let lines = Mutex<[String]>([])
  }
}
