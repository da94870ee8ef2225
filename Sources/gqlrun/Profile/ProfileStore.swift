import ArgumentParser
import Foundation
import GQLRun
import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins
import GQLRunProfile

/// A store to measure. Database files are created for the runs and removed afterwards; existing
/// files are never changed.
enum ProfileStore: Sendable, Hashable, ExpressibleByArgument {
  case memory
  /// A file in the folder of the path, so that its disk is measured; without a path, in the folder
  /// for temporary files.
  case sqlite(String?)

  init?(argument: String) {
    switch argument {
    case "memory": self = .memory
    case "sqlite": self = .sqlite(nil)
    default:
      guard argument.hasPrefix("sqlite:"), argument.count > 7 else { return nil }
      self = .sqlite(String(argument.dropFirst(7)))
    }
  }

  var label: String {
    switch self {
    case .memory: "memory"
    case .sqlite(nil): "sqlite"
    case .sqlite(let path?): "sqlite:\(path)"
    }
  }

  /// The path of a new file in the given file's folder.
  private func scratchPath() -> String? {
    guard case .sqlite(let path) = self else { return nil }
    let name = "gqlrun-profile-\(getpid())-\(UInt32.random(in: 0 ... .max)).db"
    guard let path else {
      return FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    return folder + name
  }

  /// Opens a new store for one run, and closes and removes it afterwards.
  func withStore<Result>(
    _ body: (
      _ store: CacheStore, _ files: [String], _ sync: (@Sendable () async throws -> Void)?
    )
      async throws -> Result
  ) async throws -> Result {
    guard let path = scratchPath() else { return try await body(.memory(), [], nil) }
    let files = Self.suffixes.map { path + $0 }
    for file in files { PartialFiles.add(file) }
    defer {
      for file in files {
        unlink(file)
        PartialFiles.remove(file)
      }
    }
    return try await StoreChoice.open(path).close { store in
      try await body(store, files) { try await store.checkpoint() }
    }
  }

  private static let suffixes = ["", "-wal", "-shm", "-lock"]
}

/// The number and rate of requests.
struct LoadOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp("Start N requests per second (open-loop load).", valueName: "N"))
  var rate: Double?
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Keep N requests in flight (closed-loop load); with --rate, the concurrency limit.",
      valueName: "N"))
  var concurrency: Int?
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Time during which requests start, or events are measured.", valueName: "duration"))
  var duration: String = "10s"
  @Flag(
    name: .long,
    help: "Measure the events of a subscription; with --concurrency, of N concurrent ones.")
  var subscribe = false

  var isGiven: Bool { rate != nil || concurrency != nil || subscribe }

  func validate() throws {
    if subscribe, rate != nil {
      throw ValidationError(
        "--rate starts requests; the events of --subscribe have the rate of the server")
    }
    if let rate, !(rate > 0 && rate <= 1_000_000) {
      throw ValidationError("--rate is more than 0 and at most 1000000 requests per second")
    }
    if let concurrency, !(1...10_000).contains(concurrency) {
      throw ValidationError("--concurrency is 1 to 10000")
    }
    guard parsedDuration != nil else {
      throw ValidationError("--duration is a time such as 500ms, 10s or 2m, at most a day")
    }
  }

  private var parsedDuration: Duration? {
    (try? Duration(optionText: duration)).flatMap {
      $0 > .zero && $0 <= .seconds(86_400) ? $0 : nil
    }
  }

  var time: Duration { parsedDuration ?? .seconds(10) }

  var model: LoadReport.Model {
    if let rate { return .open(rate: rate, inFlight: concurrency ?? 1000) }
    return .closed(concurrency: concurrency ?? 1)
  }
}

/// Measures requests through pipelines.
struct ProfileFetch {
  var endpoint: String?
  /// The pipeline files; empty for the default pipeline.
  var pipelines: [String]
  var request: RequestOptions
  var trust: TrustOptions
  var document: String
  var options: OperationOptions

  private func load(_ pipeline: String?) throws -> Pipeline {
    try EndpointArguments(endpoint: endpoint, pipeline: pipeline)
      .load(request: request, trust: trust)
  }

  func operation(_ pipeline: String?) throws -> PreparedOperation {
    let loaded = try load(pipeline)
    return try options.prepare(
      document, pipeline: loaded, isSent: true)
  }

  /// Opens a client for a pipeline, and closes it after `body`.
  ///
  /// - Parameter connections: The number of requests or subscriptions at a time.
  private func withClient<Result>(
    _ pipeline: String?, connections: Int = 1,
    _ body: (PipelineRunner, GraphQLRequest, ConnectionMeter) async throws -> Result
  ) async throws -> Result {
    var loaded = try load(pipeline)
    try allow(connections, in: &loaded, isDefault: pipeline == nil)
    let operation = try options.prepare(
      document, pipeline: loaded, isSent: true)
    let meter = ConnectionMeter()
    let client = try await PipelineClient.open(
      loaded, logger: RunLog.logger(verbosity: 0, isQuiet: true)
    ) { $0.meter = meter }
    return try await client.shutdown { client in
      try await body(
        PipelineRunner(loaded, services: client.services),
        GraphQLRequest(operation, cachePolicy: .networkOnly), meter)
    }
  }

  /// Raises the number of connections of the default pipeline; a pipeline file keeps its own.
  private func allow(
    _ connections: Int, in pipeline: inout Pipeline, isDefault: Bool
  ) throws {
    let limit = pipeline.entries.lazy.compactMap { ($0.plugin as? FetchPlugin)?.maxConnections }
      .first
    guard let limit, limit < connections else { return }
    if isDefault {
      try pipeline.configure(FetchPlugin.self) { $0.maxConnections = connections }
    } else {
      Terminal.hint(
        "the pipeline opens at most \(limit) connections to an HTTP/1.1 server; raise max_connections of "
          + "fetch to measure \(connections) at a time")
    }
  }

  /// Fetches the response through each pipeline in turn, and saves a copy of its body.
  func fetch(runs: Int, warmUps: Int, copy: String) async throws -> [NetworkReport] {
    let files: [String?] = pipelines.isEmpty ? [nil] : pipelines
    var fetches = [[FetchMeasurement]](repeating: [], count: files.count)
    for round in 0..<(warmUps + runs) {
      for (index, pipeline) in files.enumerated() {
        try Task.checkCancellation()
        Terminal.showStatus("fetching, \(round + 1) of \(warmUps + runs)")
        let isLast = round == warmUps + runs - 1 && index == 0
        let fetch = try await withClient(pipeline) { runner, request, meter in
          try await FetchRun(runner, request, copy: isLast ? copy : nil, meter: meter).run()
        }
        if round >= warmUps { fetches[index].append(fetch) }
      }
    }
    Terminal.showStatus(nil)
    return zip(files, fetches).compactMap { pipeline, measured in
      NetworkReport(
        measured, label: pipeline ?? "the default pipeline",
        first: files.count > 1 ? fetches[0] : nil)
    }
  }

  /// Measures the events of subscriptions.
  func subscription(_ options: LoadOptions) async throws -> SubscriptionReport {
    let count = options.concurrency ?? 1
    return try await withClient(pipelines.first, connections: count) { runner, request, meter in
      guard let operation = request.operation, operation.type == .subscription else {
        throw Failure(
          .usage,
          "--subscribe measures subscriptions, and \(document) has \(request.operation?.label ?? "none")"
        )
      }
      Terminal.showStatus("measuring events")
      defer { Terminal.showStatus(nil) }
      return try await SubscriptionRun(
        runner, request, count: count, duration: options.time, meter: meter
      ).run()
    }
  }

  /// Sends requests at the given rate and measures them.
  func load(_ options: LoadOptions) async throws -> LoadReport {
    try await withClient(pipelines.first, connections: options.concurrency ?? 1) {
      runner, request, meter in
      let measured = PipelineRequest(runner, request, meter: meter)
      // The first request opens a connection, and shows whether the others can succeed.
      if let error = await measured.perform().error { throw error }
      let (before, sent) = (meter.count, measured.sentRequests)
      Terminal.showStatus("sending requests")
      var report = await LoadRun(model: options.model, duration: options.time) {
        await measured.perform()
      }.run()
      report.connections = meter.count - before
      report.httpRequests = measured.sentRequests - sent
      Terminal.showStatus(nil)
      return report
    }
  }
}
