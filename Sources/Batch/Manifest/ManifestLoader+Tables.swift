import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline

/// Operations whose results are tables.
extension ManifestLoader {
  /// Reads `tables`, and refuses the keys that such an operation does not have.
  mutating func readTables(
    _ draft: Draft, known: KnownNames, operation: inout BatchOperation
  ) {
    let settings = draft.settings
    refuseKeysBesideTables(draft)
    guard operation.template.type == .query else {
      return report(
        .wrongValue,
        message:
          "`tables` is for queries, and `\(draft.id)` is a \(operation.template.type.rawValue)",
        location: settings.$tables.keyLocation,
        hint: "remove it, or write the query that reads the rows")
    }
    guard let tables = settings.tables else { return }
    if tables.bulk != nil, settings.$expect.isGiven {
      report(
        .wrongValue,
        message: "`\(draft.id)` has `bulk` and `expect`, and a bulk operation has no response",
        location: settings.$expect.keyLocation, hint: "remove one of them")
    }
    let target = tables.$to.isUsable ? self.target(of: tables) : nil
    guard
      var plan = plan(
        tables, operation: operation,
        location: settings.query == nil ? settings.$document.location : settings.$query.location),
      let target
    else { return }
    if !settings.columns.isEmpty {
      readColumns(draft, known: known, of: &plan, operation: &operation)
    }
    checkNames(of: plan, target, tables)
    let since = tables.since.flatMap { self.since($0, in: plan, of: operation, target: target) }
    operation.tables = TablesOutput(settings: tables, plan: plan, target: target, since: since)
  }

  /// Reports the keys of an operation that `tables` excludes.
  private mutating func refuseKeysBesideTables(_ draft: Draft) {
    let settings = draft.settings
    func refuse<Value>(_ option: OptionProperty<Value>, _ reason: String) {
      guard option.isGiven else { return }
      report(
        .wrongValue, message: "`\(draft.id)` has `tables` and `\(option.name)`",
        location: option.keyLocation, hint: "remove `\(option.name)`: \(reason)")
    }
    refuse(settings.$emit, "every list is a table")
    refuse(settings.$paginate, "all pages of all connections are requested")
    refuse(
      settings.$capture,
      "its results have several responses; capture in an operation without `tables`")
    refuse(settings.$bookmark, "use `since` of `tables` to request only what has changed")
    refuse(settings.$snapshot, "its results have several responses")
  }

  /// Where the rows go; `nil` for an error, which is reported.
  private mutating func target(of settings: TablesSettings) -> TablesTarget? {
    let location = settings.to.location
    let given: TablesTarget
    do throws(MalformedText) {
      given = try TablesTarget(settings.to.value, format: settings.format)
    } catch {
      report(.wrongValue, message: error.message, location: location, hint: error.hint)
      return nil
    }
    return given.resolved { output($0, name: "to", location: location) }
  }

  /// The plan of the tables; `nil` for a document or options without one, which are reported.
  private mutating func plan(
    _ settings: TablesSettings, operation: BatchOperation, location: FileLocation
  ) -> TablePlan? {
    do throws(TablePlanError) {
      let plan = try TablePlanner(operation.template, settings: settings).plan()
      if settings.bulk != nil { _ = try BulkDocument(plan) }
      for note in plan.notes {
        report(
          .path, message: "`\(operation.id)`: \(note)", location: location, severity: .warning)
      }
      return plan
    } catch {
      for problem in error.problems.prefix(50) {
        let start = problem.location.map { location in
          (operation.documentName.map { "\($0):" } ?? "") + "\(location.line):\(location.column): "
        }
        report(
          problem.option == nil ? .document : .wrongValue, message: (start ?? "") + problem.message,
          location: problem.option ?? location, hint: problem.hint)
      }
      return nil
    }
  }

  /// Reports names that the target cannot have.
  private mutating func checkNames(
    of plan: TablePlan, _ target: TablesTarget, _ settings: TablesSettings
  ) {
    for table in plan.tables {
      let renamed = settings.as.entries.first { $0.value.value == table.name }?.value
      if let reason = target.problem(withTable: table.name) {
        report(
          .wrongValue, message: "`\(table.name)` cannot be the name of a table: \(reason)",
          location: renamed?.location ?? settings.to.location,
          hint: renamed == nil
            ? "give it another name: `as: { \(table.name): … }`" : "name the table otherwise")
      }
      for column in table.columns {
        guard let reason = target.problem(withColumn: column.name) else { continue }
        report(
          .wrongValue,
          message: "`\(column.name)` of `\(table.name)` cannot be the name of a column: \(reason)",
          location: settings.to.location, hint: "give one of its fields an alias in the document")
      }
    }
  }

  /// The column and the variable of `since`; `nil` for an error, which is reported.
  private mutating func since(
    _ settings: SinceSettings, in plan: TablePlan, of operation: BatchOperation,
    target: TablesTarget
  ) -> TableSince? {
    guard settings.$path.isUsable, settings.$variable.isUsable else { return nil }
    let declared = operation.template.definition.variables.map(\.name.value)
    let variable = settings.variable
    if !declared.contains(variable) {
      report(
        .variable,
        message: "`since` sets the variable `\(variable)`, which the operation does not declare",
        location: settings.$variable.location, hint: hint(for: variable, among: declared))
    }
    let name = settings.path.keys.joined(separator: "_")
    let first = plan.root.lists.map(\.table)
    let found = first.compactMap { table in
      plan.tables[table].columns.firstIndex { $0.name == name }.map { (table: table, column: $0) }
    }
    guard let (table, column) = found.first, found.count == 1, settings.path.isPlain else {
      let names = (found.isEmpty ? first : found.map(\.table)).map { "`\(plan.tables[$0].name)`" }
        .joined(separator: ", ")
      report(
        .path,
        message: found.count > 1
          ? "`since` may be `\(name)` of \(names)"
          : "`\(settings.path)` of `since` is no column of the first level (\(names))",
        location: settings.$path.location,
        hint: found.count > 1
          ? "request each of them in an operation of its own"
          : hint(for: name, among: first.flatMap { plan.tables[$0].columns.map(\.name) }))
      return nil
    }
    let list = plan.root.lists.first { $0.table == table }
    if target.keepsRows, list?.element.identity == nil {
      report(
        .wrongValue,
        message: "the rows of `\(plan.tables[table].name)` have no keys but their positions, so "
          + "that those of the next run would replace them",
        location: settings.$path.location,
        hint: "remove `since`, or name key fields of the type in `keys` of the pipeline")
    }
    return TableSince(
      bookmark: "\(operation.id) \(plan.tables[table].name).\(name)", table: table, column: column,
      variable: variable)
  }

  /// Reports tables that the database of the queue, or its absence, excludes.
  mutating func checkQueue(_ operation: BatchOperation) {
    guard let tables = operation.tables else { return }
    let location = tables.settings.to.location
    switch tables.target {
    case .postgres where !hasQueue:
      report(
        .wrongValue,
        message: "`to: postgres` writes into the database of the run, and this run has none",
        location: location,
        hint: "add `run: { journal: \"postgres://host/database\" }`, or write `to: sqlite:FILE`")
    case .sqlite where hasQueue:
      refuse(
        "tables of a SQLite database", location: location,
        hint: "write `to: postgres`, or a folder of files")
    case .folder where hasQueue && tables.since != nil:
      refuse(
        "`since` of files", location: tables.settings.$since.keyLocation,
        hint: "remove it, or write `to: postgres`")
    case .sqlite, .postgres, .folder: break
    }
  }
}

extension ResultPath {
  /// Whether the path has keys only.
  fileprivate var isPlain: Bool { !steps.isEmpty && keys.count == steps.count }
}
