public import HTTPTypes

/// An HTTP request, ready to be sent.
public struct HTTPRequestMessage: Sendable {
  /// Method, URL and header fields.
  public var head: HTTPRequest
  /// The bytes of the body; `nil` if there is none.
  public var body: [UInt8]?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - head: Method, URL and header fields.
  ///   - body: The bytes of the body.
  public init(head: HTTPRequest, body: [UInt8]? = nil) {
    self.head = head
    self.body = body
  }
}

/// An HTTP response whose head has arrived and whose body is arriving.
public struct HTTPResponseMessage: Sendable {
  /// Status and header fields.
  public var head: HTTPResponse
  /// The body; read once.
  public var body: HTTPBody
  /// The version of HTTP, as HTTP archives write it.
  public var version = "HTTP/1.1"
  /// Whether the response was read from a recording instead of the network.
  public var isReplayed = false
  /// The secrets in the request's header fields, which a server may repeat; set by the chain.
  public var secrets: [SecretString] = []
  /// Whether the chain has set the secrets, which it does once.
  var knowsSecrets = false

  /// Creates a response.
  ///
  /// - Parameters:
  ///   - head: Status and header fields.
  ///   - body: The body.
  public init(head: HTTPResponse, body: HTTPBody) {
    self.head = head
    self.body = body
  }

  /// The same response with `transform` applied to each chunk of its body.
  public func mapChunks(
    _ transform: @escaping @Sendable (any BodyChunk) async throws -> any BodyChunk
  ) -> HTTPResponseMessage {
    var response = self
    response.body = body.map(transform)
    return response
  }
}
