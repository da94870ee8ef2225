import GQLRunCache
import GQLRunCrypto
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// The value that the next run starts from: the highest one of a column of the first level.
struct TableSince: Sendable, Equatable {
  /// The name of the bookmark that has the value during a run: `shop customers.updatedAt`. Operations may have tables of
  /// one name in several targets.
  let bookmark: String
  /// The index of the table.
  let table: Int
  /// The index of the column.
  let column: Int
  /// The variable that takes the value.
  let variable: String

  /// What rows contribute, for ``Outcome/bookmarks``; `nil` if none of them has a value.
  func bookmark(of rows: [TableRow]) -> (name: String, fold: Bookmark.Fold, value: JSONValue)? {
    let values = rows.lazy.filter { $0.table == table }.compactMap { $0.cells[column] }
    return Bookmark.Fold.max.value(of: values.filter { !$0.isNull }).map { (bookmark, .max, $0) }
  }
}

extension BatchOperation {
  /// How several values of a bookmark become one, by its name in journals: those of `bookmark`, and that of `since`.
  var folds: [(name: String, fold: Bookmark.Fold)] {
    var folds = bookmarks.map { (name: $0.name, fold: $0.value.fold) }
    if let since = tables?.since { folds.append((name: since.bookmark, fold: .max)) }
    return folds
  }

  /// The values of the variables that are not those of rows.
  var constants: JSONObject {
    variables.reduce(into: JSONObject()) { object, variable in
      if case .constant(let value) = variable.value { object[variable.name] = value }
    }
  }

  /// The name of its value of `since` among those of a target: `customers.updatedAt 5d41402abc4b2a76`; `nil` without
  /// one.
  ///
  /// The digits are a digest of the document and the other variables: what another document, or another value of a
  /// variable, selects is not in the tables yet, so that it does not start from this value.
  var sinceName: String? {
    guard let tables, let since = tables.since else { return nil }
    let table = tables.plan.tables[since.table]
    var others = constants
    others[since.variable] = nil
    var hash = Hash()
    hash.updateDelimited(template.callerDocument.printed())
    hash.updateDelimited(JSONValue.object(others).canonicalText)
    let digest = QuotedText.hexadecimal(hash.finalize().prefix(8))
    return "\(table.name).\(table.columns[since.column].name) \(digest)"
  }
}
