import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunPipeline

/// Errors of servers whose edition has no empty selection sets.
@Suite("Servers of older editions")
struct OlderServerTests {
  private let operation: PreparedOperation
  private let request: GraphQLRequest

  init() throws {
    operation = try PreparedOperation(document: Document(parsing: "query Q {   }"))
    request = GraphQLRequest(operation)
  }

  private static let hint =
    "the server is older than GraphQL September 2026, which allows the empty selection set at 1:9; write "
    + "`{ __typename }`, which all servers accept, or leave out the fragment with it"

  @Test("the message has the reason, and the location is that of the caller's document")
  func error() {
    let sent = GraphQLError(
      message: "Expected Name, found }.", locations: [.init(line: 1, column: 11)])
    let located = sent.located(in: operation, sentBy: request)
    #expect(located.message == "Expected Name, found }. (\(Self.hint))")
    #expect(located.locations == [.init(line: 1, column: 9)])
  }

  @Test("an error of a field, and one of another document, are as the server sent them")
  func others() throws {
    let field = GraphQLError(message: "syntax }", path: [.key("a")])
    #expect(field.located(in: operation, sentBy: request) == field)
    var other = request
    other.document = "{ a }"
    let sent = GraphQLError(message: "syntax }", locations: [.init(line: 1, column: 11)])
    #expect(sent.located(in: operation, sentBy: other) == sent)
  }

  @Test("so has the error of a response with status 400")
  func status() {
    let body =
      #"{"errors":[{"message":"Expected Name, found }.","locations":[{"line":1,"column":11}]}]}"#
    let error = ChainError(
      .transport, code: .httpStatus, message: "HTTP 400: \(body)",
      http: .init(status: 400, bodyPrefix: Array(body.utf8)))
    let located = error.located(in: request)
    #expect(located.message.hasPrefix("HTTP 400: "))
    #expect(located.message.hasSuffix("; \(Self.hint)"))
    #expect(located.message.contains(#""column":9"#))
  }
}
