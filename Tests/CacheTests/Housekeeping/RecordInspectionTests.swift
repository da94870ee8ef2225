import Foundation
import Testing

@testable import GQLRunCache

@Suite("Inspection of records")
struct RecordInspectionTests {
  private static let document = """
    query Q {
      feed { __typename id title author { __typename id name } }
      viewer { __typename id name posts { __typename id } }
    }
    """

  /// A feed of posts by one author, and a viewer with a list of them that is long enough for segments.
  private static func fill(_ store: CacheStore, posts: Int) async throws {
    let feed = (0..<2).map {
      #"{"__typename":"Post","id":"\#($0)","title":"</script>\u0001 \#($0)","author":"#
        + #"{"__typename":"User","id":"1","name":"N"}}"#
    }
    let own = (0..<posts).map { #"{"__typename":"Post","id":"\#($0)"}"# }
    try await normalize(
      #"{"data":{"feed":[\#(feed.joined(separator: ","))],"viewer":{"__typename":"User","id":"2","name":"V","posts":[\#(own.joined(separator: ","))]}}}"#
        .utf8, prepare(document), into: store, received: 5000)
  }

  @Test(
    "a record has its fields, and the records that they refer to", arguments: StoreKind.allCases)
  func record(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 2)
      let post = try #require(try await store.inspect("Post:1"))
      #expect(post.received == 5000 && post.fieldCount == 4)
      #expect(Set(post.fields.map(\.name)) == ["__typename", "id", "title", "author"])
      let author = try #require(post.fields.first { $0.name == "author" })
      #expect(author.references == ["User:1"] && author.referenceCount == 1)
      let root = try #require(try await store.inspect("QUERY_ROOT"))
      #expect(Set(root.fields.map(\.name)).isSuperset(of: ["feed", "viewer"]))
      #expect(root.fields.first { $0.name == "feed" }?.references == ["Post:0", "Post:1"])
      #expect(try await store.inspect("Post:9") == nil)
      #expect(try await store.inspect("") == nil)
    }
  }

  @Test(
    "references through the segments of a long list are found in both directions",
    arguments: StoreKind.allCases)
  func segments(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 20_000)
      #expect(try await store.statistics().segments > 0)
      let viewer = try #require(try await store.inspect("User:2"))
      let posts = try #require(viewer.fields.first { $0.name == "posts" })
      #expect(posts.referenceCount == 20_000)
      #expect(posts.references.count == InspectedRecord.maxReferences)
      #expect(posts.text.utf8.count <= InspectedRecord.maxTextBytes)
      let found = try await store.referrers(to: "Post:19999", max: 10)
      #expect(found.all.map(\.key) == ["User:2"] && found.all.map(\.field) == ["posts"])
      #expect(!found.hasMore)
    }
  }

  @Test("incoming references are found up to a limit", arguments: StoreKind.allCases)
  func referrers(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 1)
      let all = try await store.referrers(to: "User:1", max: 10)
      #expect(all.all.map(\.key) == ["Post:0", "Post:1"] && !all.hasMore)
      #expect(all.all.allSatisfy { $0.field == "author" })
      let first = try await store.referrers(to: "User:1", max: 1)
      #expect(first.all.map(\.key) == ["Post:0"] && first.hasMore)
      #expect(try await store.referrers(to: "User:9", max: 10).all.isEmpty)
    }
  }

  @Test("a search returns each record once, page by page", arguments: StoreKind.allCases)
  func search(kind: StoreKind) async throws {
    try await kind.withStore { store in
      try await Self.fill(store, posts: 300)
      var keys: [String] = []
      var last: String?
      repeat {
        let page = try await store.search("pOsT:", type: "Post", after: last, max: 7)
        #expect(page.records.count <= 7 && page.records.allSatisfy { $0.type == "Post" })
        keys += page.records.map(\.key)
        last = page.next
      } while last != nil
      #expect(keys == keys.sorted() && Set(keys) == Set((0..<300).map { "Post:\($0)" }))
      #expect(keys.count == 300)
      #expect(try await store.search("", type: "User", after: nil, max: 9).records.count == 2)
      #expect(try await store.search("nothing", type: nil, after: nil, max: 9).records.isEmpty)
    }
  }
}
