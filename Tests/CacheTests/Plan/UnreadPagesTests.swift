import GQLRunCache
import GQLRunLanguage
import Testing

@Suite("Unread pages")
struct UnreadPagesTests {
  private static let document = """
    query Q($c: String) {
      customers(after: $c) {
        info: pageInfo { next: endCursor more: hasNextPage }
        nodes { name tags { words } orders { pageInfo { hasNextPage } lines { pageInfo { hasNextPage endCursor } } } }
      }
      pageInfo { hasNextPage }
    }
    """

  private static let data = """
    {"customers":{"info":{"next":"a\\u0022]}","more":true},"nodes":[
      {"name":"pageInfo","orders":{"pageInfo":{"hasNextPage":true},"lines":[
        {"pageInfo":{"hasNextPage":false,"endCursor":null}}, {"pageInfo":{"hasNextPage":true,"endCursor":"z"}}]}},
      {"name":"{\\"hasNextPage\\":true}","orders":{"pageInfo":{"hasNextPage":false},"lines":[]}},
      {"tags":[{"words":["]}\\"",[[]],{}]},{"hasNextPage":true},[]],"name":"x","orders":null}]},"pageInfo":{"hasNextPage":true}}
    """

  /// The unread pages of one result, which is read in chunks of a size.
  private func read(_ data: String, of document: String, size: Int = 1000) throws -> UnreadPages {
    var pages = UnreadPages(of: try prepare(document))
    let bytes = Array(data.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { pages.read($0) }
    }
    return pages
  }

  @Test(
    "connections are found at any depth, under any response key, in any chunking", arguments: 1...64
  )
  func chunks(size: Int) throws {
    let pages = try read(Self.data, of: Self.document, size: size)
    #expect(
      pages.connections.map { "\($0.field.path) \($0.unread)/\($0.count)" }
        == ["customers 1/1", "customers.nodes.orders 1/2", "customers.nodes.orders.lines 1/2"])
    let customers = try #require(pages.unread.first)
    #expect(customers.field.variable == "c" && customers.cursor == "a\"]}")
    #expect(pages.connections[1].field.endCursor == [])
    #expect(pages.connections[2].cursor == "z")
    #expect(pages.connections.map(\.lists) == [[0], [0, 1, 0], [0, 1, 0, 1]])
  }

  @Test(
    "each selection of a connection counts, and each connection once",
    arguments: [
      (
        "{ l { a: pageInfo @skip(if: true) { hasNextPage endCursor } pageInfo { hasNextPage endCursor } } }",
        #"{"l":{"pageInfo":{"hasNextPage":true,"endCursor":"x"}}}"#, "l 1/1 x"
      ),
      (
        "{ l { a: pageInfo { hasNextPage endCursor } pageInfo { b: hasNextPage hasNextPage } } }",
        #"{"l":{"a":{"hasNextPage":true,"endCursor":"x"},"pageInfo":{"b":true,"hasNextPage":true}}}"#,
        "l 1/1 x"
      ),
      (
        "{ l { pageInfo { a: hasNextPage @skip(if: true) hasNextPage } } }",
        #"{"l":{"pageInfo":{"hasNextPage":true}}}"#, "l 1/1 -"
      ),
      (
        """
        { n { ... on A { c: items { pageInfo { hasNextPage } } } ... on B { c: things { p: pageInfo { hasNextPage } } } } }
        """,
        #"{"n":[{"c":{"p":{"hasNextPage":true}}},{"c":{"pageInfo":{"hasNextPage":false}}}]}"#,
        "n.c 1/2 -"
      ),
      (
        "{ l { ...A ...B } } fragment A on L { pageInfo { hasNextPage } } fragment B on L { pageInfo { endCursor } }",
        #"{"l":{"pageInfo":{"hasNextPage":true,"endCursor":"x"}}}"#, "l 1/1 x"
      ),
      (
        "{ l { pageInfo { hasNextPage } } l { pageInfo { endCursor } } }",
        #"{"l":{"pageInfo":{"hasNextPage":true,"endCursor":"x"}}}"#, "l 1/1 x"
      ),
    ])
  func selections(document: String, data: String, found: String) throws {
    let pages = try read(data, of: document)
    #expect(
      pages.connections.map { "\($0.field.path) \($0.unread)/\($0.count) \($0.cursor ?? "-")" }
        == [found])
  }

  @Test(
    "a connection without a Boolean may have more pages, unless the document or a null explains it",
    arguments: [
      ("pageInfo { hasNextPage }", #"{"pageInfo":{"hasNextPage":false}}"#, 0),
      ("pageInfo { hasNextPage }", "null", 0), ("pageInfo { hasNextPage }", "[null]", 0),
      ("pageInfo { hasNextPage }", "{}", 1), ("pageInfo { hasNextPage }", "[{},{}]", 2),
      ("pageInfo { hasNextPage }", #"{"pageInfo":null}"#, 1),
      ("pageInfo { hasNextPage }", #"{"pageInfo":{}}"#, 1),
      ("pageInfo { hasNextPage }", #"{"pageInfo":{"hasNextPage":null}}"#, 1),
      ("pageInfo { hasNextPage }", #"{"pageInfo":{"hasNextPage":"true"}}"#, 1),
      ("pageInfo @skip(if: true) { hasNextPage }", "{}", 0),
      ("... on L { pageInfo { hasNextPage } }", "{}", 0),
      ("... on L { pageInfo { hasNextPage } }", #"{"pageInfo":null}"#, 1),
    ])
  func unknown(selection: String, value: String, count: Int) throws {
    let data = #"{"l":\#(value)}"#
    for size in 1...data.utf8.count {
      let pages = try read(data, of: "{ l { id \(selection) } }", size: size)
      #expect(pages.connections.map(\.unknown) == [count] && pages.unread.isEmpty, "\(size)")
    }
  }

  @Test("results are counted together until the count begins again")
  func counts() throws {
    var pages = UnreadPages(of: try prepare("{ l { pageInfo { hasNextPage } } }"))
    for _ in 0..<2 {
      pages.beginResult()
      Array(#"{"l":{"pageInfo":{"hasNextPage":true}}}"#.utf8).withUnsafeBytes { pages.read($0) }
    }
    #expect(pages.unread.map(\.unread) == [2])
    pages.beginCount()
    #expect(pages.unread.isEmpty)
  }
}
