import GQLRunJSON
import GRDB

/// The keys of the rows that files of tables have, so that each row is in its file once.
///
/// A journal has those of the steps it recorded, and memory those of the step that is written. One actor uses it.
final class RowKeys {
  /// A key of a row, as a journal records it.
  struct Key: Sendable, Hashable {
    /// The journal's number of the operation.
    var operation: Int
    /// The name of the table.
    var table: String
    var key: UTF8Text
    /// Empty for a row without a parent: no other row of its table has one.
    var parent: UTF8Text
  }

  private let journal: Journal
  /// The journal's numbers of operations, by id.
  private let numbers: [String: Int]
  /// The keys of the step, in the order of the rows.
  private var step: [Key] = []
  /// Their parents, by key without a parent; several only in shared tables.
  private var parents: [Key: [UTF8Text]] = [:]

  init(_ journal: Journal, numbers: [String: Int]) {
    self.journal = journal
    self.numbers = numbers
  }

  /// Adds the keys of the rows of an outcome.
  ///
  /// - Parameter tables: The entries of tables, each with the lines of its rows.
  /// - Returns: For each table, the lines of the rows that its file does not have yet, and their number.
  /// - Throws: ``RefusedRow`` for a row of a second parent; no key is then added.
  func admit(
    _ tables: [(entry: SinkPlan.Entry, pieces: [SinkPiece])]
  ) throws -> [(lines: [UInt8], count: Int)] {
    let before = step.count
    do {
      return try journal.read { db in
        var statement = try RowStatement(
          db, sql: "SELECT parent FROM row_keys WHERE op = ? AND tbl = ? AND key = ?")
        return try tables.map { entry, pieces in
          var found: (lines: [UInt8], count: Int) = ([], 0)
          guard let relation = entry.relation else { return found }
          for case .keyed(let line, let key, let parent) in pieces {
            let new = Key(
              operation: numbers[relation.operation] ?? 0, table: relation.table.name,
              key: UTF8Text(key), parent: UTF8Text(parent ?? ""))
            var known = parents[new.withoutParent] ?? []
            if known.isEmpty || relation.isShared {
              known += try statement.rows([
                .integer(Int64(new.operation)), .text(new.table), .text(key),
              ]).map { UTF8Text($0[0].text ?? "") }
            }
            if known.contains(new.parent) { continue }
            if let first = known.first, !relation.isShared {
              throw RefusedRow(
                message: relation.secondParent(
                  key, first: first.string.isEmpty ? nil : first.string, second: parent))
            }
            parents[new.withoutParent, default: []].append(new.parent)
            step.append(new)
            found.lines += line
            found.count += 1
          }
          return found
        }
      }
    } catch {
      for key in step[before...] {
        parents[key.withoutParent]?.removeAll { $0 == key.parent }
      }
      step.removeLast(step.count - before)
      throw error
    }
  }

  /// Removes and returns the keys of the step, for the journal.
  func take() -> [Key] {
    defer { (step, parents) = ([], [:]) }
    return step
  }
}

extension RowKeys.Key {
  /// Identifies the object of the row.
  fileprivate var withoutParent: Self {
    var key = self
    key.parent = UTF8Text("")
    return key
  }
}
