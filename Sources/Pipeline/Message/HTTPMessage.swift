public import HTTPTypes

/// An HTTP request, ready to be sent.
public struct HTTPRequestMessage: Sendable {
  /// Method, URL and header fields.
  public var head: HTTPRequest
  /// The bytes of the body; `nil` if there is none.
  public var body: [UInt8]?
  /// A body with files, sent in place of ``body``; `nil` without uploads.
  public var multipart: MultipartBody?

  /// The number of bytes of the body; `nil` if there is none.
  public var bodyCount: Int? { multipart?.count ?? body?.count }

  /// What a request over WebSocket needs beside its head and body; `nil` for requests over HTTP.
  public var webSocket: WebSocketRequest?
  /// What a subscription on a shared event stream needs beside its head and body; `nil` for other requests.
  public var eventStream: EventStreamRequest?
  /// Called with the reason when the request has to wait for a connection that others use.
  package var waits: (@Sendable (String) -> Void)?
  /// Take part in each redirect of the request, in this order.
  package var redirectObservers: [any RedirectObserver] = []

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

/// Takes part in the redirects of a request, which the fetch follows below all other interceptors.
///
/// An interceptor sees the first request and the last response; what belongs to one URL, such as a cookie, needs this.
package protocol RedirectObserver: Sendable {
  /// Called with each redirect, also one that is not followed.
  ///
  /// - Parameters:
  ///   - redirect: The head of the response.
  ///   - request: The head of the request that it answers.
  func receive(_ redirect: HTTPResponse, to request: HTTPRequest)

  /// Called before the request to the target of a redirect is sent.
  ///
  /// - Parameters:
  ///   - next: The head of that request, without fields that are secret if the target has another origin.
  ///   - hasLeftOrigin: Whether this redirect or one before it leads to another origin than the request's own.
  func follow(_ next: inout HTTPRequest, hasLeftOrigin: Bool)
}

/// What a request over WebSocket needs beside its head, which is that of the handshake, and its body, which is the
/// payload of the operation.
public struct WebSocketRequest: Sendable, Hashable {
  /// The subprotocols that are offered to the server, the preferred one first.
  public var subprotocols: [String]
  /// The payload of `connection_init`, as the JSON text of an object; `nil` sends none.
  public var connectionParameters: [UInt8]?
  /// Whether the operation is a subscription, which may be sent again after its connection was lost.
  public var isSubscription: Bool
  /// The names of the fields that belong to this operation and not to the connection: operations that only differ in
  /// them share a connection.
  public var operationFields: Set<HTTPField.Name> = []

  /// Creates the parts of a request.
  ///
  /// - Parameters:
  ///   - subprotocols: The subprotocols that are offered, the preferred one first.
  ///   - connectionParameters: The payload of `connection_init`, as JSON text.
  ///   - isSubscription: Whether the operation is a subscription.
  public init(
    subprotocols: [String], connectionParameters: [UInt8]? = nil, isSubscription: Bool
  ) {
    self.subprotocols = subprotocols
    self.connectionParameters = connectionParameters
    self.isSubscription = isSubscription
  }
}

/// What a subscription on a shared event stream needs beside its head and body, which are those of the request that
/// starts it. The transport adds `extensions.operationId`.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
public struct EventStreamRequest: Sendable, Hashable {
  /// The names of the fields that belong to this operation and not to the stream: operations that only differ in
  /// them share a stream.
  public var operationFields: Set<HTTPField.Name> = []

  /// Creates the parts of a request.
  public init() {}
}

/// An HTTP response whose head has arrived and whose body is arriving.
public struct HTTPResponseMessage: Sendable {
  /// Status and header fields.
  public var head: HTTPResponse
  /// The body; read once.
  ///
  /// Each chunk is one result if the operation was sent over WebSocket, or its events arrive on a shared event stream.
  public var body: HTTPBody
  /// The version of HTTP, as HTTP archives write it.
  public var version = "HTTP/1.1"
  /// Whether each chunk of ``body`` is one complete result: those of a connection that operations share.
  ///
  /// There is no HTTP response then, and the server did not send ``head``.
  package var deliversResults = false
  /// The head of the request that the response answers, when redirects led to it; `nil` without redirects.
  package var redirectedRequest: HTTPRequest?
  /// Whether the response was read from a recording instead of the network.
  public var isReplayed = false
  /// The secrets in the request's header fields, which a server may repeat; set by the chain.
  public var secrets: [SecretString] = []
  /// Ends the body with an error, from any thread; `nil` if that is not possible.
  package var interrupt: (@Sendable (any Error) -> Void)?
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

  /// The first bytes of the body, which remain in it.
  ///
  /// - Parameter limit: The most bytes to return. Reading one more shows whether the body ends at the limit.
  package mutating func takeBeginning(
    _ limit: Int
  ) async throws -> (bytes: [UInt8], isWhole: Bool) {
    var (bytes, chunks): ([UInt8], [any BodyChunk]) = ([], [])
    var isWhole = false
    while !isWhole, bytes.count <= limit {
      if let chunk = try await body.next() {
        chunks.append(chunk)
        chunk.withUnsafeBytes { bytes += $0.prefix(limit + 1 - bytes.count) }
      } else {
        isWhole = true
      }
    }
    let (read, rest, ends) = (ElementQueue(chunks), body, isWhole)
    body = HTTPBody {
      if let chunk = read.next() { return chunk }
      return ends ? nil : try await rest.next()
    }
    return (Array(bytes.prefix(limit)), isWhole)
  }
}

/// Results that arrive on a connection that operations share, without an HTTP response of their own.
///
/// Where they become a text, as in recordings and logs, they are a JSON text sequence.
///
/// https://www.rfc-editor.org/rfc/rfc7464
extension HTTPResponseMessage {
  /// The content type of JSON text sequences.
  package static let sequenceType = "application/json-seq"
  /// The separator of JSON text sequences, which no JSON text contains.
  package static let recordSeparator: UInt8 = 0x1E

  /// Creates the response to an operation, with the head that a JSON text sequence has.
  ///
  /// - Parameter results: The results. Each chunk is a complete one, in the form of a response to a request.
  package init(results: HTTPBody) {
    self.init(
      head: HTTPResponse(status: .ok, headerFields: [.contentType: Self.sequenceType]),
      body: results)
    deliversResults = true
  }

  /// What is written behind each chunk where the body becomes a text.
  package var chunkEnd: [UInt8] { deliversResults ? [Self.recordSeparator] : [] }
}

/// The body of a response as it arrives: read once, chunk by chunk, at the reader's pace.
public struct HTTPBody: AsyncSequence, Sendable {
  /// A chunk of the body.
  public typealias Element = any BodyChunk

  private let pull: @Sendable () async throws -> (any BodyChunk)?
  private let ready: (@Sendable () -> (any BodyChunk)?)?

  /// Creates a body that calls `pull` for each chunk.
  ///
  /// - Parameter pull: Returns the next chunk, or `nil` at the end. Not called again after it has
  ///   returned `nil` or thrown, and not called concurrently.
  public init(pull: @escaping @Sendable () async throws -> (any BodyChunk)?) {
    self.pull = pull
    ready = nil
  }

  /// Creates a body whose chunks may arrive faster than they are read.
  ///
  /// - Parameters:
  ///   - ready: Returns the next chunk if it has arrived, otherwise `nil`.
  ///   - pull: Returns the next chunk, or `nil` at the end. Not called again after it has returned `nil` or thrown.
  package init(
    ready: @escaping @Sendable () -> (any BodyChunk)?,
    pull: @escaping @Sendable () async throws -> (any BodyChunk)?
  ) {
    self.pull = pull
    self.ready = ready
  }

  /// Removes the next chunk if it is known to have arrived. It saves the reader of many small chunks from suspending for
  /// each of them.
  package func takeReady() -> (any BodyChunk)? { ready?() }

  /// Creates a body of the chunks of another sequence.
  ///
  /// - Parameter base: The sequence; it is iterated once.
  public init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element: BodyChunk {
    let source = IteratorOwner(base)
    self.init { try await source.next() }
  }

  /// Creates a body of existing chunks.
  ///
  /// - Parameter chunks: The chunks in their order.
  public init(_ chunks: [any BodyChunk]) {
    let queue = ElementQueue(chunks)
    self.init { queue.next() }
  }

  /// The next chunk; `nil` at the end.
  package func next() async throws -> (any BodyChunk)? { try await pull() }

  /// Creates an iterator; all iterators of a body share its position.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(pull: pull)
  }

  /// Iterates over the chunks of a body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let pull: @Sendable () async throws -> (any BodyChunk)?

    /// Returns the next chunk, or `nil` at the end.
    public mutating func next() async throws -> (any BodyChunk)? {
      try await pull()
    }
  }

  /// The same body with `transform` applied to each chunk.
  public func map(
    _ transform: @escaping @Sendable (any BodyChunk) async throws -> any BodyChunk
  ) -> HTTPBody {
    let pull = pull
    return HTTPBody {
      guard let chunk = try await pull() else { return nil }
      return try await transform(chunk)
    }
  }

  /// The same body, with `note` called for each chunk as it is read. Chunks that have arrived are still known as such.
  package func noting(_ note: @escaping @Sendable (any BodyChunk) -> Void) -> HTTPBody {
    let pull = pull
    return HTTPBody(
      ready: { [self] in
        let chunk = takeReady()
        if let chunk { note(chunk) }
        return chunk
      },
      pull: {
        let chunk = try await pull()
        if let chunk { note(chunk) }
        return chunk
      })
  }

  /// Reads up to `limit` bytes of the body; the rest stays unread.
  public func prefix(_ limit: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit, let chunk = try await pull() {
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(limit - bytes.count)) }
    }
    return bytes
  }
}

/// Owns the iterator of a sequence, for readers in any isolation.
private actor IteratorOwner<Base: AsyncSequence & Sendable> {
  private var iterator: Base.AsyncIterator?

  init(_ base: Base) {
    iterator = base.makeAsyncIterator()
  }

  /// The iterator is taken out while it runs, so a concurrent reader gets `nil` instead of a data
  /// race.
  func next() async throws -> Base.Element? {
    guard var iterator = iterator.take() else { return nil }
    guard let element = try await iterator.next(isolation: self) else { return nil }
    self.iterator = iterator
    return element
  }
}

/// A piece of a body. Its bytes are passed on without a copy.
public protocol BodyChunk: Sendable {
  /// The number of bytes.
  var count: Int { get }

  /// Calls `body` with the bytes. The pointer is only valid during the call.
  func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result
}

extension [UInt8]: BodyChunk {}
extension ArraySlice<UInt8>: BodyChunk {}
