import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Conditions on a result")
struct ExpectationsTests {
  private static let data = Array(
    #"""
    {"country":{"name":"Portugal","languages":[{"code":"pt"},{"code":"mwl"}],"motto":null,
    "lost":[{"code":"pt"},null],"odd":[{"code":"pt"},"mwl"]}}
    """#.utf8)

  private func operation() throws -> PreparedOperation {
    try PreparedOperation(
      document: Document(
        parsing: """
          { country(code: "PT") {
            name motto languages { code } lost: languages { code } odd: languages { code }
          } }
          """))
  }

  private func problem(_ condition: String) throws -> String? {
    var facts = Expectations.Facts()
    facts.errors = [GraphQLError(message: "no motto")]
    facts.http = 200
    facts.milliseconds = 12.5
    facts.page = 2
    let expectations = try Expectations([condition], of: operation())
    return try #require(expectations.findings(in: Self.data, facts).first).problem
  }

  @Test(
    "conditions that hold have no problem",
    arguments: [
      #"data.country.name == "Portugal""#, "count(data.country.languages) >= 2",
      #"data.country.languages[1].code == "mwl""#, "data.country.motto == null",
      #"errors[0] == "no motto""#, "errors != null", "http == 200", "ms < 12.6", "page == 2",
      "attempt == 1", "bytes == 0",
    ])
  func holding(condition: String) throws {
    #expect(try problem(condition) == nil)
  }

  @Test(
    "a condition that does not hold has what was found",
    arguments: [
      (
        #"data.country.name == "Spain""#,
        #"expected data.country.name == "Spain", found "Portugal""#
      ),
      ("count(data.country.languages) > 2", "expected count(data.country.languages) > 2, found 2"),
      ("errors == null", #"expected errors == null, found ["no motto"]"#),
      ("ms < 12", "expected ms < 12, found 12.5"),
      ("12 > ms", "expected 12 > ms, found 12.5"),
      ("3 == 4", "expected 3 == 4, found 3"),
      (
        #"data.country.languages[*].code == "pt""#,
        #"expected data.country.languages[*].code == "pt", found "mwl""#
      ),
      (
        "data.country.lost[*].code != null",
        "expected data.country.lost[*].code != null, found null"
      ),
      (
        "data.country.odd[*].code != null",
        "the condition `data.country.odd[*].code != null` asks for `code` of `data.country.odd[*]`"
      ),
      (
        "data.country.languages.code == null",
        "the condition `data.country.languages.code == null` leads through `data.country.languages`"
      ),
    ])
  func failing(condition: String, expected: String) throws {
    #expect(try #require(try problem(condition)).hasPrefix(expected))
  }

  @Test(
    "a condition that no result can meet is refused",
    arguments: [
      ("data.country.name", "is not a condition"), ("data.country.name=1", "is not a condition"),
      ("data.country.capital == 1", "leads to `capital`, which the document does not select"),
      ("count(emit) == 1", "uses `emit`, which is not a value of a result"),
      ("records == 1", "uses `records`"), ("datum == 1", "uses `datum`"),
    ])
  func refused(condition: String, reason: String) throws {
    let operation = try operation()
    let error = try #require(throws: Expectations.Malformed.self) {
      try Expectations([condition], of: operation)
    }
    #expect(error.condition == condition)
    #expect(error.message.contains(reason), "\(error.message)")
  }

  @Test("GraphQL errors are a failure unless a condition judges them")
  func errors() throws {
    let response = GraphQLResponse(
      source: .server, data: Self.data, errors: [GraphQLError(message: "no motto")])
    func problem(_ conditions: [String]) throws -> String? {
      try Expectations(conditions, of: operation()).problem(of: response, milliseconds: 1)
    }
    #expect(try problem([]) == "GraphQL error: no motto")
    #expect(try problem(["http == null"]) == "GraphQL error: no motto")
    #expect(try problem(["count(errors) == 1"]) == nil)
    // A load counts equal texts, so the value is not in it.
    #expect(try problem(["count(errors) == 1", "ms > 5"]) == "expected ms > 5")
  }
}
