import Foundation
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun pipeline", .timeLimit(.minutes(10)))
struct PipelineCommandTests {
  private func run(_ line: String, _ folder: Folder) async throws -> RunResult {
    try await Program.run(line.split(separator: " ").map { String($0) }, in: folder)
  }

  private static let readyMade =
    ((try? FileManager.default.contentsOfDirectory(atPath: Repository.root + "/pipelines")) ?? [])
    .filter { $0.hasSuffix(".pipeline.yaml") }.sorted()

  @Test("new writes every ready-made file under its own name, and never over another")
  func new() async throws {
    let folder = try Folder()
    #expect(Self.readyMade.count >= 4)
    for name in Self.readyMade {
      let stem = name.replacing(".pipeline.yaml", with: "")
      let result = try await run("pipeline new my-\(stem) --from \(stem)", folder)
      #expect(result.status == 0, "\(result)")
      let original = try String(
        contentsOfFile: "\(Repository.root)/pipelines/\(name)", encoding: .utf8)
      #expect(
        try folder.text("my-\(name)")
          == original.replacing("\nname: \(stem)\n", with: "\nname: my-\(stem)\n"),
        "run `make generated`")
    }
    let check = try await run("pipeline check my-default.pipeline.yaml", folder)
    #expect(check.status == 0, "\(check)")
    try folder.write("mine", to: "taken.pipeline.yaml")
    let taken = try await run("pipeline new taken.pipeline.yaml", folder)
    #expect(taken.status == 1 && taken.errors.contains("already exists"), "\(taken)")
    #expect(try folder.text("taken.pipeline.yaml") == "mine")
    let unknown = try await run("pipeline new x --from nothing", folder)
    #expect(unknown.status == 64 && unknown.errors.contains("default"), "\(unknown)")
    #expect(!folder.exists("x.pipeline.yaml"))
  }

  @Test(
    "new copies the pipeline that has the name of the file, or else the default, and says which")
  func newByName() async throws {
    let folder = try Folder()
    for (name, origin) in [("offline", "offline"), ("shop", "default")] {
      let result = try await run("pipeline new \(name)", folder)
      #expect(result.status == 0, "\(result)")
      #expect(result.errors.contains("a copy of the ready-made pipeline \(origin);"), "\(result)")
      let original = try String(
        contentsOfFile: "\(Repository.root)/pipelines/\(origin).pipeline.yaml", encoding: .utf8)
      #expect(
        try folder.text("\(name).pipeline.yaml")
          == original.replacing("\nname: \(origin)\n", with: "\nname: \(name)\n"))
    }
  }

  @Test(
    "a file in any folder extends a ready-made pipeline by its name, unless there is such a file")
  func extendsReadyMade() async throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(
      atPath: folder.file("files"), withIntermediateDirectories: true)
    let new = try await run("pipeline new files/mine --extends offline", folder)
    #expect(new.status == 0, "\(new)")
    let show = try await run("pipeline show files/mine.pipeline.yaml", folder)
    #expect(show.status == 0 && show.output.contains("gqlrun-cache.db"), "\(show)")
    try folder.write("version: 1\nextends: plain\nchain: []\n", to: "files/offline")
    let own = try await run("pipeline show files/mine.pipeline.yaml", folder)
    #expect(own.status == 0 && !own.output.contains("gqlrun-cache.db"), "\(own)")
    let absent = try await run("pipeline check files/mine.pipeline.yaml", folder)
    #expect(absent.status == 0, "\(absent)")
    try folder.write("version: 1\nextends: nothing\n", to: "n.pipeline.yaml")
    let unknown = try await run("pipeline check n.pipeline.yaml", folder)
    #expect(unknown.status == 78 && unknown.errors.contains("`nothing`"), "\(unknown)")
  }

  @Test("new --extends begins a file that changes another, and its example is right")
  func newExtending() async throws {
    let folder = try Folder()
    _ = try await run("pipeline new base.pipeline.yaml", folder)
    let result = try await run("pipeline new mine --extends ./base.pipeline.yaml", folder)
    #expect(result.status == 0, "\(result)")
    let text = try folder.text("mine.pipeline.yaml")
    // What stands behind `# ` but for the sentence.
    let lines = text.split(separator: "\n").filter {
      !$0.hasPrefix("# Keys") && !$0.contains("changed by")
    }
    .map { $0.hasPrefix("# ") ? String($0.dropFirst(2)) : String($0) }
    try folder.replace("mine.pipeline.yaml", with: lines.joined(separator: "\n") + "\n")
    let show = try await run("pipeline show mine.pipeline.yaml", folder)
    #expect(show.status == 0, "\(show)")
    #expect(show.output.contains("X-Client: mine") && !show.output.contains("max-retry"))
  }

  @Test("explain says what one operation meets")
  func explain() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      name: mixed
      endpoint: { url: "http://localhost/graphql", headers: { Authorization: "Bearer ${env:T}" } }
      store: { kind: sqlite, path: x.db }
      chain:
        - logging
        - max-retry:
          when: { type: mutation }
        - cache-read: { policy: network-first }
        - fetch
        - parse
        - cache-write
      """, to: "mixed.pipeline.yaml")
    let result = try await Program.run(
      ["pipeline", "explain", "germany.graphql", "--pipeline", "mixed.pipeline.yaml"], in: folder,
      environment: ["T": "canary-5512"])
    #expect(result.status == 0, "\(result)")
    for text in [
      "the anonymous query of germany.graphql", "pipeline  mixed (mixed.pipeline.yaml)",
      "network-first: uses the network and stores the result; reads the cache if the network fails",
      "sqlite x.db",
      #"stored as country({"code":"DE"})"#, "POST http://localhost/graphql",
      "Authorization: •••", "with query",
      "· max-retry    skipped for this operation: when type: mutation",
      "↓ cache-read   step, cache; reads the cache if the network fails",
    ] {
      #expect(result.output.contains(text), "no \(text) in \(result)")
    }
    #expect(!result.output.contains("canary") && !folder.exists("x.db"))
    let other = try await Program.run(
      [
        "pipeline", "explain", "germany.graphql", "--pipeline", "mixed.pipeline.yaml", "--policy",
        "cache-only",
      ], in: folder, environment: ["T": "x"])
    #expect(other.output.contains("↓ fetch        step, HTTP; not reached with cache-only"))
  }

  @Test("explain says that a result is stored or read only if the chain does it")
  func explainWithoutCache() async throws {
    let folder = try Folder()
    let cases = [
      (
        "[fetch, parse]", "network-only",
        "network-only: uses the network without storing the result"
      ),
      ("[fetch, parse]", "cache-first", "cache-first: uses the network without storing the result"),
      ("[fetch, parse]", "cache-only", "cache-only: fails, because no plugin of the chain reads"),
      (
        "[cache-read, fetch, parse]", "cache-first",
        "if a field is missing, without storing the result"
      ),
      (
        "[fetch, parse, cache-write]", "network-first", "network-first: uses the network and stores"
      ),
      (
        "[cache-read, fetch, parse, { cache-write: {}, when: { type: mutation } }]", "network-only",
        "network-only: uses the network without storing the result"
      ),
    ]
    for (chain, policy, text) in cases {
      try folder.write(
        """
        version: 1
        endpoint: { url: "http://localhost/graphql" }
        store: { kind: memory }
        chain: \(chain)
        """, to: "p.pipeline.yaml")
      let result = try await Program.run(
        ["pipeline", "explain", "germany.graphql", "-p", "p.pipeline.yaml", "--policy", policy],
        in: folder)
      #expect(result.status == 0 && result.output.contains(text), "\(chain): \(result)")
    }
  }

  @Test("graph draws the chain for Graphviz and for Mermaid")
  func graph() async throws {
    let folder = try Folder()
    let file = Repository.root + "/pipelines/default.pipeline.yaml"
    let dot = try await run("pipeline graph --dot \(file)", folder)
    #expect(dot.output.hasPrefix("digraph \"default\" {\n"), "\(dot)")
    for text in [
      "entry3 [label=\"cache-read\"]", "entry4 -> server [label=\"request\"]",
      "entry3 -> caller [label=\"hit\", style=dashed]", "entry7 -> store [style=dashed]",
    ] {
      #expect(dot.output.contains(text), "no \(text) in \(dot)")
    }
    let mermaid = try await run("pipeline graph \(file)", folder)
    for text in [
      "flowchart TB", "entry2[[\"max-retry\"]]", "entry3 -.->|hit| caller", "server --> entry5",
    ] {
      #expect(mermaid.output.contains(text), "no \(text) in \(mermaid)")
    }
  }

  @Test("test runs what the file says about itself, and tells what is not so")
  func test() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "http://localhost/graphql" }
      chain: [max-retry, fetch, response-code, parse]
      tests:
        - name: it retries
          upstream: [{ when: { attempt: 1 }, status: 503 }, { body: { data: { ok: true } } }]
          expect: { succeeded: 1, requests: 2 }
        - name: it fails
          upstream: [{ status: 500 }]
          expect:
            succeeded: 1
      """, to: "t.pipeline.yaml")
    let all = try await run("pipeline test t.pipeline.yaml", folder)
    #expect(all.status == 1, "\(all)")
    for text in [
      "ok    it retries  (2 requests, ", "FAIL  it fails",
      "t.pipeline.yaml:11:18: succeeded: expected 1, found 0", "2 tests, 1 failed",
    ] {
      #expect(all.errors.contains(text), "no \(text) in \(all)")
    }
    let some = try await run("pipeline test --filter retries t.pipeline.yaml", folder)
    #expect(some.status == 0 && some.errors.contains("1 test, none failed"), "\(some)")
    let none = try await run("pipeline test --filter retires t.pipeline.yaml", folder)
    #expect(none.status == 1 && none.errors.contains("contains retires"), "\(none)")
    try folder.write(
      "version: 1\nendpoint: { url: \"http://127.0.0.1:1/\" }\nchain: [fetch, parse]\n",
      to: "plain.pipeline.yaml")
    let untested = try await run("pipeline test plain.pipeline.yaml", folder)
    #expect(untested.status == 0 && untested.errors.contains("there are no tests"), "\(untested)")
    let github = try await run("pipeline test --format github t.pipeline.yaml", folder)
    #expect(
      github.output.hasPrefix("::error file=t.pipeline.yaml,line=11,col=18"), "\(github)")
    let json = try await run("pipeline test --format json t.pipeline.yaml", folder)
    let rows = try JSONValue(parsing: json.output).arrayValue ?? []
    #expect(rows.map { $0["passed"]?.boolValue } == [true, false])
  }

  @Test("pipelines/pipeline.schema.json is what the program says: make generated")
  func schema() async throws {
    let folder = try Folder()
    let result = try await run("pipeline schema", folder)
    let file = try String(
      contentsOfFile: Repository.root + "/pipelines/pipeline.schema.json", encoding: .utf8)
    #expect(result.output == file)
    let schema = try JSONValue(parsing: result.output)
    #expect(schema["properties"]?["chain"]?["items"]?["anyOf"]?.arrayValue?.count == 2)
  }

  /// Held by a validator that others wrote, where there is one.
  @Test("the schema accepts the ready-made files and refuses what check refuses")
  func schemaAgrees() async throws {
    let folder = try Folder()
    let probe = try await Program.shell(
      "python3 -c 'import yaml; from jsonschema import Draft202012Validator'", in: folder)
    guard probe.status == 0 else {
      print("skipped: python3 has no yaml, or no jsonschema of 2020-12")
      return
    }
    let script = """
      import json, sys, yaml, jsonschema
      schema = json.load(open(sys.argv[1]))
      for name in sys.argv[2:]:
          errors = list(jsonschema.Draft202012Validator(schema).iter_errors(yaml.safe_load(open(name))))
          print(len(errors) == 0)
      """
    try folder.write(script, to: "validate.py")
    let files = Self.readyMade.map { "\(Repository.root)/pipelines/\($0)" }.joined(separator: " ")
    let result = try await Program.shell(
      "python3 validate.py \(Repository.root)/pipelines/pipeline.schema.json \(files) typo.pipeline.yaml plugin.pipeline.yaml",
      in: folder)
    let expected = Self.readyMade.map { _ in "True" } + ["False", "False"]
    #expect(result.output.split(separator: "\n").map(String.init) == expected, "\(result)")
  }
}
