import GQLRunPostgres

/// The records that a transaction concerns, before and after it.
struct PostgresChange: Sendable {
  private let before: RecordTable
  /// The records as the transaction leaves them.
  var after: RecordTable

  /// Reads the records that edits concern, with the segments of their lists.
  ///
  /// - Parameter joinsPages: Whether pages are joined after the edits, which needs whole lists.
  init(
    _ edits: [StoreEdit], joinsPages: Bool, _ connection: PostgresConnection
  ) throws(PostgresError) {
    var keys: Set<[UInt8]> = []
    var growing: [RecordDelta] = []
    for edit in edits {
      if case .deltas(let deltas) = edit, !joinsPages {
        for delta in deltas {
          if delta.appends { growing.append(delta) } else { keys.insert(delta.owner) }
        }
      } else {
        edit.forEachKey { keys.insert($0.array) }
      }
    }
    growing.removeAll { keys.contains($0.owner) }
    let records = PostgresRecords(connection)
    try records.loadWithSegments(Array(keys))
    try records.loadEnds(of: growing)
    before = records.table
    after = before.compacted()
  }

  /// Reads all records.
  init(everythingOf connection: PostgresConnection) throws {
    let table = RecordTable()
    try PostgresStore.forEachRow("SELECT key, data, received, ages FROM gqlrun_record", connection)
    {
      _ = PostgresRecords.insert($0, $1, into: table)
    }
    before = table
    after = before.compacted()
  }

  /// Merges the edits with the records.
  mutating func apply(
    _ edits: [StoreEdit], _ pages: [Paging], collects: ChangeCollection, seed: UInt64
  ) -> WriteSummary {
    var editor = TableEditor(table: after, seed: seed)
    let summary = editor.apply(edits, pages, collects: collects)
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
      rows.add(key, after.text(at: index), times)
      if rows.bytes > 4 << 20 { try rows.write(connection) }
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
  private struct Rows {
    private var keys: [[UInt8]] = []
    private var texts: [[UInt8]?] = []
    private var received: [Int] = []
    private var ages: [[UInt8]?] = []
    private(set) var bytes = 0

    mutating func add(_ key: Bytes, _ text: Bytes, _ times: RecordTimes) {
      keys.append(key.array)
      texts.append(text.array)
      received.append(Int(times.received))
      ages.append(times.ages.isEmpty ? nil : times.ages)
      bytes += key.count + text.count
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
