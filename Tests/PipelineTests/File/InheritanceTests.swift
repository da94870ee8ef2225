import GQLRunCache
import GQLRunPipeline
import HTTPTypes
import Testing

@Suite("A file that extends another")
struct InheritanceTests {
  static let base = """
    version: 1
    name: base
    endpoint: { url: "https://api.example.com/graphql", headers: { A: "1", B: "2" } }
    store: { kind: sqlite, path: base.db }
    keys: { types: { Country: [code] } }
    chain:
      - logging
      - max-retry: { max_retries: 2 }
      - cache-read
      - logging: { level: debug }
      - fetch: { ca_file: ca.pem }
      - parse
      - cache-write
    tests: []
    """

  private func environment(_ files: [String: String]) -> PipelineFileEnvironment {
    PipelineFileEnvironment(readFile: { path in
      guard let text = files[path] else {
        throw PipelineFileEnvironment.Failure("there is no such file")
      }
      return Array(text.utf8)
    })
  }

  private func load(
    _ text: String, others: [String: String] = ["dir/lib/base.pipeline.yaml": base]
  ) throws(PipelineDiagnostics) -> Pipeline {
    try PipelineFile.load(
      Array(text.utf8), file: "dir/x.pipeline.yaml", registry: TestPlugins.registry,
      environment: environment(others)
    ).pipeline
  }

  private func child(_ rest: String, extends: String = "./lib/base.pipeline.yaml") -> String {
    "version: 1\nextends: \(extends)\n\(rest)"
  }

  private func findings(
    _ text: String, others: [String: String] = ["dir/lib/base.pipeline.yaml": base]
  ) -> [String] {
    do throws(PipelineDiagnostics) {
      _ = try load(text, others: others)
      return []
    } catch {
      return error.all.map {
        "\($0.code.rawValue) \($0.location): \($0.message) → \($0.hint ?? "")"
      }
    }
  }

  @Test("has what it does not say from the other one, and paths stay relative to their file")
  func inherits() throws {
    let pipeline = try load(child("name: mine"))
    #expect(pipeline.name == "mine")
    #expect(pipeline.store.path == "dir/lib/base.db")
    #expect(
      pipeline.entries.map(\.id)
        == ["logging", "max-retry", "cache-read", "logging-2", "fetch", "parse", "cache-write"])
    let fetch = try #require(pipeline.entries[4].plugin as? TestPlugins.Fetch)
    #expect(fetch.caFile?.path == "dir/lib/ca.pem")
  }

  @Test("merges mappings key by key, and replaces everything else")
  func merges() throws {
    let pipeline = try load(
      child(
        """
        endpoint: { headers: { B: "3", C: "4" } }
        keys: { default: [uuid], types: { Country: [iso], City: [name] } }
        store: { max_size: 1MiB }
        """))
    #expect(
      pipeline.endpoint?.headers.map { "\($0.name.rawName)=\($0.value)" } == ["A=1", "B=3", "C=4"])
    #expect(pipeline.keys.types == ["Country": ["iso"], "City": ["name"]])
    #expect(pipeline.keys.defaultFields == ["uuid"])
    #expect(pipeline.store.kind == .sqlite && pipeline.store.path == "dir/lib/base.db")
    #expect(try load(child("store: { kind: memory }")).store == .init(kind: .memory))
  }

  @Test("changes the chain by the ids of its entries")
  func changes() throws {
    let pipeline = try load(
      child(
        """
        chain:
          - headers: { set: { X: "1" } }
            insert: { before: fetch }
          - logging
            : ~
            insert: { after: headers }
        """.replacing("\n    : ~", with: ":")))
    #expect(
      pipeline.entries.map(\.id) == [
        "logging", "max-retry", "cache-read", "logging-2", "headers", "logging-3", "fetch", "parse",
        "cache-write",
      ])
    let other = try load(
      child(
        """
        chain:
          - remove: [logging, logging-2]
          - max-retry: { max_retries: 5 }
            replace: max-retry
          - token-refresh: {}
            id: auth
            insert: { after: max-retry }
          - apq: {}
            insert: { after: cache-read }
          - apq: { query_method: GET }
            replace: apq
            id: hashes
        """))
    #expect(
      other.entries.map(\.id) == [
        "max-retry", "auth", "cache-read", "hashes", "fetch", "parse", "cache-write",
      ])
    let retry = try #require(other.entries[0].plugin as? TestPlugins.MaxRetry)
    #expect(retry.maxRetries == 5)
    let apq = try #require(other.entries[3].plugin as? TestPlugins.APQ)
    #expect(apq.queryMethod == .get)
  }

  @Test("may itself be extended")
  func chainOfFiles() throws {
    let middle = """
      version: 1
      name: middle
      extends: base.pipeline.yaml
      chain:
        - remove: logging-2
      """
    let pipeline = try load(
      child("chain: [{ remove: logging }]", extends: "lib/middle.pipeline.yaml"),
      others: [
        "dir/lib/base.pipeline.yaml": Self.base, "dir/lib/middle.pipeline.yaml": middle,
      ])
    #expect(pipeline.name == "middle")
    #expect(
      pipeline.entries.map(\.id) == ["max-retry", "cache-read", "fetch", "parse", "cache-write"])
  }

  @Test(
    "gets diagnostics with the location in the right file",
    arguments: [
      "chain: [{ remove: loging }]":
        "P001 dir/x.pipeline.yaml:3:19: the chain of dir/lib/base.pipeline.yaml has no entry `loging` → did you mean `logging`?",
      "chain: [headers]":
        "P003 dir/x.pipeline.yaml:3:9: this entry has no key that changes the chain of dir/lib/base.pipeline.yaml → write `insert: { after: ID }` or `replace: ID` next to the plugin, or `- remove: ID`",
      "chain: [{ headers: {}, insert: fetch }]":
        "P003 dir/x.pipeline.yaml:3:32: `insert` requires `before` or `after` with an entry → write `insert: { before: ID }` or `insert: { after: ID }`",
      "chain: [{ headers: {}, insert: { before: [fetch] } }]":
        "P003 dir/x.pipeline.yaml:3:42: `before` requires the id of an entry, not a list → one of logging, max-retry, cache-read, logging-2, fetch, parse, cache-write",
      "chain: [{ remove: parse, headers: {} }]":
        "P001 dir/x.pipeline.yaml:3:26: `headers` is next to `remove`, which only removes entries → write `replace` to replace a plugin by another",
      "chain: [{ remove: fetch }]":
        "P010 dir/x.pipeline.yaml:3:1: no plugin of this chain sends requests → add `- fetch`, and `- parse` below it",
      "chain: [{ headers: {}, insert: { after: fetch } }]":
        "P009 dir/x.pipeline.yaml:3:11: `headers` works in the HTTP stage and belongs above `fetch` (line 11 of dir/lib/base.pipeline.yaml) → move it above `fetch`",
      "strore: {}":
        "P001 dir/x.pipeline.yaml:3:1: a pipeline file has no key `strore` → did you mean `store`?",
    ] as [String: String])
  func wrong(rest: String, expected: String) {
    #expect(findings(child(rest)).contains(expected), "\(findings(child(rest)))")
  }

  @Test("gets diagnostics of the file it extends, with that file's line")
  func wrongBase() {
    let base = Self.base.replacing("max_retries: 2", with: "max_retires: 2")
    do throws(PipelineDiagnostics) {
      _ = try load(child("name: x"), others: ["dir/lib/base.pipeline.yaml": base])
      Issue.record("it loads")
    } catch {
      #expect(
        error.rendered(as: .human()).hasPrefix(
          """
          error[P001]: `max-retry` has no option `max_retires`
            --> dir/lib/base.pipeline.yaml:8:18
             |
           8 |   - max-retry: { max_retires: 2 }
             |                  ^^^^^^^^^^^ did you mean `max_retries`?
          """), "\(error)")
    }
  }

  @Test(
    "cannot extend what is not there, itself, or what extends it",
    arguments: [
      (
        ["dir/lib/base.pipeline.yaml": "version: 1\nextends: ../x.pipeline.yaml"],
        "P000 dir/lib/base.pipeline.yaml:2:10: `extends` forms a cycle → remove it from one of these: dir/x.pipeline.yaml → dir/lib/base.pipeline.yaml → dir/x.pipeline.yaml"
      ),
      (
        [:],
        "P000 dir/x.pipeline.yaml:2:10: the file `./lib/base.pipeline.yaml`, which this file extends, cannot be read → there is no such file"
      ),
      (
        ["dir/lib/base.pipeline.yaml": "- no"],
        "P003 dir/lib/base.pipeline.yaml:1:1: a pipeline file is a mapping, not a list → begin with `version: 1`"
      ),
    ])
  func circles(others: [String: String], expected: String) {
    #expect(findings(child("name: x"), others: others) == [expected])
  }

  @Test("is needed for entries that change a chain")
  func changesAlone() {
    #expect(
      check(file(chain: "  - fetch\n  - parse:\n    insert: { after: fetch }")).all.map(\.message)
        == ["`insert` changes the chain of a file that this one extends"])
  }
}
