import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Locations of the sent document, mapped to the document the caller wrote.
@Suite("Locations of the sent document")
struct SentLocationTests {
  static let source = """
    # Two operations, comments, and a layout of their own.
    query Other { a }

    query Q($id: ID!, $n: [Int!] = [1]) @live { # c
       user(id: $id) { nick  ...F
         ... on Admin @include(if: true) { level } } other: user(id: "x") { k: rank } }
    fragment F on User { posts(first: 3,
      filter: {tag: RED, n: $n}) { title } }
    """

  private func location(of needle: String, after prefix: String = "", in text: String) -> (
    line: Int, column: Int
  )? {
    guard let start = prefix.isEmpty ? text.startIndex : text.firstRange(of: prefix)?.upperBound,
      let range = text[start...].firstRange(of: needle)
    else { return nil }
    let before = text[..<range.lowerBound]
    let lines = before.split(separator: "\n", omittingEmptySubsequences: false)
    return (lines.count, (lines.last?.count ?? 0) + 1)
  }

  @Test(
    "a location of the sent document is mapped to what the caller wrote",
    arguments: [
      ("query Q", ""), ("Q(", ""), ("$id: ID", ""), ("ID!", ""), ("$n: ", ""), ("[Int!]", ""),
      ("Int!", ""), ("@live", ""), ("user(id", ""), ("id: $id", ""), ("$id)", ""),
      ("nick", ""), ("...F", ""), ("... on Admin", ""), ("Admin", ""), ("@include", ""),
      ("true", ""), ("level", ""), ("other:", ""), ("user(id: \"x\")", "other"), ("\"x\"", ""),
      ("k: rank", ""), ("rank", ""), ("fragment F", ""), ("F on", ""), ("User {", ""),
      ("posts", ""), ("first", ""), ("3", ""), ("filter", ""), ("{tag", ""), ("tag", ""),
      ("RED", ""),
      ("n: $n", "RED"), ("$n}", ""), ("title", ""),
    ])
  func mapping(needle: String, prefix: String) throws {
    let operation = try prepare(Self.source, operation: "Q", variables: #"{"id":"1"}"#)
    let own = String(
      Self.source[(Self.source.firstRange(of: "query Q")?.lowerBound ?? "".startIndex)...])
    let offset =
      Self.source.split(separator: "\n", omittingEmptySubsequences: false).count
      - own.split(separator: "\n", omittingEmptySubsequences: false).count
    let sent = try #require(location(of: needle, after: prefix, in: operation.document))
    let wanted = try #require(location(of: needle, after: prefix, in: own))
    let found = operation.sourceLocation(ofSentLine: sent.line, column: sent.column)
    #expect(found?.line == wanted.line + offset)
    #expect(found?.column == wanted.column)
  }

  @Test("a field that the cache added is located at the selection set it was added to")
  func added() throws {
    let operation = try prepare(
      "{ a {\n  x\n  ... on User { name } } }", keys: KeyRules(types: ["User": ["login", "org"]]))
    for (needle, line, column) in [("__typename", 1, 5), ("login", 3, 15), ("org", 3, 15)] {
      let sent = try #require(location(of: needle, in: operation.document))
      let found = operation.sourceLocation(ofSentLine: sent.line, column: sent.column)
      #expect(
        found?.line == line && found?.column == column, "\(needle): \(String(describing: found))")
    }
  }

  @Test(
    "a location inside a word stays at its letter, one between words is that of the word before")
  func inside() throws {
    let operation = try prepare("{   country   { name } }")
    // { ⏎ country {
    #expect(operation.sourceLocation(ofSentLine: 2, column: 3)?.column == 5)
    #expect(operation.sourceLocation(ofSentLine: 2, column: 6)?.column == 8)
    #expect(operation.sourceLocation(ofSentLine: 2, column: 10)?.column == 5)
    #expect(operation.sourceLocation(ofSentLine: 2, column: 11)?.column == 15)
  }

  @Test(
    "locations that the sent document does not have are not mapped",
    arguments: [(0, 1), (1, 0), (99, 1), (-1, -1), (Int.max, Int.max)])
  func outside(line: Int, column: Int) throws {
    let operation = try prepare("{ a { b } }")
    #expect(operation.sourceLocation(ofSentLine: line, column: column) == nil)
  }
}
