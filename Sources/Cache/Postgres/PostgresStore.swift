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

  /// Runs `body` in a transaction that only reads.
  private func reading<Result: Sendable>(
    _ action: String = "read the cache",
    _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws(CacheError) -> Result {
    do { return try await connections.read(body) } catch { throw Self.describe(error, action) }
  }

  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    try await reading { [self] connection in
      // A layer that was settled before the first statement is in the records; see `commit`.
      var edits: [StoreEdit] = []
      if activity.hasLayers {
        edits = try activity.reading { edits in
          try connection.run("SELECT 1")
          return edits
        }
      }
      return try answer(operation, connection: connection, edits: edits, options: options)
    }
  }

  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      return try await connections.write(continuing: true) { [self] connection in
        try answer(operation, connection: connection, edits: edits, options: options)
      }
    } catch {
      throw Self.describe(error, "read the cache")
    }
  }

  private func answer(
    _ operation: PreparedOperation, connection: PostgresConnection, edits: [StoreEdit],
    options: ReadOptions
  ) throws -> StoreAnswer {
    try Self.learn(activity.concreteTypes, for: operation.plan, connection)
    let source = PostgresSource(connection)
    let answer = try answer(operation, from: source, under: edits, options: options)
    if let failure = source.failure { throw failure }
    return answer
  }

  /// Looks for type conditions of an operation that are not known to be concrete types; another process may have met
  /// them.
  static func learn(
    _ types: ConcreteTypes, for plan: OperationPlan, _ connection: PostgresConnection
  ) throws(PostgresError) {
    let open = plan.openConditions.filter { !types.contains($0) }
    guard !open.isEmpty else { return }
    let rows = try connection.run(
      "SELECT name FROM gqlrun_type WHERE name = ANY($1)", .texts(open.map { Array($0.utf8) }))
    types.add((0..<rows.count).map { rows.text($0, 0) })
  }

  package func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) async throws -> Result {
    do {
      return try await connections.read { try work(PostgresScan(connection: $0)) }
    } catch let error as PostgresError {
      throw Self.describe(error, "read the cache")
    }
  }

  package func fileSizes() async throws(CacheError) -> (file: Int?, log: Int?) {
    let size = try await reading {
      try $0.run("SELECT pg_total_relation_size('gqlrun_record')").int(0, 0)
    }
    return (size, nil)
  }

  /// Calls `body` with each row of a query, of which a thousand are in memory at a time.
  static func forEachRow(
    _ query: String, connection: PostgresConnection, body: (PostgresRows, Int) throws -> Void
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
    try await gate.acquire(toWriteTo: "in PostgreSQL")
    let wait = options.maxWait
    do {
      try await connections.write { connection in
        if connection.isInTransaction { try connection.run("ROLLBACK") }
        try connection.run(PostgresConnection.begin)
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
    _ changes: BufferedEdits, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    let collection = activity.collection(all: collectsChanges)
    do {
      // A separate task: cancelling the caller does not interrupt the commit.
      let (summary, settled) = try await Task { [self] in
        try await connections.write(continuing: true) { [self] connection in
          var change = try PostgresChange(changes, connection)
          let summary = change.apply(changes, collects: collection, seed: segmentSeed)
          try change.write(connection, granularity: options.ageGranularity)
          try Self.add(changes.types, connection)
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
    let count = try await reading("look for changes of the cache") {
      try $0.run("SELECT changes FROM gqlrun_cache").int(0, 0)
    }
    guard changes.isNew(count) else { return false }
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
      if error is CancellationError {
        return CacheError(.cancelled, "cannot \(action) in PostgreSQL: the task was cancelled")
      }
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
    public var maxWait = Duration.seconds(10)
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

extension PostgresStore {
  /// Runs `body` as a transaction that no other store runs at the same time.
  ///
  /// - Parameter ended: Called before others can begin, also after an error.
  private func change<Result: Sendable>(
    _ action: String, ended: () -> Void = {},
    _ body: @escaping @Sendable (PostgresConnection) throws -> Result
  ) async throws(CacheError) -> Result {
    try await lock()
    do {
      let result = try await connections.write(continuing: true) { connection in
        let result = try body(connection)
        try connection.run("COMMIT")
        return result
      }
      ended()
      await rollback()
      return result
    } catch {
      ended()
      await rollback()
      throw Self.describe(error, action)
    }
  }

  /// Removes all records and optimistic layers.
  package func clear() async throws(CacheError) {
    try await change("clear the cache", ended: activity.noteCleared) { connection in
      // Unlike DELETE it leaves nothing of the data in the table's file.
      try connection.run("TRUNCATE gqlrun_record, gqlrun_type")
      try Self.noteChange(connection)
    }
  }

  package func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) async throws(CacheError) -> RemovalSummary {
    let collection = activity.collection(all: collectsChanges)
    let summary = try await change(task.action) { connection in
      let log = RemovalLog(collection, progress)
      try task.run(on: PostgresHousekeeping(connection: connection), log)
      try Self.noteChange(connection)
      return log.step
    }
    progress.noteRemoved(summary)
    activity.post(summary)
    return summary
  }

  /// Compares the version of the key resolver with that of the database, in the table
  /// `gqlrun_key_resolver`. A cache without records takes the given one.
  package func adopt(keyResolver version: String?) async throws(CacheError) {
    do {
      if try await connections.write({ try Self.hasKeys(of: version, $0) }) { return }
    } catch {
      throw Self.describe(error, "compare the key resolver of the cache")
    }
    try await change("note the key resolver of the cache") { connection in
      // Another process may have written meanwhile.
      if try Self.hasKeys(of: version, connection) { return }
      try connection.run("CREATE TABLE IF NOT EXISTS gqlrun_key_resolver (version text NOT NULL)")
      try connection.run("DELETE FROM gqlrun_key_resolver")
      if let version {
        try connection.run("INSERT INTO gqlrun_key_resolver VALUES ($1)", .text(version))
      }
    }
  }

  /// Whether the cache has this version; `false` for one without records and with another version.
  private static func hasKeys(
    of version: String?, _ connection: PostgresConnection
  ) throws -> Bool {
    var stored: String?
    if try connection.hasTable("gqlrun_key_resolver") {
      let rows = try connection.run("SELECT version FROM gqlrun_key_resolver")
      if rows.count > 0 { stored = rows.text(0, 0) }
    }
    if stored == version { return true }
    guard try connection.run("SELECT 1 FROM gqlrun_record LIMIT 1").count == 0 else {
      throw CacheError.otherResolver(connection.database, stored: stored, own: version)
    }
    return false
  }
}

/// The records that a transaction concerns, before and after it.
struct PostgresChange: Sendable {
  private let before: RecordTable
  /// The records as the transaction leaves them.
  var after: RecordTable

  /// Reads the records that edits concern, with the segments of their lists.
  init(_ changes: BufferedEdits, _ connection: PostgresConnection) throws(PostgresError) {
    var keys: Set<[UInt8]> = []
    var growing: [RecordDelta] = []
    for edit in changes.edits {
      // Pages are joined after the edits, which needs whole lists.
      if case .deltas(let deltas) = edit, changes.pages.isEmpty {
        for delta in deltas {
          if delta.appends { growing.append(delta) } else { keys.insert(delta.owner) }
        }
      } else {
        edit.forEachKey { keys.insert($0.array) }
      }
    }
    growing.removeAll { keys.contains($0.owner) }
    let records = PostgresSource(connection)
    try records.loadWithSegments(Array(keys))
    try records.loadEnds(of: growing)
    before = records.table
    after = before.compacted()
  }

  /// Merges the edits with the records.
  mutating func apply(
    _ changes: BufferedEdits, collects: ChangeCollection, seed: UInt64
  ) -> WriteSummary {
    var editor = TableEditor(table: after, seed: seed)
    let summary = editor.apply(changes.edits, changes.pages, collects: collects)
    after = editor.table
    return summary
  }

  /// Writes the differences.
  ///
  /// - Parameter granularity: Receive times that differ by less, in seconds, are not written.
  func write(_ connection: PostgresConnection, granularity: Int) throws(PostgresError) {
    var rows = Rows()
    for index in after.sortedByKey() {
      let key = after.key(at: index)
      let times = after.times(at: index)
      if let old = before.find(key, hash: after.hash(at: index)),
        before.text(at: old).equals(after.text(at: index))
      {
        let known = before.times(at: old)
        let isRecent = Int(times.received) - Int(known.received) < max(granularity, 1)
        if known.ages == times.ages, isRecent, known.received <= times.received { continue }
      }
      try rows.add(key, text: after.text(at: index), times: times, to: connection)
    }
    try rows.write(connection)
    let removed = before.live.filter { index in
      after.find(before.key(at: index), hash: before.hash(at: index)) == nil
    }
    if !removed.isEmpty {
      try connection.run(
        "DELETE FROM gqlrun_record WHERE key = ANY($1)",
        .byteStrings(removed.map { before.key(at: $0).array }))
    }
  }

  /// Rows to insert or replace, by column.
  struct Rows {
    private var keys: [[UInt8]] = []
    private var texts: [[UInt8]?] = []
    private var received: [Int] = []
    private var ages: [[UInt8]?] = []
    private var bytes = 0
    private static let maxBytes = 4 << 20

    /// Adds a row, and writes the rows so far if they are many.
    mutating func add(
      _ key: Bytes, text: Bytes, times: RecordTimes, to connection: PostgresConnection
    ) throws(PostgresError) {
      keys.append(key.array)
      texts.append(text.array)
      received.append(Int(times.received))
      ages.append(times.ages.isEmpty ? nil : times.ages)
      bytes += key.count + text.count
      if bytes > Self.maxBytes { try write(connection) }
    }

    mutating func write(_ connection: PostgresConnection) throws(PostgresError) {
      guard !keys.isEmpty else { return }
      try connection.run(
        """
        INSERT INTO gqlrun_record (key, data, received, ages)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::int8[], $4::text[])
        ON CONFLICT (key) DO UPDATE
        SET data = excluded.data, received = excluded.received, ages = excluded.ages
        """, .byteStrings(keys), .texts(texts), .ints(received), .texts(ages))
      self = Rows()
    }
  }
}

/// The records of a database in one transaction.
private struct PostgresScan: RecordScan {
  let connection: PostgresConnection

  var source: PostgresSource { PostgresSource(connection) }
  var damagedRecords: Int { 0 }

  func noteTypes(of operation: PreparedOperation, in activity: StoreActivity) throws {
    try PostgresStore.learn(activity.concreteTypes, for: operation.plan, connection)
  }

  func forEachRecord(_ body: (Bytes, Bytes) throws -> Void) throws {
    try PostgresStore.forEachRow(
      "SELECT key, data FROM gqlrun_record ORDER BY key", connection: connection
    ) { try body(Bytes($0.bytes($1, 0)), Bytes($0.bytes($1, 1))) }
  }
}

/// The records of a database, in the transaction that changes them.
private struct PostgresHousekeeping: HousekeepingRecords {
  let connection: PostgresConnection
  var isSorted: Bool { true }

  /// The maximum number of changes that are made at a time.
  private static let maxChanges = 1000

  var hasSegments: Bool {
    get throws {
      try connection.run(
        "SELECT 1 FROM gqlrun_record WHERE \(PostgresSource.range(Segments.prefix)) LIMIT 1"
      )
      .count > 0
    }
  }

  func edit(
    prefix: [UInt8], needsTexts: Bool, removed: (Bytes, Bytes) -> Void,
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    var removals: [[UInt8]] = []
    var replacements = PostgresChange.Rows()
    let text = needsTexts ? "data" : "''"
    try PostgresStore.forEachRow(
      """
      SELECT key, \(text), octet_length(data), received, ages FROM gqlrun_record
      WHERE \(PostgresSource.range(prefix)) ORDER BY key
      """, connection: connection
    ) { rows, row in
      let key = Bytes(rows.bytes(row, 0))
      let times = RecordTimes(
        received: UInt32(clamping: rows.int(row, 3)), ages: Array(rows.bytes(row, 4)))
      let record = HousekeepingRecord(
        key: key, text: Bytes(rows.bytes(row, 1)), size: key.count + rows.int(row, 2),
        times: times, rank: times.received)
      switch try body(record) {
      case .keep: break
      case .remove:
        removals.append(key.array)
        if removals.count == Self.maxChanges { try remove(&removals, removed) }
      case .replace(let text, let times):
        try text.withBytes {
          try replacements.add(key, text: $0, times: times, to: connection)
        }
      }
    }
    try remove(&removals, removed)
    try replacements.write(connection)
  }

  private func remove(_ keys: inout [[UInt8]], _ removed: (Bytes, Bytes) -> Void) throws {
    if keys.isEmpty { return }
    let rows = try connection.run(
      "DELETE FROM gqlrun_record WHERE key = ANY($1) RETURNING key, data", .byteStrings(keys))
    for row in 0..<rows.count { removed(Bytes(rows.bytes(row, 0)), Bytes(rows.bytes(row, 1))) }
    keys = []
  }

  func forEach(_ keys: [[UInt8]], _ body: (Bytes, Bytes) throws -> Void) throws {
    let rows = try connection.run(
      "SELECT key, data FROM gqlrun_record WHERE key = ANY($1)", .byteStrings(keys))
    for row in 0..<rows.count {
      try body(Bytes(rows.bytes(row, 0)), Bytes(rows.bytes(row, 1)))
    }
  }
}
