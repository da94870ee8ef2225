import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Sends several operations in one HTTP request, and gives each its element of the response.
struct BatchExchange: Sendable {
  let members: [BatchMember]
  let next: NextHTTP
  let logger: Logger
  /// Whether the endpoint accepts several operations in one request.
  let support: ArraySupport

  /// The most bytes of a refused response that each operation gets.
  private static let maxRefusedBytes = 64 << 10
  /// The most bytes of an array that are held until its number of elements is known.
  private static let maxHeldBytes = 1 << 20

  /// Whether the operations are mutations; queries are in other batches.
  private var areMutations: Bool { members[0].isMutation }

  func run() async {
    do {
      if areMutations, support.isAccepted == nil, try await !asksForSupport() {
        for member in members { member.give(.alone) }
        return
      }
      try await deliver(try await next(message(members.map { $0.request.body ?? [] })))
    } catch {
      for member in members { member.fail(error) }
    }
  }

  /// Sends two queries in an array, and returns whether each was answered.
  ///
  /// Mutations must not find it out: a server that does not answer with an array may have executed them.
  private func asksForSupport() async throws -> Bool {
    let query = Array(#"{"query":"{ __typename }"}"#.utf8)
    var question = message([query, query])
    // An idempotency key is that of a mutation.
    question.head = members[0].anonymousHead
    guard let response = try? await next(question) else {
      try Task.checkCancellation()
      return false
    }
    var splitter = ArraySplitter()
    var received = 0
    for try await chunk in response.body where received < Self.maxRefusedBytes {
      received += chunk.count
      _ = chunk.withUnsafeBytes { splitter.parts(of: $0) }
    }
    if splitter.hasEnded, splitter.count == 2 {
      support.note(isAccepted: true)
      return true
    }
    if Self.isRefusal(response.head.status.code) { noteRefusal() }
    return false
  }

  private func noteRefusal() {
    logger.info("the endpoint does not accept several operations in one request")
    support.note(isAccepted: false)
  }

  /// The request of the first operation, with several bodies as an array.
  private func message(_ bodies: [[UInt8]]) -> HTTPRequestMessage {
    var message = members[0].request
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
    // What is held until the number of elements is known, or there is too much of it.
    var held: [(chunk: any BodyChunk, parts: [ArraySplitter.Part])] = []
    var heldBytes = 0
    var isDelivering = false
    for try await chunk in response.body {
      let parts = chunk.withUnsafeBytes { splitter.parts(of: $0) }
      if splitter.isArray == false {
        return try await refuse(response, held.flatMap(\.chunk.bytes) + chunk.bytes)
      }
      if isDelivering {
        await pass(parts, of: chunk)
        continue
      }
      // White space before the array is not kept beyond what an operation gets of a refused response.
      if splitter.isArray == nil, heldBytes >= Self.maxRefusedBytes { continue }
      held.append((chunk, parts))
      heldBytes += chunk.count
      guard splitter.isArray == true, heldBytes > Self.maxHeldBytes else { continue }
      isDelivering = true
      await begin(response, held)
      held = []
    }
    guard splitter.isArray == true else {
      return try await refuse(response, held.flatMap(\.chunk.bytes))
    }
    if splitter.hasEnded, splitter.count > members.count {
      for member in members { member.fail(wrongCount(splitter)) }
      return
    }
    support.note(isAccepted: true)
    if !isDelivering { await begin(response, held) }
    finish(splitter)
  }

  private func begin(
    _ response: HTTPResponseMessage, _ held: [(chunk: any BodyChunk, parts: [ArraySplitter.Part])]
  ) async {
    for member in members { member.give(head: response) }
    for (chunk, parts) in held { await pass(parts, of: chunk) }
  }

  private func pass(_ parts: [ArraySplitter.Part], of chunk: any BodyChunk) async {
    for part in parts where part.element < members.count {
      let member = members[part.element]
      if !part.range.isEmpty { await member.pieces.offer(chunk.bytes(part.range)) }
      // The last operation ends with the response: releasing it earlier would close the connection.
      if part.isLast, part.element < members.count - 1 { member.pieces.end(.success(())) }
    }
  }

  private func wrongCount(_ splitter: ArraySplitter) -> ChainError {
    ChainError(
      .transport, .malformedResponse,
      "the server answered \(splitter.count) of \(members.count) operations of one request",
      delivery: areMutations ? .unknown : .answered)
  }

  /// Ends the last operation, and those without an element or with half of one.
  private func finish(_ splitter: ArraySplitter) {
    if splitter.hasEnded, splitter.count == members.count {
      members.last?.pieces.end(.success(()))
      return
    }
    let error =
      splitter.hasEnded
      ? wrongCount(splitter)
      : ChainError(
        .transport, .truncatedResponse,
        "the response to \(members.count) operations of one request ended within the answer to "
          + "operation \(splitter.count)", delivery: areMutations ? .unknown : .answered)
    for member in members { member.pieces.end(.failure(error)) }
  }

  /// A response that is no array.
  private func refuse(_ response: HTTPResponseMessage, _ beginning: [UInt8]) async throws {
    let status = response.head.status.code
    if Self.isRefusal(status) {
      noteRefusal()
      guard areMutations else {
        for member in members { member.give(.alone) }
        return
      }
      let error = ChainError(
        .transport, .malformedResponse,
        "the server answered \(members.count) mutations of one request with one response (status \(status)), so "
          + "whether it executed them is not known; they are not sent again, and later ones are sent by themselves",
        http: .init(status: status, headers: response.head.headerFields), delivery: .unknown)
      for member in members { member.fail(error) }
      return
    }
    var bytes = beginning
    let room = Self.maxRefusedBytes - beginning.count
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

/// Whether an endpoint accepts several operations in one request.
final class ArraySupport: Sendable {
  private let accepted = Locked(Bool?.none)

  /// `nil` until a response has shown it.
  var isAccepted: Bool? { accepted.withLock { $0 } }

  /// A refusal is remembered; what is accepted may still be refused later.
  func note(isAccepted: Bool) {
    accepted.withLock { if $0 != false { $0 = isAccepted } }
  }
}

extension BodyChunk {
  fileprivate var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  fileprivate func bytes(_ range: Range<Int>) -> any BodyChunk {
    if range == 0..<count { return self }
    return withUnsafeBytes { Array($0[range]) }
  }
}
