public import HTTPTypes

/// An HTTP request ready to be sent.
public struct HTTPRequestMessage: Sendable {
  public var head: HTTPRequest
  public var body: [UInt8]?

  public init(head: HTTPRequest, body: [UInt8]? = nil) {
    self.head = head
    self.body = body
  }
}

/// An HTTP response whose head has arrived and whose body is arriving.
public struct HTTPResponseMessage: Sendable {
  public var head: HTTPResponse
  public var body: HTTPBody
  /// The version of HTTP that was spoken, as archives have it.
  public var version = "HTTP/1.1"
  /// Whether the response was read from a recording of an earlier exchange instead of the network.
  public var isReplayed = false
  /// The secrets that the request carried in its fields, which a server may repeat; set by the chain.
  public var secrets: [SecretString] = []
  /// Whether the chain has set the secrets; they are looked for once.
  var knowsSecrets = false

  public init(head: HTTPResponse, body: HTTPBody) {
    self.head = head
    self.body = body
  }

  /// The same response with each chunk of its body passed through `transform`.
  public func mapChunks(
    _ transform: @escaping @Sendable (any BodyChunk) async throws -> any BodyChunk
  ) -> HTTPResponseMessage {
    var response = self
    response.body = body.map(transform)
    return response
  }
}
