import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import Testing

@Suite("The section `subscriptions` of a pipeline file")
struct SubscriptionSectionTests {
  private static let chain = "[max-retry, cache-read, fetch, response-code, parse, cache-write]"
  private static let feed = "query Feed($first: Int) { feed(first: $first) { id } }"

  private static func file(_ section: String, chain: String = chain) -> [UInt8] {
    Array(
      """
      version: 1
      endpoint: { url: "http://localhost/" }
      store: { kind: memory }
      subscriptions: \(section)
      chain: \(chain)

      """.utf8)
  }

  private static let environment = PipelineFileEnvironment(
    variable: { _ in nil },
    readFile: { path in
      switch path {
      case _ where path.hasSuffix("feed.graphql"): Array(feed.utf8)
      case _ where path.hasSuffix("two.graphql"): Array("query A { a } query B { b }".utf8)
      case _ where path.hasSuffix("mutation.graphql"): Array("mutation M { m }".utf8)
      case _ where path.hasSuffix("broken.graphql"): Array("query {".utf8)
      default: throw PipelineFileEnvironment.Failure("there is no such file")
      }
    })

  private func findings(_ section: String, chain: String = chain) -> [String] {
    PipelineFile.check(
      Self.file(section, chain: chain), file: "x.pipeline.yaml", registry: .builtIn,
      environment: Self.environment
    ).all.map {
      "\($0.code.rawValue)\($0.severity == .warning ? "?" : ""): \($0.message) → \($0.hint ?? "")"
    }
  }

  @Test("is read with its defaults and its query")
  func reading() throws {
    let loaded = try PipelineFile.load(
      Self.file(
        "{ overflow: drop-oldest, max_waiting: 50, catch_up: { file: feed.graphql, deliver: true } }"
      ),
      file: "x.pipeline.yaml", registry: .builtIn, environment: Self.environment)
    let settings = loaded.pipeline.subscriptions
    #expect(settings.overflow == .dropOldest && settings.maxWaiting == 50)
    #expect(settings.maxWaitingBytes == .mebibytes(64))
    #expect(settings.catchUp?.document?.operations.first?.name?.value == "Feed")
    #expect(settings.catchUp?.isDelivered == true)
    #expect(loaded.warnings.all.isEmpty)
  }

  @Test(
    "is checked, with what would work",
    arguments: [
      ("{ overflow: drop }", "P003", "drop-oldest"),
      ("{ max_waiting: 5 }", "P023", "`max_waiting` has no effect"),
      ("{ overflow: block, max_waiting_size: 1MiB }", "P023", "write `overflow: drop-oldest`"),
      ("{ catch_up: {} }", "P003", "add `query: NAME`"),
      ("{ catch_up: { file: none.graphql } }", "P003", "there is no such file"),
      ("{ catch_up: { file: broken.graphql } }", "P003", "cannot be read from"),
      ("{ catch_up: { file: two.graphql } }", "P003", "cannot be read from"),
      ("{ catch_up: { file: feed.graphql, query: Fed } }", "P003", "cannot be read from"),
      ("{ catch_up: { file: mutation.graphql } }", "P003", "is a mutation"),
    ])
  func errors(_ section: String, _ code: String, _ text: String) {
    let found = findings(section)
    #expect(
      found.count == 1 && found[0].hasPrefix("\(code): ") && found[0].contains(text), "\(found)")
  }

  @Test(
    "is compared with the chain",
    arguments: [
      (
        "[fetch, parse, cache-write]", "{ catch_up: { query: Feed } }",
        "P023?: `catch_up` never runs"
      ),
      (
        "[max-retry, fetch, parse]", "{ catch_up: { query: Feed } }",
        "P023?: `catch_up` has no effect"
      ),
      (
        "[cache-read: { policy: cache-only }]", "{ overflow: fail }",
        "P023: the chain sends no subscription: `cache-read` never uses the network"
      ),
      ("[deduplicate: {}, fetch, parse]", "{}", nil),
      (
        "[{ deduplicate: {}, when: { type: subscription } }, fetch, parse]", "{}",
        "P023?: `deduplicate` has no effect"
      ),
    ])
  func chains(_ chain: String, _ section: String, _ expected: String?) {
    let found = findings(section, chain: chain)
    if let expected {
      #expect(found.count { $0.hasPrefix(expected) } == 1, "\(found)")
    } else {
      #expect(!found.contains { $0.hasPrefix("P023") }, "\(found)")
    }
  }
}
