public import GQLRunPipeline
import HTTPTypes

/// A transport that records its exchanges, for curl commands and HTTP archives.
public struct RecordingTransport: HTTPTransport {
  private let base: any HTTPTransport
  private let recorder: ExchangeRecorder

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - base: The transport that sends the requests.
  ///   - recorder: Records the exchanges.
  public init(_ base: any HTTPTransport, recorder: ExchangeRecorder) {
    self.base = base
    self.recorder = recorder
  }

  /// The executors of the base transport.
  public var executors: [any TaskExecutor] { base.executors }

  /// Sends a request with the base transport, and records it.
  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let number = await recorder.begin(request)
    do {
      var response = try await base.send(request, limits: limits)
      await recorder.note(response, of: number)
      let (body, end) = (response.body, response.chunkEnd)
      response.body = HTTPBody {
        do {
          let chunk = try await body.next()
          await recorder.note(chunk, end: end, of: number)
          return chunk
        } catch {
          await recorder.note(error, of: number)
          throw error
        }
      }
      return response
    } catch {
      await recorder.note(error, of: number)
      throw error
    }
  }
}

/// Records the exchanges of a run, in the order in which they started.
public actor ExchangeRecorder {
  /// A request with its response.
  struct Exchange: Sendable {
    var request: HTTPRequestMessage
    /// In seconds since 1970.
    var start: Double
    /// The same time on the monotonic clock.
    var begin: Duration
    var wait: Duration?
    var total: Duration?
    var head: HTTPResponse?
    /// The version of HTTP of the response; the requested one without a response.
    var version = "HTTP/1.1"
    var body = ObservedBytes()
    var failure: String?
  }

  private(set) var exchanges: [Exchange] = []
  private let clock: ServiceClock
  private let secondsSince1970: @Sendable () -> Double
  private let keptBytes: Int
  /// The secrets that the archive hides. Share it with the services of the run, so that secrets
  /// received during the run, such as renewed tokens, are hidden in all exchanges.
  public nonisolated let secrets: KnownSecrets
  private let onRequest: @Sendable (HTTPRequestMessage) -> Void

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - keptBytes: The number of bytes of each body that are kept; 0 keeps none. 1 MiB by default.
  ///   - clock: The monotonic clock, for durations.
  ///   - secondsSince1970: Returns the time of day, in seconds since 1970.
  ///   - secrets: The secrets of the run; see `Services.secrets`.
  ///   - onRequest: Called with each request before it is sent.
  public init(
    keptBytes: Int = 1 << 20, clock: ServiceClock = ServiceClock(ContinuousClock()),
    secondsSince1970: @escaping @Sendable () -> Double = Services.timeOfDay,
    secrets: KnownSecrets = KnownSecrets(),
    onRequest: @escaping @Sendable (HTTPRequestMessage) -> Void = { _ in }
  ) {
    self.keptBytes = keptBytes
    self.secrets = secrets
    self.clock = clock
    self.secondsSince1970 = secondsSince1970
    self.onRequest = onRequest
  }

  func begin(_ request: HTTPRequestMessage) -> Int {
    onRequest(request)
    exchanges.append(Exchange(request: request, start: secondsSince1970(), begin: clock.now()))
    return exchanges.count - 1
  }

  func note(_ response: HTTPResponseMessage, of number: Int) {
    exchanges[number].head = response.deliversResults ? nil : response.head
    exchanges[number].version = response.version
    exchanges[number].wait = clock.now() - exchanges[number].begin
    exchanges[number].total = exchanges[number].wait
  }

  /// - Parameter end: What is kept behind the chunk.
  func note(_ chunk: (any BodyChunk)?, end: [UInt8], of number: Int) {
    exchanges[number].total = clock.now() - exchanges[number].begin
    guard let chunk else { return }
    for part in [chunk, end] { exchanges[number].body.add(part, keeping: keptBytes) }
  }

  func note(_ error: any Error, of number: Int) {
    exchanges[number].total = clock.now() - exchanges[number].begin
    exchanges[number].failure = "\(error)"
  }
}
