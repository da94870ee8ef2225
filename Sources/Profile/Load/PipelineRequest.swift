import GQLRunJSON
package import GQLRunPipeline
package import GQLRunPlugins
import GQLRunSupport

/// Requests that are run through a pipeline, with their phases measured.
package struct PipelineRequest: Sendable {
  package var runner: PipelineRunner
  private let mix: LoadMix
  /// Measures the connections of the runner's transport.
  private let meter: ConnectionMeter?
  /// Counts for all copies, and for the transport of ``runner``.
  private let sent = Monitor(0)

  /// The number of HTTP requests so far: less than one for each operation with `http-batch`, more
  /// with retries.
  package var sentRequests: Int { sent.withLock { $0 } }

  /// - Parameter meter: Measures the connections of the runner's transport.
  package init(
    _ runner: PipelineRunner, _ request: GraphQLRequest, meter: ConnectionMeter? = nil
  ) {
    self.init(runner, LoadMix([.init(name: "", requests: [request])]), meter: meter)
  }

  /// - Parameters:
  ///   - mix: The operations, which take turns.
  ///   - meter: Measures the connections of the runner's transport.
  package init(_ runner: PipelineRunner, _ mix: LoadMix, meter: ConnectionMeter? = nil) {
    let clock = runner.services.clock
    self.runner = runner.measuring { [sent] send in
      sent.withLock { $0 += 1 }
      var response = try await send()
      guard let times = PhaseTimes.current else { return response }
      let body = response.body
      response.body = HTTPBody {
        let start = clock.now()
        let chunk = try await body.next()
        await times.add((clock.now() - start).seconds)
        return chunk
      }
      return response
    }
    self.mix = mix
    self.meter = meter
  }

  /// Runs the next request of the mix until its last result.
  package func perform() async -> RequestOutcome { await perform(mix.next()) }

  /// Runs a request until its last result.
  package func perform(_ choice: LoadMix.Choice) async -> RequestOutcome {
    await PhaseTimes.$current.withValue(PhaseTimes()) {
      let clock = runner.services.clock
      let start = clock.now()
      var outcome = RequestOutcome()
      outcome.operation = choice.operation
      do {
        var result: GraphQLResponse?
        for try await response in runner.execute(choice.request) {
          if let part = response.part {
            outcome.parts.add(part, at: (clock.now() - start).seconds)
          }
          // Data without another reference grows in place with the parts of a response.
          result = response.isComplete ? response : nil
        }
        if let result {
          if result.part != nil { outcome.merged = result }
          outcome.receivedBytes = result.timing.receivedBytes
          let end = clock.now()
          outcome.errorCodes = result.errors.map {
            $0.extensions?["code"]?.stringValue ?? "(no code)"
          }
          let milliseconds = (end - start).seconds * 1e3
          outcome.failure = mix.operations[choice.operation].problem(result, milliseconds)
          await split(result, start: start, end: end, outcome: &outcome)
        }
      } catch {
        outcome.failure = "\(error)"
        outcome.error = error
      }
      return outcome
    }
  }

  private func split(
    _ result: GraphQLResponse, start: Duration, end: Duration,
    outcome: inout RequestOutcome
  ) async {
    let total = (end - start).seconds
    guard let first = result.timing.firstByte?.seconds, let times = PhaseTimes.current else {
      return
    }
    let connect = meter?.takeConnection(from: start, to: end)
      .map { min(($0 - start).seconds, first) }
    let download = await times.download
    let written = max(total - result.timing.total.seconds, 0)
    outcome.phases = [
      .firstByte: first - (connect ?? 0), .download: download, .write: written,
      .parse: max(total - first - download - written, 0),
    ]
    // Most requests use an open connection.
    if let connect { outcome.phases[.connect] = connect }
  }
}

/// How long the request of the current task waited for its body.
actor PhaseTimes {
  @TaskLocal static var current: PhaseTimes?
  private(set) var download = 0.0

  func add(_ seconds: Double) { download += seconds }
}

extension PipelineRunner {
  /// The same runner, whose requests pass `exchange`.
  ///
  /// - Parameter exchange: Called with a closure that sends the request; returns its response.
  func measuring(_ exchange: @escaping MeasuredTransport.Exchange) -> PipelineRunner {
    var services = services
    services.transport = services.transport.map { MeasuredTransport(base: $0, exchange: exchange) }
    return PipelineRunner(pipeline, services: services)
  }
}

/// A transport whose exchanges are measured.
struct MeasuredTransport: HTTPTransport {
  typealias Exchange =
    @Sendable (_ send: @Sendable () async throws -> HTTPResponseMessage) async throws
    -> HTTPResponseMessage

  let base: any HTTPTransport
  let exchange: Exchange

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    try await exchange { try await base.send(request, limits: limits) }
  }
}
