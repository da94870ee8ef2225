import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Pages of a list that become one stored list.
@Suite("Pages")
struct PageTests {
  static let connection = KeyRules(pages: ["Query": ["feed": .connection]])
  static let document =
    """
    query F($after: String, $before: String) {
      feed(first: 2, after: $after, before: $before, by: "x") {
        edges { cursor node { id } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } total
      }
    }
    """

  /// The page of the items `range` out of `count`; the cursor of item 3 is `c3`.
  static func feed(_ range: Range<Int>, of count: Int, padding: String = "") -> String {
    let edges = range.map {
      #"{"cursor":"c\#($0)","node":{"id":"\#($0)\#(padding)"}}"#
    }
    let start = range.isEmpty ? "null" : "\"c\(range.lowerBound)\""
    let end = range.isEmpty ? "null" : "\"c\(range.upperBound - 1)\""
    return
      #"{"feed":{"edges":[\#(edges.joined(separator: ","))],"pageInfo":{"startCursor":\#(start),"#
      + #""endCursor":\#(end),"hasNextPage":\#(range.upperBound < count),"#
      + #""hasPreviousPage":\#(range.lowerBound > 0)},"total":\#(count)}}"#
  }

  static func response(_ data: String) -> String {
    let typed = data.replacing(
      #"{"id""#, with: #"{"__typename":"Post","id""#
    ).replacing(#"{"cursor""#, with: #"{"__typename":"Edge","cursor""#).replacing(
      #""pageInfo":{"#, with: #""pageInfo":{"__typename":"PageInfo","#
    ).replacing(#""feed":{"#, with: #""feed":{"__typename":"Feed","#)
    return #"{"data":\#(typed)}"#
  }

  @discardableResult
  private func fetch(
    _ cache: CacheUnderTest, _ range: Range<Int>, after: Int? = nil, before: Int? = nil
  ) async throws -> Written {
    let variables =
      after.map { #"{"after":"c\#($0)"}"# } ?? before.map { #"{"before":"c\#($0)"}"# } ?? "{}"
    return try await cache.write(
      Self.response(Self.feed(range, of: 9)), Self.document, variables: variables,
      keys: Self.connection)
  }

  private func stored(_ cache: CacheUnderTest) async throws -> String {
    try await cache.read(Self.document, keys: Self.connection)
  }

  @Test("pages of a connection join at both ends, whatever their order", arguments: Way.allCases)
  func bothEnds(way: Way) async throws {
    for backFirst in [true, false] {
      try await way.withCache { cache in
        try await fetch(cache, 3..<5)
        for isBack in [backFirst, !backFirst] {
          let written =
            isBack
            ? try await fetch(cache, 1..<3, before: 3) : try await fetch(cache, 5..<7, after: 4)
          #expect(written.summary?.warnings == [])
          #expect(written.changes.contains(#"QUERY_ROOT.feed({"by":"x"})"#))
          #expect(!written.changes.contains { $0.contains("$page") })
        }
        #expect(try await stored(cache) == Self.feed(1..<7, of: 9))
        #expect(try await !cache.dump().contains("$page"))
      }
    }
  }

  @Test("the first page replaces the list", arguments: Way.allCases)
  func reset(way: Way) async throws {
    try await way.withCache { cache in
      try await fetch(cache, 0..<2)
      try await fetch(cache, 2..<4, after: 1)
      try await fetch(cache, 0..<3)
      #expect(try await stored(cache) == Self.feed(0..<3, of: 9))
    }
  }

  @Test("a page without elements keeps the cursors of the list", arguments: Way.allCases)
  func emptyPage(way: Way) async throws {
    try await way.withCache { cache in
      try await fetch(cache, 3..<5)
      try await fetch(cache, 5..<5, after: 4)
      #expect(try await stored(cache) == Self.feed(3..<5, of: 9))
      try await fetch(cache, 3..<3, before: 3)
      #expect(try await stored(cache) == Self.feed(3..<5, of: 9))
      #expect(try await fetch(cache, 5..<7, after: 4).summary?.warnings == [])
      #expect(try await fetch(cache, 1..<3, before: 3).summary?.warnings == [])
      #expect(try await stored(cache) == Self.feed(1..<7, of: 9))
    }
  }

  @Test("a page that is not adjacent is ignored with a warning", arguments: Way.allCases)
  func notAdjacent(way: Way) async throws {
    try await way.withCache { cache in
      try await fetch(cache, 0..<2)
      let written = try await fetch(cache, 4..<6, after: 3)
      let warning = try #require(written.summary?.warnings.first)
      #expect(
        warning.contains(#"after "c3" is not adjacent to the stored list, which ends at "c1""#))
      #expect(written.changes.filter { $0.hasPrefix("QUERY_ROOT") } == [])
      #expect(try await stored(cache) == Self.feed(0..<2, of: 9))
      // Its entities are facts all the same.
      #expect(try await cache.dump().contains(#""key":"Post:5""#))
      // The page that is stored already is no news.
      #expect(try await fetch(cache, 0..<2, after: -1).summary?.warnings == [])
    }
  }

  @Test("the first page of a list is stored unchanged", arguments: Way.allCases)
  func cold(way: Way) async throws {
    try await way.withCache { cache in
      try await fetch(cache, 4..<6, after: 3)
      try await fetch(cache, 2..<4, before: 4)
      #expect(try await stored(cache) == Self.feed(2..<6, of: 9))
    }
  }

  @Test("two pages in one response join one after the other", arguments: Way.allCases)
  func aliases(way: Way) async throws {
    try await way.withCache { cache in
      let fields = "edges { cursor node { id } }"
      let part = { (range: Range<Int>) in
        let edges = range.map {
          #"{"__typename":"Edge","cursor":"c\#($0)","node":{"__typename":"Post","id":"\#($0)"}}"#
        }
        return #"{"__typename":"Feed","edges":[\#(edges.joined(separator: ","))]}"#
      }
      try await cache.write(
        #"{"data":{"c":\#(part(4..<5)),"a":\#(part(0..<2)),"b":\#(part(2..<4))}}"#,
        """
        { a: feed(first: 2) { \(fields) } b: feed(after: "c1") { \(fields) }
          c: feed(after: "c3") { \(fields) } }
        """, keys: Self.connection)
      #expect(
        try await cache.read("{ feed { edges { cursor } } }", keys: Self.connection)
          == #"{"feed":{"edges":[{"cursor":"c0"},{"cursor":"c1"},{"cursor":"c2"},{"cursor":"c3"},{"cursor":"c4"}]}}"#
      )
    }
  }

  @Test("nulls of errors and null pages do not change the stored list", arguments: Way.allCases)
  func errors(way: Way) async throws {
    try await way.withCache { cache in
      try await fetch(cache, 0..<2)
      for body in [
        #"{"data":{"feed":null}}"#,
        #"{"errors":[{"message":"x","path":["feed"]}],"data":{"feed":null}}"#,
        #"{"data":{"feed":null},"errors":[{"message":"x","path":["feed"]}]}"#,
        // Its list is that of the page, whose other fields would be those of a list that ends elsewhere.
        #"{"data":{"feed":{"__typename":"Feed","edges":null,"pageInfo":{"__typename":"PageInfo","startCursor":"c2","#
          + #""endCursor":"c3","hasNextPage":true,"hasPreviousPage":true},"total":9}},"#
          + #""errors":[{"message":"x","path":["feed","edges"]}]}"#,
      ] {
        try await cache.write(
          body, Self.document, variables: #"{"after":"c1"}"#, keys: Self.connection)
        #expect(try await stored(cache) == Self.feed(0..<2, of: 9))
      }
      // An errored field of a node takes nothing from the page.
      let page =
        String(Self.response(Self.feed(2..<4, of: 9)).dropLast())
        + #","errors":[{"message":"x","path":["feed","total"]}]}"#
      try await cache.write(
        page.replacing(#""total":9"#, with: #""total":null"#), Self.document,
        variables: #"{"after":"c1"}"#, keys: Self.connection)
      #expect(
        try await cache.read(
          "{ feed(by: \"x\") { edges { cursor } total } }", keys: Self.connection)
          == #"{"feed":{"edges":[{"cursor":"c0"},{"cursor":"c1"},{"cursor":"c2"},{"cursor":"c3"}],"total":9}}"#
      )
    }
  }

  @Test(
    "a page whose list failed does not change the stored list, whatever its name",
    arguments: Way.allCases, PagePolicy.allCases)
  func failedList(way: Way, policy: PagePolicy) async throws {
    let keys = KeyRules(pages: ["Query": ["list": policy]])
    let argument = policy == .connection ? "after" : "offset"
    let document =
      "query ($at: ID) { list(\(argument): $at) { items pageInfo { endCursor } total } }"
    let list = { (items: String, end: Int) in
      #"{"data":{"list":{"__typename":"L","items":\#(items),"pageInfo":{"__typename":"P","endCursor":"\#(end)"},"#
        + #""total":\#(end + 1)}}"#
    }
    try await way.withCache { cache in
      try await cache.write(list("[1,2]", 2) + "}", document, keys: keys)
      try await cache.write(
        list("null", 4) + #","errors":[{"message":"x","path":["list","items"]}]}"#, document,
        variables: #"{"at":"2"}"#, keys: keys)
      #expect(
        try await cache.read(document, keys: keys)
          == #"{"list":{"items":[1,2],"pageInfo":{"endCursor":"2"},"total":5}}"#)
    }
  }

  @Test(
    "no error is stored in a list whose pages are joined", arguments: Way.allCases,
    [
      "{ list { n ... on R { id } } }",
      "query ($o: Int) { list(offset: $o) { n ... on R { id } } }",
    ])
  func storedErrors(way: Way, document: String) async throws {
    let keys = KeyRules(pages: ["Query": ["list": .offset]])
    let failed =
      #"{"data":{"list":[{"__typename":"E","n":1},{"__typename":"E","n":null},{"__typename":"R","id":1,"n":null}]},"errors":[{"message":"x","path":["list",1,"n"]},{"message":"y","path":["list",2,"n"]}]}"#
    try await way.withCache { cache in
      try await cache.write(failed, document, keys: keys)
      #expect(try await cache.store.statistics().errors == 1, "that of the object with a key")
      // Without the rule, there are errors in the list until a page is joined with it.
      try await cache.write(failed, "{ list { n ... on R { id } } }")
      #expect(try await cache.store.statistics().errors == 2)
      try await cache.write(
        #"{"data":{"list":[{"__typename":"E","n":3}]}}"#,
        "query ($o: Int) { list(offset: $o) { n } }", variables: #"{"o":3}"#, keys: keys)
      #expect(try await cache.store.statistics().errors == 1)
    }
  }

  @Test(
    "lists inside entities and inside objects without identity have pages, too",
    arguments: Way.allCases)
  func nested(way: Way) async throws {
    let keys = KeyRules(pages: ["User": ["posts": .offset], "Viewer": ["log": .append]])
    let document =
      "query ($o: Int) { user { id posts(offset: $o) } viewer { log(page: $o) { n } } }"
    try await way.withCache { cache in
      for offset in [0, 2, 3] {
        try await cache.write(
          """
          {"data":{"user":{"__typename":"User","id":"1","posts":[\(offset),\(offset + 1)]},\
          "viewer":{"__typename":"Viewer","log":[{"__typename":"Line","n":\(offset)}]}}}
          """, document, variables: #"{"o":\#(offset)}"#, keys: keys)
      }
      try await cache.expectDump(
        """
        {"key":"QUERY_ROOT","fields":{"user":{"$ref":"User:1"},"viewer":{"__typename":"Viewer",\
        "log":[{"__typename":"Line","n":0},{"__typename":"Line","n":2},{"__typename":"Line","n":3}]}}}
        """, #"{"key":"User:1","fields":{"__typename":"User","id":"1","posts":[0,1,2,3,4]}}"#)
    }
  }

  @Test(
    "a page that would leave a gap is ignored; entities are not appended twice",
    arguments: Way.allCases)
  func gaps(way: Way) async throws {
    let keys = KeyRules(pages: ["Query": ["list": .offset, "all": .append]])
    let item = { (id: Int) in #"{"__typename":"Post","id":"\#(id)"}"# }
    try await way.withCache { cache in
      var warnings: [Int] = []
      for offset in [1, 0, 5, 1] {
        let written = try await cache.write(
          #"{"data":{"list":[\#(item(offset)),\#(item(offset + 1))],"all":[\#(item(offset))]}}"#,
          "query ($o: Int) { list(offset: $o) { id } all(page: $o) { id } }",
          variables: #"{"o":\#(offset)}"#, keys: keys)
        warnings.append((written.summary?.warnings ?? []).count)
      }
      // One begins where nothing is, one behind the end.
      #expect(warnings == [1, 0, 1, 0])
      let ids = { (ids: [Int]) in ids.map { #"{"id":"\#($0)"}"# }.joined(separator: ",") }
      #expect(
        try await cache.read("{ list { id } all { id } }", keys: keys)
          == #"{"list":[\#(ids([0, 1, 2]))],"all":[\#(ids([1, 0, 5]))]}"#)
    }
  }

  @Test("an offset may be a text, and one that is no index joins nothing", arguments: Way.allCases)
  func offsetsOfOtherTypes(way: Way) async throws {
    let keys = KeyRules(pages: ["Query": ["list": .offset]])
    try await way.withCache { cache in
      var warnings: [[Bool]] = []
      for (offset, elements) in [
        ("-1", "[9]"), ("0", "[0,1]"), (#""2""#, "[2,3]"), ("-1", "[9]"), ("1.5", "[9]"),
        (#""x""#, "[9]"),
        ("99999999999999999999", "[9]"),
      ] {
        let written = try await cache.write(
          #"{"data":{"list":\#(elements)}}"#, "query ($o: Any) { list(offset: $o) }",
          variables: #"{"o":\#(offset)}"#, keys: keys)
        warnings.append(
          (written.summary?.warnings ?? []).map { $0.hasSuffix("has an offset that is no index") })
      }
      #expect(warnings == [[true], [], [], [true], [true], [true], [true]])
      #expect(try await cache.read("{ list }", keys: keys) == #"{"list":[0,1,2,3]}"#)
    }
  }

  @Test("pages in every order of fetching match a simple model", arguments: Way.allCases)
  func model(way: Way) async throws {
    // Long ids, so that lists go into segments.
    let padding = String(repeating: "x", count: way == .sqlite || way == .memory ? 3_000 : 20)
    for seed in 1...(way == .sqlite || way == .memory ? 4 : 2) {
      try await way.withCache { cache in
        var random = SeededRandom(UInt64(seed))
        var window: Range<Int>?
        for _ in 0..<10 {
          let start = Int.random(in: 0...40, using: &random)
          let size = Int.random(in: 1...25, using: &random)
          var page = start..<(start + size)
          var variables = "{}"
          switch (Int.random(in: 0..<6, using: &random), window) {
          case (0, _):
            page = 0..<size
            window = page
          case (1...2, let known?):
            page = known.upperBound..<(known.upperBound + size)
            variables = #"{"after":"c\#(known.upperBound - 1)"}"#
            window = known.lowerBound..<page.upperBound
          case (3...4, let known?) where known.lowerBound > 0:
            page = max(0, known.lowerBound - size)..<known.lowerBound
            variables = #"{"before":"c\#(known.lowerBound)"}"#
            window = page.lowerBound..<known.upperBound
          default:
            variables = #"{"after":"c\#(page.lowerBound - 1)"}"#
            if let known = window {
              if known.upperBound == page.lowerBound {
                window = known.lowerBound..<page.upperBound
              }
            } else {
              window = page
            }
          }
          try await cache.write(
            Self.response(Self.feed(page, of: 1_000, padding: padding)), Self.document,
            variables: variables, keys: Self.connection)
          let expected = window.map { Self.feed($0, of: 1_000, padding: padding) }
          #expect(try await stored(cache) == expected, "seed \(seed)")
        }
      }
    }
  }
}
