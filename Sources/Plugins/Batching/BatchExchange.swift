import GQLRunJSON
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
  let support: EndpointSupport

  /// The most bytes of a refused response that each operation gets.
  private static let maxRefusedBytes = 64 << 10
  /// The most bytes of an array that are held until its number of elements is known.
  private static let maxHeldBytes = 1 << 20

  /// Whether the operations are mutations; queries are in other batches.
  private var areMutations: Bool { members[0].isMutation }

  func run() async {
    do {
      if areMutations, support.isSupported == nil, try await !asksForSupport() {
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
    var body: [UInt8] = []
    for try await chunk in response.body where body.count < Self.maxRefusedBytes {
      body += chunk.bytes
      _ = chunk.withUnsafeBytes { splitter.parts(of: $0) }
    }
    if splitter.hasEnded, splitter.count == 2 {
      support.note(isSupported: true)
      return true
    }
    let status = response.head.status.code
    if Self.isRefusal(status), !Self.isRateLimit(status, body) { noteRefusal() }
    return false
  }

  private func noteRefusal() {
    logger.info("the endpoint does not accept several operations in one request")
    support.note(isSupported: false)
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
        try await pass(parts, of: chunk)
        continue
      }
      // White space before the array is not kept beyond what an operation gets of a refused response.
      if splitter.isArray == nil, heldBytes >= Self.maxRefusedBytes { continue }
      held.append((chunk, parts))
      heldBytes += chunk.count
      guard splitter.isArray == true, heldBytes > Self.maxHeldBytes else { continue }
      isDelivering = true
      try await begin(response, held)
      held = []
    }
    // Which element belongs to which operation is not known if their numbers differ.
    let isWrong = splitter.isMalformed || splitter.hasEnded && splitter.count != members.count
    // An error of the server or of a gateway may be an array, too.
    let isError = isWrong && !isDelivering && !(200..<300).contains(response.head.status.code)
    guard splitter.isArray == true, !isError else {
      return try await refuse(response, held.flatMap(\.chunk.bytes))
    }
    if isWrong {
      for member in members { member.fail(wrongAnswer(splitter)) }
      return
    }
    support.note(isSupported: true)
    if !isDelivering { try await begin(response, held) }
    finish(splitter)
  }

  private func begin(
    _ response: HTTPResponseMessage, _ held: [(chunk: any BodyChunk, parts: [ArraySplitter.Part])]
  ) async throws {
    for member in members { member.give(head: response) }
    for (chunk, parts) in held { try await pass(parts, of: chunk) }
  }

  private func pass(_ parts: [ArraySplitter.Part], of chunk: any BodyChunk) async throws {
    for part in parts where part.element < members.count {
      let member = members[part.element]
      if !part.range.isEmpty { try await member.offer(chunk.bytes(part.range)) }
      // The last operation ends with the response: releasing it earlier would close the connection.
      if part.isLast, part.element < members.count - 1 { member.end(.success(())) }
    }
  }

  private func wrongAnswer(_ splitter: ArraySplitter) -> ChainError {
    ChainError(
      .transport, code: .malformedResponse,
      message: splitter.isMalformed
        ? "the server answered \(members.count) operations of one request with an invalid JSON array"
        : "the server answered \(splitter.count) of \(members.count) operations of one request",
      delivery: areMutations ? .unknown : .answered)
  }

  /// Ends the last operation; if the array has not ended, those without an element or with half of one.
  private func finish(_ splitter: ArraySplitter) {
    if splitter.hasEnded {
      members.last?.end(.success(()))
      return
    }
    let error = ChainError(
      .transport, code: .truncatedResponse,
      message:
        "the response to \(members.count) operations of one request ended within the answer to "
        + "operation \(splitter.count)", delivery: areMutations ? .unknown : .answered)
    for member in members { member.end(.failure(error)) }
  }

  /// A response that is no array.
  private func refuse(_ response: HTTPResponseMessage, _ beginning: [UInt8]) async throws {
    let status = response.head.status.code
    let (isRefusal, isSuccess) = (Self.isRefusal(status), (200..<300).contains(status))
    var bytes = Array(beginning.prefix(Self.maxRefusedBytes))
    let room = Self.maxRefusedBytes - bytes.count
    if room > 0, isSuccess, !response.isStream {
      // If it ends too early, the operations have no part of it.
      bytes += (try? await response.body.prefix(room)) ?? []
    } else if room > 0, !isRefusal {
      bytes += try await response.body.prefix(room)
    }
    let body = bytes
    let isRateLimit = Self.isRateLimit(status, body)
    guard isRefusal, areMutations || !isRateLimit else {
      for member in members {
        var copy = response
        copy.head.headerFields[.contentLength] = nil
        copy.body = HTTPBody([body])
        member.give(.response(copy))
      }
      return
    }
    // An endpoint that has answered an array accepts them: with a status of success, this is about something else.
    let isNoted = !isRateLimit && !(isSuccess && support.isSupported == true)
    if isNoted { noteRefusal() }
    guard areMutations else {
      for member in members { member.give(.alone) }
      return
    }
    // Without the status, which would mean that the server refused them.
    let error = ChainError(
      .transport, code: .malformedResponse,
      message:
        "the server answered \(members.count) mutations of one request with one response (status \(status)), so "
        + "whether it executed them is not known; they are not sent again"
        + (isNoted ? ", and later ones are sent by themselves" : ""), delivery: .unknown)
    for member in members { member.fail(error) }
  }

  /// Whether a response that is no array means that arrays are not accepted. Others, such as 401, 429
  /// and 503, are about something else.
  private static func isRefusal(_ status: Int) -> Bool {
    (200..<300).contains(status) || [400, 405, 406, 413, 415, 422, 501].contains(status)
  }

  /// Whether a response with a status of success and without data has the error of a rate limit.
  private static func isRateLimit(_ status: Int, _ body: [UInt8]) -> Bool {
    guard (200..<300).contains(status), let value = try? JSONValue(parsing: body),
      value["data"]?.objectValue == nil
    else { return false }
    return RequestBudget.refusal(in: GraphQLError.all(in: value)) != nil
  }
}

extension BodyChunk {
  fileprivate var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  fileprivate func bytes(_ range: Range<Int>) -> any BodyChunk {
    if range == 0..<count { return self }
    return withUnsafeBytes { Array($0[range]) }
  }
}

/// One operation of an HTTP batch: waits for its answer, and reads its element of the response.
final class BatchMember: Sendable {
  /// What an operation gets.
  enum Answer: Sendable {
    /// The response with the operation's own body.
    case response(HTTPResponseMessage)
    /// The operation is to be sent by itself.
    case alone
    case failure(any Error)
  }

  private struct State: Sendable {
    var answer: Answer?
    /// The part of the body that was not yet read; at most one is buffered.
    var piece: (any BodyChunk)?
    var end: Result<Void, any Error>?
    /// Whether the operation takes nothing more.
    var hasLeft = false
    /// Called once when the operation is no longer interested.
    var onLeave: (@Sendable () -> Void)?
  }

  /// What is equal for all operations of a batch.
  struct Kind: Hashable {
    var head: HTTPRequest
    var isMutation: Bool
  }

  /// The HTTP request of the operation alone.
  let request: HTTPRequestMessage
  let isMutation: Bool
  /// The head without the request's own identifiers.
  let anonymousHead: HTTPRequest
  private let state = Monitor(State())

  init(_ request: HTTPRequestMessage, isMutation: Bool, anonymousHead: HTTPRequest) {
    self.request = request
    self.isMutation = isMutation
    self.anonymousHead = anonymousHead
  }

  /// Queries share a request although their identifiers differ; it has those of the first one. The server would take
  /// mutations with one idempotency key for one mutation.
  var kind: Kind { Kind(head: isMutation ? request.head : anonymousHead, isMutation: isMutation) }

  /// Whether the operation was cancelled, or has released its response.
  var hasLeft: Bool { state.withLock { $0.hasLeft } }

  /// Waits for the answer.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func answer() async throws -> Answer {
    do {
      let answer = try await state.take { state in
        state.hasLeft ? .failure(CancellationError()) : state.answer.take()
      }
      try Task.checkCancellation()
      return answer
    } catch {
      leave()
      throw error
    }
  }

  /// Gives the operation its answer; later ones have no effect.
  func give(_ answer: Answer) {
    state.update { state in
      // The answer contains this object.
      if state.answer == nil, !state.hasLeft { state.answer = answer }
    }
  }

  /// Gives the operation the head of a response, whose body consists of the pieces that are offered.
  func give(head response: HTTPResponseMessage) {
    var response = response
    // Releasing the body of a response releases its place in the batch.
    let reading = Owned(self) { $0.leave() }
    response.head.headerFields[.contentLength] = nil
    response.body = HTTPBody(pull: { try await reading.value.next() })
    give(.response(response))
  }

  /// Ends the operation with an error, before or within its body.
  func fail(_ error: any Error) {
    give(.failure(error))
    end(.failure(error))
  }

  /// Passes a piece of the body on; suspends until the one before was read. Returns at once if the operation has left.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  func offer(_ piece: any BodyChunk) async throws {
    try await state.wait { state in
      if state.hasLeft { return true }
      guard state.piece == nil else { return false }
      state.piece = piece
      return true
    }
  }

  /// Ends the body. Has no effect on a body that has ended.
  func end(_ result: Result<Void, any Error>) {
    state.update { if $0.end == nil { $0.end = result } }
  }

  private func next() async throws -> (any BodyChunk)? {
    do {
      return try await state.take { state -> (any BodyChunk)?? in
        if let piece = state.piece.take() { return piece }
        guard let end = state.end else { return nil }
        try end.get()
        return .some(nil)
      }
    } catch is CancellationError {
      leave()
      throw CancellationError()
    }
  }

  /// Calls `action` when the operation is no longer interested.
  func onLeave(_ action: @escaping @Sendable () -> Void) {
    let hasLeft = state.withLock { state in
      if !state.hasLeft { state.onLeave = action }
      return state.hasLeft
    }
    if hasLeft { action() }
  }

  private func leave() {
    // Released outside the lock, which releasing a response takes.
    let (action, unread) = state.update { state in
      state.hasLeft = true
      state.piece = nil
      if state.end == nil { state.end = .failure(CancellationError()) }
      return (state.onLeave.take(), state.answer.take())
    }
    action?()
    withExtendedLifetime(unread) {}
  }
}

/// The operations that wait for others to be sent with.
actor HTTPBatchQueue {
  private struct Waiting {
    var number: Int
    var members: [BatchMember]
    var next: NextHTTP
    var timer: Task<Void, Never>?
  }

  private let window: Duration
  private let most: Int
  private var waiting: [BatchMember.Kind: Waiting] = [:]
  private var batches = 0

  init(window: Duration, most: Int) {
    self.window = window
    self.most = most
  }

  /// Adds an operation to the batch of its kind, which is sent when it is full or the window ends.
  ///
  /// - Parameters:
  ///   - support: Whether the endpoint accepts several operations in one request.
  ///   - next: Sends the batch, if the operation is its first.
  func add(_ member: BatchMember, support: EndpointSupport, services: Services, next: NextHTTP) {
    let kind = member.kind
    if waiting[kind] == nil {
      batches += 1
      let number = batches
      waiting[kind] = Waiting(number: number, members: [], next: next)
      let (clock, window) = (services.clock, window)
      waiting[kind]?.timer = Task {
        guard (try? await clock.sleep(for: window)) != nil else { return }
        self.send(kind, number: number, support: support, services: services)
      }
    }
    waiting[kind]?.members.append(member)
    guard let batch = waiting[kind], batch.members.count == most else { return }
    batch.timer?.cancel()
    send(kind, number: batch.number, support: support, services: services)
  }

  private func send(
    _ kind: BatchMember.Kind, number: Int, support: EndpointSupport, services: Services
  ) {
    guard let batch = waiting[kind], batch.number == number else { return }
    waiting[kind] = nil
    let members = batch.members.filter { !$0.hasLeft }
    guard members.count > 1 else {
      for member in members { member.give(.alone) }
      return
    }
    let exchange = BatchExchange(
      members: members, next: batch.next, logger: services.logger, support: support)
    let task = Task { @concurrent in await exchange.run() }
    // The exchange is cancelled when no operation reads its response any more.
    let rest = Locked(members.count)
    for member in members {
      member.onLeave {
        let left = rest.withLock { rest in
          rest -= 1
          return rest
        }
        if left == 0 { task.cancel() }
      }
    }
  }
}

/// Splits a JSON array into its elements while it arrives, without parsing them.
///
/// An element is the bytes between two commas of the array. The parser of the element finds out whether they are JSON.
struct ArraySplitter {
  /// A part of a chunk that belongs to one element.
  struct Part: Equatable {
    /// The index of the element.
    var element: Int
    /// The bytes of the chunk.
    var range: Range<Int>
    /// Whether the element ends with them.
    var isLast: Bool
  }

  private enum State { case start, between, element, end, malformed, notAnArray }

  private var state = State.start
  private var scanner = JSONScanner()
  /// The number of elements that have begun.
  private(set) var count = 0

  /// Whether the array has ended.
  var hasEnded: Bool { state == .end }
  /// Whether an element is missing between commas, or other text follows one or the array.
  var isMalformed: Bool { state == .malformed }
  /// Whether the text is an array; `nil` before its first character.
  var isArray: Bool? {
    switch state {
    case .start: nil
    case .notAnArray: false
    case .between, .element, .end, .malformed: true
    }
  }

  /// The parts of the next chunk, in order.
  mutating func parts(of chunk: UnsafeRawBufferPointer) -> [Part] {
    var parts: [Part] = []
    var (start, offset) = (0, 0)
    while offset < chunk.count {
      let byte = chunk[offset]
      switch state {
      case .malformed, .notAnArray: return parts
      case .end:
        if !byte.isJSONWhiteSpace { state = .malformed }
        offset += 1
      case .start:
        if byte == UInt8(ascii: "[") {
          state = .between
        } else if !byte.isJSONWhiteSpace {
          state = .notAnArray
        }
        offset += 1
      case .between:
        switch byte {
        case UInt8(ascii: "]") where count == 0: state = .end
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): state = .malformed
        case let byte where byte.isJSONWhiteSpace: break
        default:
          state = .element
          count += 1
          start = offset
        }
        offset = scanner.skip(chunk, from: offset)
      case .element:
        if !scanner.isOpen,
          [UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}")].contains(byte)
        {
          parts.append(Part(element: count - 1, range: start..<offset, isLast: true))
          switch byte {
          case UInt8(ascii: "]"): state = .end
          case UInt8(ascii: ","): state = .between
          default: state = .malformed
          }
        }
        offset = scanner.skip(chunk, from: offset)
      }
    }
    if state == .element {
      parts.append(Part(element: count - 1, range: start..<chunk.count, isLast: false))
    }
    return parts
  }
}
