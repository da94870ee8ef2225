import Foundation
import GQLRun
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// A pipeline that the page draws, and sends requests through.
struct InspectedPipeline: Sendable {
  /// The file; `nil` for the default pipeline.
  let name: String?
  /// The pipeline without values of programs.
  let drawn: Pipeline
  /// Sends requests; or why none can be sent, for example because its programs are not trusted.
  let client: Result<PipelineClient, Failure>
  let allowsWrites: Bool

  /// The maximum size of a result that the page shows, in bytes.
  private static let maxTextBytes = 64 << 10
  /// The maximum number of results of one request.
  private static let maxResults = 20

  /// Loads a pipeline, and opens a client for it as `gqlrun run` does.
  ///
  /// - Throws: ``Failure`` if the file is not a pipeline.
  init(
    _ name: String?, endpoint: String?, request: RequestOptions, trust: TrustOptions,
    allowsWrites: Bool
  ) async throws {
    self.name = name
    self.allowsWrites = allowsWrites
    let arguments = EndpointArguments(endpoint: endpoint, pipeline: name)
    drawn = try arguments.load(usesProject: name == nil, isLook: true)
    do {
      let pipeline = try arguments.load(
        request: request, trust: trust, usesProject: name == nil, isQuiet: true)
      client = .success(try await Self.open(pipeline, allowsWrites: allowsWrites))
    } catch {
      var failure = Failure(describing: error)
      if failure.message.isEmpty { failure.message = "see the messages in the terminal" }
      client = .failure(failure)
      Terminal.warning(
        "requests cannot be sent through \(name ?? "the pipeline"): \(failure.message)")
    }
  }

  /// Without permission to write, results are not stored in a file or database.
  private static func open(_ pipeline: Pipeline, allowsWrites: Bool) async throws -> PipelineClient
  {
    var (store, access) = (StoreChoice?.none, CacheStore.SQLiteOptions.Access.readWrite)
    if !allowsWrites, pipeline.store.kind == .sqlite || pipeline.store.kind == .postgres {
      access = .readOnly
      let path = pipeline.store.path.flatMap {
        FileManager.default.fileExists(atPath: $0) ? $0 : nil
      }
      store = path.map { .sqlite($0) } ?? .memory
    }
    let isRefusing = if case .sqlite = store { true } else { false }
    return try await .open(
      (isRefusing ? pipeline.withoutWrites : pipeline).observed(by: ChainTrace.Observer()),
      store: store, access: access,
      logger: RunLog.logger(verbosity: 0, isQuiet: true))
  }

  /// The file of its store, if that exists.
  var storePath: String? {
    guard drawn.store.kind == .sqlite, let path = drawn.store.path,
      FileManager.default.fileExists(atPath: path)
    else { return nil }
    return path
  }

  /// Its key rules, and its schema.
  var rules: (keys: KeyRules, schema: Schema?) {
    get throws { try SchemaFile.rules(of: drawn) }
  }

  // MARK: Drawing

  /// The entries of the chain, and whether requests can be sent.
  var drawing: JSONValue {
    var problem = JSONValue.null
    if case .failure(let failure) = client { problem = .string(failure.message) }
    let store = [drawn.store.kind.rawValue, drawn.store.path].compactMap { $0 }
    let endpoint = (try? client.get().pipeline.endpoint ?? drawn.endpoint).flatMap {
      $0.isUnsent ? nil : $0.shownURL
    }
    return [
      "name": .string(name ?? "(default pipeline)"), "problem": problem,
      "endpoint": endpoint.map { .string($0) } ?? .null,
      "store": .string(store.joined(separator: " ")),
      "entries": .array(
        drawn.entries.map { entry in
          [
            "id": .string(entry.id), "plugin": .string(entry.pluginName ?? ""),
            "stage": .string(entry.placement?.stageText ?? ""),
            "kind": .string(entry.placement?.kind.rawValue ?? ""),
            "when": .string(entry.condition.description),
          ]
        }),
    ]
  }

  // MARK: Requests

  /// Sends an operation, and returns its results with what each entry of the chain did.
  func send(_ question: InspectQuestion) async throws -> JSONValue {
    let client = try client.get()
    let operation = try prepare(question)
    guard operation.type != .subscription else {
      throw Failure(.usage, "the operation is a subscription; start it below Subscriptions")
    }
    let trace = ChainTrace()
    var request = GraphQLRequest(operation, cachePolicy: question.policy)
    request.context[ChainTrace.Key.self] = trace
    let secrets = client.services.secrets
    var results: [JSONValue] = []
    var failure: String?
    do {
      let stream = client.execute(request)
      while results.count < Self.maxResults, let response = try await stream.next() {
        guard response.isComplete else { continue }
        results.append(try Self.json(response, at: trace.now, hiding: secrets))
      }
    } catch {
      failure = secrets.hide(in: Failure(describing: error).message)
    }
    return [
      "operation": .string(operation.label), "milliseconds": .thousandths(trace.now),
      "results": .array(results), "error": failure.map { .string($0) } ?? .null,
      "explanation": .string(drawn.shownExplanation(of: request)),
      "spans": .array(trace.spans.map { Self.json($0, hiding: secrets) }),
    ]
  }

  private func prepare(_ question: InspectQuestion) throws -> PreparedOperation {
    let (keys, schema) = try rules
    let operation = try question.prepare(keys, schema, isSent: true)
    guard operation.type != .mutation || allowsWrites else {
      throw Failure(
        .usage, "mutations are refused; start gqlrun inspect with --allow-write to send them")
    }
    return operation
  }

  private static func json(
    _ response: GraphQLResponse, at milliseconds: Double, hiding secrets: KnownSecrets
  ) throws -> JSONValue {
    var bytes: [UInt8] = []
    var size = 0
    // A secret at the limit is cut off with what follows.
    try response.forEachChunk { chunk in
      size += chunk.count
      bytes.append(contentsOf: chunk.prefix(max(2 * maxTextBytes - bytes.count, 0)))
    }
    let isShortened = size > maxTextBytes
    let whole = isShortened ? nil : try? JSONValue(parsing: bytes).jsonText(pretty: true)
    var text = secrets.hide(in: whole ?? String(decoding: bytes, as: UTF8.self))
    if isShortened { text = String(decoding: Array(text.utf8).prefix(maxTextBytes), as: UTF8.self) }
    return [
      "source": .string(response.origin), "milliseconds": .thousandths(milliseconds),
      "attempt": .number(JSONNumber(response.attempt)), "bytes": .number(JSONNumber(size)),
      "errors": .number(JSONNumber(response.errors.count)), "shortened": .boolean(isShortened),
      "stored": response.writeSummary.map {
        .number(JSONNumber($0.newRecords + $0.changedRecords))
      } ?? .null,
      "text": .string(text),
    ]
  }

  private static func json(_ span: ChainTrace.Span, hiding secrets: KnownSecrets) -> JSONValue {
    [
      "entry": .string(span.entry), "attempt": .number(JSONNumber(span.attempt)),
      "start": .thousandths(span.start), "end": .thousandths(span.end),
      "passed": span.passed.map { .thousandths($0) } ?? .null,
      "notes": .array(span.notes.map { .string(secrets.hide(in: $0)) }),
    ]
  }

  // MARK: Subscriptions

  /// The events of a subscription: `next`, `gap`, and at the end `complete` or `failed`.
  ///
  /// A page that reads slowly slows down the stream; what then happens to events is the pipeline's choice
  /// (`subscriptions: buffer`), and dropped ones are a gap with their number.
  func subscribe(
    _ question: InspectQuestion, holding entry: OpenRequests.Entry
  ) throws -> AsyncThrowingStream<[UInt8], any Error> {
    let client = try client.get()
    let operation = try prepare(question)
    guard operation.type == .subscription else {
      throw Failure(.usage, "\(operation.label) is no subscription; send it below Pipeline")
    }
    let secrets = client.services.secrets
    let stream = client.execute(GraphQLRequest(operation, cachePolicy: question.policy))
    let start = ContinuousClock.now
    let isOver = Locked(false)
    return AsyncThrowingStream {
      defer { withExtendedLifetime(entry) {} }
      if isOver.withLock({ $0 }) { return nil }
      do {
        guard let response = try await stream.next() else {
          isOver.withLock { $0 = true }
          return InspectServer.event("complete", [:])
        }
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        if let gap = response.gap {
          return InspectServer.event(
            "gap",
            [
              "note": .string(secrets.hide(in: gap.note)),
              "milliseconds": .thousandths(milliseconds),
              "dropped": .number(JSONNumber(gap.dropped)),
            ])
        }
        return InspectServer.event(
          "next", try Self.json(response, at: milliseconds, hiding: secrets))
      } catch let error where !(error is CancellationError) {
        isOver.withLock { $0 = true }
        let message = secrets.hide(in: Failure(describing: error).message)
        return InspectServer.event("failed", ["error": .string(message)])
      }
    }
  }
}

extension ConnectionState {
  /// The state for the page.
  var json: JSONValue {
    guard case .waiting(let time) = self else { return ["state": .string(text)] }
    return [
      "state": "waiting",
      "seconds": JSONNumber(max(0, time - Services.timeOfDay())).map { .number($0) } ?? .null,
    ]
  }
}
