import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunBatch

@Suite("Inputs")
struct InputTests {
  private let location: Place

  init() throws { location = try Place() }

  private func cells(_ text: String) throws -> [[String?]] {
    try location.write(text, to: "a.csv")
    let source = try CSVSource(ByteReader(path: location.file("a.csv")))
    var rows: [[String?]] = []
    while let row = try source.next() {
      if case .cells(_, let cells) = row.content { rows.append(cells) }
    }
    return rows
  }

  @Test(
    "CSV as programs write it: byte order mark, CRLF, quotes, line breaks in cells, no last line end"
  )
  func csv() throws {
    #expect(try cells("\u{FEFF}a,b\r\n1,2\r\n") == [["1", "2"]])
    #expect(try cells("a,b\n\"x, \"\"y\"\"\nz\",2") == [["x, \"y\"\nz", "2"]])
    #expect(try cells("a,b\n,\"\"\n\n3,") == [[nil, ""], ["3", nil]])
    #expect(try cells("a\n") == [])
  }

  @Test(
    "a bad row is an error at its line",
    arguments: [
      ("a,b\n1,2\n3\n", ":3: the row has 1 cell, and the header 2 columns"),
      ("a\n1,2\n", ":2: the row has 2 cells, and the header 1 column"),
      ("a,b\n\"1\n2\",3\n4,5,6\n", ":4: the row has 3 cells"),
      ("a\n\"x\n", ":2: the quote that opens"),
      ("a\nx\"y\n", ":2: a quote stands inside"),
      ("a\n\"x\"y\n", ":2: there is text behind"),
      ("a\nx\ry\n", ":2: a carriage return"),
      ("", "the file is empty"),
      ("a,a\n", ":1: the header has two columns `a`"),
      ("a,\n", ":1: column 2 of the header"),
    ])
  func badCSV(text: String, message: String) throws {
    let error = #expect(throws: InputProblem.self) { try cells(text) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test("JSON lines of any length of block, with the line of a mistake")
  func jsonl() throws {
    let long = String(repeating: "x", count: 300_000)
    try location.write("{\"a\":1}\n\n{\"a\":\"\(long)\"}\r\n5\nnope\n", to: "a.jsonl")
    let source = JSONLinesSource(try ByteReader(path: location.file("a.jsonl")))
    var values: [JSONValue?] = []
    for _ in 0..<3 {
      guard case .values(let object)? = try source.next()?.content else { continue }
      values.append(object["a"] ?? object["value"])
    }
    #expect(values == [.number(JSONNumber(1)), .string(long), .number(JSONNumber(5))])
    let error = #expect(throws: InputProblem.self) { try source.next() }
    #expect(error?.line == 5)
  }

  @Test("a pipe is no file with rows, because its rows can be read once only")
  func pipes() throws {
    let pipe = location.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [pipe, location.file("."), "/dev/null"] {
      for input in [CSVInput.reading(path), JSONLinesInput.reading(path)] {
        let error = #expect(throws: InputProblem.self) { try input?.columns(hasNeeds: false) }
        #expect(error?.message.contains("not a regular file") == true, "\(error as Any)")
      }
    }
  }

  @Test("a query's rows keep their types, and the file is not written")
  func sqlite() throws {
    let path = location.file("a.db")
    try location.execute(
      "CREATE TABLE t (i, r, s, n, b); INSERT INTO t VALUES (1, 2.5, 'x' || char(0) || 'y', NULL, x'00FF')",
      in: path)
    let source = try QuerySource(path: path, query: "SELECT * FROM t")
    guard case .values(let row)? = try source.next()?.content else {
      Issue.record("no row")
      return
    }
    #expect(
      JSONValue.object(row).canonicalText == #"{"b":"AP8=","i":1,"n":null,"r":2.5,"s":"x\u0000y"}"#)
    #expect(try source.next() == nil)
    #expect(throws: InputProblem.self) {
      _ = try QuerySource(path: path, query: "DELETE FROM t").next()
    }
    for query in ["SELECT i FROM t; SELECT 1", "SELECT i FROM t WHERE i = ?"] {
      let error = #expect(throws: InputProblem.self) {
        _ = try QuerySource(path: path, query: query)
      }
      #expect(error?.message.contains("write one statement with its values") == true)
    }
    #expect(mkfifo(location.file("pipe.db"), 0o600) == 0)
    for name in [".", "pipe.db"] {
      let error = #expect(throws: InputProblem.self) {
        _ = try QuerySource(path: location.file(name), query: "SELECT 1")
      }
      #expect(error?.message == "it is not a regular file, and so not a SQLite database")
    }
  }

  @Test("a query with two columns of one name is refused, because one would hide the other")
  func columnNames() throws {
    let path = location.file("a.db")
    try location.execute("CREATE TABLE t (i); CREATE TABLE u (i)", in: path)
    let error = #expect(throws: InputProblem.self) {
      _ = try QuerySource(path: path, query: "SELECT t.i, u.i FROM t, u")
    }
    #expect(error?.message == "the query returns two columns `i`; rename one of them with `AS`")
    #expect(try QuerySource(path: path, query: "SELECT t.i, u.i AS j FROM t, u").next() == nil)
  }

  @Test(
    "empty cells are left out, null or text, as asked",
    arguments: [("omit", "{}"), ("null", #"{"s":null}"#), ("string", #"{"s":""}"#)])
  func emptyCells(rule: String, expected: String) throws {
    try location.write("s,t\n,x\n", to: "a.csv")
    let manifest = try Bench.load(
      """
      version: 1
      operations:
        - id: a
          query: "query($s: String) { a(s: $s) }"
          foreach: { csv: a.csv, empty: \(rule) }
          variables: { s: "{{row.s}}" }
      """, in: location)
    let source = try CSVSource(ByteReader(path: location.file("a.csv")))
    let maker = TaskMaker(manifest.operations[0], state: [:])
    let item = try maker.item(try source.next()) { _ in [:] }
    #expect(JSONValue.object(item.variables).canonicalText == expected)
  }
}
