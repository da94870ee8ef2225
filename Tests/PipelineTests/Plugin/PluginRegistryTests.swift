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
    #expect(registry.suggestion(for: "cahce-read") == "cache-read")
    #expect(registry.suggestion(for: "websocket") == nil)
    #expect(registry.suggestion(for: "") == nil)
    #expect(registry.suggestion(for: String(repeating: "x", count: 1 << 20)) == nil)
  }

  @Test("describe themselves")
  func text() {
    #expect(
      TestPlugins.Logging.description.text == """
        logging — Writes a line per request and result

        wrap, stage GraphQL and HTTP

        options:
          level: debug|info|warning|error (default info)
              The level of the lines
          headers: bool (default false)
              Whether fields are shown

        examples:
          - logging: { level: debug }

        """)
    #expect(
      TestPlugins.MaxRetry.description.text.contains("      base: duration (default 300ms)\n"))
  }

  @Test("whose tables are wrong are found out")
  func problems() {
    let description = PluginDescription(
      name: "Bad", summary: "Ends with a stop.", kind: .wrap, stages: [],
      options: [
        OptionDescription("one-two", .bool, "Not in snake case"),
        OptionDescription("a", .duration(), default: "30", "A default without unit"),
        OptionDescription("a", .int(), default: "1", required: true, "Twice"),
        OptionDescription(
          "o", .object([OptionDescription("x", .int(in: 0...1), default: "2", "X")]), default: "{}",
          "An object"),
        OptionDescription("l", .list(.int()), default: "[1, x]", "A list"),
      ])
    #expect(
      description.problems == [
        "`Bad` is not a name for a plugin", "`Bad` takes part in no stage",
        "the summary of `Bad` is no sentence without a full stop",
        "`one-two` of `Bad` is not in snake case",
        "the default of `a` of `Bad` is not a duration such as 300ms, 1.5s, 2m or 1h",
        "`a` of `Bad` is described twice", "`a` of `Bad` is required and has a default",
        "the default of `x` of `o` is not an integer from 0 to 1",
        "the default of `l` of `Bad` is not a list of integers",
      ])
  }
}
