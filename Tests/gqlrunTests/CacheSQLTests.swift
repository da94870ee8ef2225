import Foundation
import GQLRunJSON
import Testing

@Suite("gqlrun cache sql", .timeLimit(.minutes(10)))
struct CacheSQLTests {
  /// A folder with a cache of one user.
  private static func filled() async throws -> Folder {
    let folder = try Folder()
    try folder.write("{ me { __typename id name } }", to: "me.graphql")
    try folder.write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#, to: "me.json")
    let result = try await Program.run(
      ["cache", "import", "me.graphql", "me.json", "--store", "sqlite:c.db"], in: folder)
    #expect(result.status == 0, "\(result)")
    return folder
  }

  private static func sql(
    _ query: String, _ options: [String] = [], _ folder: Folder, input: String = ""
  ) async throws -> RunResult {
    try await Program.run(
      ["cache", "sql", query, "--store", "sqlite:c.db"] + options, in: folder, input: input)
  }

  /// A query, a format, and what is printed.
  static let queries: [(String, String, String)] = [
    (
      "SELECT key FROM records ORDER BY key", "table", "key\n-------------\nQUERY_ROOT.me\nUser:1\n"
    ),
    ("SELECT name FROM User", "table", "name\n----\nAda\n"),
    (
      "SELECT 1 AS n, 'a' AS t UNION ALL SELECT 100, 'b'", "table",
      "n    t\n---  -\n  1  a\n100  b\n"
    ),
    (
      "SELECT '東京' AS a, 'x' AS b UNION ALL SELECT 'ab', 'y'", "table",
      "a     b\n----  -\n東京  x\nab    y\n"
    ),
    ("SELECT NULL AS n, x'00ff' AS b", "table", "n     b\n----  -------\nNULL  x'00ff'\n"),
    ("SELECT 'a' || char(10) || char(27) AS t", "table", "t\n---------\na\\n\\u{1b}\n"),
    ("SELECT 1 WHERE 0", "table", "1\n-\n"),
    ("SELECT 1 AS a, 'x,\"y\"' AS b, NULL AS c", "csv", "a,b,c\n1,\"x,\"\"y\"\"\",\n"),
    ("SELECT '' AS a, NULL AS b, ' x' AS c", "csv", "a,b,c\n\"\",,\" x\"\n"),
    ("SELECT 1 AS a WHERE 0", "csv", "a\n"),
    (
      "SELECT 1 AS a, 2.5 AS a, NULL AS n, 'é' AS t, x'0a' AS b", "json",
      "[\n  {\"a\":1,\"a_2\":2.5,\"n\":null,\"t\":\"é\",\"b\":\"0a\"}\n]\n"
    ),
    ("SELECT 1 UNION SELECT 2", "json", "[\n  {\"1\":1},\n  {\"1\":2}\n]\n"),
    ("SELECT 1 WHERE 0", "json", "[]\n"),
    (
      "WITH RECURSIVE c(n) AS (SELECT 1 UNION SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c",
      "csv", "n\n1\n2\n3\n"
    ),
    ("SELECT 1 AS a; -- and no more", "csv", "a\n1\n"),
    ("PRAGMA user_version", "csv", "user_version\n2\n"),
  ]

  @Test("rows are printed as asked", arguments: queries)
  func rows(query: String, format: String, expected: String) async throws {
    let folder = try await Self.filled()
    let result = try await Self.sql(query, ["--format", format], folder)
    #expect(result.status == 0 && result.errors == "", "\(result)")
    #expect(result.output == expected)
  }

  /// A query that does more than read, or cannot be read.
  static let refusals: [(String, String)] = [
    ("DELETE FROM records", "not allowed"), ("UPDATE records SET data = ''", "not allowed"),
    ("INSERT INTO meta VALUES ('a', 1)", "not allowed"), ("DROP TABLE records", "not allowed"),
    ("CREATE TEMP TABLE t (a)", "not allowed"), ("ATTACH 'other.db' AS o", "not allowed"),
    ("VACUUM INTO 'other.db'", "can only read"), ("BEGIN", "not allowed"),
    ("PRAGMA journal_mode = DELETE", "not allowed"), ("PRAGMA query_only = OFF", "not allowed"),
    ("PRAGMA user_version = 9", "not allowed"), ("SELECT load_extension('x')", "not"),
    ("SELECT 1; SELECT 2", "more than one statement"), (" ", "the query is empty"),
    ("/* nothing */", "the query is empty"),
    ("SELECT key FRM records", "query:1:16: the query cannot be read: near"),
    ("SELECT\n  nokey FROM records", "query:2:3: the query cannot be read: no such column: nokey"),
    ("SELECT * FROM nowhere", "no such table: nowhere"),
  ]

  @Test("a query that does not only read is refused, and changes nothing", arguments: refusals)
  func refused(query: String, says: String) async throws {
    let folder = try await Self.filled()
    let before = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    let result = try await Self.sql(query, [], folder)
    #expect(result.status == 65 && result.output == "", "\(result)")
    #expect(result.errors.contains(says), "\(result)")
    #expect(!folder.exists("other.db"))
    let after = try await Program.run(["cache", "dump", "--store", "sqlite:c.db"], in: folder)
    #expect(after.output == before.output && after.status == 0)
  }

  @Test("a query comes from standard input, too, and needs a file to ask")
  func sources() async throws {
    let folder = try await Self.filled()
    let piped = try await Self.sql(
      "-", ["--format", "csv"], folder, input: "SELECT count(*) AS n\nFROM records\n")
    #expect(piped.output == "n\n2\n", "\(piped)")
    let memory = try await Program.run(["cache", "sql", "SELECT 1"], in: folder)
    #expect(memory.status == 64 && memory.errors.contains("--store sqlite:PATH"), "\(memory)")
    let absent = try await Program.run(
      ["cache", "sql", "SELECT 1", "--store", "sqlite:absent.db"], in: folder)
    #expect(absent.status == 65 && !folder.exists("absent.db"), "\(absent)")
    let text = try await Program.run(
      ["cache", "sql", "SELECT 1", "--store", "sqlite:note.txt"], in: folder)
    #expect(text.status == 65 && text.errors.contains("is not a SQLite database"), "\(text)")
  }

  @Test(
    "rows in their thousands need no memory, and those behind the first ones keep their columns")
  func manyRows() async throws {
    let folder = try await Self.filled()
    let query = """
      WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000)
      SELECT n, n * 2 AS m FROM c
      """
    let table = try await Self.sql(query, [], folder)
    let lines = table.output.split(separator: "\n")
    #expect(lines.count == 5002)
    #expect(lines.last == "5000  10000")
    let json = try await Self.sql(query, ["--format", "json"], folder)
    #expect(try JSONValue(parsing: json.output).arrayValue?.count == 5000)
  }
}
