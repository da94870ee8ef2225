import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunCache

/// The nulls of errors, in the cache and in results.
@Suite("Errors and partial data")
struct PartialDataTests {
  static let selection = """
    { v { id x y
          e { p q f { a } }
          list { n ... on R { id } }
          grid { n }
          tags matrix json
          r { id n m }
          one: r { id k: n } }
      w u { id }
      other: v { id y: x } }
    """

  struct Case: Sendable, CustomTestStringConvertible {
    var title: String
    /// The `data` before; `nil` for an empty store.
    var before: String?
    var data: String
    /// The paths of the errors.
    var paths: [String]
    /// The records after, without errored nulls.
    var after: [String]
    var changes: [String]

    init(
      _ title: String, before: String? = nil, data: String, paths: String..., after: [String],
      changes: [String]
    ) {
      self.title = title
      self.before = before
      self.data = data
      self.paths = paths
      self.after = after
      self.changes = changes
    }

    var testDescription: String { title }
    var errors: String {
      "[" + paths.map { #"{"message":"no","path":\#($0)}"# }.joined(separator: ",") + "]"
    }
  }

  static func v(_ fields: String) -> String { #"{"v":{"__typename":"V","id":1,\#(fields)}}"# }
  /// The records of an object `V:1` with these fields, sorted, before and after `id`.
  static func records(_ early: String, _ late: String = "") -> [String] {
    let fields = [#""__typename":"V""#, early, #""id":1"#, late].filter { !$0.isEmpty }
    return [
      #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:1"}}}"#,
      #"{"key":"V:1","fields":{\#(fields.joined(separator: ","))}}"#,
    ]
  }
  /// The records of an object `V:1` whose field `r` refers to an object `R:1` with these fields.
  static func referring(_ fields: String) -> [String] {
    let records = records("", #""r":{"$ref":"R:1"}"#)
    return [
      records[0], #"{"key":"R:1","fields":{"__typename":"R","id":1,\#(fields)}}"#, records[1],
    ]
  }
  static let new = ["QUERY_ROOT.v", "V:1.__typename", "V:1.id"]

  static let cases = [
    // Leaf fields
    Case(
      "a null with an error is not stored", data: v(#""x":null,"y":2"#), paths: #"["v","x"]"#,
      after: records("", #""y":2"#), changes: new + ["V:1.y"]),
    Case(
      "a null with an error does not overwrite", before: v(#""x":1,"y":1"#),
      data: v(#""x":null,"y":2"#), paths: #"["v","x"]"#, after: records("", #""x":1,"y":2"#),
      changes: ["V:1.y"]),
    Case(
      "a null with an error over a null leaves the null", before: v(#""x":null,"y":1"#),
      data: v(#""x":null,"y":2"#), paths: #"["v","x"]"#, after: records("", #""x":null,"y":2"#),
      changes: ["V:1.y"]),
    Case(
      "a null without an error overwrites", before: v(#""x":1,"y":1"#),
      data: v(#""x":null,"y":null"#), paths: #"["v","x"]"#, after: records("", #""x":1,"y":null"#),
      changes: ["V:1.y"]),
    Case(
      "an error without a path takes back nothing", before: v(#""x":1"#), data: v(#""x":null"#),
      paths: "null", after: records("", #""x":null"#), changes: ["V:1.x"]),
    Case(
      "an error at a value that is there takes back nothing", before: v(#""x":1"#),
      data: v(#""x":2,"e":{"__typename":"E","p":1}"#), paths: #"["v","x"]"#, #"["v","e","p"]"#,
      #"["v"]"#, #"["v","e"]"#,
      after: records(#""e":{"__typename":"E","p":1}"#, #""x":2"#), changes: ["V:1.e", "V:1.x"]),
    Case(
      "error paths without a field have no effect",
      data: v(#""x":null,"list":[{"__typename":"E","n":null}],"tags":["a",null]"#),
      paths: "[]", #"["nowhere"]"#, #"["v",0]"#, #"["v","id","x"]"#, #"["v","list","x"]"#,
      #"["v","list",1]"#, #"["v","list",-1,"n"]"#, #"["v","list",0.5,"n"]"#, #"["v","list",0,0]"#,
      #"["v","tags","x"]"#, #"["v","tags",0]"#, #"["v","tags",7]"#, #"[null]"#, #"[["v"]]"#,
      #"["v",null,"x"]"#,
      #"[1e999]"#, #""v""#,
      after: records("", #""list":[{"__typename":"E","n":null}],"tags":["a",null],"x":null"#),
      changes: new + ["V:1.list", "V:1.tags", "V:1.x"]),
    // Propagated nulls
    Case(
      "the null of a nested error is not stored", data: #"{"v":null,"w":1}"#,
      paths: #"["v","e","p"]"#, after: [#"{"key":"QUERY_ROOT","fields":{"w":1}}"#],
      changes: ["QUERY_ROOT.w"]),
    Case(
      "the null of a nested error does not overwrite", before: v(#""x":1"#),
      data: #"{"v":null,"w":null}"#, paths: #"["v","e",0,"p"]"#, #"["w"]"#,
      after: records("", #""x":1"#), changes: []),
    Case(
      "nothing but errors leaves nothing", data: #"{"v":null,"w":null,"u":null}"#, paths: #"["v"]"#,
      #"["w"]"#, #"["u"]"#, after: [], changes: []),
    Case(
      "a list that is null for one of its elements does not overwrite",
      before: v(#""list":[{"__typename":"E","n":1}]"#), data: v(#""list":null,"x":1"#),
      paths: #"["v","list",3,"n"]"#,
      after: records("", #""list":[{"__typename":"E","n":1}],"x":1"#), changes: ["V:1.x"]),
    // Objects without identity
    Case(
      "a field of an embedded object is not stored",
      data: v(#""e":{"__typename":"E","p":null,"q":2}"#),
      paths: #"["v","e","p"]"#, after: records(#""e":{"__typename":"E","q":2}"#),
      changes: new + ["V:1.e"]),
    Case(
      "a field of an embedded object keeps its value",
      before: v(#""e":{"__typename":"E","p":1,"q":1,"f":{"__typename":"F","a":1}}"#),
      data: v(#""e":{"__typename":"E","p":null,"q":2,"f":{"__typename":"F","a":null}}"#),
      paths: #"["v","e","p"]"#, #"["v","e","f","a"]"#,
      after: records(#""e":{"__typename":"E","f":{"__typename":"F","a":1},"p":1,"q":2}"#),
      changes: ["V:1.e"]),
    Case(
      "a field of an embedded object keeps its null",
      before: v(#""e":{"__typename":"E","p":null,"q":1,"f":{"__typename":"F","a":null}}"#),
      data: v(#""e":{"__typename":"E","p":null,"q":2,"f":{"__typename":"F","a":null}}"#),
      paths: #"["v","e","p"]"#, #"["v","e","f","a"]"#,
      after: records(#""e":{"__typename":"E","f":{"__typename":"F","a":null},"p":null,"q":2}"#),
      changes: ["V:1.e"]),
    Case(
      "an embedded object keeps itself",
      before: v(#""e":{"__typename":"E","p":1,"f":{"__typename":"F","a":1}}"#),
      data: v(#""e":{"__typename":"E","p":2,"f":null}"#), paths: #"["v","e","f","a"]"#,
      after: records(#""e":{"__typename":"E","f":{"__typename":"F","a":1},"p":2}"#),
      changes: ["V:1.e"]),
    Case(
      "an embedded object that is null because of an error is unchanged",
      before: v(#""e":{"__typename":"E","p":1}"#), data: v(#""e":{"__typename":"E","p":null}"#),
      paths: #"["v","e","p"]"#, after: records(#""e":{"__typename":"E","p":1}"#), changes: []),
    Case(
      "an embedded object of another type does not keep the old one's field",
      before: v(#""e":{"__typename":"F","p":1}"#), data: v(#""e":{"__typename":"E","p":null}"#),
      paths: #"["v","e","p"]"#, after: records(#""e":{"__typename":"E"}"#), changes: ["V:1.e"]),
    // Lists
    Case(
      "a null element of an error spoils its list",
      data: v(#""list":[{"__typename":"E","n":1},null],"x":1"#),
      paths: #"["v","list",1]"#, after: records("", #""x":1"#), changes: new + ["V:1.x"]),
    Case(
      "a null element of an error leaves the stored list",
      before: v(#""list":[{"__typename":"E","n":1},{"__typename":"E","n":2}]"#),
      data: v(#""list":[{"__typename":"E","n":3},null],"x":1"#), paths: #"["v","list",1,"n"]"#,
      after: records("", #""list":[{"__typename":"E","n":1},{"__typename":"E","n":2}],"x":1"#),
      changes: ["V:1.x"]),
    Case(
      "a null element without an error is an element",
      before: v(#""list":[{"__typename":"E","n":1}]"#),
      data: v(#""list":[null,{"__typename":"E","n":null}]"#), paths: #"["v","list",1,"n"]"#,
      after: records("", #""list":[null,{"__typename":"E"}]"#), changes: ["V:1.list"]),
    Case(
      "a field of an element is not stored",
      data: v(#""list":[{"__typename":"E","n":1},{"__typename":"E","n":null}]"#),
      paths: #"["v","list",1,"n"]"#,
      after: records("", #""list":[{"__typename":"E","n":1},{"__typename":"E"}]"#),
      changes: new + ["V:1.list"]),
    Case(
      "a field of an element keeps its value",
      before: v(
        #""list":[{"__typename":"E","n":1},{"__typename":"E","n":2},{"__typename":"E","n":null}]"#),
      data: v(
        #""list":[{"__typename":"E","n":3},{"__typename":"E","n":null},{"__typename":"E","n":null}]"#
      ),
      paths: #"["v","list",1,"n"]"#, #"["v","list",2,"n"]"#,
      after: records(
        "",
        #""list":[{"__typename":"E","n":3},{"__typename":"E","n":2},{"__typename":"E","n":null}]"#),
      changes: ["V:1.list"]),
    Case(
      "a field of an element of a list of another length has no value to keep",
      before: v(#""list":[{"__typename":"E","n":1}]"#),
      data: v(#""list":[{"__typename":"E","n":null},{"__typename":"E","n":2}]"#),
      paths: #"["v","list",0,"n"]"#,
      after: records("", #""list":[{"__typename":"E"},{"__typename":"E","n":2}]"#),
      changes: ["V:1.list"]),
    Case(
      "nested lists are spoilt by their elements",
      before: v(#""grid":[[{"__typename":"E","n":1}],[{"__typename":"E","n":2}]]"#),
      data: v(#""grid":[[{"__typename":"E","n":3}],[null]],"x":1"#), paths: #"["v","grid",1,0]"#,
      after: records(#""grid":[[{"__typename":"E","n":1}],[{"__typename":"E","n":2}]]"#, #""x":1"#),
      changes: ["V:1.x"]),
    Case(
      "fields in nested lists keep their values",
      before: v(#""grid":[[{"__typename":"E","n":1}],[{"__typename":"E","n":null}]]"#),
      data: v(#""grid":[[{"__typename":"E","n":null}],[{"__typename":"E","n":null}]],"x":1"#),
      paths: #"["v","grid",0,0,"n"]"#, #"["v","grid",1,0,"n"]"#,
      after: records(
        #""grid":[[{"__typename":"E","n":1}],[{"__typename":"E","n":null}]]"#, #""x":1"#),
      changes: ["V:1.x"]),
    Case(
      "a null in a list of leaf values spoils it", before: v(#""tags":["a"]"#),
      data: v(#""tags":["b",null],"matrix":[[1],[2,null]],"x":1"#), paths: #"["v","tags",1]"#,
      #"["v","matrix",1,1]"#, after: records("", #""tags":["a"],"x":1"#), changes: ["V:1.x"]),
    // Entities
    Case(
      "a field of an entity keeps its value",
      before: v(#""r":{"__typename":"R","id":1,"n":1,"m":null}"#),
      data: v(#""r":{"__typename":"R","id":1,"n":null,"m":null}"#), paths: #"["v","r","n"]"#,
      #"["v","r","m"]"#,
      after: referring(#""m":null,"n":1"#), changes: []),
    Case(
      "a reference that is null because of an error keeps its stored value",
      before: v(#""r":{"__typename":"R","id":1,"n":1}"#), data: v(#""r":null"#),
      paths: #"["v","r","n"]"#,
      after: referring(#""n":1"#), changes: []),
    Case(
      "elements of a list of entities keep their values",
      before: v(#""list":[{"__typename":"R","id":1,"n":1},{"__typename":"R","id":2,"n":2}]"#),
      data: v(#""list":[{"__typename":"R","id":2,"n":null},{"__typename":"R","id":1,"n":3}]"#),
      paths: #"["v","list",0,"n"]"#,
      after: [
        #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:1"}}}"#,
        #"{"key":"R:1","fields":{"__typename":"R","id":1,"n":3}}"#,
        #"{"key":"R:2","fields":{"__typename":"R","id":2,"n":2}}"#,
        #"{"key":"V:1","fields":{"__typename":"V","id":1,"list":[{"$ref":"R:2"},{"$ref":"R:1"}]}}"#,
      ], changes: ["R:1.n", "V:1.list"]),
    // Aliases, and one thing twice
    Case(
      "paths are made of response keys", before: v(#""r":{"__typename":"R","id":1,"n":1}"#),
      data: v(#""one":{"__typename":"R","id":1,"k":null}"#), paths: #"["v","one","k"]"#,
      after: referring(#""n":1"#), changes: []),
    Case(
      "an error after a value of the same response leaves the value", before: v(#""x":1"#),
      data: #"{"v":{"__typename":"V","id":1,"x":2},"other":{"__typename":"V","id":1,"y":null}}"#,
      paths: #"["other","y"]"#, after: records("", #""x":2"#), changes: ["V:1.x"]),
    Case(
      "an error before a value of the same response leaves the value", before: v(#""x":1"#),
      data: #"{"other":{"__typename":"V","id":1,"y":null},"v":{"__typename":"V","id":1,"x":2}}"#,
      paths: #"["other","y"]"#, after: records("", #""x":2"#), changes: ["V:1.x"]),
    Case(
      "an error after a value of a new record leaves the value",
      data:
        #"{"v":{"__typename":"V","id":1,"x":2,"e":{"__typename":"E","p":1}},"other":{"__typename":"V","id":1,"y":null}}"#,
      paths: #"["other","y"]"#,
      after: records(#""e":{"__typename":"E","p":1}"#, #""x":2"#),
      changes: new + ["V:1.e", "V:1.x"]),
    Case(
      "a null after a value of the same response counts when it is no error's",
      before: v(#""x":1"#),
      data: #"{"v":{"__typename":"V","id":1,"x":2},"other":{"__typename":"V","id":1,"y":null}}"#,
      paths: #"["w"]"#, after: records("", #""x":null"#), changes: ["V:1.x"]),
    Case(
      "an error's null under one alias leaves the value of the other",
      data: v(#""r":{"__typename":"R","id":1,"n":1},"one":null"#), paths: #"["v","one","k"]"#,
      after: referring(#""n":1"#), changes: new + ["R:1.__typename", "R:1.id", "R:1.n", "V:1.r"]),
  ]

  @Test(
    "a null with an error is not stored, whether the error comes first or last",
    arguments: Way.allCases, cases)
  func skipErrored(way: Way, test: Case) async throws {
    for response in [
      #"{"data":\#(test.data),"errors":\#(test.errors)}"#,
      #"{"errors":\#(test.errors),"data":\#(test.data)}"#,
    ] {
      try await way.withCache { cache in
        let operation = try prepare(Self.selection)
        if let before = test.before { try await cache.write(#"{"data":\#(before)}"#, operation) }
        let written = try await cache.write(response, operation)
        let found = try await cache.dump().split(separator: "\n").map(String.init)
        #expect(found == test.after)
        #expect(written.changes == test.changes.sorted())
        #expect(written.response.errors.count == test.paths.count)
        // The caller sees the nulls in any case.
        let delivered = try JSONValue(parsing: try #require(written.data))
        #expect(delivered == (try Self.shown(test.data)))
        let again = try await cache.write(response, operation)
        #expect(again.changes == [])
        #expect(try await cache.dump().split(separator: "\n").map(String.init) == found)
      }
    }
  }

  /// `data` without what the cache added to the selection.
  private static func shown(_ data: String) throws -> JSONValue {
    func strip(_ value: JSONValue) -> JSONValue {
      switch value {
      case .object(let object):
        var result = JSONObject()
        for member in object where member.key != "__typename" {
          result[member.key] = strip(member.value)
        }
        return .object(result)
      case .array(let elements): return .array(elements.map(strip))
      default: return value
      }
    }
    return strip(try JSONValue(parsing: data))
  }

  @Test("a response with errors writes nothing when asked to", arguments: Way.allCases, cases)
  func discard(way: Way, test: Case) async throws {
    try await way.withCache { cache in
      let operation = try prepare(Self.selection)
      if let before = test.before { try await cache.write(#"{"data":\#(before)}"#, operation) }
      let dump = try await cache.dump()
      let written = try await cache.write(
        #"{"data":\#(test.data),"errors":\#(test.errors)}"#, operation, policy: .discard)
      #expect(written.summary == nil)
      #expect(written.data != nil)
      #expect(try await cache.dump() == dump)
    }
  }

  @Test("nulls are written as they are when asked to", arguments: Way.allCases, cases)
  func keep(way: Way, test: Case) async throws {
    try await way.withCache { cache in
      let operation = try prepare(Self.selection)
      if let before = test.before { try await cache.write(#"{"data":\#(before)}"#, operation) }
      let written = try await cache.write(
        #"{"data":\#(test.data),"errors":\#(test.errors)}"#, operation, policy: .keep)
      let dump = try await cache.dump()
      let plain = CacheUnderTest(store: MemoryStore(collectsChanges: true))
      if let before = test.before { try await plain.write(#"{"data":\#(before)}"#, operation) }
      let expected = try await plain.write(#"{"data":\#(test.data)}"#, operation)
      #expect(try await plain.dump() == dump)
      #expect(written.changes == expected.changes)
    }
  }

  // MARK: Long lists

  @Test(
    "errors in long lists keep what was stored",
    arguments: [Way.memory, .sqlite, .sqliteAsItArrives])
  func longLists(way: Way) async throws {
    try await way.kind.withStore { store in
      let cache = CacheUnderTest(
        store: store, arrival: way == .sqliteAsItArrives ? .pieces(of: 300) : Arrival())
      let document = "{ v { id list { n t } tags x } }"
      func response(_ field: (Int) -> String, tags: String, errors: [String] = []) -> String {
        let list = (0..<4000).map {
          #"{"__typename":"E","n":\#(field($0)),"t":"some text of element \#($0)"}"#
        }
        let paths = errors.map { #"{"message":"no","path":\#($0)}"# }.joined(separator: ",")
        return
          #"{"data":{"v":{"__typename":"V","id":1,"list":[\#(list.joined(separator: ","))],"tags":[\#(tags)],"x":1}}\#(errors.isEmpty ? "" : #","errors":[\#(paths)]"#)}"#
      }
      let tags = (0..<20_000).map(String.init).joined(separator: ",")
      try await cache.write(response({ "\($0)" }, tags: tags), document)
      let before = try await cache.dump()
      // Every third value is an error's null; a tag is, too.
      let errors = stride(from: 0, to: 4000, by: 3).map { #"["v","list",\#($0),"n"]"# }
      let written = try await cache.write(
        response(
          { $0 % 3 == 0 ? "null" : "\($0)" }, tags: tags + ",null",
          errors: errors + [#"["v","tags",20000]"#]),
        document)
      #expect(written.changes == [])
      expectBytes(try await cache.dump(), before)
      // With new values for the others.
      let second = try await cache.write(
        response({ $0 % 3 == 0 ? "null" : "-\($0)" }, tags: tags, errors: errors), document)
      #expect(second.changes == ["V:1.list"])
      let plain = CacheUnderTest(store: MemoryStore())
      try await plain.write(response({ $0 % 3 == 0 ? "\($0)" : "-\($0)" }, tags: tags), document)
      expectBytes(try await cache.dump(), try await plain.dump())
    }
  }

  @Test(
    "an entity met twice with a long list keeps the values that errors hide",
    arguments: [Way.memory, .sqlite, .sqliteAsItArrives])
  func longListTwice(way: Way) async throws {
    try await way.kind.withStore { store in
      let cache = CacheUnderTest(
        store: store, arrival: way == .sqliteAsItArrives ? .pieces(of: 3000) : Arrival())
      let list = { (field: (Int) -> String) in
        (0..<3000).map { #"{"__typename":"E","n":\#(field($0)),"t":"text of element \#($0)"}"# }
          .joined(separator: ",")
      }
      for hasError in [true, false] {
        try await store.clear()
        let errors = hasError ? #"[{"message":"no","path":["b","list",7,"n"]}]"# : "[]"
        try await cache.write(
          #"{"data":{"a":{"__typename":"V","id":1,"list":[\#(list { "\($0)" })]},"b":{"__typename":"V","id":1,"list":[\#(list { $0 % 7 == 0 ? "null" : "\($0)" })]}},"errors":\#(errors)}"#,
          "{ a { id list { n t } } b { id list { n t } } }")
        let dump = try await cache.dump()
        #expect(!dump.contains("$null"))
        let expected = list { $0 % 7 == 0 && !($0 == 7 && hasError) ? "null" : "\($0)" }
        #expect(dump.contains(expected))
        // Nothing tentative is left in what is stored; unreferenced segments may contain it.
        if let store = store.records as? SQLiteStore, SQLiteTool.isThere {
          let left = try SQLiteTool.run(
            #"SELECT count(*) FROM records WHERE instr(data, '{"$null"') AND key NOT LIKE '$segment:%'"#,
            on: store.path)
          #expect(left == "0")
        }
      }
    }
  }

  @Test("errors of a mutation keep the values of the objects it returns", arguments: Way.allCases)
  func mutation(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(
        #"{"data":{"u":{"__typename":"U","id":1,"name":"Ada","mail":"a@x","e":{"__typename":"E","p":1}}}}"#,
        "{ u { id name mail e { p } } }")
      let written = try await cache.write(
        #"{"data":{"update":{"ok":true,"__typename":"P","users":[{"__typename":"U","id":1,"name":null,"mail":null,"e":{"__typename":"E","p":null}}]}},"errors":[{"message":"no","path":["update","users",0,"name"]},{"message":"no","path":["update","users",0,"e","p"]}]}"#,
        "mutation { update(id: 1) { ok users { id name mail e { p } } } }")
      #expect(written.changes == ["U:1.mail"])
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"u":{"$ref":"U:1"}}}"#,
        #"{"key":"U:1","fields":{"__typename":"U","e":{"__typename":"E","p":1},"id":1,"mail":null,"name":"Ada"}}"#
      )
    }
  }

  @Test("many errors in long lists are resolved in linear time")
  func manyErrors() async throws {
    let count = 20_000
    let list = (0..<count).map {
      #"{"__typename":"R","id":\#($0),"n":null,"e":{"__typename":"E","p":null}}"#
    }
    let errors = (0..<count).flatMap {
      [
        #"{"message":"no","path":["list",\#($0),"n"]}"#,
        #"{"message":"no","path":["list",\#($0),"e","p"]}"#,
      ]
    }
    let embedded = (0..<count).map { _ in #"{"__typename":"E","p":null}"# }
    let more = (0..<count).map { #"{"message":"no","path":["es",\#($0),"p"]}"# }
    let store = CacheStore.memory()
    let normalizer = try ResponseNormalizer(
      prepare("{ list { id n e { p } } es { p } }"), store: store)
    let response =
      #"{"data":{"list":[\#(list.joined(separator: ","))],"es":[\#(embedded.joined(separator: ","))]},"errors":[\#((errors + more).joined(separator: ","))]}"#
    try Array(response.utf8).withUnsafeBytes { try normalizer.feed($0) }
    _ = try await normalizer.finish().write?.commit()
    #expect(!(try await CacheUnderTest(store: store).dump().contains("null")))
    // Three lists of errors, and a few fields for each of them.
    let examined = normalizer.examinedForErrors
    #expect(examined >= 3 * count && examined < 20 * count, "\(examined)")
  }

  @Test("many errors in one object are resolved in linear time")
  func manyErroredFields() async throws {
    let fields = (0..<1000).map { "f\($0)" }
    let data = fields.map { #""\#($0)":null"# }.joined(separator: ",")
    let errors = fields.map { #"{"message":"no","path":["o","\#($0)"]}"# }.joined(separator: ",")
    let store = CacheStore.memory()
    let normalizer = try ResponseNormalizer(
      prepare("{ o { \(fields.joined(separator: " ")) g } }"), store: store)
    let response = #"{"data":{"o":{"__typename":"T",\#(data),"g":1}},"errors":[\#(errors)]}"#
    try Array(response.utf8).withUnsafeBytes { try normalizer.feed($0) }
    _ = try await normalizer.finish().write?.commit()
    let dump = try await CacheUnderTest(store: store).dump()
    #expect(dump.contains(#""o":{"__typename":"T","g":1}"#))
    #expect(normalizer.examinedForErrors < 20 * fields.count)
  }

  @Test("very long error paths are followed only to the depth of the response")
  func endlessPaths() async throws {
    let cache = CacheUnderTest(store: MemoryStore(collectsChanges: true))
    let long = Array(repeating: #""v""#, count: 300_000).joined(separator: ",")
    let written = try await cache.write(
      #"{"data":{"v":null,"w":1},"errors":[{"message":"no","path":[\#(long)]}]}"#, "{ v { id } w }")
    #expect(written.changes == ["QUERY_ROOT.w"])
    try await cache.expectDump(#"{"key":"QUERY_ROOT","fields":{"w":1}}"#)
  }
}
