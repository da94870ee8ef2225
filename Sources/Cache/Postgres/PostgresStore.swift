import GQLRunPostgres
import GQLRunSupport

/// A store in PostgreSQL, which processes on several machines share.
///
/// Records are rows of text. A transaction keeps its edits in memory; at its commit the records that it concerns are
/// read, merged by the same code as in memory, and written, in one transaction of the database. Transactions of all
/// stores run one at a time: each holds an advisory lock.
package final class PostgresStore: BufferedStore {
  package let segmentSeed: UInt64
  package let takesWholeResponses = true
  package let activity = StoreActivity()
  let connections: PostgresConnections
  let collectsChanges: Bool
  private let gate = AsyncMutex()
  private let options: CacheStore.PostgresOptions
  private let changes = DataVersion()

  /// Opens the cache; creates its tables if they do not exist.
  package init(_ options: CacheStore.PostgresOptions) async throws(CacheError) {
    self.options = options
    collectsChanges = options.collectsChanges
    let connections = PostgresConnections(options.url)
    self.connections = connections
    do {
      segmentSeed = try await connections.write { try PostgresSchema.open($0) }
    } catch {
      connections.close()
      throw Self.describe(error, "open the cache")
    }
  }

  // MARK: Reading

  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      return try await connections.read { [self] connection in
        // A layer that was settled before the first statement is in the records; see `commit`.
        var edits: [StoreEdit] = []
        if activity.hasLayers {
          edits = try activity.reading { edits in
            try connection.run("SELECT 1")
            return edits
          }
        }
        return try answer(operation, connection, edits, options)
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      return try await connections.write(continuing: true) { [self] connection in
        try answer(operation, connection, edits, options)
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  private func answer(
    _ operation: PreparedOperation, _ connection: PostgresConnection, _ edits: [StoreEdit],
    _ options: ReadOptions
  ) throws -> StoreAnswer {
    try learnTypes(of: operation.plan, connection)
    let records = PostgresRecords(connection)
    let answer =
      options.checksAges
      ? try answer(operation, TimedPostgresSource(records: records), edits, options)
      : try answer(operation, PostgresSource(records: records), edits, options)
    if let failure = records.failure { throw failure }
    return answer
  }

  private func answer(
    _ operation: PreparedOperation, _ source: some RecordSource, _ edits: [StoreEdit],
    _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    let types = activity.concreteTypes
    if edits.isEmpty {
      return try RecordReader(operation.plan, source: source, types: types, options: options).read()
    }
    let layered = LayeredSource(source, edits: edits, seed: segmentSeed)
    return try RecordReader(operation.plan, source: layered, types: types, options: options).read()
  }

  /// Looks for type conditions of an operation that are not known to be concrete types; another process may have met
  /// them.
  private func learnTypes(
    of plan: OperationPlan, _ connection: PostgresConnection
  ) throws(PostgresError) {
    let open = plan.openConditions.filter { !activity.concreteTypes.contains($0) }
    guard !open.isEmpty else { return }
    let rows = try connection.run(
      "SELECT name FROM gqlrun_type WHERE name = ANY($1)", .texts(open.map { Array($0.utf8) }))
    activity.concreteTypes.add((0..<rows.count).map { rows.text($0, 0) })
  }

  package func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation {
    do {
      return try await connections.read { [self] connection in
        try learnTypes(of: operation.plan, connection)
        var explainer = RecordExplainer(
          operation.plan, source: TimedPostgresSource(records: PostgresRecords(connection)),
          types: activity.concreteTypes, options: options, detail: detail)
        return try explainer.explain()
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  package func record(forKey key: String) async throws(CacheError) -> String? {
    do {
      return try await connections.read { connection in
        var source = PostgresSource(records: PostgresRecords(connection))
        let text = try RecordLookup.text(
          of: key, in: { try Self.forEachRecord(connection, $0) }, source: source
        ) { source.text(key: $0, depth: 0) }
        if let failure = source.failure { throw failure }
        return text
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  package func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) async throws {
    do {
      try await connections.read { connection in
        var writer = DumpWriter(
          source: PostgresSource(records: PostgresRecords(connection)), write: write)
        try Self.forEachRecord(connection) { try writer.add(key: $0, text: $1) }
        try writer.finish()
      }
    } catch let error as PostgresError {
      throw Self.describe(error, "read the cache")
    }
  }

  package func statistics() async throws(CacheError) -> StoreStatistics {
    do {
      return try await connections.read { connection in
        var statistics = StoreStatistics()
        try Self.forEachRow(
          "SELECT key, octet_length(data)::int8 FROM gqlrun_record ORDER BY key", connection
        ) { statistics.count(key: Bytes($0.bytes($1, 0)), textCount: $0.int($1, 1)) }
        statistics.fileBytes = try connection.run(
          "SELECT pg_total_relation_size('gqlrun_record')"
        ).int(0, 0)
        return statistics
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  /// Calls `body` with the key and the text of every record, sorted by the bytes of the keys.
  private static func forEachRecord(
    _ connection: PostgresConnection, _ body: (Bytes, Bytes) throws -> Void
  ) throws {
    try forEachRow("SELECT key, data FROM gqlrun_record ORDER BY key", connection) {
      try body(Bytes($0.bytes($1, 0)), Bytes($0.bytes($1, 1)))
    }
  }

  /// Calls `body` with each row of a query, of which a thousand are in memory at a time.
  static func forEachRow(
    _ query: String, _ connection: PostgresConnection, _ body: (PostgresRows, Int) throws -> Void
  ) throws {
    try connection.run("DECLARE gqlrun_rows NO SCROLL CURSOR FOR \(query)")
    while true {
      let rows = try connection.run("FETCH 1000 FROM gqlrun_rows")
      if rows.count == 0 { break }
      for row in 0..<rows.count { try body(rows, row) }
    }
    try connection.run("CLOSE gqlrun_rows")
  }

  // MARK: Writing

  package func begin() async throws(CacheError) -> any RecordTransaction {
    try await lock()
    return BufferedTransaction(store: self)
  }

  /// Begins a transaction of the database that no other store runs at the same time.
  func lock() async throws(CacheError) {
    do throws(CancellationError) {
      try await gate.acquire()
    } catch {
      throw CacheError(
        .cancelled,
        "cannot write to the cache in PostgreSQL: the task was cancelled while it waited for the lock"
      )
    }
    let wait = options.maximumWait
    do {
      try await connections.write { connection in
        if connection.isInTransaction { try connection.run("ROLLBACK") }
        try connection.run("BEGIN")
        let milliseconds = max(1, wait.components.seconds * 1000)
        try connection.run("SET LOCAL lock_timeout = \(milliseconds)")
        try connection.run(
          """
          SELECT pg_advisory_xact_lock(
            (1196509266::int8 << 32) | 'gqlrun_record'::regclass::oid::int8)
          """)
      }
    } catch {
      await rollback()
      throw Self.describe(error, "start writing to the cache")
    }
  }

  func rollback() async {
    try? await connections.write(continuing: true) { connection in
      if connection.isInTransaction { try connection.run("ROLLBACK") }
    }
    gate.release()
  }

  func commit(
    _ edits: [StoreEdit], _ pages: [Paging], _ types: [String], settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    let collection: ChangeCollection =
      collectsChanges ? .all : activity.isWatched ? .bounded : .none
    do {
      // A separate task: cancelling the caller does not interrupt the commit.
      let (summary, settled) = try await Task { [self] in
        try await connections.write(continuing: true) { [self] connection in
          var change = try PostgresChange(
            edits, joinsPages: !pages.isEmpty, connection)
          let summary = change.apply(edits, pages, collects: collection, seed: segmentSeed)
          try change.write(connection, granularity: options.ageGranularity)
          try Self.add(types, connection)
          try Self.noteChange(connection)
          guard let layer else {
            try connection.run("COMMIT")
            return (summary, OptimisticLayer.Content?.none)
          }
          return try activity.changing {
            try connection.run("COMMIT")
            return (summary, activity.take(layer))
          }
        }
      }.value
      gate.release()
      activity.post(summary)
      activity.post([settled])
      return summary
    } catch {
      await rollback()
      throw Self.describe(error, "commit to the cache")
    }
  }

  private static func add(
    _ types: [String], _ connection: PostgresConnection
  ) throws(PostgresError) {
    guard !types.isEmpty else { return }
    try connection.run(
      """
      INSERT INTO gqlrun_type SELECT DISTINCT unnest($1::text[])
      WHERE (SELECT count(*) FROM gqlrun_type) < $2 ON CONFLICT DO NOTHING
      """, .texts(types.map { Array($0.utf8) }), .int(ConcreteTypes.limit))
  }

  /// Lets other processes see that there is a change; see ``refresh()``.
  static func noteChange(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.run("UPDATE gqlrun_cache SET changes = changes + 1")
  }

  @discardableResult
  package func refresh() async throws(CacheError) -> Bool {
    do {
      let count = try await connections.read {
        try $0.run("SELECT changes FROM gqlrun_cache").int(0, 0)
      }
      guard changes.isNew(count) else { return false }
    } catch {
      throw Self.describe(error, "look for changes of the cache")
    }
    activity.noteUnknownChanges()
    return true
  }

  package func copy(to path: String) async throws(CacheError) {
    throw CacheError(
      .storage, "cannot copy a cache in PostgreSQL to \(path); use pg_dump with its tables gqlrun_*"
    )
  }

  package func close() throws(CacheError) { connections.close() }

  /// The error of the cache for an error of the database.
  static func describe(_ error: any Error, _ action: String) -> CacheError {
    guard let error = error as? PostgresError else {
      return error as? CacheError
        ?? CacheError(.storage, "cannot \(action) in PostgreSQL: \(error)")
    }
    let code: CacheError.Code =
      error.isContention
      ? .busy : error.state == "25006" || error.state == "42501" ? .readOnly : .storage
    return CacheError(code, "cannot \(action) in PostgreSQL: \(error.message) (\(error.state))")
  }
}

extension CacheStore {
  /// The options of a store in PostgreSQL.
  public struct PostgresOptions: Sendable {
    /// The database, as a URL or connection string of libpq: `postgresql://host/database`. What it does not have comes
    /// from the variables `PGHOST`, `PGUSER`, … and from the password file.
    public var url: String
    /// The maximum time that a write waits for another process that writes, in whole seconds. 10 by default.
    public var maximumWait = Duration.seconds(10)
    /// The granularity of record times, in seconds: an unchanged record is not written again within it. 60 by
    /// default; 0 is exact.
    public var ageGranularity = AgeRules.defaultGranularity
    /// Whether every write reports the changed fields. By default, only while there are watchers.
    public var collectsChanges = false

    /// Creates the default options.
    ///
    /// - Parameter url: The database, as a URL or connection string of libpq.
    public init(url: String) { self.url = url }
  }

  /// Opens a store in PostgreSQL, which processes on several machines share; creates its tables (`gqlrun_cache`,
  /// `gqlrun_record`, `gqlrun_type`) in the first schema of the search path if they do not exist.
  ///
  /// A response is merged when it is complete, in one transaction. Writers of all processes wait for each other.
  ///
  /// - Throws: ``CacheError``: `storage` if the database cannot be reached, `foreignDatabase` for tables of a newer
  ///   version.
  public static func postgres(_ options: PostgresOptions) async throws(CacheError) -> CacheStore {
    CacheStore(try await PostgresStore(options))
  }
}
