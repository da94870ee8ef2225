import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix

/// A request and its response, with limits of time and size.
///
/// The total time always counts. The idle timeout only counts while the reader waits: a slow
/// reader is not a slow server. Releasing an exchange before the end of its body closes the
/// connection.
final class Exchange: Sendable {
  private struct Progress: Sendable {
    var keepsConnection = true
    /// The announced length of the body; 0 if unknown.
    var announced = 0
    var received = 0
    var hasEnded = false
  }

  private let reader: ResponseReader
  private let limits: HTTPLimits
  private let failures: TransportFailures
  private let origin: OriginClient
  private let progress = Locked(Progress())
  private let register: ExchangeRegister
  private let ticket: ExchangeRegister.Ticket
  private let sending = Locked<UploadSending?>(nil)
  /// `nil` if the body is not compressed.
  private let decoder = Locked<BodyDecoder?>(nil)

  init(
    _ origin: OriginClient, limits: HTTPLimits, clock: ServiceClock, failures: TransportFailures,
    register: ExchangeRegister
  ) {
    self.origin = origin
    self.limits = limits
    self.failures = failures
    self.register = register
    reader = ResponseReader(limits: limits, clock: clock, observer: origin.observer)
    ticket = register.add(reader)
    origin.exchangeBegins()
  }

  deinit { end() }

  /// Sends the request and waits for the head of its response.
  ///
  /// - Parameter files: The body, if it has files. An answer before its end is received, too.
  func head(
    _ request: HTTPClient.Request, _ files: MultipartBody? = nil
  ) async throws -> (head: HTTPTypes.HTTPResponse, version: String) {
    var request = request
    do {
      try Task.checkCancellation()
      if let files {
        try await NIOThreadPool.singleton.runIfActive { try files.checkFiles() }
        let sending = UploadSending(files)
        self.sending.withLock { $0 = sending }
        request.body = sending.body { [reader] in reader.noteSent() }
      }
      reader.begin(origin.client, request, on: ticket)
      switch try await reader.next() {
      case .head(let head):
        origin.peer.note(usesHTTP1: head.version.major < 2)
        let version = head.version.major == 2 ? "HTTP/2" : "HTTP/1.1"
        let checked = try checked(head)
        origin.observer?(.received(checked, version: version))
        return (checked, version)
      case .expired(let limit):
        guard reader.isSent || origin.waiting == 0 else {
          throw failures.failure(
            .noConnection(within: limit == .total ? limits.total : reader.idleLimit))
        }
        throw failures.failure(
          limit == .total ? .headTimedOut : .headIdle(for: reader.idleLimit))
      // A request whose connection gets GOAWAY after the pool has chosen it, or whose client is shut down.
      case .failed(let error as HTTPClientError) where error == .cancelled && !reader.isSent:
        throw failures.failure(.connectionEnding)
      case .failed(let error): throw error
      // Neither occurs before a head.
      case .piece, .end: throw HTTPClientError.remoteConnectionClosed
      }
    } catch {
      end()
      guard !reader.isSent else { throw failures.afterSending(error) }
      // A pooled connection has its tunnel already.
      throw failures.beforeSending(error, hasTunnel: origin.peer.keepsConnection)
    }
  }

  // Not inlined, as the functions that create errors: their variables would be in the frame of every request.
  @inline(never)
  private func checked(_ head: HTTPResponseHead) throws -> HTTPTypes.HTTPResponse {
    let code = Int(head.status.code)
    guard (100...999).contains(code) else { throw failures.failure(.badStatus(code)) }
    var checked = HTTPTypes.HTTPResponse(
      status: .init(code: code, reasonPhrase: head.status.reasonPhrase))
    var bytes = 0
    for (name, value) in head.headers { bytes += name.utf8.count + value.utf8.count + 4 }
    guard bytes <= limits.headerBytes.bytes else { throw failures.failure(.headTooLarge) }
    checked.headerFields = origin.names.fields(of: head.headers)
    let fields = checked.headerFields
    let keepsConnection = fields.only(.connection)?.lowercased() != "close"
    let announced =
      fields.only(.contentEncoding) == nil
      ? fields.only(.contentLength).flatMap { Int($0) } ?? 0 : 0
    if limits.connection.decompresses {
      let (coding, ratio) = (fields.only(.contentEncoding), limits.decompressionRatio)
      try decoder.withLock { $0 = try BodyDecoder(coding, ratio: ratio) }
    }
    progress.withLock { progress in
      progress.keepsConnection = keepsConnection
      progress.announced = announced
    }
    return checked
  }

  /// The next piece of the body, or `nil` at its end.
  func next() async throws -> ByteBuffer? {
    let before = progress.withLock { $0 }
    guard !before.hasEnded else { return nil }
    var received = before.received
    do {
      guard before.announced <= limits.bodyBytes.bytes else {
        throw failures.failure(.bodyTooLarge)
      }
      switch try await item() {
      case .piece(let piece):
        received += piece.readableBytes
        progress.withLock { $0.received = received }
        guard received <= limits.bodyBytes.bytes else { throw failures.failure(.bodyTooLarge) }
        guard !reader.isOverdue else { throw failures.failure(.bodyTimedOut(received: received)) }
        try checkThroughput(received)
        return piece
      case .end:
        end()
        // The end of the connection of an upload may be that of ``ResponsePartHandler``.
        if before.keepsConnection || failures.request.multipart == nil {
          origin.peer.note(connectionIsKept: before.keepsConnection)
        }
        return nil
      case .expired(.total): throw failures.failure(.bodyTimedOut(received: received))
      case .expired(.idle): throw failures.failure(.bodyIdle(received: received))
      case .failed(let error): throw error
      case .head: return nil
      }
    } catch {
      end()
      throw failures.inBody(error, received: received)
    }
  }

  /// The next item of the body, decompressed.
  private func item() async throws -> ResponseReader.Item {
    while true {
      if let piece = try decoder.withLock({ try $0?.next() }) { return .piece(piece) }
      let item = try await reader.next()
      let isPassed = try decoder.withLock { decoder in
        switch item {
        case .piece(let piece):
          decoder?.add(piece)
          return decoder == nil
        case .end:
          try decoder?.finish()
          return true
        case .failed, .expired, .head: return true
        }
      }
      if isPassed { return item }
    }
  }

  @inline(never)
  private func checkThroughput(_ received: Int) throws {
    let minimum = limits.minimumThroughput.bytes
    guard minimum > 0 else { return }
    let waited = reader.waited
    // The throughput is only checked after the idle timeout.
    guard waited > limits.idle else { return }
    guard Double(received) >= Double(minimum) * (waited / .seconds(1)) else {
      throw failures.failure(.bodyTooSlow(received: received))
    }
  }

  /// Ends the body with an error.
  func interrupt(_ error: any Error) { reader.interrupt(error) }

  /// Returns the connection to the pool, or closes it.
  private func end() {
    let isFirst = progress.withLock { progress in
      defer { progress.hasEnded = true }
      return !progress.hasEnded
    }
    guard isFirst else { return }
    origin.exchangeEnds()
    sending.withLock { $0.take() }?.stop()
    reader.abandon()
    register.remove(ticket)
  }
}

/// The exchanges in flight, with what they share: event loops and one timer for their time limits.
final class ExchangeRegister: Sendable {
  /// The registration of an exchange.
  struct Ticket: Sendable {
    let loop: any EventLoop
    /// Whether it is the event loop of the calling thread.
    let isOwn: Bool
    fileprivate let number: Int
    fileprivate let loopIndex: Int
  }

  private let timer: DeadlineTimer
  private let loops: [any EventLoop]
  /// The number of exchanges on each event loop.
  private let uses: Locked<[Int]>

  init(clock: ServiceClock, loops: [any EventLoop]) {
    self.loops = loops
    timer = DeadlineTimer(clock)
    uses = Locked(loops.map { _ in 0 })
  }

  /// Enforces the limits of an exchange until it is removed, and assigns an event loop.
  ///
  /// A task on an event loop gets that loop. Other tasks get the least busy one, and among equals
  /// always the same, so that consecutive requests find their connection there.
  func add(_ reader: ResponseReader) -> Ticket {
    let current = MultiThreadedEventLoopGroup.currentEventLoop
      .flatMap { current in loops.firstIndex { $0 === current } }
    let index = uses.withLock { uses in
      let index = current ?? uses.indices.min { uses[$0] < uses[$1] } ?? 0
      uses[index] += 1
      return index
    }
    return Ticket(
      loop: loops[index], isOwn: current != nil, number: timer.add { reader.nextCheck() },
      loopIndex: index)
  }

  func remove(_ ticket: Ticket) {
    timer.remove(ticket.number)
    uses.withLock { $0[ticket.loopIndex] -= 1 }
  }
}
