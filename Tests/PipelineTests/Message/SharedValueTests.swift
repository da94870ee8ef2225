import GQLRunJSON
import GQLRunPipeline
import HTTPTypes
import Testing

/// Requests, responses and services share their content, which must not be observable.
@Suite("Values that copies share")
struct SharedValueTests {
  @Test("a changed copy of a request leaves the other as it was")
  func requests() {
    let first = GraphQLRequest(document: "{ a }", variables: ["n": 1])
    var second = first
    second.document = "{ b }"
    second.variables["n"] = 2
    second.context.named["tenant"] = "acme"
    second.additionalHeaders[.accept] = "*/*"
    #expect(first.document == "{ a }" && second.document == "{ b }")
    #expect(first.variables["n"] == 1 && second.variables["n"] == 2)
    #expect(first.context.named.isEmpty && second.context.named == ["tenant": "acme"])
    #expect(first.additionalHeaders.isEmpty && second.additionalHeaders[.accept] == "*/*")
  }

  @Test("a changed copy of a response leaves the other as it was")
  func responses() {
    let first = GraphQLResponse(source: .server, data: Array("{}".utf8))
    var second = first
    second.source = .cache
    second.data = nil
    second.attempt = 3
    second.timing.receivedBytes = 7
    #expect(first.source == .server && second.source == .cache)
    #expect(first.data?.count == 2 && second.data == nil)
    #expect(first.attempt == 1 && second.attempt == 3)
    #expect(first.timing.receivedBytes == 0 && second.timing.receivedBytes == 7)
  }

  @Test("changed services leave a context as it was, and the other way round")
  func services() {
    var services = Services(random: { 0.25 })
    var context = ChainContext(services: services, request: GraphQLRequest(document: "{ a }"))
    services.random = { 0.5 }
    #expect(context.services.random() == 0.25)
    let copy = context
    context.services.random = { 0.75 }
    context.isAfterFailure = true
    #expect(services.random() == 0.5)
    #expect(copy.services.random() == 0.25 && !copy.isAfterFailure)
    #expect(context.services.random() == 0.75)
  }
}
