import GQLRunJSON
import Testing

@testable import GQLRunDemoServer

/// The feed is made from numbers alone.
@Suite struct FeedTests {
  @Test func `a post is the same whatever the size of the feed`() {
    let small = DemoExecutor(feedSize: 3)
    let large = DemoExecutor(feedSize: 3_000_000)
    let query = "{ post(id: \"P_2\") { id title body likeCount author { login } tags { name } } }"
    #expect(small.execute(query) == large.execute(query))
  }

  @Test func `neighbours differ`() {
    let bodies = (0..<500).map { Post(number: $0).body.text }
    #expect(Set(bodies).count == 500)
    // A body must not be its neighbour's, shifted by a word.
    let comments = (1...200).map { Comment(number: $0).body.text.split(separator: " ") }
    for (first, second) in zip(comments, comments.dropFirst()) {
      #expect(first.dropFirst() != second.dropLast())
    }
  }

  @Test func `users and tags repeat`() {
    let posts = (0..<1000).map(Post.init)
    #expect(Set(posts.map(\.author)).count < 200)
    #expect(Set(posts.flatMap(\.tags)).count == Feed.tagCount)
  }

  @Test func `authors are users of every larger feed`() {
    for number in [0, 1, 9, 50, 51, 999_999] {
      #expect(Post(number: number).author.number < Feed(size: number + 1).userCount)
      #expect(
        Post(number: number).comment(5).author.number < Feed(size: number + 1).userCount)
    }
  }

  @Test func `texts hold quotes, escapes and letters of all lengths`() throws {
    let text = (0..<20).map { Post(number: $0).body.text }.joined(separator: " ")
    for part in ["\"", "\\", "\n", "\t", "é", "東", "🚀"] { #expect(text.contains(part), "\(part)") }
  }

  @Test func `the escaped text is the text`() throws {
    for number in 0..<50 {
      let body = Post(number: number).body
      var escaped: [UInt8] = [UInt8(ascii: "\"")]
      body.appendEscaped(to: &escaped)
      escaped.append(UInt8(ascii: "\""))
      #expect(try JSONValue(parsing: escaped) == .string(body.text))
    }
  }

  @Test(arguments: [
    (-1, 2, 0..<2), (1, 5, 2..<7), (7, 5, 8..<10), (9, 1, 10..<10), (50, 1, 10..<10),
  ])
  func `pages end with the feed`(_ after: Int, first: Int, page: Range<Int>) {
    #expect(NumberList(rest: 0..<10).page(after: after, first: first) == page)
  }

  @Test func `a cursor may be far after the feed`() {
    let after = Cursor(kind: .post, number: .max).text
    let response = DemoExecutor(feedSize: 10).execute(
      "{ feed(first: 1, after: \"\(after)\") "
        + "{ edges { cursor } pageInfo { hasNextPage endCursor } } }")
    let expected =
      #"{"data":{"feed":{"edges":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}}}"#
    #expect(String(decoding: response, as: UTF8.self) == expected)
  }

  @Test(arguments: [0, 1, 12, 123, 1234, 999_999_999])
  func `cursors are read as they are written`(_ number: Int) {
    let cursor = Cursor(kind: .post, number: number)
    #expect(Cursor(cursor.text) == cursor)
  }

  @Test(arguments: ["", "p:1", "cDo=", "cDox=", "????", "cDotMQ==", "eDox", "cDowMQ=="])
  func `other texts are no cursors`(_ text: String) {
    #expect(Cursor(text) == nil)
  }

  @Test func `cursors are those of the reference data`() {
    #expect(Cursor(kind: .post, number: 1).text == "cDox")
    #expect(Cursor(kind: .comment, number: 103).text == "YzoxMDM=")
  }
}
