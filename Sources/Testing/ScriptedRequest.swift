public import GQLRunJSON
import GQLRunPipeline
public import HTTPTypes

/// A request that a ``ScriptedTransport`` has received.
public struct ScriptedRequest: Sendable {
  /// The name of the operation; empty if it has none.
  public var operationName: String
  /// The GraphQL document; `nil` if only its hash was sent.
  public var document: String?
  /// The variables as they were sent.
  public var variables: JSONObject
  /// The header fields, such as `authorization`.
  public var headerFields: HTTPFields

  init?(_ message: HTTPRequestMessage) {
    guard let body = message.body, let object = try? JSONValue(parsing: body).objectValue else {
      return nil
    }
    operationName = object["operationName"]?.stringValue ?? ""
    document = object["query"]?.stringValue
    variables = object["variables"]?.objectValue ?? JSONObject()
    headerFields = message.head.headerFields
  }
}
