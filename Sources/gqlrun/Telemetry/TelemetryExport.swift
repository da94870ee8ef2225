import Foundation
import GQLRunPipeline
import GQLRunSupport

/// Exports spans and metrics while a command runs, and at its end.
///
/// A collector cannot delay or fail the command: spans wait in a queue of bounded length, and the last export has
/// ``TelemetrySettings/maxFlush``. The first failure is a warning; the number of spans that were lost is another one, at
/// the end.
struct TelemetryExport: Sendable {
  /// The time between two writes of the metrics file.
  static let fileInterval = Duration.seconds(15)

  let queue: SpanQueue
  /// `nil` without metrics.
  let registry: MetricsRegistry?
  private let settings: TelemetrySettings
  private let options: MetricsOptions
  private let message: OTLPMessage
  private let services: Services
  private let start: UInt64
  private let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation
  private let warnings: Warnings

  init(
    _ settings: TelemetrySettings, options: MetricsOptions, services: Services,
    warn: @escaping @Sendable (String) -> Void
  ) {
    self.settings = settings
    self.services = services
    self.options = options
    warnings = Warnings(warn)
    let (signals, signal) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.signals = signals
    self.signal = signal
    queue = SpanQueue(maxSpans: settings.maxQueuedSpans, batch: settings.maxBatch) {
      signal.yield()
    }
    let hasReader = options.address ?? settings.prometheus != nil || options.metricsFile != nil
    registry = hasReader || settings.metrics != nil ? MetricsRegistry() : nil
    start = Self.time(services)
    message = OTLPMessage(resource: Self.resource(settings), version: Version.current)
  }

  /// The attributes of the program; those of the environment replace its own.
  private static func resource(
    _ settings: TelemetrySettings
  ) -> [(name: String, value: String)] {
    let own: [(name: String, value: String)] = [
      ("service.name", settings.serviceName), ("service.version", Version.current),
      // Several workers on one machine must not count into the same series.
      ("service.instance.id", TraceID.random().hex), ("telemetry.sdk.name", "gqlrun"),
      ("telemetry.sdk.language", "swift"), ("telemetry.sdk.version", Version.current),
    ]
    let given = Set(settings.resource.map(\.name))
    return own.filter { !given.contains($0.name) } + settings.resource
  }

  /// Nanoseconds since 1970.
  private static func time(_ services: Services) -> UInt64 {
    UInt64(max(0, services.secondsSince1970()) * 1e9)
  }

  /// Exports spans each time that there is a reason, until ``finish(_:)``.
  ///
  /// - Returns: The task, which the end of the command does not cancel: a collector may have the spans of a request
  ///   that is cancelled, and would receive them twice.
  func spanTask() -> Task<Void, Never> { Task { for await _ in signals { await exportSpans() } } }

  /// Runs `body`, and exports metrics meanwhile.
  ///
  /// - Parameter onServing: Called with the URL of the metrics, if they are served.
  /// - Throws: The error of `body`; ``Failure`` if the metrics of an option cannot be served.
  func run(onServing: (String) -> Void, during body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      if settings.traces != nil {
        group.addTask { await every(settings.spanDelay) { signal.yield() } }
      }
      if settings.metrics != nil {
        group.addTask { await every(settings.metricInterval) { await exportMetrics() } }
      }
      if options.metricsFile != nil {
        group.addTask { await every(Self.fileInterval) { await writeFile() } }
      }
      if let address = options.address ?? settings.prometheus, let registry {
        let (urls, ready) = AsyncThrowingStream.makeStream(of: String.self)
        group.addTask {
          do {
            try await MetricsEndpoint(address: address, registry: registry).run { ready.yield($0) }
            ready.finish()
          } catch {
            ready.finish(throwing: error)
          }
        }
        do {
          if let url = try await urls.first(where: { _ in true }) { onServing(url) }
        } catch let failure as Failure where options.address == nil {
          // A variable is that of many programs; only an option demands the port.
          warnings.always(failure.message)
        }
      }
      try await body()
    }
  }

  private func every(_ interval: Duration, _ work: () async -> Void) async {
    while (try? await services.clock.sleep(for: interval)) != nil { await work() }
  }

  /// Exports what is left, for at most ``TelemetrySettings/maxFlush``, and reports what was lost.
  ///
  /// - Parameter spanTask: The task that exports spans.
  func finish(_ spanTask: Task<Void, Never>) async {
    signal.finish()
    await writeFile()
    let isComplete = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        async let metrics: Void = exportMetrics()
        await withTaskCancellationHandler {
          await spanTask.value
        } onCancel: {
          spanTask.cancel()
        }
        await exportSpans()
        await metrics
        return true
      }
      group.addTask {
        try? await services.clock.sleep(for: settings.maxFlush)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? true
    }
    if !isComplete {
      warnings.first(
        "the collector did not answer within \(Quantity.number(settings.maxFlush.seconds)) s at the end"
      )
    }
    let lost = queue.dropped + queue.count
    if lost > 0 { warnings.always("\(Quantity.count(lost, "span")) not exported") }
  }

  /// Exports all spans that wait, until a request fails.
  private func exportSpans() async {
    guard let target = settings.traces, let transport = services.transport else { return }
    let exporter = OTLPExporter(
      target: target, transport: transport, maxConnect: settings.maxFlush)
    while true {
      let spans = queue.take()
      guard !spans.isEmpty else { return }
      switch await exporter.send(message.traces(spans)) {
      case .accepted: break
      case .partly(let rejected, let reason):
        queue.drop(min(rejected, spans.count))
        warn("all traces", to: target, reason)
      case .postponed(let reason):
        queue.restore(spans)
        return warn("traces", to: target, reason)
      case .refused(let reason):
        queue.drop(spans.count)
        return warn("traces", to: target, reason)
      }
    }
  }

  /// Exports the current values. A request that fails loses nothing: the next one has the sums.
  private func exportMetrics() async {
    guard let target = settings.metrics, let transport = services.transport, let registry else {
      return
    }
    let values = await registry.snapshot()
    guard !values.isEmpty else { return }
    let body = message.metrics(values, start: start, time: Self.time(services))
    let exporter = OTLPExporter(
      target: target, transport: transport, maxConnect: settings.maxFlush)
    switch await exporter.send(body) {
    case .accepted: break
    case .partly(_, let reason): warn("all metrics", to: target, reason)
    case .postponed(let reason), .refused(let reason): warn("metrics", to: target, reason)
    }
  }

  private func writeFile() async {
    guard let file = options.metricsFile, let registry else { return }
    let text = Array(await registry.prometheusText().utf8)
    do {
      if FilePath.isPipe(file) {
        try SystemIO.writeWithoutWaiting(text, toPipe: file)
      } else {
        // Not private: the collector has another user.
        try OutputFile.write(text, to: file, replacing: MetricsOptions.form)
      }
    } catch {
      warnings.first("the metrics are not written: \(Self.reason(error, of: file))")
    }
  }

  /// Why the metrics file cannot be written.
  private static func reason(_ error: any Error, of file: String) -> String {
    switch (error as? SystemError)?.code ?? 0 {
    case ENXIO, EPIPE: "\(file) is a pipe that no program reads"
    case EAGAIN: "\(file) is a pipe whose reader is too slow"
    default: Failure(describing: error).message
    }
  }

  private func warn(
    _ signal: String, to target: TelemetrySettings.Target, _ reason: String
  ) {
    // The end of the command ends a request for metrics, and the time limit of the last export is reported by itself.
    if Task.isCancelled { return }
    warnings.first("cannot export \(signal) to \(target.url.shownURL): \(reason)")
  }
}

/// Prints the first of several warnings.
private final class Warnings: Sendable {
  private let print: @Sendable (String) -> Void
  private let isFirst = Locked(true)

  init(_ print: @escaping @Sendable (String) -> Void) { self.print = print }

  func first(_ text: String) {
    let isFirst = isFirst.withLock { isFirst in
      defer { isFirst = false }
      return isFirst
    }
    if isFirst { print(text) }
  }

  func always(_ text: String) { print(text) }
}
