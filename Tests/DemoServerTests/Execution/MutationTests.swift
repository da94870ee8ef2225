import GQLRunJSON
import Testing

@testable import GQLRunDemoServer

@Suite struct MutationTests {
  private let executor = DemoExecutor(feedSize: 100)

  private func run(_ query: String, _ variables: JSONValue = [:]) throws -> JSONValue {
    try JSONValue(parsing: executor.execute(query, variables: variables))
  }

  @Test func `likes are counted, one field after the other`() throws {
    let before = try run("{ post(id: \"P_1\") { likeCount likes } }")
    let count = try #require(before["data"]?["post"]?["likeCount"]?.intValue)
    #expect(before["data"]?["post"]?["likes"]?.intValue == count)
    let response = try run(
      "mutation { a: likePost(id: \"P_1\") { likeCount } b: likePost(id: \"P_1\") { likeCount } }")
    #expect(response["data"]?["a"]?["likeCount"]?.intValue == count + 1)
    #expect(response["data"]?["b"]?["likeCount"]?.intValue == count + 2)
    let after = try run("{ feed(first: 2) { edges { node { likeCount } } } }")
    #expect(
      after["data"]?["feed"]?["edges"]?[1]?["node"]?["likeCount"]?.intValue == count + 2)
  }

  @Test func `an unknown post is null or an error`() throws {
    #expect(try run("mutation { likePost(id: \"P_100\") { id } }")["data"] == ["likePost": nil])
    let response = try run(
      "mutation { addComment(input: { postId: \"P_100\", body: \"x\" }) { id } }")
    #expect(response["data"] == .null)
    #expect(response["errors"]?[0]?["extensions"]?["code"] == "NOT_FOUND")
  }

  @Test func `comments are added and found`() throws {
    let response = try run(
      """
      mutation ($input: AddCommentInput!) {
        addComment(input: $input) { __typename id body score author { id } }
      }
      """, ["input": ["postId": "P_7", "body": "first \"comment\""]])
    #expect(
      response["data"]?["addComment"] == [
        "__typename": "Comment", "id": "C_new0", "body": "first \"comment\"", "score": 0,
        "author": ["id": "U_1"],
      ])
    let page = try run(
      """
      { post(id: "P_7") {
          all: comments(first: 10) { totalCount edges { cursor node { id } }
            pageInfo { hasNextPage endCursor } }
          some: comments(first: 6) { edges { cursor } pageInfo { hasNextPage } } }
        node(id: "C_new0") { id } }
      """)
    let all = try #require(page["data"]?["post"]?["all"])
    #expect(all["totalCount"] == 7)
    #expect(all["edges"]?[6]?["node"]?["id"] == "C_new0")
    #expect(all["pageInfo"]?["endCursor"] == all["edges"]?[6]?["cursor"])
    #expect(all["pageInfo"]?["hasNextPage"] == false)
    #expect(page["data"]?["post"]?["some"]?["edges"]?.arrayValue?.count == 6)
    #expect(page["data"]?["post"]?["some"]?["pageInfo"]?["hasNextPage"] == true)
    #expect(page["data"]?["node"] == ["id": "C_new0"])
  }

  @Test func `a comment that is too long is refused`() throws {
    let body = String(repeating: "x", count: FeedEdits.maxBody + 1)
    let response = try run(
      "mutation ($b: String!) { addComment(input: { postId: \"P_1\", body: $b }) { id } }",
      ["b": .string(body)])
    #expect(response["errors"]?[0]?["extensions"]?["code"] == "BAD_USER_INPUT")
  }

  @Test func `another executor knows nothing of it`() throws {
    _ = try run("mutation { addComment(input: { postId: \"P_1\", body: \"x\" }) { id } }")
    let other = DemoExecutor(feedSize: 100).execute("{ node(id: \"C_new0\") { id } }")
    #expect(try JSONValue(parsing: other)["data"] == ["node": nil])
  }
}
