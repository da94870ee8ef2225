import GQLRunPipeline
import Testing

@Suite("Plugins")
struct PluginRegistryTests {
  @Test("are found by name, or by what was meant")
  func lookup() {
    let registry = TestPlugins.registry
    #expect(registry["fetch"] != nil)
    #expect(registry["Fetch"] == nil)
    #expect(registry.names.first == "apq")
    #expect(registry.names.count == 12)
    #expect(registry.suggestion(for: "Fetch") == "fetch")
    #expect(registry.suggestion(for: "max_retry") == "max-retry")
    #expect(registry.suggestion(for: "maxretries") == "max-retry")
    #expect(registry.suggestion(for: "retry") == "max-retry")
    #expect(registry.suggestion(for: "cahce-read") == "cache-read")
    #expect(registry.suggestion(for: "websocket") == nil)
    #expect(registry.suggestion(for: "") == nil)
    #expect(registry.suggestion(for: String(repeating: "x", count: 1 << 20)) == nil)
  }

  @Test("describe themselves")
  func text() {
    #expect(
      PluginDescription(TestPlugins.Logging.self).text == """
        logging — Writes a line per request and result

        wrap, stage GraphQL and HTTP

        Always.

        At the top.

        Subscriptions: Each event passes it like the result of a query.

        Uploads: A request with files passes it like any other.

        options:
          level: debug|info|warning|error (default info)
              The level of the lines
          headers: bool (default false)
              Whether fields are shown

        example:
          - logging: { level: debug }

        Two lines are written.

        more examples:
          - logging

        """)
    #expect(
      PluginDescription(TestPlugins.MaxRetry.self).text
        .contains("      base: duration (default 300ms)\n"))
  }

  struct Bad: Plugin {
    static let name = "Bad"
    static let summary = "Ends with a stop."
    static let documentation = PluginDocumentation(
      use: "", position: "Anywhere.", example: "bad", narration: "")
    struct Group: OptionSection { @Option(0...1, "X") var x = 2 }
    @Option("Ends with a stop.") var timeout = Duration.seconds(30)
    // swift-format-ignore: AlwaysUseLowerCamelCase
    @Option("") var unit_ = 1
    @Option(1...5, "A list") var list = [1, 7]
    @Option("A group") var group = Group()
    var secret = 5
    var placement: Placement { Placement(.wrap, stages: []) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
  }

  @Test("with unsound declarations are refused, each with its reason")
  func problems() {
    #expect(
      PluginDescription(Bad.self).problems == [
        "`Bad` is not the name of a plugin: use kebab case", "`Bad` has no stage",
        "the summary of `Bad` is not one sentence without a full stop",
        "the documentation of `Bad` has no use", "the documentation of `Bad` has no narration",
        "the property `secret` of `Bad` is not an `@Option`; compute it instead",
        "the summary of `timeout` of `Bad` is not one sentence without a full stop",
        "`unit_` of `Bad` cannot be written in snake case",
        "the summary of `unit_` of `Bad` is not one sentence without a full stop",
        "the default of `list` of `Bad` is not a list of integers",
        "the default of `x` of `group` is not an integer from 0 to 1",
      ])
    for description in TestPlugins.registry.descriptions {
      #expect(description.problems.isEmpty)
    }
  }

  @Test(
    "are named after their types",
    arguments: [
      (TestPlugins.MaxRetry.name, "max-retry"), (TestPlugins.APQ.name, "apq"),
      (TestPlugins.Replay.name, "record-replay"), (HTTP2ProxyPlugin.name, "http2-proxy"),
    ])
  func names(name: String, expected: String) {
    #expect(name == expected)
  }

  struct HTTP2ProxyPlugin: TestPlugin {
    static let summary = "Has a name with digits"
    @Option("URL of a token") var tokenURL: String?
    @Option("Largest body") var maxBodySize2: Int?
    @Option("URL first") var urlPath: String?
    var placement: Placement { .wrap(.graphQL) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.graphQL(PassGraphQL())] }
  }

  @Test("have options named after their properties, in snake case")
  func optionNames() {
    #expect(
      HTTP2ProxyPlugin.optionDescriptions.map(\.name)
        == ["token_url", "max_body_size2", "url_path"])
  }

  @Test("that code configures are checked like those of a file")
  func configuredInCode() throws {
    var picky = TestPlugins.Picky()
    picky.stage = .graphql
    picky.range = TestPlugins.Picky.Range()
    picky.range?.low = 2
    #expect(throws: OptionError(option: "range", "`high` is below `low`", remedy: "swap them")) {
      try PipelineEntry(picky)
    }
    picky.range?.high = 3
    let entry = try PipelineEntry(picky)
    #expect(entry.id == "picky")
    #expect(entry.placement?.stages == [.graphQL, .http])
    #expect(entry.parts.count == 1)
  }

  @Test("have examples that can be loaded")
  func examples() {
    for example in TestPlugins.Logging.documentation.examples {
      #expect(check(file(chain: "  - \(example)\n  - fetch\n  - parse")).all.isEmpty)
    }
  }
}
