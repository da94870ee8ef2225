package import GQLRunPipeline
package import GQLRunPlugins
import GQLRunSupport
import HTTPTypes
import Histogram

/// Runs subscriptions through a pipeline, and measures their events: for a time, or beside the requests of a load.
///
/// A class: the task of each subscription has a reference to it.
package final class SubscriptionRun: Sendable {
  private let runner: PipelineRunner
  /// The subscriptions, which take turns.
  private let mix: LoadMix
  /// The number of concurrent subscriptions.
  private let count: Int
  /// How long events are measured.
  private let duration: Duration
  /// Measures the connections of the runner's transport, if nothing else uses it.
  private let meter: ConnectionMeter?
  /// Where events have the time at which they were made.
  private let eventTime: EventTime?
  /// The program's processor time, in seconds.
  private let processTime: @Sendable () -> Double

  /// The delay before a subscription beside a load is opened again.
  static let reopeningDelay = Duration.seconds(1)

  package init(
    _ runner: PipelineRunner, _ mix: LoadMix, count: Int, duration: Duration,
    meter: ConnectionMeter? = nil, eventTime: EventTime? = nil,
    processTime: @escaping @Sendable () -> Double = { Double(StageClock.process()) / 1e9 }
  ) {
    let clock = runner.services.clock
    self.runner = runner.measuring { send in
      guard let arrival = Arrival.current else { return try await send() }
      arrival.begin()
      var response = try await send()
      if response.head.status.kind == .successful { arrival.open(at: clock.now()) }
      response.body = response.body.noting { _ in arrival.note(clock.now()) }
      return response
    }
    self.mix = mix
    self.count = count
    self.duration = duration
    self.meter = meter
    self.eventTime = eventTime
    self.processTime = processTime
  }

  /// Measures until the duration is over, the server has completed all subscriptions, or the task is
  /// cancelled.
  ///
  /// - Throws: The error of the first subscription if none had an event; that of the last attempt if none was
  ///   connected.
  package func run() async throws -> SubscriptionReport {
    let clock = runner.services.clock
    let recorder = EventRecorder(start: clock.now().seconds, seconds: duration.seconds)
    let processStart = processTime()
    let (wires, connections) = (meter?.receivedBytes ?? 0, meter?.count ?? 0)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [duration] in try? await clock.sleep(for: duration) }
      group.addTask { [self] in
        await withDiscardingTaskGroup { subscriptions in
          for _ in 0..<count {
            subscriptions.addTask { _ = await self.measure(self.mix.next(), recorder) }
          }
        }
      }
      await group.next()
      group.cancelAll()
    }
    if recorder.events == 0, !recorder.wasRefused,
      let error = recorder.firstError ?? connectionError
    {
      throw error
    }
    var report = recorder.report(
      subscriptions: count, end: clock.now().seconds, processSeconds: processTime() - processStart)
    if let meter {
      report.receivedBytes = meter.receivedBytes - wires
      report.connections = meter.count - connections
    }
    if Task.isCancelled { report.isInterrupted = true }
    return report
  }

  /// Keeps the subscriptions open while `load` runs. One that cannot be opened, or loses its connection, is counted and
  /// opened again after a second; one that the server completes is not.
  package func run<Result: Sendable>(
    beside load: () async -> Result
  ) async -> (Result, SubscriptionReport) {
    let clock = runner.services.clock
    let recorder = EventRecorder(start: clock.now().seconds, seconds: duration.seconds)
    let processStart = processTime()
    let (result, end) = await withDiscardingTaskGroup(returning: (Result, Double).self) { group in
      for _ in 0..<count {
        let subscription = mix.next()
        group.addTask { [self] in
          var hasLost = false
          var refusedSince: Duration?
          while !Task.isCancelled {
            let start = clock.now()
            let end = await measure(
              subscription, recorder, hasLost: hasLost, refusedSince: refusedSince)
            switch end {
            case .completed: return
            case .lost: (hasLost, refusedSince) = (true, nil)
            case .refused: refusedSince = refusedSince ?? start
            case .failed: refusedSince = nil
            }
            try? await clock.sleep(for: Self.reopeningDelay)
          }
        }
      }
      let result = await load()
      let end = clock.now().seconds
      group.cancelAll()
      return (result, end)
    }
    var report = recorder.report(
      subscriptions: count, end: end, processSeconds: processTime() - processStart)
    // The processor time is that of the requests, too.
    report.processorSecondsPerEvent = nil
    return (result, report)
  }

  /// Why no subscription was connected; `nil` if one was, or if the task was cancelled.
  private var connectionError: (any Error)? {
    let register = SubscriptionRegister.of(runner.services)
    guard !register.hasConnected, !Task.isCancelled else { return nil }
    return register.failure
      ?? ChainError(
        .transport, code: .timedOut,
        message:
          "\(mix.operations[0].requests[0].label) was not connected within \(duration.optionText), and no attempt "
          + "has failed; measure longer with --duration", delivery: .unknown)
  }

  /// How a subscription has ended.
  private enum End { case completed, lost, refused, failed }

  /// Measures one subscription until it ends.
  ///
  /// A server accepts a subscription that it refuses with an error as it accepts others: it counts as opened once it has
  /// another result, and without one if it is open at the end of the measured time. Where the attempt before was
  /// refused, that time may have ended before the error came, and on a busy machine the error may come seconds later than
  /// before; such an attempt counts if it is open for longer than all refused ones in a row and the delays after them took.
  ///
  /// - Parameters:
  ///   - hasLost: Whether it has lost a connection before.
  ///   - refusedSince: When the first of the attempts was made that were refused in a row before this one; `nil` if the last
  ///     was not.
  private func measure(
    _ choice: LoadMix.Choice, _ recorder: EventRecorder, hasLost: Bool = false,
    refusedSince: Duration? = nil
  ) async -> End {
    let arrival = Arrival(hasLost: hasLost, recorder)
    return await Arrival.$current.withValue(arrival) {
      var received = Received()
      var failure: (any Error)?
      do {
        for try await response in runner.execute(choice.request) {
          take(response, of: choice.operation, as: &received, to: recorder, arrival)
        }
      } catch {
        failure = error
      }
      return conclude(
        received, with: failure, refusedSince: refusedSince, to: recorder, arrival)
    }
  }

  /// Counts how a subscription has ended, or that the measured time is over.
  ///
  /// Not inlined, because every subscription would have its frame.
  @inline(never)
  private func conclude(
    _ received: Received, with failure: (any Error)?, refusedSince: Duration?,
    to recorder: EventRecorder, _ arrival: Arrival
  ) -> End {
    let now = runner.services.clock.now()
    if Task.isCancelled {
      // The measured time is over.
      if refusedSince.map({ arrival.isOpen(at: now, forLongerThanSince: $0) }) ?? true {
        arrival.confirm()
        if let refusal = received.refusal { recorder.add(refusal.event) }
      } else if let refusal = received.refusal {
        recorder.refused(refusal.message, at: refusal.event.time)
      }
      return .completed
    }
    if failure == nil, let refusal = received.refusal {
      recorder.refused(refusal.message, at: refusal.event.time)
      return .refused
    }
    arrival.confirm()
    guard let failure else {
      recorder.completed()
      return .completed
    }
    if let refusal = received.refusal { recorder.add(refusal.event) }
    recorder.ended(failure, wasOpen: arrival.isOpen, wasLost: arrival.hasLoss, at: now.seconds)
    return arrival.isOpen || arrival.hasLoss ? .lost : .failed
  }

  /// What a subscription has received so far.
  private struct Received {
    /// The time of the last event, and the interval before it, if no gap is between them.
    var last: Duration?
    var interval: Double?
    /// An error without data that comes first: a refusal if nothing follows.
    var refusal: Refusal?
  }

  /// A class, so that each subscription has room for a reference only; few have a refusal.
  private final class Refusal {
    let event: EventRecorder.Event
    let message: String

    init(_ event: EventRecorder.Event, _ message: String) {
      self.event = event
      self.message = message
    }
  }

  /// Measures the next response of a subscription to the operation with this index.
  ///
  /// Not inlined, because every subscription would have its frame.
  @inline(never)
  private func take(
    _ response: GraphQLResponse, of operation: Int, as received: inout Received,
    to recorder: EventRecorder, _ arrival: Arrival
  ) {
    let services = runner.services
    let now = services.clock.now()
    if let refusal = received.refusal.take() {
      arrival.confirm()
      recorder.add(refusal.event)
    }
    if let gap = response.gap {
      if gap.lostConnection {
        arrival.forgetLoss()
        let age = max(services.secondsSince1970() - gap.since, 0)
        recorder.lost(at: now.seconds - age, reopenedAt: now.seconds)
      }
      if gap.dropped > 0 { recorder.dropped(gap.dropped, at: now.seconds) }
      // An interval over a gap says nothing about the rate of events.
      (received.last, received.interval) = (nil, nil)
      return
    }
    guard !response.isCatchUp, response.source == .server else { return }
    let next = received.last.map { (now - $0).seconds }
    let event = EventRecorder.Event(
      time: now.seconds, delivery: arrival.time.map { (now - $0).seconds },
      delay: eventTime?.seconds(in: response).map { services.secondsSince1970() - $0 },
      interval: next, previousInterval: received.interval, bytes: response.timing.receivedBytes,
      hasErrors: mix.operations[operation].problem(response, (next ?? 0) * 1e3) != nil)
    if received.last == nil, response.data?.isNull ?? true, let error = response.errors.first {
      received.refusal = Refusal(event, "GraphQL error: \(error.message)")
    } else {
      arrival.confirm()
      recorder.add(event)
    }
    (received.last, received.interval) = (now, next)
  }
}

/// The connection of the current subscription, and when its last bytes arrived.
private final class Arrival: Sendable {
  @TaskLocal static var current: Arrival?

  private struct State {
    var last: Duration?
    /// When the server accepted the last attempt; `nil` if it has not.
    var opened: Duration?
    /// When the server last accepted an attempt, and whether that is the first one after the loss before this
    /// subscription; `nil` once it counts as opened. Another attempt may follow: a single result is followed by WebSocket.
    var unconfirmed: (time: Duration, isAgain: Bool)?
    /// Whether an attempt of the subscription counts as opened.
    var hasConfirmed = false
    var hasLoss = false
    var isAgain: Bool
  }

  private let state: Locked<State>
  private let recorder: EventRecorder

  /// - Parameters:
  ///   - hasLost: Whether the subscription has lost a connection before this one.
  ///   - recorder: Counts the connections that are opened.
  init(hasLost: Bool, _ recorder: EventRecorder) {
    state = Locked(State(isAgain: hasLost))
    self.recorder = recorder
  }

  var time: Duration? { state.withLock { $0.last } }
  /// Whether the server has accepted the last attempt.
  var isOpen: Bool { state.withLock { $0.opened != nil } }
  /// Whether an earlier connection was lost, and no gap has announced it.
  var hasLoss: Bool { state.withLock { $0.hasLoss } }

  /// Whether the last attempt has been open for longer than it took from `start` until the server accepted it, or
  /// follows one of the same subscription that was not refused.
  func isOpen(at time: Duration, forLongerThanSince start: Duration) -> Bool {
    state.withLock { state in
      state.opened.map { state.hasConfirmed || time - $0 > $0 - start } ?? false
    }
  }

  func note(_ time: Duration) { state.withLock { $0.last = time } }

  /// Notes an attempt. A connection that was open before it was lost.
  func begin() {
    state.withLock { state in
      if state.opened != nil { state.hasLoss = true }
      state.opened = nil
    }
  }

  /// Notes that the server has accepted the attempt, which counts with ``confirm()``, or when another one is accepted.
  func open(at time: Duration) {
    confirm()
    state.withLock { state in
      (state.opened, state.unconfirmed) = (time, (time, state.isAgain))
      state.isAgain = false
    }
  }

  /// Counts the last connection as opened, once: it has more than an error without data.
  func confirm() {
    let connection = state.withLock { state in
      if state.unconfirmed != nil { state.hasConfirmed = true }
      return state.unconfirmed.take()
    }
    if let (time, isAgain) = connection { recorder.opened(at: time.seconds, isAgain: isAgain) }
  }

  func forgetLoss() { state.withLock { $0.hasLoss = false } }
}

/// Collects the events of concurrent subscriptions.
private final class EventRecorder: Sendable {
  struct Event {
    var time: Double
    var delivery: Double?
    var delay: Double?
    /// Since the previous event of the subscription.
    var interval: Double?
    /// The interval before that.
    var previousInterval: Double?
    var bytes: Int
    var hasErrors: Bool
  }

  /// The figures of the run or of a step.
  private struct Figures {
    var counts = SubscriptionReport.Step(start: 0)
    var delivery = LatencyDistribution(digits: .two)
    var delay = LatencyDistribution(digits: .two)
  }

  private struct State {
    var steps: TimeSteps<Figures>
    var total = Figures(delivery: LatencyDistribution(), delay: LatencyDistribution())
    var intervals = LatencyDistribution()
    var jitter = (sum: 0.0, count: 0)
    var completed = 0
    var reconnects = 0
    var dropped = 0
    var bytes = 0
    var firstError: (any Error)?
    var failures = ErrorTally()

    /// Changes the figures of the run, and those of the step of a time.
    mutating func change(at time: Double, _ change: (inout Figures) -> Void) {
      change(&total)
      steps.change(at: time, change)
    }
  }

  private let state: Locked<State>

  init(start: Double, seconds: Double) {
    state = Locked(State(steps: TimeSteps(start: start, seconds: seconds, of: Figures())))
  }

  var events: Int { state.withLock { $0.total.counts.events } }
  var firstError: (any Error)? { state.withLock { $0.firstError } }
  /// Whether subscriptions have failed with GraphQL errors only.
  var wasRefused: Bool { state.withLock { $0.total.counts.failed > 0 && $0.firstError == nil } }

  func add(_ event: Event) {
    state.withLock { state in
      state.bytes += event.bytes
      state.change(at: event.time) { figures in
        figures.counts.events += 1
        if event.hasErrors { figures.counts.eventsWithErrors += 1 }
        if let delivery = event.delivery { figures.delivery.add(delivery) }
        if let delay = event.delay { figures.delay.add(delay) }
      }
      guard let interval = event.interval else { return }
      state.intervals.add(interval)
      guard let previous = event.previousInterval else { return }
      state.jitter.sum += abs(interval - previous)
      state.jitter.count += 1
    }
  }

  /// - Parameter isAgain: Whether the subscription has missed events since it lost its connection.
  func opened(at time: Double, isAgain: Bool) {
    state.withLock { state in
      if isAgain { state.reconnects += 1 }
      state.change(at: time) { figures in
        figures.counts.opened += 1
        if isAgain { figures.counts.gaps += 1 }
      }
    }
  }

  /// Notes a subscription whose only result is an error without data, `message`.
  func refused(_ message: String, at time: Double) {
    state.withLock { state in
      state.failures.add(message)
      state.change(at: time) { $0.counts.failed += 1 }
    }
  }

  /// Notes a connection that the pipeline has opened again.
  func lost(at time: Double, reopenedAt end: Double) {
    state.withLock { state in
      state.reconnects += 1
      state.change(at: time) { $0.counts.lost += 1 }
      state.change(at: end) { $0.counts.gaps += 1 }
    }
  }

  func dropped(_ count: Int, at time: Double) {
    state.withLock { state in
      state.dropped += count
      state.change(at: time) { $0.counts.gaps += 1 }
    }
  }

  func completed() { state.withLock { $0.completed += 1 } }

  /// Notes an error that has ended a subscription.
  ///
  /// - Parameters:
  ///   - wasOpen: Whether the server had accepted it.
  ///   - wasLost: Whether it had lost a connection, and this error has ended the attempts to open it again.
  func ended(_ error: any Error, wasOpen: Bool, wasLost: Bool, at time: Double) {
    state.withLock { state in
      if state.firstError == nil { state.firstError = error }
      state.failures.add("\(error)")
      state.change(at: time) { figures in
        if wasOpen || wasLost { figures.counts.lost += 1 }
        if !wasOpen { figures.counts.failed += 1 }
      }
    }
  }

  /// - Parameter end: The end of the run, after which nothing was measured.
  func report(
    subscriptions: Int, end: Double, processSeconds: Double
  ) -> SubscriptionReport {
    state.withLock { state in
      let seconds = max(end - state.steps.start, 1e-9)
      let (counts, delivery, delay) = (state.total.counts, state.total.delivery, state.total.delay)
      var report = SubscriptionReport(
        subscriptions: subscriptions, seconds: seconds, events: counts.events,
        eventsPerSecond: Double(counts.events) / seconds,
        delivery: delivery.known, intervals: state.intervals.known,
        jitterSeconds: state.jitter.count > 0 ? state.jitter.sum / Double(state.jitter.count) : nil,
        reconnects: state.reconnects, dropped: state.dropped,
        eventsWithErrors: counts.eventsWithErrors, failures: state.failures.list,
        receivedBytes: state.bytes, clientLoad: processSeconds / seconds,
        processorSecondsPerEvent: counts.events > 0 ? processSeconds / Double(counts.events) : nil)
      report.delay = delay.known
      (report.opened, report.lost) = (counts.opened, counts.lost)
      (report.failed, report.completed) = (counts.failed, state.completed)
      report.stepSeconds = state.steps.width
      report.steps = state.steps.list(until: seconds).map { start, step in
        var counts = step.counts
        counts.start = start
        (counts.delivery, counts.delay) = (step.delivery.known?.p99, step.delay.known?.p99)
        return counts
      }
      return report
    }
  }
}

/// The events of one or more subscriptions.
package struct SubscriptionReport: Codable, Sendable {
  /// The number of concurrent subscriptions.
  package var subscriptions: Int
  /// From the start to the end of the last subscription, or of the load beside them, in seconds.
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
  /// The number of events with GraphQL errors, or that do not meet the conditions of a manifest.
  package var eventsWithErrors: Int
  /// The errors that ended subscriptions or kept them from being opened, the most frequent first; at most ten.
  package var failures: [LoadReport.ErrorCount]
  /// The number of opened connections; `nil` without a network, and beside requests, whose report has those of both.
  package var connections: Int?
  package var receivedBytes: Int
  /// Processor time of this program per second; 2 means two cores.
  package var clientLoad: Double
  /// The processor time of this program per event, in seconds; `nil` without events, and beside requests.
  package var processorSecondsPerEvent: Double?
  /// From the time that an event contains to its delivery; `nil` if no event has one. Clocks of two machines differ.
  package var delay: Latencies?
  /// How often the server has accepted the request of a subscription; `nil` in reports of older versions, as for the following figures.
  package var opened: Int?
  /// How often a subscription has lost its connection.
  package var lost: Int?
  /// How often a subscription could not be opened, or its only result was an error without data.
  package var failed: Int?
  /// The number of subscriptions that the server has completed.
  package var completed: Int?
  /// Whether the run ended before its time; `nil` if it did not, and beside requests, whose report has it.
  package var isInterrupted: Bool?
  /// The events over time.
  package var steps: [Step]?
  /// The time of each step, in seconds.
  package var stepSeconds: Double?

  /// The events of one stretch of time.
  package struct Step: Codable, Sendable, Hashable {
    /// Since the start of the run, in seconds.
    package var start: Double
    package var events = 0
    /// The number of events with GraphQL errors, or that do not meet the conditions of a manifest.
    package var eventsWithErrors = 0
    package var opened = 0
    package var lost = 0
    package var failed = 0
    /// How often a subscription continued after events that it may have missed.
    package var gaps = 0
    /// The 99th percentile of ``SubscriptionReport/delivery``; `nil` without events.
    package var delivery: Double?
    /// The 99th percentile of ``SubscriptionReport/delay``; `nil` without events that have a time.
    package var delay: Double?
  }
}
