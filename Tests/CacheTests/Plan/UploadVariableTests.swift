import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import Testing

/// Variables whose values are files.
struct UploadVariableTests {
  private static let schema = """
    scalar Upload scalar Blob type Query { a: Int } enum E { A }
    input In { title: String attachments: [Upload!]! cover: Upload note: Int }
    type Mutation { m(f: Upload, l: [Upload!], i: In, s: String, b: Blob, e: E): Int }
    """

  private func variables(
    _ declared: String, _ given: JSONObject = [:], uploads: [String], typed: Bool = true
  ) throws -> JSONObject {
    try PreparedOperation(
      document: Document(parsing: "mutation M(\(declared)) { m }"), variables: given,
      uploads: uploads,
      facts: typed ? TypeFacts(Schema(sdl: Document(parsing: Self.schema))) : nil
    ).variables
  }

  private func problem(
    _ declared: String, _ given: JSONObject = [:], uploads: [String] = [], typed: Bool = true
  ) -> String? {
    do {
      _ = try variables(declared, given, uploads: uploads, typed: typed)
      return nil
    } catch {
      return (error as? CacheError)?.message ?? "\(error)"
    }
  }

  @Test(arguments: [true, false])
  func `files are null in the variables, also where null is not allowed`(_ typed: Bool) throws {
    #expect(try variables("$f: Upload!", uploads: ["f"], typed: typed) == ["f": nil])
    #expect(
      try variables("$l: [Upload!]!", uploads: ["l.1", "l.0"], typed: typed) == ["l": [nil, nil]])
    #expect(
      try variables(
        "$i: In!", ["i": ["title": "t"]], uploads: ["i.attachments.0", "i.cover"], typed: typed)
        == ["i": ["title": "t", "attachments": [nil], "cover": nil]])
    // A file alone is a list of one, like any other value.
    #expect(try variables("$l: [Upload!]!", uploads: ["l"], typed: typed) == ["l": nil])
    let many = (0..<12).map { "l.\($0)" }
    #expect(try variables("$l: [Upload]", uploads: many)["l"]?.arrayValue?.count == 12)
  }

  @Test func `a custom scalar of another name takes files, too`() throws {
    #expect(try variables("$b: Blob", uploads: ["b"]) == ["b": nil])
  }

  @Test(arguments: [true, false])
  func `a plain string is no file`(_ typed: Bool) throws {
    let text = try #require(problem("$f: Upload!", ["f": "report.pdf"], typed: typed))
    #expect(text.contains("variables.f: expected a file, found a string"))
    #expect(text.contains("--upload f=@FILE"))
    let nested = try #require(
      problem("$i: In", ["i": ["attachments": [nil, "x"]]], uploads: ["i.attachments.0"]))
    #expect(nested.contains("--upload i.attachments.1=@FILE"))
    #expect(problem("$f: Upload", ["f": nil], typed: typed) == nil)
  }

  @Test func `a file that is missing is an error with the option that names it`() throws {
    let text = try #require(problem("$f: Upload!"))
    #expect(text.contains("is required by") && text.contains("--upload f=@FILE"), "\(text)")
  }

  @Test func `files are refused where no file belongs`() throws {
    for (declared, path) in [
      ("$s: String", "s"), ("$e: E", "e"), ("$i: In", "i"), ("$i: In", "i.note"),
    ] {
      let text = try #require(problem(declared, uploads: [path]), "\(declared)")
      #expect(text.contains("found a file") || text.contains("requires a value"), "\(text)")
    }
    #expect(problem("$f: Upload", uploads: ["g"])?.contains("not declared") == true)
    #expect(problem("$i: In", uploads: ["i.cove"])?.contains("did you mean \"cover\"") == true)
    #expect(
      problem("$i: In", uploads: ["i.attachments.1"])?.contains("give element 0, too") == true)
    #expect(
      problem("$f: Upload", ["f": "x"], uploads: ["f"])?.contains("already have a string") == true)
    #expect(problem("$f: Upload", uploads: ["f", "f.0"]) != nil)
    #expect(problem("$f: Upload", uploads: ["f.."])?.contains("write the path") == true)
  }
}
