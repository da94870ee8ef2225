import GQLRunJSON
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Picking values out of JSON")
struct PickerTests {
  private static let text = """
    {"a":{"b":[{"c":1,"d":"x\\"}]"},{"c":[1,2,{"c":5}],"d":null},null,{"d":true}],"e":-1.5e3},"b":[[1,2],[3]],"s":"t"}
    """

  @Test(
    "the values at a path are those of the tree, wherever the text is cut",
    arguments: [
      "a", "a.b", "a.b[*]", "a.b[*].c", "a.b[*].d", "a.b[1].c", "a.b[1].c[*]", "a.b[1].c[2].c",
      "a.e",
      "b[*]", "b[*][*]", "b[1][0]", "s", "nowhere", "a.nowhere[*].x", "s.x", "b.c",
    ])
  func picks(path: String) throws {
    let value = try JSONValue(parsing: Self.text)
    let steps = try #require(ResultPath(path))
    let expected = steps.values(in: value).filter { !$0.isNull }
    let bytes = Array(Self.text.utf8)
    for size in [1, 2, 3, 7, 1000] {
      var found: [JSONValue] = []
      let data = Pieces(bytes: bytes, size: size)
      try data.forEachValue(at: steps) { found.append(try JSONValue(parsing: $0)) }
      #expect(found == expected, "in pieces of \(size)")
    }
  }

  @Test("a text that does not fit the path is found, also behind an empty object")
  func mismatchBehindEmptyObject() throws {
    let path = try #require(ResultPath("list[*].name"))
    for text in [#"{"list":["x"]}"#, #"{"list":[{},"x"]}"#] {
      let data = Pieces(bytes: Array(text.utf8), size: 1)
      let mismatch = try data.forEachValue(at: path) { _ in }
      #expect(mismatch != nil, "\(text)")
    }
    let data = Pieces(bytes: Array(#"{"list":[{},{"name":"x"}]}"#.utf8), size: 1)
    let mismatch = try data.forEachValue(at: path) { _ in }
    #expect(mismatch == nil)
  }

  @Test(
    "without a path the whole is picked", arguments: ["{\"a\":[1]}", "5", "\"x\"", "[]", "true"])
  func whole(text: String) throws {
    var found: [String] = []
    try Pieces(bytes: Array(text.utf8), size: 1).forEachValue(at: nil) {
      found.append(String(decoding: $0, as: UTF8.self))
    }
    #expect(found == [text])
  }

  @Test(
    "paths are read, and what is none is refused",
    arguments: ["", "a..b", "a[", "a[x]", "a b", ".a", "[*]"])
  func badPaths(text: String) {
    #expect(ResultPath(text) == nil)
  }

  @Test(
    "conditions compare values, counts and shares",
    arguments: [
      ("errors == null", true), ("count(list) >= 3", true), ("count(list) > 3", false),
      ("n < 6", true), ("n != 5", false), ("name == \"x\"", true), ("name < \"y\"", true),
      ("failed <= 10%", true), ("failed < 4%", false), ("nothing > 1", false),
      ("o == {\"b\":1}", true), ("id == 9007199254740993", true),
      ("id == 9007199254740992", false), ("id > 9007199254740992", true),
      // Each value counts, and not only the first.
      ("users[*].ok == true", false), ("users[*].ok != false", false),
      ("users[*].ok != null", true), ("users[*].n < 3", true), ("users[*].n < 2", false),
      ("2 >= users[*].n", true), ("users[*].n == users[*].m", true),
      ("users[*].ok == users[*].m", false), ("users[*].none == null", true),
      ("users[*].none == 1", false),
      // Operators in quotes are text.
      ("name != \"a == b\"", true), ("name < \"y >= z\"", true), ("\"x != y\" > name", true),
      ("\"a == b\" != name", true), ("\"x < y\" > name", true),
    ])
  func conditions(text: String, holds: Bool) throws {
    let users = #"[{"ok":true,"n":1,"m":1},{"ok":false,"n":2,"m":2}]"#
    let facts = try JSONValue(
      parsing:
        #"{"errors":null,"list":[1,2,3],"n":5,"name":"x","failed":5,"o":{"b":1},"id":9007199254740993,"users":\#(users)}"#
    )
    #expect(try #require(BatchCondition(text)).holds(for: facts, whole: 100) == holds)
  }

  private struct Pieces: ResultData {
    var bytes: [UInt8]
    var size: Int
    var count: Int { bytes.count }

    func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
      var location = 0
      while location < bytes.count {
        let end = min(location + size, bytes.count)
        try bytes[location..<end].withUnsafeBytes(body)
        location = end
      }
    }
  }
}
