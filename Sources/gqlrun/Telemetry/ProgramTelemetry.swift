import ArgumentParser
import Foundation
import GQLRun
import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins
import Tracing

/// A command whose requests are reported.
protocol TelemetryCommand {
  /// The name of the span of the whole command; `nil` for none.
  static var spanName: String? { get }
  /// Whether its requests are tasks, which the sampler selects one by one.
  static var runsTasks: Bool { get }
  var metrics: MetricsOptions { get }
  /// Whether warnings are not printed.
  var quiet: Bool { get }
}

extension TelemetryCommand {
  static var runsTasks: Bool { true }
}

extension RunCommand: TelemetryCommand {
  static var spanName: String? { "gqlrun run" }
  static var runsTasks: Bool { false }
}

extension ExtractCommand: TelemetryCommand {
  static var spanName: String? { "gqlrun extract" }
}

extension BatchRunCommand: TelemetryCommand {
  static var spanName: String? { "gqlrun batch run" }
}

extension BatchCommand.Worker: TelemetryCommand {
  static var spanName: String? { "gqlrun batch worker" }
}

extension ServeCommand: TelemetryCommand {
  static var spanName: String? { nil }
  var quiet: Bool { false }
}

/// Traces and metrics of the program, while a command runs that reports them.
///
/// ```
/// PipelineClient ─▶ ProgramTracer ─▶ SpanQueue ──────┐
///                └▶ MetricsRegistry ─▶ OTLPMessage ◀─┘
///                     │                  └▶ OTLPExporter ─▶ collector
///                     └▶ PrometheusText ─▶ MetricsEndpoint, file
/// ```
struct ProgramTelemetry: Sendable {
  /// That of the command; `nil` if nothing is reported.
  @TaskLocal static var current: ProgramTelemetry?

  /// `nil` without metrics.
  let registry: MetricsRegistry?
  /// `nil` without traces.
  let tracer: ProgramTracer?
  private let reportsDocuments: Bool

  /// Reports the operations of a client.
  func configure(_ configuration: inout PipelineClient.Configuration) {
    if let registry { configuration.metrics = registry }
    guard let tracer else { return }
    configuration.tracer = tracer
    configuration.reportsDocuments = reportsDocuments
  }

  /// Runs a command, and prints its error.
  static func run(_ command: sending any AsyncParsableCommand) async throws {
    var command = command
    try await run(command as? any TelemetryCommand) { try await command.runReporting() }
  }

  /// Runs a command, and reports what it does if the environment or its options ask for it.
  ///
  /// - Parameters:
  ///   - command: The command; `nil` for one that reports nothing.
  ///   - services: The variables, the clock, and the transport to the collector.
  ///   - warn: Prints a warning.
  /// - Throws: The error of `body`; ``Failure`` if the metrics cannot be served or written.
  static func run(
    _ command: (any TelemetryCommand)?, services: Services = Services(),
    warn: @escaping @Sendable (String) -> Void = { Terminal.warning($0) },
    _ body: () async throws -> Void
  ) async throws {
    guard let command else { return try await body() }
    let settings = TelemetrySettings(services.variable)
    let isQuiet = command.quiet
    let report: @Sendable (String) -> Void = { if !isQuiet { warn($0) } }
    for warning in settings.warnings { report(warning) }
    let options = command.metrics
    guard settings.isEnabled || options.address != nil || options.metricsFile != nil else {
      return try await body()
    }
    if let file = options.metricsFile { try OutputFile.check(file, replacing: MetricsOptions.form) }
    var services = services
    // Opened only to export: a file or a port for Prometheus needs no client.
    var own: AsyncHTTPTransport?
    if services.transport == nil, settings.traces ?? settings.metrics != nil {
      own = AsyncHTTPTransport(
        clock: services.clock, userAgent: "gqlrun/\(Version.current)", meter: nil, traces: false)
      services.transport = own
    }
    let export = TelemetryExport(
      settings, options: options, services: services, warn: report)
    let telemetry = ProgramTelemetry(
      registry: export.registry,
      tracer: settings.traces.map { _ in
        ProgramTracer(sampler: settings.sampler, queue: export.queue)
      },
      reportsDocuments: settings.reportsDocuments)
    let spanTask = export.spanTask()
    let outcome: Result<Void, any Error>
    do {
      try await export.run {
        if !isQuiet { Terminal.note("metrics: \($0)") }
      } during: {
        try await $current.withValue(telemetry) {
          try await telemetry.spanning(type(of: command), parent: settings.parent, body)
        }
      }
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    await export.finish(spanTask)
    await own?.shutdown()
    try outcome.get()
  }

  /// Runs a command as a span, with its exit code.
  ///
  /// https://opentelemetry.io/docs/specs/semconv/cli/cli-spans/
  private func spanning(
    _ command: any TelemetryCommand.Type, parent: TraceContext?, _ body: () async throws -> Void
  ) async throws {
    guard let tracer, let name = command.spanName else { return try await body() }
    let root = tracer.startRoot(name, parent: parent, isRun: command.runsTasks)
    defer { root.end() }
    root.attributes["process.executable.name"] = "gqlrun"
    root.attributes["process.pid"] = Int(getpid())
    do {
      try await InstrumentationContext.withValue(root.context) { try await body() }
      root.attributes["process.exit.code"] = 0
    } catch {
      let code = Int((error as? ExitCode)?.rawValue ?? 1)
      root.attributes["process.exit.code"] = code
      if code != 0 {
        root.attributes["error.type"] = String(code)
        root.setStatus(SpanStatus(code: .error))
      }
      throw error
    }
  }
}

extension MetricsRegistry {
  /// Reports the progress of a run.
  func follow(_ control: RunControl) {
    onCollect { registry in
      guard let standing = await control.standing() else { return }
      let counters = standing.counters
      for (state, count) in [
        ("done", counters.done), ("failed", counters.failed), ("unknown", counters.unknown),
        ("skipped", counters.skipped), ("earlier", counters.alreadyDone),
      ] {
        registry.set(
          "gqlrun.batch.tasks", count, attributes: [("gqlrun.batch.task.state", state)])
      }
      registry.set("gqlrun.batch.requests.active", standing.inFlight)
      registry.set("gqlrun.batch.requests.limit", standing.limit)
    }
  }
}
