import Foundation
import GQLRunDemoServer
import Testing

@Suite("validate, schema and operations as a user runs them", .timeLimit(.minutes(10)))
struct LanguageCommandTests {
  private static let schema = """
    type Query { user(id: ID!): User  users: [User!]! old: Int @deprecated }
    type User { id: ID! name: String! role: Role }
    enum Role { ADMIN USER }
    """

  private func folder() throws -> Folder {
    let folder = try Folder()
    try folder.write(Self.schema, to: "schema.graphql")
    try folder.write("query A { users { name } }", to: "good.graphql")
    try folder.write("query B { users { nam } old }", to: "bad.graphql")
    return folder
  }

  @Test("validate tells errors with exit code 1, warnings with 0, unreadable files with 65")
  func validate() async throws {
    let folder = try folder()
    let run = { (arguments: [String]) in
      try await Program.run(["validate", "--schema", "schema.graphql"] + arguments, in: folder)
    }
    let good = try await run(["good.graphql"])
    #expect(good.status == 0, "\(good)")
    #expect(good.errors.contains("1 document: ok"))
    let bad = try await run(["bad.graphql"])
    #expect(bad.status == 1, "\(bad)")
    #expect(bad.errors.contains("bad.graphql:1:19: "))
    #expect(bad.errors.contains("Cannot query field 'nam' on type 'User'. Did you mean 'name'?"))
    #expect(bad.errors.contains("1 error, 1 warning"))
    let github = try await run(["bad.graphql", "--format", "github"])
    #expect(
      github.output.contains(
        "::error file=bad.graphql,line=1,col=19,title=FieldsOnCorrectTypeRule::"))
    #expect(github.output.contains("::warning file=bad.graphql,line=1,col=25,"))
    let json = try await run(["bad.graphql", "--format", "json", "--no-warnings"])
    let rows = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
    #expect(rows?.count == 1)
    #expect(rows?.first?["line"] as? Int == 1)
    try folder.write("{ users { name } }", to: "anonymous.graphql")
    let anonymous = try await run(["anonymous.graphql"])
    #expect(anonymous.status == 0)
    #expect(anonymous.errors.contains("warning"))
    #expect(try await run(["absent.graphql"]).status == 65)
    #expect(try await run(["latin1.graphql"]).errors.contains("Invalid UTF-8"))
    try folder.write("\u{feff}query A { users { name } }", to: "bom.graphql")
    #expect(try await run(["bom.graphql"]).status == 0)
    try folder.write("query A { users\u{0} }", to: "nul.graphql")
    #expect(try await run(["nul.graphql"]).errors.contains("nul.graphql:1:16: "))
    try folder.write(String(repeating: "{ a", count: 300), to: "deep.graphql")
    #expect(try await run(["deep.graphql"]).status == 1)
  }

  @Test("a project file names what to check, and its absence is reported")
  func project() async throws {
    let folder = try folder()
    let none = try await Program.run(["validate"], in: folder)
    #expect(none.status == 64, "\(none)")
    #expect(none.errors.contains("graphql.config.yml"))
    try folder.write(
      "schema: schema.graphql\ndocuments: 'good*.graphql'\n", to: "graphql.config.yml")
    #expect(try await Program.run(["validate"], in: folder).status == 0)
    try folder.write(
      "schema: schema.graphql\ndocuments: 'src/*.graphql'\n", to: "graphql.config.yml")
    let nowhere = try await Program.run(["validate"], in: folder)
    #expect(nowhere.status == 65, "\(nowhere)")
    #expect(nowhere.errors.contains("graphql.config.yml:2:12: no document matches src/*.graphql"))
    #expect(nowhere.errors.contains("none of the documents that the project file names is there"))
  }

  @Test("a pattern that the shell did not expand names what it matches")
  func patterns() async throws {
    let folder = try folder()
    let some = try await Program.run(
      ["validate", "--schema", "schema.graphql", "{good,bad}.graph?l"], in: folder)
    #expect(some.status == 1, "\(some)")
    #expect(some.errors.contains("2 documents: 1 error"))
    let none = try await Program.run(
      ["validate", "--schema", "schema.graphql", "src/**/*.graphql"], in: folder)
    #expect(none.status == 65, "\(none)")
    #expect(none.errors.contains("no document matches src/**/*.graphql"))
  }

  @Test("an operation that the schema does not allow is not sent")
  func checkedBeforeSending() async throws {
    let folder = try folder()
    try folder.write("query A { users { name } } query B { nope }", to: "two.graphql")
    let run = { (arguments: [String]) in
      try await Program.run(
        ["run", "-e", "http://127.0.0.1:1/", "--schema", "schema.graphql"] + arguments, in: folder)
    }
    let bad = try await run(["bad.graphql"])
    #expect(bad.status == 65, "\(bad)")
    #expect(bad.errors.contains("bad.graphql:1:19: Cannot query field 'nam' on type 'User'."))
    // No server listens there: a sent request has another exit code.
    #expect(try await run(["good.graphql"]).status == 69)
    #expect(try await run(["two.graphql", "--operation", "A"]).status == 69)
    #expect(try await run(["two.graphql", "--operation", "B"]).status == 65)
  }

  @Test("an error in an introspection result has no meaningless source location")
  func wrongIntrospection() async throws {
    let folder = try folder()
    try folder.write("{\"data\": {\n  \"__schema\": nope", to: "cut.json")
    let cut = try await Program.run(["schema", "print", "cut.json"], in: folder)
    #expect(cut.status == 65, "\(cut)")
    #expect(cut.errors.contains("cut.json:2:"))
    try folder.write(
      #"{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","interfaces":[],"#
        + #""fields":[{"name":"a","args":[],"type":{"kind":"SCALAR","name":"Foo"}}]}]}}"#,
      to: "unknown.json")
    let unknown = try await Program.run(["schema", "print", "unknown.json"], in: folder)
    #expect(unknown.status == 65, "\(unknown)")
    #expect(unknown.errors.contains("unknown.json: Unknown type 'Foo'."))
  }

  @Test("an invalid schema is reported with all source locations, wherever it is named")
  func wrongSchema() async throws {
    let folder = try folder()
    try folder.write(
      "type Query { a: U }\nunion U\ninterface I { x: Int }\ntype T implements I { y: Int }",
      to: "wrong.graphql")
    for arguments in [
      ["schema", "print", "wrong.graphql"], ["schema", "diff", "schema.graphql", "wrong.graphql"],
      ["validate", "good.graphql", "--schema", "wrong.graphql"],
      ["operations", "manifest", "good.graphql", "--schema", "wrong.graphql"],
      ["run", "good.graphql", "-e", "http://127.0.0.1:1/", "--schema", "wrong.graphql"],
    ] {
      let result = try await Program.run(arguments, in: folder)
      #expect(result.status == 65, "\(arguments) \(result)")
      #expect(result.output == "")
      #expect(
        result.errors.contains(
          "wrong.graphql:2:1: Union type U must define one or more member types."))
      #expect(result.errors.contains("wrong.graphql:3:15: Interface field I.x expected but T"))
      #expect(result.errors.contains("see also wrong.graphql:4:1"))
    }
  }

  @Test("schemas are printed from definitions and from introspection, and compared")
  func printAndDiff() async throws {
    let folder = try folder()
    let printed = try await Program.run(["schema", "print", "schema.graphql"], in: folder)
    #expect(printed.status == 0)
    #expect(printed.output.contains("enum Role {\n  ADMIN\n  USER\n}"))
    try folder.write(Self.schema.replacing("ADMIN ", with: ""), to: "new.graphql")
    let diff = try await Program.run(
      ["schema", "diff", "schema.graphql", "new.graphql", "--format", "json"], in: folder)
    #expect(diff.status == 1, "\(diff)")
    #expect(diff.output.contains("VALUE_REMOVED_FROM_ENUM"))
    let same = try await Program.run(
      ["schema", "diff", "schema.graphql", "schema.graphql"], in: folder)
    #expect(same.status == 0)
    #expect(same.output == "no changes\n")
    let closed = try await Program.run(
      ["schema", "fetch", "-e", "http://127.0.0.1:1/"], in: folder)
    #expect(closed.status != 0)
    #expect(closed.output == "")
    #expect(try await Program.run(["schema", "print", "absent.json"], in: folder).status == 65)
  }

  @Test("schemas of endpoints are compared like files")
  func diffOfEndpoints() async throws {
    let folder = try folder()
    try await DemoServer.withServer { server in
      let fetched = try await Program.run(
        ["schema", "fetch", "-e", server.url, "-o", "server.graphql"], in: folder)
      #expect(fetched.status == 0, "\(fetched)")
      for arguments in [["server.graphql", server.url], [server.url, server.url]] {
        let same = try await Program.run(["schema", "diff"] + arguments, in: folder)
        #expect(same.status == 0 && same.output == "no changes\n", "\(same)")
      }
      let other = try await Program.run(
        ["schema", "diff", server.url, "schema.graphql", "-H", "X-Test: 1"], in: folder)
      #expect(other.status == 1 && other.output.hasPrefix("breaking ("), "\(other)")
      let option = try await Program.run(
        ["schema", "diff", "schema.graphql", "schema.graphql", "-e", server.url], in: folder)
      #expect(option.status == 64 && option.errors.contains("pass the URL as OLD or NEW"))
    }
    let refused = try await Program.run(
      ["schema", "diff", "schema.graphql", "http://127.0.0.1:1/"], in: folder)
    #expect(refused.status == 69 && refused.output == "", "\(refused)")
  }

  @Test("an operation manifest verifies when it was just written, and not after a change")
  func operationManifest() async throws {
    let folder = try folder()
    try folder.write("extend type User @typePolicy(keyFields: \"name\")", to: "extra.graphql")
    let options = ["--schema", "schema.graphql", "--schema", "extra.graphql"]
    let built = try await Program.run(
      ["operations", "manifest", "good.graphql", "-o", "operations.json"] + options, in: folder)
    #expect(built.status == 0, "\(built)")
    let verified = try await Program.run(
      ["operations", "verify", "operations.json", "good.graphql"] + options, in: folder)
    #expect(verified.status == 0, "\(verified)")
    // Without the rules of the schema the text is another.
    let other = try await Program.run(
      ["operations", "verify", "operations.json", "good.graphql"], in: folder)
    #expect(other.status == 1 || other.errors.contains("ok"), "\(other)")
    try folder.replace(
      folder.file("operations.json"),
      with: try folder.text(folder.file("operations.json")).replacing("users", with: "user"))
    #expect(
      try await Program.run(["operations", "verify", "operations.json"], in: folder).status == 1)
    let unnamed = try await Program.run(
      ["operations", "manifest", "bad.graphql"] + options, in: folder)
    #expect(unnamed.status == 1, "\(unnamed)")
    #expect(
      try await Program.run(["operations", "verify", "schema.graphql"], in: folder).status == 65)
  }

  @Test("the former spellings of the operations commands work, with a deprecation warning")
  func formerSpellings() async throws {
    let folder = try folder()
    let old = try await Program.run(
      ["manifest", "build", "good.graphql", "--schema", "schema.graphql"], in: folder)
    let new = try await Program.run(
      ["operations", "manifest", "good.graphql", "--schema", "schema.graphql"], in: folder)
    #expect(old.status == 0)
    #expect(old.output == new.output)
    #expect(old.output.contains("apollo-persisted-query-manifest"))
    #expect(
      old.errors
        == "warning: `gqlrun manifest build` is deprecated; use `gqlrun operations manifest`\n")
    #expect(new.errors == "")

    try folder.write(new.output, to: "operations.json")
    let verified = try await Program.run(["manifest", "verify", "operations.json"], in: folder)
    #expect(verified.status == 0, "\(verified)")
    #expect(verified.errors.contains("`gqlrun manifest verify` is deprecated"))
    #expect(!(try await Program.run(["--help"], in: folder)).output.contains("  manifest "))
  }
}
