/// The files that every test folder has.
enum Samples {
  static let files: [String: String] = [
    "country.graphql":
      "query C($code: ID!) {\n  country(code: $code) { code name capital emoji continent { name } }\n}\n",
    "germany.graphql": "{ country(code: \"DE\") { name capital } }\n",
    "feed.graphql": """
    query Feed($first: Int!) {
      feed(first: $first) {
        __typename
        totalCount
        edges {
          __typename
          cursor
          node {
            __typename id title body likeCount
            author { __typename id login name }
            tags { __typename id name }
            comments(first: 3) {
              __typename
              edges { __typename node { __typename id body author { __typename id login } } }
            }
          }
        }
      }
    }
    """,
    "two.graphql":
      "query A { country(code: \"DE\") { name } }\nquery B { country(code: \"FR\") { name } }\n",
    "open.graphql": "query C($code: ID!) {\n  country(code: $code) { name\n",
    "stray.graphql": "query C {\r\n  country(code: \"日本\") § { name }\r\n}\r\n",
    "control.graphql": "query C { a(x: \"\u{1b}[31m\") § }",
    "empty.graphql": "",
    "comment.graphql": "# nothing here\n, ,\n",
    "fragment.graphql": "fragment F on Country { name }\n",
    "spread.graphql": "{\n  ...Nowhere\n}\n",
    "schema.graphql": "type Query { a: Int }\n",
    "subscription.graphql": "subscription Ticks { ticks }\n",
    "variables.json": "{\"code\": \"FR\"}",
    "list.json": "[1]",
    "broken.json": "{\n  \"code\": oops\n}",
    "note.txt": String(repeating: "this is no database\n", count: 20),
    "typo.pipeline.yaml":
      "version: 1\nname: x\nendpoint: { url: \"http://127.0.0.1:1/\" }\nchian: []\n",
    "plugin.pipeline.yaml":
      "version: 1\nname: x\nendpoint: { url: \"http://127.0.0.1:1/\" }\nchain:\n  - max-retyr\n  - fetch\n  - parse\n",
  ]

  static let notUTF8: [UInt8] = Array("{ a(x: \"".utf8) + [0xe9] + Array("\") }".utf8)
}
