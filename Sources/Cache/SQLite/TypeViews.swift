import Foundation
import GQLRunSupport
import GRDB

/// One SQL view per type, with a column per stored field, so that any SQLite tool can ask
/// `SELECT login, followers FROM "User"`.
///
/// Views are made and changed at the commit that brings a type or field for the first time. Which types
/// and fields there are the plan of the response knows, so that no record is looked at for it.
/// `docs/guide-cache.md` says what the columns show.
enum TypeViews {
  /// Fields with arguments may be as many as there are pages of a list: columns end here.
  static let maximumArgumentColumns = 50
  static let maximumColumns = 500
  /// Servers may invent type names without end: views end here.
  static let maximumViews = 500

  /// Brings the views up to date, within the transaction of a response.
  static func update(_ db: Database, _ shapes: TypeShapes) throws {
    for shape in shapes.types where isName(shape.typename) {
      guard let view = try view(of: shape, db) else { continue }
      var columns = try Self.columns(of: shape.typename, db)
      let before = columns
      for field in shape.fields { add(field, to: &columns) }
      guard columns != before else { continue }
      let known = before.count
      for (index, column) in columns.enumerated() where index >= known || column != before[index] {
        try db.execute(
          sql: "INSERT OR REPLACE INTO view_columns VALUES (?, ?, ?, ?)",
          arguments: [shape.typename, index, column.key, column.holdsObjects])
      }
      try db.execute(sql: "DROP VIEW IF EXISTS \(QuotedText.sqlIdentifier(view))")
      try db.execute(sql: statement(view, shape, columns))
    }
  }

  /// Removes all views and what is known of them: names of fields may hold what was asked for.
  static func removeAll(_ db: Database) throws {
    for name in try String.fetchAll(db, sql: "SELECT name FROM views") {
      try db.execute(sql: "DROP VIEW IF EXISTS \(QuotedText.sqlIdentifier(name))")
    }
    try db.execute(
      sql: """
        DELETE FROM views;
        DELETE FROM view_columns;
        DELETE FROM meta WHERE name >= 'type:' AND name < 'type;';
        INSERT INTO meta VALUES ('views_removed', 1)
          ON CONFLICT (name) DO UPDATE SET value = value + 1;
        """)
  }

  /// How often all views were removed, by whatever process: what is known of them holds for one number.
  static func removals(_ db: Database) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM meta WHERE name = 'views_removed'")) ?? 0
  }

  // MARK: Names

  /// The name of a type's view, or `nil` when there are too many.
  private static func view(of shape: TypeShapes.Shape, _ db: Database) throws -> String? {
    let sql = "SELECT name FROM views WHERE type = ?"
    if let known = try String.fetchOne(db, sql: sql, arguments: [shape.typename]) { return known }
    guard try Int.fetchOne(db, sql: "SELECT count(*) FROM views") ?? 0 < maximumViews else {
      return nil
    }
    var name = shape.typename
    while try isTaken(name, db) { name = "type_" + name }
    try db.execute(
      sql: "INSERT INTO views VALUES (?, ?, ?)", arguments: [shape.typename, name, shape.prefix])
    return name
  }

  /// SQLite's names of tables do not mind the case: https://sqlite.org/lang_createview.html
  private static func isTaken(_ name: String, _ db: Database) throws -> Bool {
    let lower = name.lowercased()
    // Functions that the views themselves use as tables.
    if lower.hasPrefix("sqlite_") || lower == "json_each" || lower == "json_tree" { return true }
    return try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE lower(name) = ?)",
      arguments: [lower]) ?? true
  }

  /// https://spec.graphql.org/September2025/#Name
  private static func isName(_ text: String) -> Bool {
    GQLRunCache.isName(text[...]) && text.utf8.count <= 200
  }

  // MARK: Columns

  private static func columns(of type: String, _ db: Database) throws -> [TypeShapes.Field] {
    let rows = try Row.fetchAll(
      db, sql: "SELECT field, holds_objects FROM view_columns WHERE type = ? ORDER BY position",
      arguments: [type])
    return rows.map { TypeShapes.Field(key: $0["field"], holdsObjects: $0["holds_objects"]) }
  }

  private static func add(_ field: TypeShapes.Field, to columns: inout [TypeShapes.Field]) {
    let known = columns.firstIndex { $0.key.utf8.elementsEqual(field.key.utf8) }
    if let known {
      if field.holdsObjects { columns[known].holdsObjects = true }
      return
    }
    // What SQL text cannot hold.
    guard !field.key.utf8.contains(0), columns.count < maximumColumns else { return }
    if !isName(field.key) {
      let others = columns.count { !isName($0.key) }
      guard others < maximumArgumentColumns, field.key.utf8.count <= 1000 else { return }
    }
    columns.append(field)
  }

  private static func statement(
    _ view: String, _ shape: TypeShapes.Shape, _ columns: [TypeShapes.Field]
  ) -> String {
    var names: Set<String> = []
    var parts = [column("key", "__key", &names), column("received", "__received", &names)]
    parts += columns.map { column(value(of: $0), $0.key, &names) }
    // The keys of a type stand together: `User:` up to, but not including, `User;`.
    return """
      CREATE VIEW \(QuotedText.sqlIdentifier(view)) AS SELECT
        \(parts.joined(separator: ",\n  "))
      FROM records
      WHERE key >= \(QuotedText.sqlLiteral(shape.prefix + ":")) AND key < \(QuotedText.sqlLiteral(shape.prefix + ";"))
        AND json_extract(data, '$.__typename') = \(QuotedText.sqlLiteral(shape.typename))
      """
  }

  /// `value AS "name"`; a name that differs from an earlier one in case only gets a number.
  private static func column(
    _ value: String, _ name: String, _ names: inout Set<String>
  ) -> String {
    var unique = name
    var number = 1
    while !names.insert(unique.lowercased()).inserted {
      unique = "\(name):\(number)"
      number += 1
    }
    return "\(value) AS \(QuotedText.sqlIdentifier(unique))"
  }

  /// The SQL that finds a field's value in the record text; of a reference, the key.
  private static func value(of field: TypeShapes.Field) -> String {
    guard isName(field.key) else {
      // Paths cannot name such keys in every version of SQLite.
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

/// Which shapes the views and types of a file are known to have.
final class KnownViews: Sendable {
  private struct State {
    var numbers: Set<UInt64> = []
    /// The ``TypeViews/removals(_:)`` they were made after.
    var removals = 0
  }

  private let state = Locked(State())

  /// Brings the views up to date, when they are not known to be, within the transaction of a response.
  func update(_ db: Database, _ shapes: TypeShapes) throws {
    let removals = try TypeViews.removals(db)
    let isKnown = state.withLock { state in
      if removals != state.removals { state = State(removals: removals) }
      return state.numbers.contains(shapes.number)
    }
    if isKnown { return }
    try TypeViews.update(db, shapes)
    try StoredTypes.add(shapes.concreteTypes, to: db)
    db.afterNextTransaction { _ in
      _ = self.state.withLock { $0.numbers.insert(shapes.number) }
    }
  }
}
