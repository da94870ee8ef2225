import GRDB

/// The concrete types that the records of a file met, as rows `type:NAME` of its table `meta`.
enum StoredTypes {
  private static let prefix = "type:"

  /// All names, when the file is opened.
  static func all(in db: Database) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT substr(name, 6) FROM meta WHERE name >= 'type:' AND name < 'type;' LIMIT ?",
      arguments: [ConcreteTypes.limit])
  }

  /// Adds names within the transaction of a response.
  static func add(_ names: [String], to db: Database) throws {
    let sql = "SELECT count(*) FROM meta WHERE name >= 'type:' AND name < 'type;'"
    var count = try Int.fetchOne(db, sql: sql) ?? 0
    let statement = try db.cachedStatement(sql: "INSERT OR IGNORE INTO meta VALUES (?, 1)")
    for name in names where count < ConcreteTypes.limit {
      try statement.execute(arguments: [prefix + name])
      count += db.changesCount
    }
  }

  /// Looks in the file for the type conditions of an operation that are not known to be concrete
  /// types: another process may have met them, and files of earlier versions have no rows for
  /// types.
  ///
  /// A file that cannot be read here is reported by the read of its records.
  static func learn(
    _ types: ConcreteTypes, for plan: OperationPlan, in db: Database, _ damage: DamageLog? = nil
  ) {
    for name in plan.openConditions where !types.contains(name) {
      let isMet = (try? isMet(name, db)) ?? false
      let isConcrete = isMet || (try? isTypeOfRecord(name, db, damage)) ?? false
      if isConcrete { types.add([name]) }
    }
  }

  private static func isMet(_ name: String, _ db: Database) throws -> Bool {
    let statement = try db.cachedStatement(sql: "SELECT 1 FROM meta WHERE name = ?")
    return try Int.fetchOne(statement, arguments: [prefix + name]) != nil
  }

  /// Whether the first record whose key begins with the name and a colon has the type.
  private static func isTypeOfRecord(
    _ name: String, _ db: Database, _ damage: DamageLog?
  ) throws -> Bool {
    let statement = try db.cachedStatement(
      sql: "SELECT key FROM records WHERE key >= ? AND key < ? LIMIT 1")
    guard let key = try String.fetchOne(statement, arguments: ["\(name):", "\(name);"]) else {
      return false
    }
    var source = SQLiteSource(db, damage)
    return Array(key.utf8).withUnsafeBufferPointer { key in
      guard let text = source.text(key: Bytes(key), depth: 0) else { return false }
      return RecordText.typename(of: text).equals(Array(name.utf8))
    }
  }
}
