import GQLRunJSON
import GQLRunPipeline
public import GQLRunTyped
public import HTTPTypes

/// A response of a ``ScriptedTransport``.
public struct ScriptedResponse: Sendable {
  let status: HTTPResponse.Status
  let mediaType: String
  let chunks: [[UInt8]]

  private init(_ texts: [String], _ status: HTTPResponse.Status, _ mediaType: String) {
    self.status = status
    self.mediaType = mediaType
    chunks = texts.map { Array($0.utf8) }
  }

  /// A response with data.
  public static func data(_ data: some GraphQLObject) -> Self {
    json(#"{"data":\#(data.json.jsonText())}"#)
  }

  /// A response with a GraphQL error and without data.
  ///
  /// - Parameters:
  ///   - message: The message of the error.
  ///   - code: The member `code` of its extensions, such as `NOT_FOUND`; `nil` for none.
  public static func error(_ message: String, code: String? = nil) -> Self {
    var error: JSONObject = ["message": .string(message)]
    if let code { error["extensions"] = .object(["code": .string(code)]) }
    return json(
      JSONValue.object(["errors": .array([.object(error)]), "data": .null]).jsonText())
  }

  /// A response with a body of JSON: partial data, or the error of a gateway.
  ///
  /// - Parameters:
  ///   - text: The body.
  ///   - status: The HTTP status.
  public static func json(_ text: String, status: HTTPResponse.Status = .ok) -> Self {
    Self([text], status, "application/json")
  }

  /// The response of a file.
  public static func fixture(_ fixture: Fixture) -> Self { json(fixture.text) }

  /// The events of a subscription, which the server then completes.
  public static func events(_ events: [some GraphQLObject]) -> Self {
    let texts = events.map { "event: next\ndata: {\"data\":\($0.json.jsonText())}\n\n" }
    return Self(texts + ["event: complete\ndata:\n\n"], .ok, "text/event-stream")
  }

  var message: HTTPResponseMessage {
    HTTPResponseMessage(
      head: HTTPResponse(status: status, headerFields: [.contentType: mediaType]),
      body: HTTPBody(chunks))
  }
}
