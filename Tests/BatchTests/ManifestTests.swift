import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Manifests")
struct ManifestTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(Bench.country, to: "q.graphql")
    try location.write("code,n\nDE,1\nFR,\n", to: "rows.csv")
  }

  @Test("a manifest with rows, sinks and paths is read")
  func reads() throws {
    let manifest = try Bench.load(
      """
      version: 1
      name: nightly
      run: { concurrency: 4, order: interleaved, max_failures: 5%, deadline: 2h }
      rate_limit: { rate: 50/s, burst: 5 }
      sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }, { sqlite: { path: out.db, key: [code] } }]
      operations:
        - id: countries
          document: q.graphql#Country
          foreach: { csv: rows.csv, as: r, key: "{{r.code}}" }
          variables: { code: "{{r.code}}" }
          emit: country
      """, in: location)
    #expect(manifest.name == "nightly")
    #expect(manifest.settings.concurrency == 4)
    #expect(manifest.settings.failureLimit == .share(0.05))
    #expect(manifest.settings.deadline == .seconds(7_200))
    #expect(manifest.rate?.perSecond == 50)
    #expect(manifest.sinks.count == 2)
    #expect(manifest.operations.map(\.columns.names) == [["code", "name", "capital"]])
  }

  @Test(
    "another endpoint keeps the header fields and the transport of the pipeline, not its other URL")
  func otherEndpoint() throws {
    try location.write(
      """
      version: 1
      endpoint:
        url: "http://old.example/graphql"
        method: GET
        headers: { X-Client: mine }
        subscriptions: { transport: graphql-transport-ws, url: "ws://old.example/socket" }
      chain: [fetch, response-code, parse]
      """, to: "p.pipeline.yaml")
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      operations: [{ id: a, query: "{ countries { code } }" }]
      """, in: location, url: "https://new.example/api")
    let endpoint = try #require(manifest.pipeline.endpoint)
    #expect(endpoint.shownURL == "https://new.example/api" && endpoint.method == .get)
    #expect("\(endpoint.headers)".contains("mine"))
    #expect(endpoint.subscriptions?.transport == .graphQLTransportWS)
    #expect(endpoint.subscriptions?.url == nil)
    #expect(manifest.namesPipeline)
  }

  @Test("every mistake is reported at once, each at its place, with what would work")
  func reportsAll() throws {
    let findings = try Bench.findings(
      """
      version: 1
      run: { concurency: 4, max_failures: many }
      sinks:
        - ndjsn: { path: a }
        - csv: { path: ../out.csv }
      operations:
        - id: a
          document: q.graphql#Contry
        - id: b
          document: q.graphql
          variables: { cod: "{{rows.code}}" }
          emit: countri
        - id: b
          document: nowhere.graphql
        - id: c
          document: q.graphql
          foreach: { csv: rows.csv, as: row }
          variables: { code: "{{row.cod}}" }
          needs: [x]
      """, in: location)
    func has(_ start: String, _ rest: String) -> Bool {
      findings.contains { $0.hasPrefix(start) && $0.contains(rest) }
    }
    #expect(has("2:8 P001", "did you mean `concurrency`?"), "\(findings)")
    #expect(has("2:37 P003", "a count or a percentage"), "\(findings)")
    #expect(has("4:5 P001", "did you mean `ndjson`?"), "\(findings)")
    #expect(has("5:18 B004", "`..` would lead out"), "\(findings)")
    #expect(has("8:15 B001", "did you mean \"Country\"?"), "\(findings)")
    #expect(has("11:18 B002", "did you mean `code`?"), "\(findings)")
    #expect(has("12:11 B007", "did you mean `country`?"), "\(findings)")
    #expect(has("13:5 P002", "given twice"), "\(findings)")
    #expect(has("14:15 B001", "it does not exist"), "\(findings)")
    #expect(has("18:24 B003", "did you mean `code`?"), "\(findings)")
    #expect(has("19:13 B005", "no such operation"), "\(findings)")
  }

  @Test("two operations have no bookmark of one name")
  func bookmarkNames() throws {
    let operation = """
          query: "{ user { id } }"
          emit: user
          bookmark: { last: max(id) }
      """
    let findings = try Bench.findings(
      """
      version: 1
      state: { file: state.json }
      operations:
        - id: a
      \(operation)
        - id: b
      \(operation)
      """, in: location)
    #expect(findings.contains { $0.hasPrefix("11:17 P002 another operation") }, "\(findings)")
    #expect(!findings.contains { $0.hasPrefix("7:") }, "\(findings)")
  }

  @Test("a hint has the beginnings of long names")
  func longNames() throws {
    try location.write(String(repeating: "x", count: 100) + "\n", to: "rows.csv")
    let findings = try Bench.findings(
      """
      version: 1
      sinks: []
      operations:
        - id: a
          document: q.graphql
          foreach: { csv: rows.csv }
          variables: { code: "{{row.code}}" }
      """, in: location)
    let hint = " | there are \(String(repeating: "x", count: 60))…"
    #expect(findings.contains { $0.hasSuffix(hint) }, "\(findings)")
  }

  @Test(
    "values of the wrong type are reported wherever they stand, and nothing else breaks",
    arguments: [
      "run: { concurrency: many, order: up, patience: x, fail_fast: maybe, deadline: 5 }",
      "rate_limit: { rate: 5/s, burst: x, reserve: 5 }",
      "sinks: [{ ndjson: { path: o, lines: x, gzip: x } }, { sqlite: { path: [], table: [] } }]",
      "name: []", "version: x", "report: 5", "state: {}", "thresholds: 5", "operations: 5",
    ])
  func wrongTypes(text: String) throws {
    let operations = """
      operations:
        - id: a
          query: "query($first: Int, $after: String) { a { b pageInfo { hasNextPage endCursor } } }"
          foreach: { csv: rows.csv, as: [], empty: x, delimiter: x, key: [] }
          paginate: { connection: a, cursor: [], max_pages: x, page_size: { start: 5, variable: [], min: x, on_error: x }, nested: 5 }
          needs: 5
          timeout: x
          policy: x
      """
    let rest = text.hasPrefix("operations") ? "" : operations
    let start = text.hasPrefix("version") ? "" : "version: 1\n"
    #expect(try !Bench.findings("\(start)\(text)\n\(rest)", in: location).isEmpty)
  }

  @Test("operations that need each other are reported with their cycle")
  func cycles() throws {
    let findings = try Bench.findings(
      """
      version: 1
      operations:
        - { id: a, query: "{ countries { code } }", needs: [c] }
        - { id: b, query: "{ countries { code } }", needs: [a] }
        - { id: c, query: "{ countries { code } }", needs: [b] }
      """, in: location)
    #expect(findings.count == 1)
    #expect(findings.first?.contains("a → c → b → a") == true, "\(findings)")
  }

  @Test(
    "outputs stay below the manifest's folder",
    arguments: ["../x", "/tmp/x", "a/../../x", "link/x", "link"])
  func outputs(path: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: location.file("link"), withDestinationPath: "/tmp")
    for yaml in [
      "sinks: [{ ndjson: { path: \"\(path)\" } }]", "report: { json: \"\(path)\" }",
      "state: { file: \"\(path)\" }", "run: { journal: \"\(path)\" }",
    ] {
      let findings = try Bench.findings(
        "version: 1\n\(yaml)\noperations: [{ id: a, query: \"{ countries { code } }\" }]",
        in: location
      )
      #expect(findings.contains { $0.contains("B004") }, "\(yaml): \(findings)")
    }
  }

  @Test("a path that ends in .gz is that of a sink that compresses")
  func compressed() throws {
    for kind in [NDJSONSink.name, CSVSink.name, JSONSink.name, SQLiteSink.name] {
      let start = "sinks: [{ \(kind): { path: "
      let findings = try Bench.findings(
        "version: 1\n\(start)o.gz } }]\noperations: [{ id: a, query: \"{ countries { code } }\" }]",
        in: location)
      guard kind != NDJSONSink.name else {
        #expect(findings == [])
        continue
      }
      let message = "2:\(start.count + 1) P003 the sink `\(kind)` does not compress its file"
      #expect(findings.map { $0.hasPrefix(message) } == [true], "\(findings)")
    }
    for name in ["html", "json", "junit"] {
      let start = "report: { \(name): "
      let findings = try Bench.findings(
        "version: 1\n\(start)o.gz }\noperations: [{ id: a, query: \"{ countries { code } }\" }]",
        in: location)
      let message = "2:\(start.count + 1) P003 the output `\(name)` is not compressed"
      #expect(findings.map { $0.hasPrefix(message) } == [true], "\(findings)")
    }
    let folder =
      "version: 1\nrun: { journal: o.gz }\noperations: [{ id: a, query: \"{ countries { code } }\" }]"
    #expect(try Bench.findings(folder, in: location) == [])
  }

  @Test(
    "values are checked against the declared types",
    arguments: [
      ("query($n: Int!) { users(first: $n) { id } }", "n: x", "expected Int"),
      ("query($n: Int!) { users(first: $n) { id } }", "n: 1.5", "expected Int"),
      ("query($n: Int!) { users(first: $n) { id } }", "m: 1", "declares no variable `m`"),
      ("query($n: Int!) { users(first: $n) { id } }", "", "no value for its variable `n`"),
      ("query($b: Boolean) { users @skip(if: $b) { id } }", "b: yes", "expected Boolean"),
    ])
  func types(query: String, variables: String, message: String) throws {
    let findings = try Bench.findings(
      """
      version: 1
      operations:
        - id: a
          query: "\(query)"
          variables: { \(variables) }
      """, in: location)
    #expect(findings.contains { $0.contains(message) }, "\(findings)")
  }

  @Test(
    "a value that cannot be read is reported once, and not also as missing",
    arguments: [
      ("n: abc", "found \"abc\""), ("n: \"{{nope}}\"", "`nope`, which does not exist"),
      ("n: 1, i: { n: abc }", "found \"abc\""), ("n: 1, l: [{ n: abc }]", "found \"abc\""),
      ("n: 1, i: { n: \"{{nope}}\" }", "`nope`, which does not exist"),
      ("n: 1, i: { m: 1 }", "requires a value of type Int!"),
    ])
  func toldOnce(variables: String, message: String) throws {
    try location.write(
      "type Query { a(n: Int!, i: In, l: [In!]): Int } input In { n: Int! m: Int }",
      to: "once.graphql")
    let findings = try Bench.findings(
      """
      version: 1
      schema: once.graphql
      operations:
        - id: a
          query: "query Q($n: Int!, $i: In, $l: [In!]) { a(n: $n, i: $i, l: $l) }"
          variables: { \(variables) }
      """, in: location)
    #expect(findings.count == 1)
    #expect(findings.first?.contains(message) == true, "\(findings)")
  }

  @Test("plain scalars take the declared type, quoted ones stay text")
  func typed() throws {
    let manifest = try Bench.load(
      """
      version: 1
      operations:
        - id: a
          query: "query($i: Int, $s: String, $t: String, $l: [ID!], $f: Filter) { a(i: $i, s: $s, t: $t, l: $l, f: $f) }"
          variables: { i: 12, s: 012, t: "true", l: [1, "2"], f: { on: true, n: 5, text: "5" } }
      """, in: location)
    let maker = TaskMaker(manifest.operations[0], state: [:])
    let item = try maker.item(nil) { _ in [:] }
    #expect(item.problem == nil)
    #expect(
      item.variables["f"]?.canonicalText == #"{"n":5,"on":true,"text":"5"}"#)
    #expect(item.variables["i"]?.intValue == 12)
    #expect(item.variables["s"]?.stringValue == "012")
    #expect(item.variables["t"]?.stringValue == "true")
    #expect(item.variables["l"]?.canonicalText == #"["1","2"]"#)
  }

  @Test("JSON lines are read as the same manifest, with mistakes at their line")
  func jsonLines() throws {
    let text = """
      {"version": 1, "name": "lines", "sinks": [{"ndjson": {"path": "o.ndjson"}}]}
      {"id": "a", "query": "query($code: ID!) { country(code: $code) { code } }", "variables": {"code": "DE"}}

      {"id": "b", "query": "{ countries { code } }"}
      """
    for text in [text, text.replacing("\n", with: "\r\n")] {
      let manifest = try Bench.load(text, in: location)
      #expect(manifest.name == "lines")
      #expect(manifest.operations.map(\.id) == ["a", "b"])
    }
    let findings = try Bench.findings(
      text + "\n{\"id\": \"b\", \"qery\": 1}\n{broken", in: location)
    #expect(findings.contains { $0.hasPrefix("5:1 P001") && $0.contains("`query`") }, "\(findings)")
    #expect(
      findings.contains { $0.hasPrefix("6:") && $0.contains("not valid JSON") }, "\(findings)")
    // Columns are scalars, not bytes.
    let cut = try Bench.findings(text + "\n{\"\u{E9}\u{E9}\u{E9}\u{E9}", in: location)
    let column = cut.first { $0.hasPrefix("5:") }.flatMap {
      Int($0.dropFirst(2).prefix { $0 != " " })
    }
    #expect(column.map { (1...7).contains($0) } == true, "\(cut)")
  }

  @Test(
    "YAML that hides or multiplies is refused",
    arguments: [
      "version: 1\nversion: 1\noperations: []", "version: 1\na: &x [1]\nb: *x",
      "version: !!int 1\noperations: []", "version: 1\n\toperations: []",
    ])
  func hostileYAML(text: String) throws {
    #expect(try !Bench.findings(text, in: location).isEmpty)
  }

  @Test("a task keeps its identity, and a changed document, variable or key makes another")
  func identity() throws {
    func id(_ query: String, _ code: String, key: String) throws -> TaskID {
      let manifest = try Bench.load(
        """
        version: 1
        operations:
          - id: a
            query: "\(query)"
            foreach: { inline: [{ c: "\(code)", k: "\(key)" }], key: "{{row.k}}" }
            variables: { code: "{{row.c}}" }
        """, in: location)
      let maker = TaskMaker(manifest.operations[0], state: [:])
      let settings = try #require(manifest.operations[0].source)
      let rows = try settings.input.open(RowContext(manifest: manifest))
      return try maker.item(try rows?()) { _ in [:] }.id
    }
    let query = "query($code: ID!) { country(code: $code) { code } }"
    let first = try id(query, "DE", key: "k")
    #expect(try id("query($code:ID!){country(code:$code){code}}", "DE", key: "k") == first)
    #expect(try id(query, "FR", key: "k") != first)
    #expect(try id(query, "DE", key: "l") != first)
    #expect(
      try id("query($code: ID!) { country(code: $code) { code name } }", "DE", key: "k") != first)
    #expect(TaskID(text: first.text) == first)
  }

  @Test("the schema of the pipeline counts if the manifest names none")
  func pipelineSchema() throws {
    let query = "type Query { n: I } interface I { x: Int }"
    try location.write(
      query + " type A implements I @typePolicy(keyFields: \"x\") { x: Int }", to: "s.graphql")
    try location.write(
      query + " type A implements I { x: Int nope: Int }", to: "own.graphql")
    try location.write("type Query {", to: "broken.graphql")
    try location.write("version: 1\nschema: s.graphql\n" + Self.chain, to: "p.pipeline.yaml")
    try location.write("version: 1\nschema: broken.graphql\n" + Self.chain, to: "q.pipeline.yaml")
    func yaml(_ field: String, pipeline: String = "p", more: String = "") -> String {
      """
      version: 1
      pipeline: \(pipeline).pipeline.yaml
      \(more)
      operations: [{ id: q, query: "{ n { ... on A { \(field) } } }" }]
      """
    }
    let manifest = try Bench.load(yaml("x"), in: location)
    #expect(manifest.operations[0].template.schema != nil)
    // Records have the keys that a single run gives them.
    #expect(manifest.pipeline.keys.types["A"] == ["x"])
    let unknown = try Bench.findings(yaml("nope"), in: location)
    #expect(unknown.count == 1 && unknown[0].contains("nope"), "\(unknown)")
    #expect(
      try Bench.findings(yaml("nope", more: "schema: own.graphql"), in: location).isEmpty)
    let broken = try Bench.findings(yaml("x", pipeline: "q"), in: location)
    #expect(broken.count == 1, "\(broken)")
    #expect(
      broken[0].hasPrefix("2:11 ") && broken[0].contains("the schema cannot be used"), "\(broken)")
    try location.write("{ n { __typename } }", to: "operations.graphql")
    let operations = try Bench.findings(yaml("x", more: "schema: operations.graphql"), in: location)
    #expect(
      operations.count == 1
        && operations[0].contains("operations.graphql: the file has operations and no schema"),
      "\(operations)")
  }

  private static let chain = """
    endpoint: { url: "http://127.0.0.1:9/" }
    chain: [fetch, response-code, parse]
    """

  @Test("errors of the pipeline's files show their lines, as those of the manifest do")
  func pipelineExcerpts() throws {
    try location.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:9/" }
      store: { kind: none }
      chain:
        - max-retry: { max_retires: 2 }
        - fetch
        - response-code
        - parse
      """, to: "p.pipeline.yaml")
    try location.write("version: 1\nextends: p.pipeline.yaml\n", to: "q.pipeline.yaml")
    try location.write(
      "version: 1\nendpoint: { url: \"http://127.0.0.1:9/\" }\nkeys: { types: { Usr: [id] } }\nchain: [fetch, response-code, parse]\n",
      to: "k.pipeline.yaml")
    try location.write("type Query { user: User } type User { id: ID! }", to: "s.graphql")
    for (pipeline, line) in [
      ("p.pipeline.yaml", "  - max-retry: { max_retires: 2 }\n"),
      ("q.pipeline.yaml", "  - max-retry: { max_retires: 2 }\n"),
      ("k.pipeline.yaml\nschema: s.graphql", " | keys: { types: { Usr: [id] } }\n"),
    ] {
      let found = #expect(throws: PipelineDiagnostics.self) {
        _ = try Bench.load(
          "version: 1\npipeline: \(pipeline)\noperations: [{ id: a, query: \"{ user { id } }\" }]",
          in: location)
      }
      let text = found?.rendered(as: .human()) ?? ""
      #expect(text.contains(line) && text.contains("^^^"), "\(text)")
    }
  }
}
