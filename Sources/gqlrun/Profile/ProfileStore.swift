import ArgumentParser
import Foundation
import GQLRun
import GQLRunBatch
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
    return try await StoreChoice.sqlite(path).open().close { store in
      try await body(store, files) { try await store.checkpoint() }
    }
  }

  private static let suffixes = ["", "-wal", "-shm", "-lock"]
}

/// The number, rate and kinds of requests.
struct LoadOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Start N requests per second (open-loop load).", valueName: "N"))
  var rate: Double?
  @Option(
    help: ArgumentHelp(
      "Start requests at the rates of stages, such as 10s:0..200,60s:200: linear ramps, and constant rates per "
        + "second.", valueName: "stages"))
  var stages: String?
  @Option(
    help: ArgumentHelp(
      "Keep N requests in flight (closed-loop load); with --rate and --stages, the concurrency limit.",
      valueName: "N"))
  var concurrency: Int?
  @Option(
    help: ArgumentHelp(
      "With --concurrency: time after each response before the next request.", valueName: "duration"
    ))
  var think: String?
  @Option(
    help: ArgumentHelp(
      "Time during which requests start, or events are measured; 10s by default.",
      valueName: "duration"))
  var duration: String?
  @Flag(help: "Measure the events of a subscription; with --concurrency, of N concurrent ones.")
  var subscribe = false
  @Option(
    help: ArgumentHelp(
      "Batch manifest whose operations and rows are the requests, instead of --document; `expect` decides which "
        + "of them fail.", valueName: "file"))
  var manifest: String?
  @Option(
    help: ArgumentHelp(
      "Weight of an operation of the manifest among the requests, or among the subscriptions, such as Country=3; 1 by "
        + "default. May be repeated.", valueName: "id=N"))
  var weight: [String] = []
  @Option(
    help: ArgumentHelp(
      "Number of subscriptions of the manifest that are open while its requests are sent; one for each row by default.",
      valueName: "N"))
  var subscriptions: Int?
  @Option(
    help: ArgumentHelp(
      "Time in each event, for its delay: ISO 8601, or seconds or milliseconds since 1970, such as "
        + "data.messageAdded.at.", valueName: "fields"))
  var eventTime: String?
  @Flag(help: "Retry failed requests as the pipeline does; by default none is.")
  var retries = false
  @Flag(help: "Use the cache of the pipeline; by default there is none.")
  var cache = false

  var isGiven: Bool { rate != nil || stages != nil || concurrency != nil || subscribe }

  func validate() throws {
    if subscribe, rate != nil || stages != nil || manifest != nil || retries || cache {
      throw ValidationError(
        "--rate, --stages, --manifest, --retries and --cache are for requests; the events of --subscribe have the "
          + "rate of the server")
    }
    if let rate, !(rate > 0 && rate <= LoadSchedule.maxRate) {
      throw ValidationError("--rate is more than 0 and at most 1000000 requests per second")
    }
    if stages != nil, rate != nil || duration != nil {
      throw ValidationError(
        "--stages has the rate and the time of each stage; leave out --rate and --duration")
    }
    if let concurrency, !(1...10_000).contains(concurrency) {
      throw ValidationError("--concurrency is 1 to 10000")
    }
    if think != nil, rate != nil || stages != nil || subscribe || concurrency == nil {
      throw ValidationError(
        "--think is for --concurrency: with --rate and --stages, requests start independently of responses"
      )
    }
    for (text, option) in [(duration, "--duration"), (think, "--think")] {
      guard let text, Self.parsed(text) == nil else { continue }
      throw ValidationError("\(option) is a time such as 500ms, 10s or 2m, at most a day")
    }
    guard isGiven || (manifest == nil && weight.isEmpty && !retries && !cache) else {
      throw ValidationError(
        "--manifest, --weight, --retries and --cache are for many requests; add --rate, --stages or --concurrency"
      )
    }
    if duration != nil, !isGiven {
      throw ValidationError(
        "--duration is for many requests and for events; add --rate, --concurrency or --subscribe")
    }
    guard manifest != nil || weight.isEmpty else {
      throw ValidationError("--weight needs the operations of a manifest: --manifest FILE")
    }
    if let subscriptions, manifest == nil || !(1...10_000).contains(subscriptions) {
      throw ValidationError(
        "--subscriptions is 1 to 10000 of those of a manifest: --manifest FILE; for events alone, use --subscribe"
      )
    }
    if eventTime != nil, !subscribe, manifest == nil {
      throw ValidationError(
        "--event-time is for events: of --subscribe, or subscriptions of --manifest")
    }
    do throws(ProfileError) {
      _ = try schedule()
      _ = try timeOfEvents()
    } catch {
      throw ValidationError(error.message)
    }
  }

  private static func parsed(_ text: String) -> Duration? {
    (try? Duration(optionText: text)).flatMap {
      $0 > .zero && $0 <= .seconds(LoadSchedule.maxSeconds) ? $0 : nil
    }
  }

  private func schedule() throws(ProfileError) -> LoadSchedule? {
    guard let stages else { return nil }
    return try LoadSchedule(stages)
  }

  /// Where events have a time; `nil` without the option.
  func timeOfEvents() throws(ProfileError) -> EventTime? {
    guard let eventTime else { return nil }
    return try EventTime(eventTime)
  }

  var time: Duration { duration.flatMap(Self.parsed) ?? .seconds(10) }

  var thinkTime: Duration { think.flatMap(Self.parsed) ?? .zero }

  var model: LoadReport.Model {
    let limit = concurrency ?? 1000
    if let stages = (try? schedule())?.stages { return .stages(stages: stages, inFlight: limit) }
    if let rate { return .open(rate: rate, inFlight: limit) }
    return .closed(concurrency: concurrency ?? 1)
  }

  /// How the pipeline is used for requests.
  var notes: [String] {
    [
      retries
        ? "with the retries of the pipeline: a request has failed after its last attempt"
        : "without retries: each failure counts (--retries uses those of the pipeline)",
      cache
        ? "with the cache of the pipeline: requests that it answers send nothing"
        : "without a cache: each request uses the network (--cache uses that of the pipeline)",
    ]
  }

  /// Removes the retries and the cache from a pipeline, unless the user asks for them.
  func apply(to pipeline: inout Pipeline) throws {
    if !retries { try pipeline.configure(MaxRetryPlugin.self) { $0.maxRetries = 0 } }
    guard !cache else { return }
    pipeline.entries.removeAll { $0.parts.contains { $0.isCacheRead || $0.isCacheWrite } }
    pipeline.store = StoreConfiguration()
  }

  /// The operations of a manifest with their weights: requests, and the subscriptions beside them.
  ///
  /// - Parameter manifest: The manifest, with the file for messages.
  func mix(_ manifest: Manifest, _ source: ManifestOptions) throws -> ManifestLoad {
    let weights = try weights()
    let given = try source.describingErrors { try ManifestRequests(manifest, isStored: cache) }
    let ids = (given.operations + given.subscriptions).map(\.id)
    if let unknown = weights.keys.sorted().first(where: { !ids.contains($0) }) {
      throw Failure(
        .usage,
        "--weight names `\(unknown)`, and the operations of \(source.manifest) are "
          + ids.joined(separator: ", "))
    }
    if given.subscriptions.isEmpty, subscriptions != nil || eventTime != nil {
      throw Failure(
        .usage,
        "\(source.manifest) has no subscription; leave out --subscriptions and --event-time, or add one"
      )
    }
    for id in given.shortened {
      Terminal.hint(
        "`\(id)` has more rows than a load keeps in memory; the first 10000 are used in turn")
    }
    for id in given.mutations {
      Terminal.warning("`\(id)` is a mutation, and the load executes it with every request")
    }
    func mix(_ operations: [ManifestRequests.Operation], byRows: Bool = false) -> LoadMix {
      LoadMix(
        operations.map { operation in
          LoadMix.Operation(
            name: operation.id,
            weight: byRows ? Double(operation.requests.count) : weights[operation.id] ?? 1,
            requests: operation.requests.map { request in
              var request = request
              request.cachePolicy = cache ? request.cachePolicy : .networkOnly
              return request
            }
          ) { operation.expectations.problem(of: $0, milliseconds: $1) }
        })
    }
    let rows = given.subscriptions.reduce(0) { $0 + $1.requests.count }
    // With the numbers of rows as weights, each row has its turn once.
    let byRows = subscriptions == nil && !given.subscriptions.contains { weights[$0.id] != nil }
    return ManifestLoad(
      requests: mix(given.operations),
      subscriptions: given.subscriptions.isEmpty
        ? nil : (mix(given.subscriptions, byRows: byRows), subscriptions ?? min(rows, 10_000)))
  }

  private func weights() throws -> [String: Double] {
    var weights: [String: Double] = [:]
    for text in weight {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let value = Double(String(parts[1])), value > 0, value <= 1e6 else {
        throw Failure(
          .usage,
          "cannot read --weight \(text); write the id of an operation and a number above 0: Country=3"
        )
      }
      guard weights.updateValue(value, forKey: String(parts[0])) == nil else {
        throw Failure(.usage, "--weight gives `\(parts[0])` twice; leave one out")
      }
    }
    return weights
  }
}

/// What a load sends.
struct ManifestLoad {
  var requests: LoadMix
  /// The subscriptions that are open meanwhile, and their number; `nil` if there are none.
  var subscriptions: (mix: LoadMix, count: Int)?
}

// Measures requests through pipelines.
extension ProfileCommand {
  /// Loads a pipeline file; `nil` is the default pipeline.
  func loadedPipeline(_ file: String?) throws -> Pipeline {
    try EndpointArguments(endpoint: endpoint, pipeline: file)
      .load(request: requestOptions, trust: trustOptions)
  }

  /// Opens a client for a pipeline file, and closes it after `body`.
  ///
  /// - Parameter connections: The number of requests or subscriptions at a time.
  private func withClient<Result>(
    _ document: String, through file: String?, connections: Int = 1,
    _ body: (PipelineRunner, GraphQLRequest, ConnectionMeter) async throws -> Result
  ) async throws -> Result {
    var loaded = try loadedPipeline(file)
    try Self.allow(connections, in: &loaded, isDefault: file == nil)
    let operation = try operationOptions.prepare(document, pipeline: loaded, isSent: true)
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
  ///
  /// - Parameters:
  ///   - requests: The number of requests at a time.
  ///   - subscriptions: The number of subscriptions beside them, each of which may need a connection.
  private static func allow(
    _ requests: Int, beside subscriptions: Int = 0, in pipeline: inout Pipeline, isDefault: Bool
  ) throws {
    let limit = pipeline.entries.lazy.compactMap { ($0.plugin as? FetchPlugin)?.maxConnections }
      .first
    guard let limit, limit < requests + subscriptions || isDefault && subscriptions > 0 else {
      return
    }
    if isDefault {
      try pipeline.configure(FetchPlugin.self) {
        $0.maxConnections = min(max(limit, requests) + subscriptions, 10_000)
      }
    } else {
      Terminal.hint(
        "the pipeline opens at most \(limit) connections to an HTTP/1.1 server; raise max_connections of "
          + "fetch to measure \(requests + subscriptions) at a time")
    }
  }

  /// Fetches the response through each pipeline in turn, and saves a copy of its body.
  func fetch(_ document: String, copy: String) async throws -> [NetworkReport] {
    let files: [String?] = pipeline.isEmpty ? [nil] : pipeline
    var fetches = [[FetchMeasurement]](repeating: [], count: files.count)
    for round in 0..<(warmup + runs) {
      for (index, file) in files.enumerated() {
        try Task.checkCancellation()
        Terminal.showStatus("fetching, \(round + 1) of \(warmup + runs)")
        let isLast = round == warmup + runs - 1 && index == 0
        let fetch = try await withClient(document, through: file) { runner, request, meter in
          try await FetchRun.run(runner, request, copy: isLast ? copy : nil, meter: meter)
        }
        if round >= warmup { fetches[index].append(fetch) }
      }
    }
    Terminal.showStatus(nil)
    return zip(files, fetches).compactMap { file, measured in
      NetworkReport(
        measured, label: file ?? "the default pipeline",
        first: files.count > 1 ? fetches[0] : nil)
    }
  }

  /// Measures the events of subscriptions.
  func measureEvents(of document: String) async throws -> SubscriptionReport {
    let count = load.concurrency ?? 1
    return try await withClient(
      document, through: pipeline.first, connections: count
    ) { runner, request, meter in
      guard let operation = request.operation, operation.type == .subscription else {
        throw Failure(
          .usage,
          "--subscribe measures subscriptions, and \(document) has \(request.operation?.label ?? "none")"
        )
      }
      Terminal.showStatus("measuring events")
      defer { Terminal.showStatus(nil) }
      let mix = LoadMix([.init(name: operation.label, requests: [request])])
      return try await SubscriptionRun(
        runner, mix, count: count, duration: load.time, meter: meter,
        eventTime: load.timeOfEvents()
      ).run()
    }
  }

  /// Sends the requests of the document, and measures them.
  func measureRequests(of document: String) async throws -> LoadReport {
    let loaded = try loadedPipeline(pipeline.first)
    let operation = try operationOptions.prepare(document, pipeline: loaded, isSent: true)
    let request = GraphQLRequest(operation, cachePolicy: load.cache ? nil : .networkOnly)
    let mix = LoadMix([.init(name: operation.label, requests: [request])])
    return try await measure(
      ManifestLoad(requests: mix), through: loaded, isDefault: pipeline.isEmpty
    ).load
  }

  /// Sends the requests of a load through a pipeline, and measures them.
  ///
  /// - Parameter isDefault: Whether the user has named no pipeline.
  func measure(
    _ given: ManifestLoad, through pipeline: Pipeline, isDefault: Bool
  ) async throws -> (load: LoadReport, events: SubscriptionReport?) {
    var pipeline = pipeline
    let mix = given.requests
    try load.apply(to: &pipeline)
    try Self.allow(
      load.concurrency ?? 1, beside: given.subscriptions?.count ?? 0, in: &pipeline,
      isDefault: isDefault)
    let meter = ConnectionMeter()
    let client = try await PipelineClient.open(
      pipeline, logger: RunLog.logger(verbosity: 0, isQuiet: true)
    ) { $0.meter = meter }
    return try await client.shutdown { client in
      let runner = PipelineRunner(client.pipeline, services: client.services)
      let measured = PipelineRequest(runner, mix, meter: meter)
      // The first request opens a connection, and shows whether the others can succeed.
      if let error = await measured.perform(mix.first).error, Self.isHopeless(error) { throw error }
      let (before, sent) = (meter.count, measured.sentRequests)
      Terminal.showStatus("sending requests")
      var run = LoadRun(model: load.model, duration: load.time) { await measured.perform() }
      run.thinkTime = load.thinkTime
      if mix.operations.count > 1 { run.operations = mix.operations.map(\.name) }
      var events: SubscriptionReport?
      var report: LoadReport
      if let (mix, count) = given.subscriptions {
        let subscriptions = SubscriptionRun(
          runner, mix, count: count, duration: .seconds(run.seconds),
          eventTime: try load.timeOfEvents())
        (report, events) = await subscriptions.run(beside: { await run.run() })
      } else {
        report = await run.run()
      }
      report.connections = meter.count - before
      report.httpRequests = measured.sentRequests - sent
      report.notes = load.notes
      Terminal.showStatus(nil)
      return (report, events)
    }
  }

  /// Whether no request can succeed after this failure of the first one. Other failures are what a load measures.
  private static func isHopeless(_ error: any Error) -> Bool {
    switch Failure(describing: error).status {
    case .unreachable, .authentication, .badInput, .badPipeline, .interrupted: true
    default: false
    }
  }
}
