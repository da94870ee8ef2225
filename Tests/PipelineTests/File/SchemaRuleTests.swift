import GQLRunLanguage
import Testing

@testable import GQLRunPipeline

/// Rules of pipeline files, checked against a schema.
@Suite("Rules and the schema")
struct SchemaRuleTests {
  static let schema = """
    interface Node { id: ID! }
    union Item = Country | User
    enum Color { RED }
    type Country implements Node { id: ID! code: ID! name: String owner: User tags: [String!]! users(first: Int, filter: String): [User!]! }
    type User implements Node { id: ID! login: String! posts(first: Int, after: String, tag: String): PostConnection! }
    type PostConnection { edges: [PostEdge!]! }
    type PostEdge { cursor: String node: Post }
    type Post { title: String }
    type Root { country(code: ID!): Country feed(first: Int): [Item!] me: User count(code: ID): Int countries(codes: [ID!], tag: String): [Country!]! find(input: Find): Country item(id: ID): Item }
    input Find { code: ID limit: Int where: Find }
    schema { query: Root }
    """

  private func findings(_ settings: String) throws -> [String] {
    let text = """
      version: 1
      endpoint: { url: "https://api.example.com/graphql" }
      store: { kind: memory }
      schema: schema.graphql
      \(settings)
      chain: [fetch, parse]
      """
    let schema = try Schema(sdl: Document(parsing: Self.schema))
    let checked = PipelineFile.check(
      Array(text.utf8), file: "dir/x.pipeline.yaml", registry: TestPlugins.registry,
      environment: testEnvironment, readSchema: { _ in schema })
    let pipeline = try load(text)
    let loaded = pipeline.ruleDiagnostics(against: schema)
    // Other checks have their say of these chains, too.
    let found = checked.all.filter { $0.code == .schemaRule }
    #expect(loaded.all == found, "a loaded pipeline has the findings of a check")
    #expect(found.allSatisfy { $0.severity == .error })
    // The excerpt shows the line.
    for finding in loaded.all {
      #expect(loaded.description.contains("\(finding.location.line) |"), "\(loaded)")
    }
    return found.map {
      "\($0.location.line):\($0.location.column) \($0.message)" + ($0.hint.map { " → \($0)" } ?? "")
    }
  }

  @Test(
    "a name that the schema does not have is an error at its place",
    arguments: [
      "keys: { types: { Contry: [code] } }":
        "5:18 the schema has no type `Contry` → did you mean `Country`?",
      "keys: { types: { Country: [cod] } }":
        "5:28 the type `Country` has no field `cod` → did you mean `code`?",
      "keys: { types: { Country: [code, nme] } }":
        "5:34 the type `Country` has no field `nme` → did you mean `name`?",
      "keys: { types: { Item: [code] } }": "5:25 the type `User` has no field `code`",
      "keys: { types: { Country: [owner] } }":
        "5:28 `Country.owner` is an object, which cannot identify another one → key fields are scalars or enum values",
      "keys: { types: { Country: [tags] } }":
        "5:28 `Country.tags` is a list, which cannot identify an object → key fields are scalars or enum values",
      "keys: { types: { Color: [name] } }":
        "5:18 `Color` is an enum, which has no fields → rules are for objects, interfaces and unions",
      "keys: { groups: { Contry: G } }":
        "5:19 the schema has no type `Contry` → did you mean `Country`?",
      "keys: { default: [idd] }":
        "5:19 no object of the schema has a field `idd` → did you mean `id`?",
      "fields: { Root.fed: { max_age: 1m } }":
        "5:11 the type `Root` has no field `fed` → did you mean `feed`?",
      "fields: { Query.feed: { max_age: 1m } }":
        "5:11 the schema has no type `Query` → its query root is `Root`",
      "fields: { Item.code: { max_age: 1m } }":
        "5:11 `Item` is a union, which has no fields of its own → write a rule for each of its types",
      "fields: { User.posts: { field_key_args: [tga] } }":
        "5:42 the field `User.posts` has no argument `tga` → did you mean `tag`?",
      "fields: { Country.name: { field_key_args: [lang] } }":
        "5:44 the field `Country.name` has no argument `lang` → it takes no arguments",
      "fields: { Country.users: { merge: connection } }":
        "5:35 `Country.users` is [User!]!, which is no connection → `merge: offset` or `merge: append` join lists",
      "fields: { Root.me: { merge: connection } }":
        "5:29 `Root.me` is User, which is no connection → a connection has `edges` or `nodes`",
      "fields: { User.posts: { merge: offset } }":
        "5:32 `User.posts` is PostConnection!, which is no list → `merge: connection` joins the pages of connections",
      "fields: { Root.country: { key_args: [cod] } }":
        "5:38 the field `Root.country` has no argument `cod` → did you mean `code`?",
      "fields: { Root.count: { key_args: [code] } }":
        "5:35 `Root.count` is Int, and only objects are records → `field_key_args` names the arguments of a field key",
      "keys: { types: { Country: [code, id] } }\nfields: { Root.country: { key_args: [code] } }":
        "6:37 the key arguments of `Root.country` do not cover the key fields of `Country` → the key fields are [code, id]",
      "keys: { types: { Country: [cod] } }\nfields: { Root.find: { key_args: [input.cod] } }":
        "5:28 the type `Country` has no field `cod` → did you mean `code`?|6:35 `input.cod` of `Root.find`: Find has no field `cod` → did you mean `code`?",
      "fields: { Root.find: { key_args: [input.where] } }":
        "5:35 `input.where` of `Root.find` is Find, an input object → name one of its fields, such as `input.where.code`",
      "fields: { Root.countries: { key_args: [tag] } }":
        "5:39 `Root.countries` is [Country!]!, and its key arguments contain no list → exactly one argument must be a list",
      "fields: { Root.country: { key_args: [code], type: Contry } }":
        "5:51 the schema has no type `Contry` → did you mean `Country`?",
      "fields: { Root.country: { key_args: [code], type: User } }":
        "5:51 `Root.country` is Country, and not `User`",
      "fields: { Root.countries: { key_args: [codes], type: Country } }":
        "5:54 `Root.countries` is [Country!]!, which is a list → write `[Country]`",
      "fields: { Root.item: { key_args: [id] } }":
        "5:34 `Root.item` returns `Item`, whose objects have the keys of their own types, such as `Country:…` → name the object type with `type`, or put the types of `Item` into one group",
      "keys: { default: [code] }\nfields: { User.posts: { key_args: [tag] } }":
        "6:35 `User.posts` returns `PostConnection`, which has no key field `code` → declare its key fields: `keys: { types: { PostConnection: [tag] } }`",
      "types: { Usr: { max_age: 1m } }": "5:10 the schema has no type `Usr` → did you mean `User`?",
    ] as [String: String])
  func error(settings: String, expected: String) throws {
    #expect(try findings(settings) == expected.split(separator: "|").map(String.init))
  }

  @Test(
    "what the schema has is right",
    arguments: [
      "keys: { types: { Country: [code], Node: [id], Item: [id], User: [] } }",
      "keys: { types: { Country: [__typename, code] }, groups: { Country: G, Node: G } }",
      "keys: { default: [id] }", "keys: { default: [code] }",
      "fields: { User.posts: { merge: connection, field_key_args: [tag] }, Root.feed: { merge: append } }",
      "fields: { Node.id: { max_age: 1m }, Country.users: { merge: offset, field_key_args: [] } }",
      "fields: { Root.country: { key_args: [code] }, Root.find: { key_args: [input.where.code] } }",
      "fields: { Root.countries: { key_args: [codes], type: \"[Country!]\" } }",
      "fields: { Root.item: { key_args: [id], type: User } }",
      "keys: { groups: { User: Item, Country: Item } }\nfields: { Root.item: { key_args: [id] } }",
      "types: { User: { max_age: 1m }, Node: { max_age: 1m }, Item: { max_age: 1m } }",
    ])
  func right(settings: String) throws {
    #expect(try findings(settings) == [])
  }

  @Test("every wrong name is reported, in the order of the file")
  func several() throws {
    let found = try findings(
      "keys: { types: { Contry: [code], User: [a, b] } }\ntypes: { Usr: { max_age: 1m } }")
    #expect(found.map { $0.prefix(4) } == ["5:18", "5:41", "5:44", "6:10"])
  }

  @Test("a schema that cannot be read is an error of a check")
  func unreadable() throws {
    let text = file(chain: "  - fetch\n  - parse", settings: "schema: none.graphql")
    let checked = PipelineFile.check(
      Array(text.utf8), file: "dir/x.pipeline.yaml", registry: TestPlugins.registry,
      environment: testEnvironment,
      readSchema: { _ in throw PipelineFileEnvironment.Failure("there is no such file") })
    #expect(checked.errors.map(\.code) == [.schemaRule])
    #expect(checked.errors.first?.hint == "there is no such file")
  }
}
