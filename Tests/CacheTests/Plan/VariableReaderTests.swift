import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Variables as flags and the cells of tables give them.
@Suite("Variables from text")
struct VariableReaderTests {
  private func reader(_ type: String, withSchema: Bool = true) throws -> VariableReader {
    try VariableReader(
      document: Document(parsing: "query Q($v: \(type)) { a }"),
      schema: withSchema
        ? Schema(
          sdl: Document(
            parsing: """
              type Query { a: Int } enum Role { ADMIN USER } scalar Date
              input Filter { name: String! tags: [String!] role: Role }
              """)) : nil)
  }

  private func value(
    _ type: String, _ text: String, withSchema: Bool = true, empty: VariableReader.Empty = .omit
  ) throws -> String? {
    try reader(type, withSchema: withSchema).value(ofText: text, for: "v", empty: empty)?.jsonText()
  }

  @Test(
    "text is read by the declared type",
    arguments: [
      ("String", "null", #""null""#), ("String!", " a ", #"" a ""#), ("ID", "007", #""007""#),
      ("Int", "-12", "-12"), ("Int", " 3 ", "3"), ("Int", "null", "null"),
      ("Float", "1.50", "1.50"),
      ("Float!", "2", "2"), ("Boolean", "TRUE", "true"), ("Boolean", "false", "false"),
      ("Role", "ADMIN", #""ADMIN""#), ("Role", "null", "null"), ("[Role!]", "USER", #"["USER"]"#),
      ("[Int]", "[1, null]", "[1,null]"), ("[String]", "a, b", #"["a, b"]"#),
      ("[Int]", "null", "null"),
      ("Filter", #"{"name":"x","tags":["a"]}"#, #"{"name":"x","tags":["a"]}"#),
      ("Date", "2020-01-01", #""2020-01-01""#), ("Date", "5", "5"),
      ("Date", #"{"a":1}"#, #"{"a":1}"#),
    ])
  func reads(type: String, text: String, expected: String) throws {
    #expect(try value(type, text) == expected)
  }

  @Test(
    "without a schema only the standard types are known",
    arguments: [
      ("Role", "ADMIN", #""ADMIN""#), ("Role", "01", #""01""#),
      ("Filter", #"{"x":[1]}"#, #"{"x":[1]}"#),
      ("[Role]", #"["A"]"#, #"["A"]"#), ("Int", "3", "3"),
    ])
  func withoutSchema(type: String, text: String, expected: String) throws {
    #expect(try value(type, text, withSchema: false) == expected)
  }

  @Test(
    "text of the wrong shape is an error with the path inside the value",
    arguments: [
      ("Int", "x", "variables.v: expected Int, found \"x\", which is not a number"),
      ("Int", "2147483648", "variables.v: expected Int (32-bit"),
      ("Int", "1.5", "variables.v: expected Int (32-bit"),
      ("Int!", "null", "variables.v: expected Int!, found null"),
      ("Boolean", "yes", "write true or false"), ("Role", "ADMN", #"did you mean "ADMIN"?"#),
      ("[Int!]", "[1,null]", "variables.v[1]: expected Int!, found null"),
      ("[Int]", "[1,", "variables.v: expected [Int] as JSON"),
      (
        "Filter", #"{"name":"x","tags":["a",1]}"#,
        "variables.v.tags[1]: expected String, found a number"
      ),
      ("Filter", "x", "expected Filter as JSON"),
      ("Date", "{", "expected Date as JSON"),
    ])
  func wrong(type: String, text: String, part: String) throws {
    let error = #expect(throws: CacheError.self) { try value(type, text) }
    #expect(error?.code == .invalidVariables)
    #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
  }

  @Test("an empty text is absent, null or a string, depending on the option")
  func empty() throws {
    #expect(try value("String", "", empty: .omit) == nil)
    #expect(try value("String", "", empty: .null) == "null")
    #expect(try value("String", "", empty: .string) == #""""#)
    #expect(try value("[ID]", "", empty: .string) == #"[""]"#)
    #expect(throws: CacheError.self) { try value("Int", "", empty: .string) }
    #expect(throws: CacheError.self) { try value("String!", "", empty: .null) }
  }

  @Test(
    "text of strings and ids is the text itself, and has a JSON spelling when it is null or in quotes",
    arguments: [
      ("String", "5", #""5""#, nil), ("String", #""DE""#, #""\"DE\"""#, #""DE""#),
      ("String", "null", #""null""#, "null"),
      ("ID!", "12345678901234567890", #""12345678901234567890""#, nil),
      ("ID", "true", #""true""#, nil), ("[ID!]", "7", #"["7"]"#, nil),
      ("Int", "5", "5", nil), ("Int", "null", "null", nil),
      ("Role", #""ADMIN""#, #""ADMIN""#, nil), ("Date", #""5""#, #""5""#, nil),
    ] as [(String, String, String, String?)])
  func textStaysText(type: String, text: String, expected: String, json: String?) throws {
    #expect(try value(type, text, empty: .string) == expected)
    #expect(try reader(type).jsonSpelling(of: text, for: "v")?.jsonText() == json)
  }

  @Test("an undeclared variable is an error that lists the declared ones")
  func undeclared() throws {
    let reader = try reader("Int!")
    #expect(reader.names == ["v"])
    #expect(reader.isRequired("v"))
    #expect(reader.type(of: "v")?.printed() == "Int!")
    let error = #expect(throws: CacheError.self) { try reader.value(ofText: "1", for: "w") }
    #expect(error?.message.contains(#"did you mean "$v"?"#) == true)
  }
}
