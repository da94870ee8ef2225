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

  private static func read(cutEvery size: Int) throws -> UnreadPages {
    let operation = try PreparedOperation(document: Document(parsing: document), keys: KeyRules())
    var pages = UnreadPages(of: operation)
    pages.beginResult()
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
    let pages = try Self.read(cutEvery: size)
    #expect(
      pages.connections.map { "\($0.field.path) \($0.unread)/\($0.count)" }
        == ["customers 1/1", "customers.nodes.orders 1/2", "customers.nodes.orders.lines 1/2"])
    let customers = try #require(pages.unread.first)
    #expect(customers.field.variable == "c" && customers.cursor == "a\"]}")
    #expect(pages.connections[1].field.endCursor == nil)
    #expect(pages.connections[2].cursor == "z")
    #expect(pages.connections.map(\.lists) == [[0], [0, 1, 0], [0, 1, 0, 1]])
  }

  @Test("results are counted together until the count begins again")
  func counts() throws {
    let operation = try PreparedOperation(
      document: Document(parsing: "{ l { pageInfo { hasNextPage } } }"), keys: KeyRules())
    var pages = UnreadPages(of: operation)
    for _ in 0..<2 {
      pages.beginResult()
      Array(#"{"l":{"pageInfo":{"hasNextPage":true}}}"#.utf8).withUnsafeBytes { pages.read($0) }
    }
    #expect(pages.unread.map(\.unread) == [2])
    pages.beginCount()
    #expect(pages.unread.isEmpty)
  }
}
