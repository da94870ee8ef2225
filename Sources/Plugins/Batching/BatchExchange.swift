import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Sends several operations in one HTTP request, and gives each its element of the response.
struct BatchExchange: Sendable {
  let members: [BatchMember]
  let next: NextHTTP
  let logger: Logger
  /// Called when the server does not accept several operations in one request.
  let noteRefusal: @Sendable () -> Void

  /// The most bytes of a refused response that each operation gets.
  private static let keptBytes = 64 << 10

  func run() async {
    do {
      try await deliver(try await next(message))
    } catch {
      for member in members { member.fail(error) }
    }
  }

  /// The request of the first operation, with the bodies of all as an array.
  private var message: HTTPRequestMessage {
    var message = members[0].request
    let bodies = members.map { $0.request.body ?? [] }
    var array: [UInt8] = []
    array.reserveCapacity(bodies.reduce(1) { $0 + $1.count + 1 })
    for (index, body) in bodies.enumerated() {
      array.append(UInt8(ascii: index == 0 ? "[" : ","))
      array += body
    }
    array.append(UInt8(ascii: "]"))
    message.body = array
    return message
  }

  private func deliver(_ response: HTTPResponseMessage) async throws {
    var splitter = ArraySplitter()
    // The bytes before the kind of the body is known.
    var beginning: [UInt8] = []
    var isDelivering = false
    var body = response.body.makeAsyncIterator()
    while let chunk = try await body.next() {
      let parts = chunk.withUnsafeBytes { splitter.parts(of: $0) }
      switch splitter.isArray {
      case nil:
        beginning += chunk.bytes.prefix(Self.keptBytes - beginning.count)
      case false?:
        return try await refuse(response, beginning + chunk.bytes)
      case true?:
        if !isDelivering {
          isDelivering = true
          for member in members { member.give(head: response) }
        }
        for part in parts where part.element < members.count {
          let member = members[part.element]
          if !part.range.isEmpty { await member.pieces.offer(chunk.bytes(part.range)) }
          // The last operation ends with the response: releasing it earlier would close the connection.
          if part.isLast, part.element < members.count - 1 { member.pieces.end(.success(())) }
        }
      }
    }
    guard isDelivering else { return try await refuse(response, beginning) }
    finish(splitter)
  }

  /// Ends the last operation, and those without an element or with half of one.
  private func finish(_ splitter: ArraySplitter) {
    if splitter.hasEnded, splitter.count >= members.count {
      members.last?.pieces.end(.success(()))
      return
    }
    let error =
      splitter.hasEnded
      ? ChainError(
        .transport, .malformedResponse,
        "the server answered \(splitter.count) of \(members.count) operations of one request",
        delivery: .answered)
      : ChainError(
        .transport, .truncatedResponse,
        "the response to \(members.count) operations of one request ended within the answer to "
          + "operation \(splitter.count)", delivery: .answered)
    for member in members { member.pieces.end(.failure(error)) }
  }

  /// A response that is no array.
  private func refuse(_ response: HTTPResponseMessage, _ beginning: [UInt8]) async throws {
    if Self.isRefusal(response.head.status.code) {
      logger.info("the endpoint does not accept several operations in one request")
      noteRefusal()
      for member in members { member.give(.alone) }
      return
    }
    var bytes = beginning
    let room = Self.keptBytes - beginning.count
    if room > 0 { bytes += try await response.body.prefix(room) }
    let body = bytes
    for member in members {
      var copy = response
      copy.head.headerFields[.contentLength] = nil
      copy.body = HTTPBody([body])
      member.give(.response(copy))
    }
  }

  /// Whether a response that is no array means that arrays are not accepted. Others, such as 401, 429
  /// and 503, are about something else.
  private static func isRefusal(_ status: Int) -> Bool {
    (200..<300).contains(status) || [400, 405, 406, 413, 415, 422, 501].contains(status)
  }
}

extension BodyChunk {
  fileprivate var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  fileprivate func bytes(_ range: Range<Int>) -> any BodyChunk {
    if range == 0..<count { return self }
    return withUnsafeBytes { Array($0[range]) }
  }
}
