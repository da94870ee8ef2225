import Foundation
import GQLRunLanguage
import GQLRunSupport
import GRDB
import GRDBSQLite

/// One SQL view per type with a column per stored field, so that any SQLite tool can run `SELECT
/// login, followers FROM "User"`.
///
/// Views are created and changed by the commit that first contains a type or field. The plan of the
/// response provides the types and fields, so no records are read. `docs/guide-cache.md` describes
/// the columns.
enum TypeViews {
  /// The maximum number of columns for fields with arguments, of which there may be one per page of
  /// a list.
  static let maxArgumentColumns = 50
  static let maxColumns = 500
  /// The maximum number of views, because servers may have any number of types.
  static let maxViews = 500

  /// Updates the views, inside the transaction of a response.
  static func update(_ db: Database, _ types: ResponseTypes) throws {
    // All views are created at the end, because SQLite compiles the other statements again after each.
    var script = ""
    for type in types.records where isName(type.typename) {
      guard let view = try view(of: type, db) else { continue }
      var columns = try Self.columns(of: type.typename, db)
      let before = columns
      for field in type.fields { add(field, to: &columns) }
      guard columns != before else { continue }
      let known = before.count
      let insertion = try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO view_columns VALUES (?, ?, ?, ?)")
      for (index, column) in columns.enumerated() where index >= known || column != before[index] {
        try insertion.execute(
          arguments: [type.typename, index, column.key, column.holdsObjects])
      }
      if known > 0 { script += "DROP VIEW IF EXISTS \(QuotedText.sqlIdentifier(view));" }
      script += statement(view, type: type, columns: columns) + ";"
    }
    try db.run(script)
  }

  /// Removes all views and their definitions, because names of fields may contain arguments.
  static func removeAll(_ db: Database) throws {
    for name in try db.texts("SELECT name FROM views") {
      try db.run("DROP VIEW IF EXISTS \(QuotedText.sqlIdentifier(name))")
    }
    try db.run(
      """
      DELETE FROM views;
      DELETE FROM view_columns;
      DELETE FROM meta WHERE name >= 'type:' AND name < 'type;';
      INSERT INTO meta VALUES ('views_removed', 1)
        ON CONFLICT (name) DO UPDATE SET value = value + 1;
      """)
  }

  /// The number of times that all views were removed, by any process; invalidates known views.
  static func removals(_ db: Database) throws -> Int {
    Int(try db.integer("SELECT value FROM meta WHERE name = 'views_removed'") ?? 0)
  }

  // MARK: Names

  /// The name of a type's view; `nil` if there are too many.
  private static func view(of type: ResponseTypes.RecordType, _ db: Database) throws -> String? {
    let sql = "SELECT name FROM views WHERE type = ?"
    if let known = try db.text(sql, with: [type.typename]) { return known }
    guard try db.integer("SELECT count(*) FROM views") ?? 0 < maxViews else { return nil }
    var name = type.typename
    while try isTaken(name, db) { name = "type_" + name }
    try db.cachedStatement(sql: "INSERT INTO views VALUES (?, ?, ?)")
      .execute(arguments: [type.typename, name, type.prefix])
    return name
  }

  /// SQLite's table names are case-insensitive: https://sqlite.org/lang_createview.html
  private static func isTaken(_ name: String, _ db: Database) throws -> Bool {
    let lower = name.lowercased()
    // Table-valued functions that the views themselves use.
    if lower.hasPrefix("sqlite_") || lower == "json_each" || lower == "json_tree" { return true }
    // Views of the same response do not exist yet.
    let sql = """
      SELECT 1 FROM sqlite_schema WHERE lower(name) = ?1
      UNION ALL SELECT 1 FROM views WHERE lower(name) = ?1
      """
    return try db.integer(sql, with: [lower]) != nil
  }

  /// https://spec.graphql.org/September2025/#Name
  private static func isName(_ text: String) -> Bool {
    Name.isValid(text) && text.utf8.count <= 200
  }

  // MARK: Columns

  private static func columns(of type: String, _ db: Database) throws -> [ResponseTypes.Field] {
    let sql = "SELECT field, holds_objects FROM view_columns WHERE type = ? ORDER BY position"
    var columns: [ResponseTypes.Field] = []
    try db.forEachRow(of: sql, with: [type]) { row in
      columns.append(
        ResponseTypes.Field(
          key: SQLiteText.column(row, 0).string, holdsObjects: sqlite3_column_int64(row, 1) != 0))
    }
    return columns
  }

  private static func add(_ field: ResponseTypes.Field, to columns: inout [ResponseTypes.Field]) {
    let known = columns.firstIndex { $0.key.utf8.elementsEqual(field.key.utf8) }
    if let known {
      if field.holdsObjects { columns[known].holdsObjects = true }
      return
    }
    // SQL text cannot contain U+0000.
    guard !field.key.utf8.contains(0), columns.count < maxColumns else { return }
    if !isName(field.key) {
      let others = columns.count { !isName($0.key) }
      guard others < maxArgumentColumns, field.key.utf8.count <= 1000 else { return }
    }
    columns.append(field)
  }

  private static func statement(
    _ view: String, type: ResponseTypes.RecordType, columns: [ResponseTypes.Field]
  ) -> String {
    var names: Set<String> = []
    var parts = [
      column("key", name: "__key", names: &names),
      column("received", name: "__received", names: &names),
    ]
    parts += columns.map { column(value(of: $0), name: $0.key, names: &names) }
    // The keys of a type are contiguous: `User:` up to, but not including, `User;`.
    return """
      CREATE VIEW \(QuotedText.sqlIdentifier(view)) AS SELECT
        \(parts.joined(separator: ",\n  "))
      FROM records
      WHERE key >= \(QuotedText.sqlLiteral(type.prefix + ":")) AND key < \(QuotedText.sqlLiteral(type.prefix + ";"))
        AND json_extract(data, '$.__typename') = \(QuotedText.sqlLiteral(type.typename))
      """
  }

  /// `value AS "name"`; appends a number to a name that differs from an earlier one only in case.
  private static func column(
    _ value: String, name: String, names: inout Set<String>
  ) -> String {
    var unique = name
    var number = 1
    while !names.insert(unique.lowercased()).inserted {
      unique = "\(name):\(number)"
      number += 1
    }
    return "\(value) AS \(QuotedText.sqlIdentifier(unique))"
  }

  /// The SQL expression for a field's value in the record text; for a reference, the key.
  private static func value(of field: ResponseTypes.Field) -> String {
    guard isName(field.key) else {
      // JSON paths do not support such keys in every version of SQLite.
      let value =
        field.holdsObjects
        ? "CASE type WHEN 'object' THEN coalesce(json_extract(value, '$.\"$ref\"'), value) ELSE value END"
        : "value"
      return
        "(SELECT \(value) FROM json_each(records.data) WHERE json_each.key = \(QuotedText.sqlLiteral(field.key)))"
    }
    let plain = "json_extract(data, '$.\(field.key)')"
    return field.holdsObjects
      ? "coalesce(json_extract(data, '$.\(field.key).\"$ref\"'), \(plain))" : plain
  }
}

/// Which types of responses the views of a file are known to have.
final class KnownViews: Sendable {
  private struct State {
    var numbers: Set<UInt64> = []
    /// The value of ``TypeViews/removals(_:)`` for these types.
    var removals = 0
  }

  private let state = Locked(State())

  /// Makes all types unknown, because the views of a file were lost.
  func forget() { state.withLock { $0 = State() } }

  /// Updates the views if necessary, inside the transaction of a response.
  func update(_ db: Database, _ types: ResponseTypes) throws {
    let removals = try TypeViews.removals(db)
    let isKnown = state.withLock { state in
      if removals != state.removals { state = State(removals: removals) }
      return state.numbers.contains(types.number)
    }
    if isKnown { return }
    try TypeViews.update(db, types)
    try SQLiteConcreteTypes.add(types.concreteTypes, to: db)
    db.afterNextTransaction { _ in
      _ = self.state.withLock { $0.numbers.insert(types.number) }
    }
  }
}

/// The concrete types that the records of a file met, as rows `type:NAME` of its table `meta`.
enum SQLiteConcreteTypes {
  private static let prefix = "type:"

  /// All names, when the file is opened.
  static func all(in db: Database) throws -> [String] {
    try db.texts(
      "SELECT substr(name, 6) FROM meta WHERE name >= 'type:' AND name < 'type;' LIMIT ?",
      with: [ConcreteTypes.limit])
  }

  /// Adds names within the transaction of a response.
  static func add(_ names: [String], to db: Database) throws {
    let sql = "SELECT count(*) FROM meta WHERE name >= 'type:' AND name < 'type;'"
    var count = Int(try db.integer(sql) ?? 0)
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
      let sql = "SELECT 1 FROM meta WHERE name = ?"
      let isMet = (try? db.integer(sql, with: [prefix + name])) != nil
      let isConcrete = isMet || (try? isTypeOfRecord(name, db: db, damage: damage)) ?? false
      if isConcrete { types.add([name]) }
    }
  }

  /// Whether the first record whose key begins with the name and a colon has the type.
  private static func isTypeOfRecord(
    _ name: String, db: Database, damage: DamageLog?
  ) throws -> Bool {
    let sql = "SELECT key FROM records WHERE key >= ? AND key < ? LIMIT 1"
    guard let key = try db.text(sql, with: ["\(name):", "\(name);"]) else { return false }
    var source = SQLiteSource(db: db, damage: damage)
    guard let text = source.text(key: Array(key.utf8), depth: 0) else { return false }
    return RecordText.typename(of: text).equals(Array(name.utf8))
  }
}
