import GQLRunDemoServer
import GQLRunJSON
import Testing

/// An operation and the response it must have, byte for byte.
struct ExecutionCase: Sendable, CustomTestStringConvertible {
  var name: String
  var query: String
  var operationName: String?
  var variables: JSONValue
  var expected: String

  init(
    _ name: String, _ query: String, operationName: String? = nil, variables: JSONValue = [:],
    gives expected: String
  ) {
    self.name = name
    self.query = query
    self.operationName = operationName
    self.variables = variables
    self.expected = expected
  }

  var testDescription: String { name }

  func check(_ executor: DemoExecutor = DemoExecutor(feedSize: 1000)) {
    let response = executor.execute(query, operationName: operationName, variables: variables)
    #expect(String(decoding: response, as: UTF8.self) == expected)
  }
}
