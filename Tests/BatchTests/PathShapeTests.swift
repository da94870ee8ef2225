import Foundation
import GQLRunConfiguration
import GQLRunDemoServer
import Testing

@testable import GQLRunBatch

/// Columns, records and every other path into a result fit what the document selects.
@Suite("Paths into results", .timeLimit(.minutes(10)))
struct PathShapeTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(
      """
      type Query { countries: [Country!]!, country(code: ID!): Country, users(after: String, offset: Int): Users }
      type Country { code: ID!, name: String, continent: Continent, languages: [Language!], grid: [[Int]] }
      type Continent { name: String }
      type Language { code: ID }
      type Users { items: [User], pageInfo: Info, total: Int }
      type User { id: ID, tags: [String], posts: Users }
      type Info { hasNextPage: Boolean, endCursor: String }
      """, to: "s.graphql")
  }

  private static let countries =
    "{ countries { code title: name continent { name } languages { code } grid } }"
  private static let users =
    "query($after: String, $offset: Int) { users(after: $after, offset: $offset) { items { id tags posts { items { id } } } pageInfo { hasNextPage endCursor } total } }"

  private func findings(
    _ operation: String, query: String = countries, sinks: String = "[]", schema: Bool = true
  ) throws -> [String] {
    try Bench.findings(
      """
      version: 1
      \(schema ? "schema: s.graphql" : "name: a")
      sinks: \(sinks)
      operations:
        - id: a
          query: "\(query)"
          \(operation)
      """, in: location)
  }

  @Test(
    "with a schema a path through a list without [*], or with [*] and no list, is refused",
    arguments: [
      ("emit: countries", "7:11", "write `countries[*]`"),
      ("emit: countries.languages", "7:11", "write `countries[*].languages`"),
      ("emit: countries[*].languages", "7:11", "write `countries[*].languages[*]`"),
      ("emit: countries[*].continent[*]", "7:11", "write `countries[*].continent`"),
      ("emit: countries[*].grid[*]", "7:11", "write `countries[*].grid[*][*]`"),
      ("emit: countries[*].nmae", "7:11", "which the document does not select"),
      ("emit: countries[*].tilte", "7:11", "`title`"),
      ("emit: countries[*].name", "7:11", "which the document does not select"),
      ("capture: { c: countries.code }", "7:19", "write `countries[*].code`"),
      ("capture: { c: \"countries[0].title[0]\" }", "7:19", "write `countries[0].title`"),
      ("capture: { c: \"countries[0].cod\" }", "7:19", "`code`"),
      (
        "expect: [\"count(data.countries.languages) > 1\"]", "7:14",
        "write `countries[*].languages`"
      ),
      ("expect: [\"data.countrys != null\"]", "7:14", "`countries`"),
      ("expect: [\"emit[0].code == 1\"]", "7:14", "count(emit)"),
      ("expect: [\"ms > 0\", \"null == data\"]", "7:24", "add `errors != null`"),
    ])
  func lists(_ option: String, _ position: String, _ hint: String) throws {
    let found = try findings(option)
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.hasPrefix("\(position) B007") == true, "\(found)")
    #expect(found.first?.contains(hint) == true, "\(found)")
  }

  @Test(
    "paths that fit are accepted",
    arguments: [
      "emit: countries[*]", "emit: countries[0]", "emit: countries[*].languages[*]",
      "emit: countries[*].grid[*][*]", "capture: { all: countries }",
      "capture: { c: \"countries[*].languages\" }",
      "expect: [\"count(data.countries) > 1\", \"data.countries[0].continent.name != null\"]",
      "expect: [\"data == null\", \"errors != null\"]",
      "emit: countries[*]\n    bookmark: { b: max(title), c: last(continent.name) }",
    ])
  func accepted(_ option: String) throws {
    #expect(try findings(option) == [])
    #expect(try findings(option, schema: false) == [])
  }

  @Test(
    "bookmarks and pages are checked in the same terms",
    arguments: [
      ("emit: users.items[*]\n    bookmark: { b: max(tags) }", "8:20", "write `tags[*]`"),
      ("emit: users.items[*]\n    bookmark: { b: max(idd) }", "8:20", "`id`"),
      ("paginate: { connection: users.items }", "7:29", "nested"),
      ("paginate: { connection: \"users.items[*].posts\" }", "7:29", "nested"),
      ("paginate: { connection: usrs }", "7:29", "`users`"),
      ("paginate: { offset: { items: users.total } }", "7:34", "not a list"),
      ("paginate: { offset: { items: \"users.items[*]\" } }", "7:34", "write `users.items`"),
      ("paginate: { offset: { items: users.itms } }", "7:34", "`items`"),
    ])
  func pages(_ option: String, _ position: String, _ text: String) throws {
    let found = try findings(option, query: Self.users)
    #expect(found.contains { $0.hasPrefix("\(position) B007") && $0.contains(text) }, "\(found)")
  }

  @Test(
    "an unknown column is refused with its place and a better name, with and without a schema",
    arguments: [true, false])
  func columns(schema: Bool) throws {
    let found = try findings(
      "emit: countries[*]",
      sinks:
        "[{ csv: { path: o.csv, columns: [code, tilte, continent.nam, \"a b\"] } }, { sqlite: { path: o.db, key: [cod] } }]",
      schema: schema)
    #expect(found.count == 4, "\(found)")
    #expect(found.contains { $0.hasPrefix("3:47 B007 `tilte`") && $0.contains("`title`") })
    #expect(found.contains { $0.hasPrefix("3:54 B007 `continent.nam`") && $0.contains("`name`") })
    #expect(
      found.contains { $0.hasPrefix("3:69 B007") && $0.contains("is not a path") }, "\(found)")
    #expect(found.contains { $0.contains("`cod` of `key`") && $0.contains("`code`") }, "\(found)")
  }

  @Test("a column of a root field's object shows where the records begin")
  func columnBelowRoot() throws {
    let found = try findings(
      "variables: {}", sinks: "[{ csv: { path: o.csv, columns: [title] } }]")
    #expect(
      found.contains { $0.contains("B007 `title`") && $0.contains("add `emit: countries`") },
      "\(found)")
  }

  @Test("a column through a list, and records without columns, are refused where the schema tells")
  func columnShapes() throws {
    let through = try findings(
      "emit: countries[*]", sinks: "[{ csv: { path: o.csv, columns: [languages.code] } }]")
    #expect(through.contains { $0.contains("write `languages[*].code`") }, "\(through)")
    #expect(
      try findings(
        "emit: countries[*]",
        sinks: "[{ csv: { path: o.csv, columns: [\"languages[0].code\", languages] } }]") == [])
    let kindsWithColumns = Sinks.all.filter { kind in
      kind.optionDescriptions.contains { ["columns", "key"].contains($0.name) }
    }
    #expect(kindsWithColumns.count > 2)
    for kind in kindsWithColumns {
      let path = kind.fileExtensions.first.map { "path: o\($0)" } ?? ""
      let none = try findings(
        "emit: countries[*].title", sinks: "[{ \(kind.name): { \(path) } }]", schema: false)
      #expect(none.contains { $0.contains("has no columns for `a`") }, "\(none)")
    }
  }

  @Test(
    "table names that SQLite does not take, and columns that it takes for one, are refused",
    arguments: [
      ("table: \"\"", "it is empty"), ("table: sqlite_users", "SQLite reserves"),
      ("table: gqlrun_outputs", "its own records"), ("table: \"a\\tb\"", "control character"),
      ("table: \"{{row.x}}\"", "`row`, which does not exist"),
      ("key: [code, code]", "a column twice"),
    ])
  func tables(_ option: String, _ message: String) throws {
    let found = try findings(
      "emit: countries[*]", sinks: "[{ sqlite: { path: o.db, \(option) } }]")
    #expect(found.contains { $0.contains(message) }, "\(found)")
    let same = try findings(
      "emit: countries[*]", query: "{ countries { code CODE: name } }",
      sinks: "[{ sqlite: { path: o.db } }]")
    #expect(same.contains { $0.contains("one column for SQLite") }, "\(same)")
  }

  @Test(
    "any other table name is quoted",
    arguments: ["x\\\"; drop", "x\\\"\u{301}y", "select", "a b", "ä", "'", "[x]", "a.b"])
  func quoted(_ name: String) async throws {
    try await DemoServer.withServer { server in
      for key in ["", ", key: [code]"] {
        let manifest = try Bench.load(
          """
          version: 1
          sinks: [{ sqlite: { path: o.db, table: "\(name)\(key.isEmpty ? "" : "2")"\(key) } }]
          operations:
            - id: a
              query: "{ countries { code name } }"
              emit: countries[*]
          """, in: location, url: server.url)
        for number in 1...2 {
          _ = try await Bench.run(manifest, Bench.shard("\(number)/2"))
        }
        _ = try ShardMerge(manifest)
        let table = String(name.unicodeScalars.filter { $0 != "\\" }) + (key.isEmpty ? "" : "2")
        let count = try location.values("SELECT count(*) FROM \(table.quotedForSQL)", in: "o.db")
        #expect(try #require(Int(count[0])) > 200)
      }
    }
  }

  // MARK: What only a run can tell

  private func run(
    _ operation: String, sinks: String, answer: String
  ) async throws -> (RunSummary, String) {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: \(sinks)
      operations:
        - id: a
          query: "query($after: String, $offset: Int) { things(after: $after, offset: $offset) { id sub { id } ... on B { b } pageInfo { hasNextPage endCursor } } }"
          \(operation)
      """, in: location)
    let transport = ScriptedTransport { _ in .response(200, answer) }
    let summary = try await Bench.run(manifest, transport: transport)
    let report = try ReportData(
      Journal(path: summary.journal, isReadOnly: true), manifest: manifest)
    return (summary, report.failed.first?.error ?? "")
  }

  private static let list =
    #"{"data":{"things":[{"id":1,"sub":[{"id":2}],"pageInfo":{"hasNextPage":false}}]}}"#
  private static let object =
    #"{"data":{"things":{"id":1,"sub":{"id":2},"pageInfo":{"hasNextPage":false}}}}"#

  @Test(
    "without a schema, a path that meets a list without [*] fails its task",
    arguments: [
      ("emit: things", "[{ ndjson: { path: o } }]", list, "write `things[*]`"),
      ("emit: things.sub", "[{ ndjson: { path: o } }]", list, "write `things[*].sub`"),
      ("emit: things[*]", "[{ ndjson: { path: o } }]", object, "not a list"),
      (
        "emit: things[*]", "[{ csv: { path: o, columns: [id, sub.id] } }]", list,
        "write `sub[*].id`"
      ),
      ("emit: things[*]", "[{ sqlite: { path: o, key: [sub.id] } }]", list, "write `sub[*].id`"),
      ("capture: { c: things.id }", "[]", list, "write `things[*].id`"),
      ("expect: [\"data.things.id == 1\"]", "[]", list, "write `data.things[*].id`"),
      (
        "emit: things[*]\n    bookmark: { b: max(sub.id) }", "[]", list,
        "write `things[*].sub[*].id`"
      ),
      ("paginate: { connection: things }", "[]", list, "which is a list"),
      ("paginate: { offset: { items: things } }", "[]", object, "which is not a list"),
    ])
  func mismatches(
    _ operation: String, _ sinks: String, _ answer: String, _ message: String
  ) async throws {
    let (summary, error) = try await run(operation, sinks: sinks, answer: answer)
    #expect(summary.counters.failed == 1)
    #expect(error.contains(message), "\(error)")
  }

  @Test("a column of a path with [*] has all of its values")
  func allValues() async throws {
    let info = #""pageInfo":{"hasNextPage":false}"#
    let (summary, _) = try await run(
      "emit: things[*]", sinks: "[{ csv: { path: o.csv, columns: [id, \"sub[*].id\"] } }]",
      answer:
        #"{"data":{"things":[{"id":1,"sub":[{"id":2},{"id":3}],\#(info)},{"id":4,"sub":[],\#(info)}]}}"#
    )
    #expect(summary.counters.done == 1)
    #expect(try location.text("o.csv") == "id,sub[*].id\n1,\"[2,3]\"\n4,\n")
  }

  @Test("a column that no record has is reported, one that is null is not")
  func unused() async throws {
    let (summary, _) = try await run(
      "emit: things[*]", sinks: "[{ csv: { path: o.csv, columns: [id, b, sub.id] } }]",
      answer: #"{"data":{"things":[{"id":1,"sub":null,"pageInfo":{"hasNextPage":false}}]}}"#)
    #expect(summary.counters.done == 1)
    #expect(summary.warnings.count == 1)
    #expect(summary.warnings.first?.contains("no record of `a` had `b`") == true)
    #expect(try location.text("o.csv") == "id,b,sub.id\n1,,\n")
  }
}
