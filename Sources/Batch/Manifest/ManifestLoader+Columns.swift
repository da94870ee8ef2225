import GQLRunPipeline

/// The columns that an operation lists: of its records, or of its tables.
extension ManifestLoader {
  /// Reads `columns`: what the records of the operation have, in this order.
  mutating func readColumns(
    _ draft: Draft, known: KnownNames, operation: inout BatchOperation
  ) {
    guard !draft.settings.columns.isEmpty else { return }
    var columns: [RecordColumns.Column] = []
    for entry in draft.settings.columns {
      // A column with an error keeps its name, which keys of tables may refer to.
      let source =
        source(of: entry, known: known, operation: operation) ?? .record(ResultPath())
      let column = RecordColumns.Column(
        name: entry.name?.value ?? source.name, source: source)
      check(column, entry, among: columns, of: operation)
      columns.append(column)
    }
    operation.columns = RecordColumns(columns)
  }

  /// Reads `columns` of an operation with tables: values of the row, which the tables of the first level have.
  mutating func readColumns(
    _ draft: Draft, known: KnownNames, of plan: inout TablePlan, operation: inout BatchOperation
  ) {
    var columns: [RecordColumns.Column] = []
    for entry in draft.settings.columns {
      let text = entry.path.value
      guard isOfTask(text, operation) else {
        report(
          .path,
          message:
            "`\(text)` of `columns` is not a value of the row, and tables have all fields of the document",
          location: entry.path.location,
          hint: operation.source.map { "write `\($0.rowName).name`" } ?? "add `foreach`")
        continue
      }
      guard let reference = taskColumn(entry, known: known, operation) else { continue }
      let source = RecordColumns.Source.task(reference)
      let column = RecordColumns.Column(name: entry.name?.value ?? source.name, source: source)
      check(column, entry, among: columns, of: operation)
      columns.append(column)
      for (index, table) in plan.tables.enumerated() where table.parent == nil {
        let names = TableDefinition.ownColumns + table.columns.map(\.name)
        guard names.contains(where: { $0.asciiLowercased == column.name.asciiLowercased }) else {
          // The key of the task is text, too.
          let isText = reference.path.isEmpty || operation.source?.input.hasTextCells == true
          plan.tables[index].columns.append(
            TableColumn(name: column.name, kind: isText ? .text : .any))
          continue
        }
        // Two columns of this list are reported already.
        guard columns.filter({ $0.name == column.name }).count == 1 else { continue }
        report(
          .wrongValue,
          message: "`\(column.name)` would be two columns of the table `\(table.name)`",
          location: entry.name?.location ?? entry.path.location,
          hint: "give it another name: `name: \(text)`")
      }
    }
    operation.columns = RecordColumns(columns)
  }

  /// Where the values of a column are from; `nil` for an error, which is reported.
  private mutating func source(
    of entry: ColumnSettings, known: KnownNames, operation: BatchOperation
  ) -> RecordColumns.Source? {
    let text = entry.path.value
    let root = String(text.prefix { $0 != "." })
    guard isOfTask(text, operation) else {
      return recordColumn(entry, root: root, operation: operation)
    }
    if let path = ResultPath(root),
      operation.shape.problem(of: path, below: operation.emit, endsAt: .value) == nil
    {
      let isRow = operation.source?.rowName == root
      report(
        .path,
        message:
          "`\(text)` of `columns` may be \(isRow ? "the row" : "the key of the task"), or the field "
          + "`\(root)` of the record", location: entry.path.location,
        hint: "give the field an alias in the document"
          + (isRow ? ", or name the row with `as` of `foreach`" : ""))
      return nil
    }
    return taskColumn(entry, known: known, operation).map { .task($0) }
  }

  /// Whether a column is a value of the task: of its row, or its key.
  private func isOfTask(_ text: String, _ operation: BatchOperation) -> Bool {
    guard let source = operation.source else { return false }
    return source.rowName == text.prefix { $0 != "." } || text == "key"
  }

  private mutating func taskColumn(
    _ entry: ColumnSettings, known: KnownNames, _ operation: BatchOperation
  ) -> Reference? {
    let text = entry.path.value
    guard let reference = (try? TextTemplate("{{\(text)}}"))?.whole,
      !reference.path.isEmpty || reference.root != operation.source?.rowName
    else {
      report(
        .path, message: "`\(text)` of `columns` is not a value of the row",
        location: entry.path.location, hint: "write `\(text.prefix { $0 != "." }).name`")
      return nil
    }
    if case .only(let members)? = known.roots[reference.root], let name = reference.path.first,
      !members.contains(name)
    {
      report(
        .path, message: "`\(text)` of `columns` leads to `\(name)`, which the rows do not have",
        location: entry.path.location, hint: hint(for: name, among: members.sorted()))
      return nil
    }
    return reference
  }

  private mutating func recordColumn(
    _ entry: ColumnSettings, root: String, operation: BatchOperation
  ) -> RecordColumns.Source? {
    let text = entry.path.value
    if let reference = (try? TextTemplate(text))?.whole {
      report(
        .path, message: "`\(text)` of `columns` is a template, and a column has a path",
        location: entry.path.location, hint: "write `\(reference)`")
      return nil
    }
    if operation.source == nil, root == "row", let path = ResultPath(root),
      operation.shape.problem(of: path, below: operation.emit, endsAt: .value) != nil
    {
      report(
        .path,
        message: "`\(text)` of `columns` is a value of a row, and `\(operation.id)` has no rows",
        location: entry.path.location, hint: "add `foreach`, or name a path in the record")
      return nil
    }
    checkPaths([entry.path], name: "columns", of: [operation])
    return ResultPath(text).map { .record($0) }
  }

  /// Checks the name of a column.
  private mutating func check(
    _ column: RecordColumns.Column, _ entry: ColumnSettings, among columns: [RecordColumns.Column],
    of operation: BatchOperation
  ) {
    let location = entry.name?.location ?? entry.path.location
    if column.name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
      || entry.name?.value.isEmpty == true
    {
      report(
        .wrongValue, message: "`columns` has a name that is empty, or has a control character",
        location: location, hint: "write `name: path`")
    } else if columns.contains(where: { $0.name == column.name }), !column.name.isEmpty {
      report(
        .wrongValue, message: "two columns of `\(operation.id)` have the name `\(column.name)`",
        location: location, hint: "give one of them another name: `name: \(entry.path.value)`")
    }
  }
}
