import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("The JSON Schema of manifests")
struct ManifestSchemaTests {
  private static let validator = SchemaValidator(schema: Manifest.schema)

  private func errors(_ yaml: String) throws -> [String] {
    Self.validator.errors(of: try YAMLValues.value(of: Array(yaml.utf8), file: "m.batch.yaml"))
  }

  /// The manifests of the guide and of the examples.
  private static func manifests() throws -> [String] {
    let guide = try #require(Repository.text("docs/guide-batch.md"))
    let blocks = guide.components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "\n```")[0]
    }
    let examples = Repository.files(in: "Examples/batch", suffix: ".batch.yaml").map(\.text)
    try #require(!examples.isEmpty)
    return blocks.filter { $0.hasPrefix("version: 1") && $0.contains("\noperations:") } + examples
  }

  @Test("every manifest of the guide and of the examples conforms")
  func documentation() throws {
    let manifests = try Self.manifests()
    #expect(manifests.count >= 5)
    for manifest in manifests { #expect(try errors(manifest) == [], "\(manifest)") }
  }

  @Test(
    "what the loader refuses for its form, the schema refuses, too",
    arguments: [
      "run: { concurency: 4 }", "run: { concurrency: 0 }", "run: { order: up }",
      "rate_limit: { adapter: x }", "sinks: [{ ndjsn: { path: a } }]", "sinks: [{ csv: {} }]",
      "sinks: [csv]", "sinks: 5", "thresholds: 5", "state: {}", "deadline: 5h",
    ])
  func refuses(text: String) throws {
    let operations = "operations: [{ id: a, query: \"{ a }\" }]"
    #expect(try errors("version: 1\n\(operations)") == [])
    #expect(try errors("version: 1\n\(text)\n\(operations)") != [])
    #expect(
      try Bench.findings("version: 1\n\(text)\n\(operations)", in: Place()) != [])
  }

  @Test("it describes every key, with the key's summary")
  func describesEveryKey() {
    func check(_ options: [OptionDescription], _ schema: JSONValue?, _ path: String) -> Int {
      options.reduce(0) { count, option in
        let found = schema?["properties"]?[option.name]
        #expect(
          found?["description"]?.stringValue?.hasPrefix(option.summary) == true,
          "\(path).\(option.name)")
        return count + 1 + inner(option.type, found, "\(path).\(option.name)")
      }
    }
    func inner(_ type: OptionType, _ schema: JSONValue?, _ path: String) -> Int {
      switch type {
      case .object(let table): return check(table.options, schema, path)
      case .objectOrWord(let table, _):
        return check(table.options, schema?["anyOf"]?.arrayValue?.last, path)
      case .list(let element): return inner(element, schema?["items"], path)
      case .map(let value): return inner(value, schema?["additionalProperties"], path)
      case .variant(_, let kinds):
        let mapping = schema?["anyOf"]?.arrayValue?.last
        return kinds.reduce(0) {
          $0 + check($1.options, mapping?["properties"]?[$1.name], "\(path).\($1.name)")
        }
      default: return 0
      }
    }
    #expect(check(ManifestFile.optionDescriptions, Manifest.schema, "$") > 70)
  }

  @Test("the default of every option is a value of its type")
  func defaults() {
    func check(_ options: [OptionDescription]) {
      for option in options {
        #expect(!option.summary.isEmpty && !option.summary.hasSuffix("."), "\(option.name)")
        #expect(option.hasValidDefault, "\(option.name)")
        switch option.type {
        case .object(let inner), .objectOrWord(let inner, _): check(inner.options)
        case .list(.object(let inner)): check(inner.options)
        case .list(.variant(_, let kinds)): for kind in kinds { check(kind.options) }
        default: break
        }
      }
    }
    check(ManifestFile.optionDescriptions)
  }
}

@Suite("Kinds of sinks and rows")
struct ManifestKindTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write("code\nDE\n", to: "countries.csv")
    try location.write("{\"id\": 1}\n", to: "users.jsonl")
    try location.write(Bench.cachingPipeline, to: "store.pipeline.yaml")
  }

  private let query =
    "query Q($code: ID!) { country(code: $code) { code name continent { name } } }"

  @Test("the example of every kind of sink loads", arguments: Manifest.sinkKinds.map(\.name))
  func sinkExamples(name: String) throws {
    let kind = try #require(Manifest.sinkKinds.first { $0.name == name })
    // The sink writes into the database of the run.
    let journal = name == "postgres" ? "postgres://" : "runs"
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: store.pipeline.yaml
      run: { journal: "\(journal)" }
      sinks:
        - \(kind.example)
      operations:
        - { id: c, query: "\(query)", variables: { code: DE }, emit: country }
      """, in: location)
    #expect(manifest.sinks.map { type(of: $0.sink).name } == [name])
  }

  @Test(
    "the example of every kind of rows is read as that kind",
    arguments: Manifest.rowKinds.map(\.name))
  func rowExamples(name: String) throws {
    let kind = try #require(Manifest.rowKinds.first { $0.name == name })
    // A database that an earlier operation writes need not exist.
    let manifest = try Bench.load(
      """
      version: 1
      operations:
        - id: repos
          query: "\(query)"
          variables: { code: DE }
          capture: { id: country.code }
        - { id: c, query: "{ a }", \(kind.example.contains("needs") ? "" : "needs: [repos],") \(kind.example) }
      """, in: location)
    let input = try #require(manifest.operations[1].source?.input)
    #expect(type(of: input).name == name)
  }

  @Test("the name of a kind of rows is its first option")
  func rowNames() {
    for kind in RowInputs.all { #expect(kind.optionDescriptions.first?.name == kind.name) }
  }

  @Test("an option that several kinds of rows have means the same in all")
  func sharedRowOptions() {
    let all = RowInputs.all.flatMap { $0.optionDescriptions }
    for option in InputSettings.options {
      #expect(
        Set(all.filter { $0.name == option.name }.map(\.summary)).count <= 1, "\(option.name)")
    }
  }

  @Test(
    "a source of rows that is missing, doubled or incomplete is reported at its location",
    arguments: [
      ("{ as: r }", "4:23 B006", "no source of rows"),
      ("{ csv: countries.csv, jsonl: users.jsonl }", "4:52 B006", "more than one source of rows"),
      ("{ sqlite: out.db }", "4:33 B006", "needs the key `query`"),
      ("{ csv: countries.csv, delimeter: x }", "4:45 P001", "did you mean `delimiter`?"),
      ("{ capture: b }", "4:34 B005", "does not need"),
    ])
  func badRows(foreach: String, start: String, message: String) throws {
    let findings = try Bench.findings(
      """
      version: 1
      operations:
        - { id: b, query: "{ a }" }
        - { id: a, foreach: \(foreach), query: "{ a }" }
      """, in: location)
    #expect(findings.count == 1, "\(findings)")
    #expect(
      findings.contains { $0.hasPrefix(start) && $0.contains(message) }, "\(start): \(findings)")
  }

  @Test(
    "captured values of a list whose pages are followed are refused, others are not",
    arguments: [
      ("l.nodes[*].id", true), ("l.nodes", true), ("l", true), ("l.n", false), ("v.r[*]", false),
      ("l.pageInfo.endCursor", false), ("l.facets[*].f", false), ("l.nodes[0].id", true),
    ])
  func capturedPages(path: String, isRefused: Bool) throws {
    let findings = try Bench.findings(
      """
      version: 1
      operations:
        - id: a
          query: "query($after: String) { l(after: $after) { n facets { f } nodes { id } \
      pageInfo { hasNextPage endCursor } } v { r } }"
          paginate: { connection: l }
          capture: { c: "\(path)" }
      """, in: location)
    #expect(
      findings.contains { $0.contains("`capture` has `\(path)` of the last page only") }
        == isRefused,
      "\(findings)")
    #expect(findings.count == (isRefused ? 1 : 0), "\(findings)")
  }

  @Test("an empty cell may be null, with or without quotes", arguments: ["null", "\"null\""])
  func emptyIsNull(word: String) throws {
    let manifest = try Bench.load(
      """
      version: 1
      operations:
        - { id: a, query: "{ a }", foreach: { csv: countries.csv, empty: \(word) } }
      """, in: location)
    #expect(manifest.operations[0].source?.shared.empty == .null)
  }

  @Test("`sinks` and `variables` without entries are as good as absent")
  func emptyKeys() throws {
    let text =
      "version: 1\nendpoint: http://127.0.0.1:9/\nsinks:\n"
      + "operations:\n  - id: a\n    query: \"{ a }\"\n    variables:\n"
    let manifest = try ManifestLoader.load(
      Array(text.utf8), path: "m.batch.yaml", registry: .builtIn,
      environment: PipelineFileEnvironment()
    ).manifest
    #expect(manifest.sinks.map(\.path) == ["-"])
  }

  @Test("all unusable conditions and paths of a manifest are reported, each at its location")
  func allElements() throws {
    let findings = try Bench.findings(
      """
      version: 1
      thresholds: ["a", "failed == 0", "b"]
      operations:
        - id: a
          query: "{ a }"
          expect: ["x", "errors == null", "y"]
          capture: { v: "a..b", w: a }
      """, in: location)
    let expected = [
      ("2:14 B007", "`thresholds`: `a` is not a condition"),
      ("2:34 B007", "`b` is not a condition"),
      ("6:14 B007", "`expect` of the operation `a`: `x` is not a condition"),
      ("6:37 B007", "`y` is not a condition"), ("7:19 B007", "`a..b` is not a path"),
    ]
    #expect(findings.count == expected.count, "\(findings)")
    for (start, message) in expected {
      #expect(
        findings.contains { $0.hasPrefix(start) && $0.contains(message) }, "\(start): \(findings)")
    }
  }
}
