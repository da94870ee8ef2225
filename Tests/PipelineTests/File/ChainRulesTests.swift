import GQLRunLanguage
import GQLRunPipeline
import Testing

@Suite("The entries of a chain")
struct ChainRulesTests {
  /// Code, severity and message of everything found, with line and remedy.
  private func findings(_ chain: String, _ plugins: [any Plugin.Type]) -> [String] {
    var registry = TestPlugins.registry
    for plugin in plugins { registry.register(plugin) }
    let found = PipelineFile.check(
      Array(file(chain: chain).utf8), file: "x.pipeline.yaml", registry: registry,
      environment: testEnvironment)
    return found.all.map {
      let mark = $0.severity == .warning ? "?" : ""
      return "\($0.code.rawValue)\(mark) \($0.location.line - 5): \($0.message) → \($0.hint ?? "")"
    }
  }

  /// A plugin from outside, with a trait, rules and codes of its own.
  struct Sign: TestPlugin {
    static let summary = "Signs requests"
    @Option("Whether the audit is needed") var audited = false
    var traits: PluginTraits { "acme.signs" }
    var placement: Placement {
      .wrap(
        .http,
        rules: [
          .once("acme.signs", code: "ACME1", verb: "signs requests"),
          .belowAll(
            "acme.edits", code: "ACME2", reason: "which breaks the signature",
            remedy: "move {self} below {other}"),
        ]
          + (audited
            ? [
              .requires(
                "acme.audits", code: "ACME3", message: "{self} must be audited",
                remedy: "add `- audit` above {self}")
            ] : []))
    }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(PassHTTP())] }
  }

  struct Edit: TestPlugin {
    static let summary = "Edits requests"
    var traits: PluginTraits { "acme.edits" }
    var placement: Placement { .wrap(.http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(PassHTTP())] }
  }

  @Test(
    "may follow rules that plugins from outside declare, with codes of their own",
    arguments: [
      "  - edit\n  - sign\n  - fetch\n  - parse": "",
      "  - sign\n  - edit\n  - edit\n  - fetch\n  - parse":
        "ACME2? 1: `sign` is above `edit` (line 8), which breaks the signature → move `sign` below `edit`",
      "  - sign\n  - sign\n  - fetch\n  - parse":
        "ACME1 2: a chain signs requests once, and `sign` (line 6) already does → remove one of them",
      "  - sign: { audited: true }\n  - fetch\n  - parse":
        "ACME3 1: `sign` must be audited → add `- audit` above `sign`",
      "  - sign: { audited: true }\n  - audit\n  - fetch\n  - parse":
        "P001 2: unknown plugin `audit` → did you mean `edit`?",
      "  - fetch\n  - sign\n  - parse":
        "P009 2: `sign` works in the HTTP stage and belongs above `fetch` (line 6) → move it above `fetch`",
    ] as [String: String])
  func ownRules(chain: String, expected: String) {
    #expect(findings(chain, [Sign.self, Edit.self]).joined(separator: "\n") == expected)
  }

  @Test("are checked with the options that could be read, and their values once each")
  func partlyRead() {
    #expect(
      findings(
        "  - picky: { range: { low: 1 }, more: [{ low: 2, high: 1 }] }\n  - cache-read: { policy: x }\n  - parse",
        []
      ).sorted() == [
        "P003 1: `range` of `picky` requires the option `high` → add `high`: an integer",
        "P003 2: `policy` of `cache-read` takes \(CachePolicy.names.dropLast().joined(separator: ", ")) or \(CachePolicy.names.last ?? "") → not one of these",
        "P010 0: no plugin of this chain sends requests → add `- fetch`, and `- parse` below it",
        "P013? 2: no plugin fills the store that `cache-read` reads → add `- cache-write` below the parser",
      ])
  }

  @Test("whose options do not go together are pointed at, inside of sections and lists too")
  func validation() throws {
    let found = check(
      file(
        chain:
          "  - picky: { more: [{ low: 1, high: 2 }, { low: 2, high: 1 }] }\n  - fetch\n  - parse"))
    #expect(found.all.map(\.message) == ["`picky`: `high` is below `low`"])
    #expect(found.all.map { "\($0.location)" } == ["dir/x.pipeline.yaml:6:58"])
    let named = check(
      file(chain: "  - picky: { named: { a: { low: 2, high: 1 } } }\n  - fetch\n  - parse"))
    #expect(named.all.map(\.message) == ["`picky`: `high` is below `low`"])
    #expect(named.all.map { "\($0.location)" } == ["dir/x.pipeline.yaml:6:42"])
  }

  @Test("names its entries")
  func ids() throws {
    let pipeline = try load(
      file(
        chain: """
            - logging
            - logging:
              id: second
            - logging
            - max-retry: { max_retries: 1 }
              id: logging-3
            - logging
            - fetch
            - parse
          """))
    #expect(
      pipeline.entries.map(\.id)
        == ["logging", "second", "logging-2", "logging-3", "logging-4", "fetch", "parse"])
    let twice = check(file(chain: "  - fetch\n  - parse:\n    id: fetch"))
    #expect(twice.all.map(\.message) == ["the id `fetch` is repeated"])
  }

  @Test("may depend on the operation")
  func conditions() throws {
    let pipeline = try load(
      file(
        chain: """
            - logging:
              when: { operation: [A, B], type: query }
            - logging: {}
              when: { type: mutation }
            - logging
            - fetch
            - parse
          """))
    let conditions = pipeline.entries.map(\.condition)
    func applying(_ name: String?, _ type: String) -> [Bool] {
      let request = GraphQLRequest(
        document: "", operationName: name, operationType: type == "query" ? .query : .mutation)
      return conditions.prefix(3).map { $0.holds(for: request) }
    }
    #expect(applying("A", "query") == [true, false, true])
    #expect(applying("C", "query") == [false, false, true])
    #expect(applying(nil, "query") == [false, false, true])
    #expect(applying("A", "mutation") == [false, true, true])
  }
}
