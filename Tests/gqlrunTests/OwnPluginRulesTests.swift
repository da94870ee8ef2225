import GQLRunPipeline
import GQLRunPlugins
import Testing

/// A plugin with rules about its options and its position; docs/guide-own-plugins.md shows them.
private struct SigningPlugin: Plugin {
  static let summary = "Signs requests"
  static let documentation = PluginDocumentation(
    use: "Tests.", position: "Above fetch.", example: "signing", narration: "Nothing happens.")

  @Option("Shortest time that a signature is valid") var shortest = Duration.seconds(10)
  @Option("Longest time that a signature is valid") var longest = Duration.seconds(60)

  func validate() throws(OptionError) {
    guard longest < shortest else { return }
    throw $longest.error("`longest` is below `shortest`", remedy: "swap them")
  }

  var traits: PluginTraits { "acme.signs" }

  var placement: Placement {
    .wrap(
      .http,
      rules: [
        .once("acme.signs", code: "ACME1", verb: "signs requests"),
        .belowAll(
          .changesHeaders, code: "ACME2", reason: "which breaks the signature",
          remedy: "move {self} below {other}"),
        .requires(
          .fetches, code: "ACME3", message: "{self} signs requests that nothing sends",
          remedy: "add `- fetch`"),
      ])
  }

  func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(Pass())] }

  struct Pass: HTTPInterceptor {
    func intercept(
      _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
    ) async throws -> HTTPResponseMessage { try await next(request) }
  }
}

/// A plugin whose errors have codes of their own: of its options together, and of its parts.
private struct CodedPlugin: Plugin {
  static let summary = "Has errors with codes"
  static let documentation = PluginDocumentation(
    use: "Tests.", position: "Above fetch.", example: "coded", narration: "Nothing happens.")

  @Option("What is refused") var refused = ""

  func validate() throws(OptionError) {
    guard refused == "options" else { return }
    throw OptionError(option: $refused.name, "no", remedy: "leave it out", code: "ACME4")
  }

  var placement: Placement { .wrap(.http) }

  func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    guard refused == "parts" else { return [.http(SigningPlugin.Pass())] }
    throw OptionError("no", remedy: "leave it out", code: "ACME5")
  }
}

@Suite("The rules of a plugin of one's own")
struct OwnPluginRulesTests {
  /// Code, message and hint of each diagnostic about a chain.
  private func diagnostics(_ chain: String) -> [String] {
    var registry = PluginRegistry.builtIn
    registry.register(SigningPlugin.self)
    registry.register(CodedPlugin.self)
    let yaml = """
      version: 1
      endpoint: { url: "https://api.example.com/graphql" }
      store: { kind: none }
      chain: [\(chain)]
      """
    return PipelineFile.check(
      Array(yaml.utf8), file: "x.pipeline.yaml", registry: registry,
      environment: PipelineFileEnvironment()
    ).all.map { "\($0.code.rawValue): \($0.message); \($0.hint ?? "")" }
  }

  @Test(
    "are reported with their codes",
    arguments: [
      ("headers: { set: { X-A: b } }, signing, fetch, response-code, parse", []),
      (
        "signing, headers: { set: { X-A: b } }, fetch, response-code, parse",
        [
          "ACME2: `signing` is above `headers` (line 4), which breaks the signature; "
            + "move `signing` below `headers`"
        ]
      ),
      (
        "signing, signing: {}, fetch, response-code, parse",
        [
          "ACME1: a chain signs requests once, and `signing` (line 4) already does; remove one of them"
        ]
      ),
      (
        "signing",
        [
          "P010: no plugin of this chain sends requests; add `- fetch`, and `- parse` below it",
          "ACME3: `signing` signs requests that nothing sends; add `- fetch`",
        ]
      ),
      (
        "signing: { shortest: 2m, longest: 1m }, fetch, response-code, parse",
        ["P003: `signing`: `longest` is below `shortest`; swap them"]
      ),
      (
        "coded: { refused: options }, fetch, response-code, parse",
        ["ACME4: `coded`: no; leave it out"]
      ),
      (
        "coded: { refused: parts }, fetch, response-code, parse",
        ["ACME5: `coded`: no; leave it out"]
      ),
    ])
  func rules(chain: String, expected: [String]) {
    #expect(diagnostics(chain) == expected)
  }
}
