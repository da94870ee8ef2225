import Foundation
import Testing

@testable import GQLRunCache

@Suite("SQL views", .enabled(if: SQLiteTool.isThere, "needs sqlite3"))
struct TypeViewTests {
  /// A file, written by responses and read by SQLite's own program.
  private struct File {
    private let file: StoreFile
    let store: SQLiteStore

    init() throws {
      file = try StoreFile()
      store = try file.open()
    }

    func write(
      _ response: String, _ document: String, variables: String = "{}", keys: KeyRules = KeyRules(),
      facts: TypeFacts? = nil
    ) async throws {
      try await CacheUnderTest(store: store).write(
        response, document, variables: variables, keys: keys, facts: facts)
    }

    func sql(_ text: String) throws -> String {
      try SQLiteTool.run(text, on: file.path)
    }

    func columns(_ view: String) throws -> [String] {
      try sql("SELECT name FROM pragma_table_info('\(view)')").split(separator: "\n").map(
        String.init)
    }

    func version() throws -> String { try sql("PRAGMA schema_version") }
  }

  @Test("a type is a table with a column per field")
  func columns() async throws {
    let file = try File()
    try await file.write(
      #"""
      {"data":{"users":[
        {"__typename":"User","id":"1","login":"a'da","followers":3,"isStaff":true,"bio":null,
         "friend":{"__typename":"User","id":"2","login":"bob"},
         "tags":["x","y"],"place":{"__typename":"Place","lat":1.5},"meta":{"$ref":"no"},
         "posts":[{"__typename":"Post","id":"9"}],"avatar":"u.png"}]}}
      """#,
      #"""
      { users { id login followers isStaff bio friend { id login } tags place { lat } meta
        posts(first: 2, after: "it's") { id } avatar(size: 10) } }
      """#)
    #expect(
      try file.sql(
        #"""
        SELECT login, followers, isStaff, bio IS NULL, friend, tags, place, meta,
          "posts({""after"":""it's"",""first"":2})", "avatar({""size"":10})"
        FROM "User" WHERE __key = 'User:1'
        """#)
          == #"""
          a'da|3|1|1|User:2|["x","y"]|{"__typename":"Place","lat":1.5}|{"$ref":"no"}|[{"$ref":"Post:9"}]|u.png
          """#)
    #expect(try file.sql("SELECT login FROM User ORDER BY followers DESC") == "a'da\nbob")
    #expect(try file.sql("SELECT id FROM Post") == "9")
    #expect(try file.sql("SELECT count(*) FROM User WHERE __received > 1700000000") == "2")
  }

  @Test("views change when a type or field appears, and only then")
  func growth() async throws {
    let file = try File()
    let first = #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#
    try await file.write(first, "{me{id name}}")
    #expect(try file.columns("User") == ["__key", "__received", "__typename", "id", "name"])
    let version = try file.version()
    try await file.write(first, "{me{id name}}")
    try await file.write(
      #"{"data":{"me":{"__typename":"User","id":"2"}}}"#, "{me{id}}")
    #expect(try file.version() == version)
    try await file.write(
      #"{"data":{"me":{"__typename":"User","id":"1","age":7}}}"#, "{me{id age}}")
    #expect(try file.version() != version)
    #expect(try file.columns("User") == ["__key", "__received", "__typename", "id", "name", "age"])
    #expect(try file.sql("SELECT name, age FROM User WHERE id = '1'") == "Ada|7")
    // Another store knows the views from the file.
    let changed = try file.version()
    let other = try SQLiteStore(path: file.store.path)
    try await CacheUnderTest(store: other).write(first, "{me{id name}}")
    #expect(try file.version() == changed)
    try other.close()
  }

  @Test("no name of a type or field breaks the file")
  func names() async throws {
    let file = try File()
    let types = [
      "records", "Records", "meta", "views", "view_columns", "sqlite_x", "json_each", "User",
      "USER",
      "user", "type_records", "select", "_",
    ]
    for (index, type) in types.enumerated() {
      try await file.write(
        #"{"data":{"node":{"__typename":"\#(type)","id":"\#(index)","name":"n\#(index)","Name":"N","key":"k","from":"f","a":"x"}}}"#,
        #"{node{id name Name key from a(if:"\"]}{[.,' \u00e9 \u0007")}}"#)
    }
    let views = try file.sql("SELECT type, name FROM views").split(separator: "\n").map {
      $0.split(separator: "|").map(String.init)
    }
    #expect(Set(views.map { $0[0] }) == Set(types))
    #expect(Set(views.map { $0[1].lowercased() }).count == types.count)
    for view in views {
      let index = try #require(types.firstIndex(of: view[0]))
      #expect(
        try file.sql(#"SELECT id, name, "Name:1", "key", "from" FROM "\#(view[1])""#)
          == "\(index)|n\(index)|N|k|f")
      let argument = try #require(try file.columns(view[1]).last)
      #expect(argument.hasPrefix("a({"))
      let quoted = argument.replacingOccurrences(of: "\"", with: "\"\"")
      #expect(try file.sql(#"SELECT "\#(quoted)" FROM "\#(view[1])""#) == "x")
    }
    #expect(try file.sql("SELECT name FROM views WHERE type = 'User'") == "User")
    #expect(try file.sql("PRAGMA integrity_check") == "ok")
    #expect(try await file.store.statistics().records == types.count + 1)
  }

  @Test("types of one response whose names differ only in case have different views")
  func namesOfOneResponse() async throws {
    let file = try File()
    let types = ["User", "USER", "user"]
    let nodes = types.enumerated().map { #"{"__typename":"\#($1)","id":"\#($0)"}"# }
    try await file.write(
      #"{"data":{"nodes":[\#(nodes.joined(separator: ","))]}}"#, "{nodes{id}}")
    for (index, type) in types.enumerated() {
      let view = try file.sql("SELECT name FROM views WHERE type = '\(type)'")
      #expect(try file.sql(#"SELECT id FROM "\#(view)""#) == "\(index)")
    }
  }

  @Test("a server that invents names does not make views without end")
  func limits() async throws {
    let file = try File()
    for page in 0..<60 {
      try await file.write(
        #"{"data":{"me":{"__typename":"User","id":"1","posts":[\#(page)]}}}"#,
        "query($p:Int){me{id posts(page:$p)}}", variables: #"{"p":\#(page)}"#)
    }
    let columns = try file.columns("User")
    #expect(columns.count { $0.hasPrefix("posts(") } == TypeViews.maxArgumentColumns)
    let many = (0..<(TypeViews.maxViews + 20)).map {
      #"{"__typename":"T\#($0)","id":"\#($0)"}"#
    }
    try await file.write(
      #"{"data":{"all":[\#(many.joined(separator: ",")),{"__typename":"no name","id":"1"}]}}"#,
      "{all{id}}")
    #expect(try file.sql("SELECT count(*) FROM views") == "\(TypeViews.maxViews)")
    #expect(try file.sql("SELECT id FROM T7") == "7")
  }

  @Test(
    "types that share a prefix of keys have their own rows, and fields of other types no column")
  func groups() async throws {
    let file = try File()
    let keys = KeyRules(groups: ["Admin": "User"])
    try await file.write(
      #"{"data":{"all":[{"__typename":"Admin","id":"1","level":3},{"__typename":"User","id":"2","name":"B"}]}}"#,
      "{all{id ... on Admin{level} ... on User{name}}}", keys: keys,
      facts: try facts(
        "type Query{all:[Any]} union Any=Admin|User type Admin{id:ID level:Int} type User{id:ID name:String}"
      ))
    #expect(try file.sql("SELECT __key, level FROM Admin") == "User:1|3")
    #expect(try file.sql("SELECT __key, name FROM User") == "User:2|B")
    #expect(try file.columns("User") == ["__key", "__received", "__typename", "id", "name"])
  }

  @Test("clearing removes the views and every trace, and views come back with the next response")
  func clearing() async throws {
    let file = try File()
    let secret = "CONFIDENTIAL-7f3a"
    let response =
      #"{"data":{"me":{"__typename":"User","id":"1","name":"\#(secret)","find":"\#(secret)"}}}"#
    let document = #"{me{id name find(text:"\#(secret)")}}"#
    let other = try SQLiteStore(path: file.store.path)
    try await file.write(response, document)
    try await CacheUnderTest(store: other).write(response, document)
    try await file.store.clear()
    #expect(try file.sql("SELECT count(*) FROM sqlite_schema WHERE type = 'view'") == "0")
    for suffix in ["", "-wal", "-shm", "-lock"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file.store.path + suffix))
      #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(suffix)")
    }
    // The other store finds out that what it knows is gone.
    try await CacheUnderTest(store: other).write(response, document)
    #expect(try file.sql("SELECT name FROM User") == secret)
    try other.close()
  }

  @Test("views are committed with their response, or not at all")
  func atomicity() async throws {
    let file = try File()
    let operation = try prepare("{me{id name}}")
    let normalizer = try await feed(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#.utf8, operation,
      into: CacheStore(file.store), arrival: .byteByByte)
    let result = try await normalizer.finish()
    await result.write?.rollback()
    #expect(try file.sql("SELECT count(*) FROM sqlite_schema WHERE type = 'view'") == "0")
    try await file.write(
      #"{"data":{"me":{"__typename":"User","id":"1","name":"Ada"}}}"#, "{me{id name}}")
    #expect(try file.sql("SELECT name FROM User") == "Ada")
  }
}
