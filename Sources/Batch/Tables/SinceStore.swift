import Foundation
import GQLRunJSON
import GRDB

/// The values that the next run starts from, kept with the tables: in their database, or in a file beside their files.
struct SinceStore {
  /// The path of the database, or of the file.
  private let path: String
  private let isDatabase: Bool
  private let base: OutputPath

  /// Locates the values; `nil` for tables in the database of a queue, which has them.
  init?(_ target: TablesTarget, base: OutputPath) {
    self.base = base
    switch target {
    case .sqlite(let path): (self.path, isDatabase) = (path, true)
    case .folder(let path, _): (self.path, isDatabase) = ("\(path)/.gqlrun-since.json", false)
    case .postgres: return nil
    }
  }

  /// The table that contains the values of a database.
  static let tableName = "gqlrun_since"

  /// The value with a name; `nil` if no complete run has kept one.
  func value(of name: String) throws -> JSONValue? {
    guard isDatabase else { return try StateFile.read(path)[name] }
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return try TableFile.wrapping(path) {
      try DatabaseQueue.reading(path) { db in
        guard try TableMarker.exists(db, Self.tableName) else { return nil }
        return try String.fetchOne(
          db, sql: "SELECT value FROM \(Self.tableName) WHERE name = ?", arguments: [name]
        ).flatMap { try? JSONValue(parsing: $0) }
      }
    }
  }

  /// Keeps a value.
  func save(_ value: JSONValue, as name: String) throws {
    guard isDatabase else {
      return try StateFile.save([name: value], over: StateFile.read(path), to: base.target(path))
    }
    let file = try TableFile(path: path, base: base)
    try file.change { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS \(Self.tableName) (
            name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL
          ) WITHOUT ROWID
          """)
      try db.execute(
        sql: "INSERT OR REPLACE INTO \(Self.tableName) VALUES (?, ?)",
        arguments: [name, value.jsonText()])
    }
    try file.sync()
  }
}

extension Manifest {
  /// The values that earlier runs left for this one, by the ids of the operations that have `since`.
  func sinceValues() throws -> JSONObject {
    var values = JSONObject()
    for operation in operations {
      guard let tables = operation.tables, let name = operation.sinceName,
        let store = SinceStore(tables.target, base: OutputPath(folder: folder))
      else { continue }
      values[operation.id] = try store.value(of: name)
    }
    return values
  }

  /// The manifest whose operations with `since` request what has changed since a value.
  ///
  /// - Parameter values: See ``sinceValues()``.
  func starting(from values: JSONObject) -> Manifest {
    guard !values.isEmpty else { return self }
    var manifest = self
    for index in operations.indices { manifest.operations[index].start(from: values) }
    return manifest
  }
}

extension BatchOperation {
  /// Requests what has changed since a value of an earlier run, instead of that of the manifest's `variables`.
  mutating func start(from values: JSONObject) {
    guard let since = tables?.since, let value = values[id] else { return }
    variables.removeAll { $0.name == since.variable }
    variables.append((since.variable, .constant(value)))
  }
}
