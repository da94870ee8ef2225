import GQLRunCache
package import GQLRunPipeline
package import GQLRunPlugins
import GQLRunSupport

/// Runs subscriptions through a pipeline for a time, and measures their events.
///
/// A class: the task of each subscription has a reference to it.
package final class SubscriptionRun: Sendable {
  private let runner: PipelineRunner
  private let request: GraphQLRequest
  /// The number of concurrent subscriptions.
  private let count: Int
  /// How long events are measured.
  private let duration: Duration
  /// Measures the connections of the runner's transport.
  private let meter: ConnectionMeter?
  /// The program's processor time, in seconds.
  private let processTime: @Sendable () -> Double

  package init(
    _ runner: PipelineRunner, _ request: GraphQLRequest, count: Int, duration: Duration,
    meter: ConnectionMeter? = nil,
    processTime: @escaping @Sendable () -> Double = { Double(StageClock.process()) / 1e9 }
  ) {
    let clock = runner.services.clock
    self.runner = runner.measuring { send in
      let response = try await send()
      guard let arrival = Arrival.current else { return response }
      return response.mapChunks { chunk in
        arrival.note(clock.now())
        return chunk
      }
    }
    self.request = request
    self.count = count
    self.duration = duration
    self.meter = meter
    self.processTime = processTime
  }

  /// Measures until the duration is over, the server has completed all subscriptions, or the task is
  /// cancelled.
  ///
  /// - Throws: The error of the first subscription if none had an event; that of the last attempt if none was
  ///   connected.
  package func run() async throws -> SubscriptionReport {
    let clock = runner.services.clock
    let recorder = EventRecorder()
    let (start, processStart) = (clock.now(), processTime())
    let (wires, connections) = (meter?.receivedBytes ?? 0, meter?.count ?? 0)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [duration] in try? await clock.sleep(for: duration) }
      group.addTask { [self] in
        await withDiscardingTaskGroup { subscriptions in
          for _ in 0..<count { subscriptions.addTask { await self.measure(recorder) } }
        }
      }
      await group.next()
      group.cancelAll()
    }
    let seconds = max((clock.now() - start).seconds, 1e-9)
    if recorder.events == 0, let error = recorder.firstError ?? connectionError { throw error }
    var report = recorder.report(
      subscriptions: count, seconds: seconds, processSeconds: processTime() - processStart)
    report.receivedBytes = meter.map { $0.receivedBytes - wires } ?? 0
    report.connections = meter.map { $0.count - connections }
    return report
  }

  /// Why no subscription was connected; `nil` if one was, or if the task was cancelled.
  private var connectionError: (any Error)? {
    let register = SubscriptionRegister.of(runner.services)
    guard !register.hasConnected, !Task.isCancelled else { return nil }
    return register.failure
      ?? ChainError(
        .transport, code: .timedOut,
        message:
          "\(request.label) was not connected within \(duration.optionText), and no attempt has failed; "
          + "measure longer with --duration", delivery: .unknown)
  }

  private func measure(_ recorder: EventRecorder) async {
    let clock = runner.services.clock
    let arrival = Arrival()
    await Arrival.$current.withValue(arrival) {
      var last: Duration?
      var interval: Double?
      do {
        for try await response in runner.execute(request) {
          let now = clock.now()
          guard response.gap == nil else {
            recorder.note(response.gap)
            // An interval over a gap says nothing about the rate of events.
            (last, interval) = (nil, nil)
            continue
          }
          guard !response.isCatchUp, response.source == .server else { continue }
          let next = last.map { (now - $0).seconds }
          recorder.add(
            delivery: arrival.time.map { (now - $0).seconds }, interval: next, after: interval,
            hasErrors: !response.errors.isEmpty)
          (last, interval) = (now, next)
        }
      } catch {
        if !Task.isCancelled { recorder.fail(error) }
      }
    }
  }
}

/// When the last bytes of the current subscription arrived.
private final class Arrival: Sendable {
  @TaskLocal static var current: Arrival?

  private let last = Locked<Duration?>(nil)

  var time: Duration? { last.withLock { $0 } }

  func note(_ time: Duration) { last.withLock { $0 = time } }
}

/// Collects the events of concurrent subscriptions.
private final class EventRecorder: Sendable {
  private struct State {
    var events = 0
    var eventsWithErrors = 0
    var delivery = LatencyDistribution()
    var intervals = LatencyDistribution()
    var jitter = (sum: 0.0, count: 0)
    var reconnects = 0
    var dropped = 0
    var firstError: (any Error)?
    var failures: [String: Int] = [:]
  }

  private let state = Locked(State())

  var events: Int { state.withLock { $0.events } }
  var firstError: (any Error)? { state.withLock { $0.firstError } }

  func add(delivery: Double?, interval: Double?, after previous: Double?, hasErrors: Bool) {
    state.withLock { state in
      state.events += 1
      if hasErrors { state.eventsWithErrors += 1 }
      if let delivery { state.delivery.add(delivery) }
      guard let interval else { return }
      state.intervals.add(interval)
      guard let previous else { return }
      state.jitter.sum += abs(interval - previous)
      state.jitter.count += 1
    }
  }

  func note(_ gap: SubscriptionGap?) {
    state.withLock { state in
      if gap?.lostConnection == true { state.reconnects += 1 }
      state.dropped += gap?.dropped ?? 0
    }
  }

  func fail(_ error: any Error) {
    state.withLock { state in
      if state.firstError == nil { state.firstError = error }
      state.failures["\(error)", default: 0] += 1
    }
  }

  func report(
    subscriptions: Int, seconds: Double, processSeconds: Double
  ) -> SubscriptionReport {
    state.withLock { state in
      SubscriptionReport(
        subscriptions: subscriptions, seconds: seconds, events: state.events,
        eventsPerSecond: Double(state.events) / seconds,
        delivery: state.delivery.isEmpty ? nil : state.delivery.latencies,
        intervals: state.intervals.isEmpty ? nil : state.intervals.latencies,
        jitterSeconds: state.jitter.count > 0 ? state.jitter.sum / Double(state.jitter.count) : nil,
        reconnects: state.reconnects, dropped: state.dropped,
        eventsWithErrors: state.eventsWithErrors,
        failures: LoadReport.ErrorCount.list(state.failures),
        receivedBytes: 0, clientLoad: processSeconds / seconds,
        processorSecondsPerEvent: state.events > 0 ? processSeconds / Double(state.events) : nil)
    }
  }
}

/// The events of one or more subscriptions.
package struct SubscriptionReport: Codable, Sendable {
  /// The number of concurrent subscriptions.
  package var subscriptions: Int
  /// From the start to the end of the last subscription, in seconds.
  package var seconds: Double
  package var events: Int
  package var eventsPerSecond: Double
  /// From the arrival of the last bytes of an event to its delivery: reading, storing and plugins. `nil`
  /// without events.
  package var delivery: Latencies?
  /// Between the deliveries of two events of a subscription. `nil` with fewer than two events.
  package var intervals: Latencies?
  /// The mean difference between one interval and the next one, in seconds; 0 for events at a steady
  /// rate. `nil` with fewer than three events.
  package var jitterSeconds: Double?
  /// The number of times that a lost connection was opened again.
  package var reconnects: Int
  /// The number of events that were dropped, because they were not read in time.
  package var dropped: Int
  /// The number of events with GraphQL errors.
  package var eventsWithErrors: Int
  /// The errors that ended subscriptions, the most frequent first; at most ten.
  package var failures: [LoadReport.ErrorCount]
  /// The number of opened connections; `nil` without a network.
  package var connections: Int?
  package var receivedBytes: Int
  /// Processor time of this program per second; 2 means two cores.
  package var clientLoad: Double
  /// The processor time of this program per event, in seconds; `nil` without events.
  package var processorSecondsPerEvent: Double?
}
