import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunTestSupport

@testable import GQLRunBatch

/// A queue in a schema of its own, with a connection to look at it.
struct QueueBench {
  let location: Place
  let url: String
  let connection: PostgresConnection

  init(_ server: PostgresServer? = nil) throws {
    let server = try server ?? PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    try PostgresConnection(server.url).run("CREATE SCHEMA \(name)")
    self.url = url
    connection = try PostgresConnection(url)
    location = try Place()
    try location.write(
      "mutation Like($id: ID!) { user: likePost(id: $id) { id } }", to: "m.graphql")
  }

  /// A manifest with one operation over the rows of `ids.csv`.
  func manifest(
    _ count: Int, document: String = "u.graphql", operation: String = "",
    sinks: String = "[{ ndjson: { path: \"out/{{op}}.ndjson\" } }]", run: String = "",
    variables: String = "{ id: \"{{row.id}}\" }", server: String? = nil
  ) throws -> Manifest {
    try location.write(Bench.ids(count), to: "ids.csv")
    return try Bench.load(
      """
      version: 1
      name: users
      run: { concurrency: 8, journal: "\(url)"\(run) }
      sinks: \(sinks)
      operations:
        - id: users
          document: \(document)
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: \(variables)
          \(operation)
      """, in: location, url: server)
  }

  /// A queue with a run of one operation over the rows of `ids.csv`.
  static func begun(
    _ count: Int, document: String = "u.graphql", operation: String = "", run: String = ""
  ) throws -> (bench: QueueBench, manifest: Manifest) {
    let bench = try QueueBench()
    let manifest = try bench.manifest(count, document: document, operation: operation, run: run)
    try bench.begin(manifest)
    return (bench, manifest)
  }

  /// Begins a run with the tasks of a manifest.
  func begin(_ manifest: Manifest) throws {
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    _ = try queue.enqueue()
  }

  /// Adds a worker without starting it. It has no heartbeats: the one that it begins with is an hour ahead, so that it
  /// does not count as lost in a test that takes long. A call of ``reap(_:)`` ends that.
  func worker(_ manifest: Manifest) throws -> QueueWorker {
    let run = try QueueRun.current(manifest, connection)
    let worker = QueueWorker(id: UUID().uuidString.lowercased(), run: run.id)
    try connection.run(
      """
      INSERT INTO gq_worker (id, run, host, seen_at)
      VALUES ($1::uuid, $2::uuid, 'test', now() + interval '1 hour')
      """, .text(worker.id), .text(run.id))
    return worker
  }

  /// The database's clock passes the age at which a worker counts as lost, and the hour that ``worker(_:)`` gives it.
  func lose(_ worker: QueueWorker) throws {
    try connection.run(
      "UPDATE gq_worker SET seen_at = seen_at - interval '1 hour 31 s' WHERE id = $1::uuid",
      .text(worker.id))
  }

  /// The worker sends a heartbeat.
  func beat(_ worker: QueueWorker) throws {
    try connection.run(
      "UPDATE gq_worker SET seen_at = now() WHERE id = $1::uuid", .text(worker.id))
  }

  func claim(_ limit: Int, _ worker: QueueWorker) throws -> [TaskItem] {
    try QueueClaim.take(limit, for: worker, operations: ["users": 0], connection)
  }

  func reap(_ manifest: Manifest) throws -> Int {
    let run = try QueueRun.current(manifest, connection)
    return try QueueReaper(manifest, run: run.id).reap(connection)
  }

  /// The stage of a worker that holds the tasks of claims.
  func stage(
    _ manifest: Manifest, _ worker: QueueWorker, _ claims: [TaskItem]
  ) async throws -> (stage: QueueStage, leases: LeaseTable) {
    let leases = LeaseTable()
    for claim in claims { leases.add(claim.id, claim.lease) }
    let stage = QueueStage(
      manifest, database: QueueDatabase(url: url), worker: worker, plan: try SinkPlan(manifest),
      leases: leases)
    try await stage.open()
    return (stage, leases)
  }

  /// The store of a worker, on a clock on which sleeping takes no time.
  func store(_ manifest: Manifest, _ worker: QueueWorker) throws -> QueueStore {
    let services = Services(clock: ServiceClock(TestClock.jumping()))
    let database = QueueDatabase(
      url: url, clock: services.clock, patience: manifest.settings.patience)
    return try QueueStore(
      manifest, database: database, worker: worker,
      limits: QueueLimits(
        QueueClient(database), clock: services.clock, credential: "http://server", rate: nil),
      governor: Governor(manifest, services: services), services: services, stop: RunStop())
  }

  /// The outcome of a task, with a line for its sink.
  func outcome(
    _ claim: TaskItem, _ state: TaskState = .done, ended: Double = 1
  ) -> Outcome {
    var update = TaskUpdate(id: claim.id, operation: 0, key: claim.key, state: state)
    update.lease = claim.lease
    update.page = 1
    update.attempts = 1
    update.ended = ended
    var outcome = Outcome(update: update, operation: 0)
    if state == .done {
      outcome.line = Array("{}".utf8)
      outcome.pieces = [[.bytes(Array("\"\(claim.key)\"\n".utf8), records: 1)]]
    }
    return outcome
  }

  /// Runs workers at the same time, over the network; a single one may be interrupted at a number of requests.
  @discardableResult
  func work(
    _ manifest: Manifest, workers: Int = 1, transport: (any HTTPTransport)? = nil,
    stopAt: Int? = nil
  ) async throws -> [BatchWorker.Summary] {
    let network = Bench.network()
    let control = RunControl()
    let counting = stopAt.map { CountingTransport(network, stopAt: $0, control) }
    do {
      let summaries = try await withThrowingTaskGroup(of: BatchWorker.Summary.self) { group in
        for _ in 0..<workers {
          group.addTask {
            let services = Services(transport: transport ?? counting ?? network)
            return try await BatchWorker(manifest, services: services).run(control)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      await network.shutdown()
      return summaries
    } catch {
      await network.shutdown()
      throw error
    }
  }

  /// The number of tasks by state.
  func counts() throws -> [String: Int] {
    let rows = try connection.run("SELECT state, count(*) FROM gq_task GROUP BY state")
    return Dictionary(
      uniqueKeysWithValues: (0..<rows.count).map { (rows.text($0, 0), rows.int($0, 1)) })
  }
}
