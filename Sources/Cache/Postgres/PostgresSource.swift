import GQLRunPostgres
import GQLRunSupport

/// Reads records from PostgreSQL, within one transaction.
///
/// Records are read in groups: the first record that is missing here brings all the records that the last group refers
/// to, so that an operation takes about as many requests as it has levels, not records.
final class PostgresSource: RecordSource {
  private let connection: PostgresConnection
  let table = RecordTable()
  /// Keys that the database does not have.
  private let missing = RecordTable()
  /// Records whose references were not followed yet.
  private var unfollowed: [Int] = []
  private var last: Int?
  private(set) var failure: CacheError?
  /// How often the database was asked.
  private(set) var requests = 0
  /// Whether the errors of records are loaded with them.
  private var loadsErrors = false

  /// The most records that are read before they are needed, in one request.
  private static let maxAhead = 5_000

  init(_ connection: PostgresConnection) { self.connection = connection }

  func times(depth: Int) -> RecordTimes {
    last.map { table.times(at: $0) } ?? RecordTimes(received: 0)
  }

  func text(key: Bytes, depth: Int) -> Bytes? {
    last = table.find(key)
    if last == nil, failure == nil, missing.find(key) == nil {
      if loadsErrors, let owner = ErrorRecord.owner(of: key), !isUnknown(owner) { return nil }
      do throws(PostgresError) {
        try load(keysAhead(of: key), withErrors: loadsErrors)
      } catch {
        failure = PostgresStore.describe(error, "read the cache")
      }
      last = table.find(key)
    }
    return last.map { table.text(at: $0) }
  }

  /// Whether there are records with errors. If so, they are loaded together with their records from then on.
  var hasErrors: Bool {
    do throws(PostgresError) {
      let range = Self.range(ErrorRecord.prefix)
      loadsErrors =
        try connection.run("SELECT 1 FROM gqlrun_record WHERE \(range) LIMIT 1").count > 0
      return loadsErrors
    } catch {
      failure = failure ?? PostgresStore.describe(error, "read the cache")
      return false
    }
  }

  /// Loads records with their errors, and their segments.
  func loadWithSegments(_ keys: [[UInt8]]) throws(PostgresError) {
    var wanted = keys
    var withErrors = true
    while !wanted.isEmpty {
      let first = unfollowed.count
      try load(wanted, withErrors: withErrors)
      withErrors = false
      wanted = unfollowed[first...].flatMap { index in
        let key = table.key(at: index)
        // Errors are not merged into.
        return ErrorRecord.isErrors(key: key)
          ? [] : RecordLinks.segments(of: table.text(at: index), key: key)
      }.filter { $0.withBytes { isUnknown($0) } }
    }
  }

  /// Loads the records of lists that are appended to, and the segments that may be absorbed.
  func loadEnds(of lists: [RecordDelta]) throws(PostgresError) {
    if lists.isEmpty { return }
    try load(Array(Set(lists.map(\.owner))))
    var ends = lists.compactMap { list in
      table.text(of: list.owner).map { (keys: list.lastSegments(in: $0), size: list.addedSize) }
    }
    while true {
      // Most parts absorb nothing, so that only the last segment is needed.
      if ends.isEmpty { return }
      let keys = Set(ends.compactMap(\.keys.first)).filter { $0.withBytes { isUnknown($0) } }
      if !keys.isEmpty { try load(Array(keys)) }
      ends = ends.compactMap { end in
        guard let key = end.keys.first, let text = table.text(of: key), text.count < 2 * end.size
        else { return nil }
        return (keys: end.keys.dropFirst(), size: end.size + text.count)
      }
    }
  }

  private func isUnknown(_ key: Bytes) -> Bool {
    table.find(key) == nil && missing.find(key) == nil
  }

  /// The key, and those that the records read so far refer to.
  private func keysAhead(of key: Bytes) -> [[UInt8]] {
    var keys: Set<[UInt8]> = [key.array]
    while keys.count < Self.maxAhead, let index = unfollowed.popLast() {
      RecordLinks.forEach(in: table.text(at: index), of: table.key(at: index)) { key in
        if isUnknown(key) { keys.insert(key.array) }
      }
    }
    return Array(keys)
  }

  private func load(
    _ keys: [[UInt8]], withErrors: Bool = false
  ) throws(PostgresError) {
    requests += 1
    // Two queries instead of one condition with OR, which is a sequential scan.
    let rows = try connection.run(
      Self.selection + (withErrors ? Self.errorSelection : ""), .byteStrings(keys))
    for row in 0..<rows.count {
      let index = Self.insert(rows, row, into: table)
      unfollowed.append(index)
    }
    for key in keys {
      if table.find(key) == nil { key.withBytes { missing.insertMissing($0) } }
    }
  }

  private static let selection =
    "SELECT key, data, received, ages FROM gqlrun_record WHERE key = ANY($1)"

  /// The errors of the records, unless they are among the keys themselves. Without errors in the cache, no key is looked
  /// up.
  private static let errorSelection = """
     UNION ALL SELECT key, data, received, ages FROM gqlrun_record
    WHERE key = ANY(ARRAY(
        SELECT \(literal(ErrorRecord.prefix)) || wanted FROM unnest($1) AS wanted
        EXCEPT SELECT unnest($1)))
      AND EXISTS (SELECT FROM gqlrun_record WHERE \(range(ErrorRecord.prefix)))
    """

  /// The condition for keys that begin with a prefix, which is text, so that no byte of it is the last one.
  static func range(_ prefix: [UInt8]) -> String {
    guard let last = prefix.last else { return "true" }
    return "key >= \(literal(prefix)) AND key < \(literal(prefix.dropLast() + [last + 1]))"
  }

  /// A key in a statement, without a backslash, whose meaning depends on `standard_conforming_strings`.
  private static func literal(_ key: [UInt8]) -> String {
    "decode('\(QuotedText.hexadecimal(key))', 'hex')"
  }

  /// Inserts a row with key, text, receive time and ages. The time also is the last use, so that the records that were
  /// received first are evicted first.
  static func insert(_ rows: PostgresRows, _ row: Int, into table: RecordTable) -> Int {
    let key = Bytes(rows.bytes(row, 0))
    let received = UInt32(clamping: rows.int(row, 2))
    let index = table.insert(
      key, hash: RecordTable.hash(key), text: Bytes(rows.bytes(row, 1)),
      lastUse: min(received, .max - 1),
      received: received)
    let ages = Array(rows.bytes(row, 3))
    if !ages.isEmpty { table.setTimes(at: index, RecordTimes(received: received, ages: ages)) }
    return index
  }
}

/// The tables of a cache in PostgreSQL, in the first schema of the search path.
enum PostgresSchema {
  /// The version of the tables.
  static let version = 1

  /// Creates the tables if there are none.
  ///
  /// - Returns: The seed of the hash that names list segments.
  /// - Throws: ``CacheError/Code/foreignDatabase`` for tables of a newer version.
  static func open(_ connection: PostgresConnection) throws -> UInt64 {
    let encoding = try connection.run("SELECT current_setting('server_encoding')").text(0, 0)
    guard encoding == "UTF8" else {
      throw CacheError(
        .storage,
        "cannot open the cache in PostgreSQL: the database \(connection.database) has the encoding \(encoding); "
          + "create one with the encoding UTF8")
    }
    if try !connection.hasTable("gqlrun_cache") { try create(connection) }
    let rows = try connection.run("SELECT version, segment_seed FROM gqlrun_cache")
    guard rows.count == 1 else {
      throw CacheError(
        .damagedDatabase,
        "the table gqlrun_cache of \(connection.database) has \(rows.count) rows instead of one; drop the tables "
          + "gqlrun_cache, gqlrun_record and gqlrun_type to begin with an empty cache")
    }
    let found = rows.int(0, 0)
    guard found == version else {
      throw CacheError(
        .foreignDatabase,
        "the cache in \(connection.database) was created by a newer gqlrun (version \(found) of its tables, this one "
          + "supports \(version); unchanged); update gqlrun or choose another database or schema")
    }
    return UInt64(bitPattern: Int64(rows.int(0, 1)))
  }

  private static func create(_ connection: PostgresConnection) throws {
    try connection.transaction {
      // Several processes may start at the same moment. CREATE TABLE IF NOT EXISTS alone can fail then.
      try connection.run("SELECT pg_advisory_xact_lock(5139820714)")
      try connection.run(
        """
        CREATE TABLE IF NOT EXISTS gqlrun_cache (
          version int NOT NULL, segment_seed bigint NOT NULL, changes bigint NOT NULL DEFAULT 0)
        """)
      try connection.run(
        """
        CREATE TABLE IF NOT EXISTS gqlrun_record (
          key bytea PRIMARY KEY, data text NOT NULL, received bigint NOT NULL, ages text)
        """)
      try connection.run("CREATE TABLE IF NOT EXISTS gqlrun_type (name text PRIMARY KEY)")
      try connection.run(
        """
        INSERT INTO gqlrun_cache (version, segment_seed)
        SELECT $1::int8::int, $2 WHERE NOT EXISTS (SELECT FROM gqlrun_cache)
        """, .int(version), .int(Int(truncatingIfNeeded: UInt64.random(in: 0 ... .max))))
    }
  }
}
