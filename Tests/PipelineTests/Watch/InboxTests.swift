import Testing

@testable import GQLRunPipeline

@Suite("The results of a watch that were not read")
struct InboxTests {
  private func put(_ text: String, into inbox: Inbox, of request: Int) {
    inbox.put(
      .response(GraphQLResponse(source: .server, data: Array(text.utf8))), 0, of: request)
  }

  /// What is left, in its order.
  private func taken(from inbox: Inbox) throws -> [String] {
    var texts: [String] = []
    while let (event, _, _) = inbox.take() {
      switch event {
      case .response(let response):
        texts.append(String(decoding: try response.data?.bytes() ?? [], as: UTF8.self))
      case .missing: texts.append("missing")
      case .failure: texts.append("failure")
      }
    }
    return texts
  }

  @Test("all results of one request are kept, in their order")
  func oneRequest() throws {
    let inbox = Inbox()
    for text in ["1", "2"] { put(text, into: inbox, of: 1) }
    inbox.put(.failure(CancellationError()), 0, of: 1)
    #expect(try taken(from: inbox) == ["1", "2", "failure"])
  }

  @Test("a result replaces those of earlier requests, which do not replace it")
  func laterRequest() throws {
    let inbox = Inbox()
    put("1", into: inbox, of: 1)
    inbox.put(.failure(CancellationError()), 0, of: 2)
    put("3", into: inbox, of: 3)
    put("late", into: inbox, of: 2)
    #expect(try taken(from: inbox) == ["3"])
    put("late", into: inbox, of: 2)
    #expect(try taken(from: inbox) == [])
  }

  @Test("a failure replaces earlier ones, and no result")
  func failures() throws {
    let inbox = Inbox()
    put("1", into: inbox, of: 1)
    for request in 2...4 { inbox.put(.failure(CancellationError()), 0, of: request) }
    #expect(try taken(from: inbox) == ["1", "failure"])
  }

  @Test("a response without data is a failure")
  func responseWithoutData() throws {
    let inbox = Inbox()
    put("1", into: inbox, of: 1)
    for request in 2...3 { put("null", into: inbox, of: request) }
    inbox.put(.response(GraphQLResponse(source: .server, errors: [])), 0, of: 4)
    #expect(try taken(from: inbox) == ["1", ""])
  }
}
