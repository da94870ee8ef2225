import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// Derives a plan: goes through the fields of the operation, and collects tables, connections and problems.
struct TablePlanner {
  /// The objects from the data, or from the element of a list, to a selection.
  struct Link {
    var object: SelectedObject
    /// The response keys from the first object.
    var keys: [String]
    /// The field of the object before it that has it as its value; `nil` for the first.
    var field: SelectedField?
  }

  /// Where a selection is.
  struct Place {
    /// The table whose rows have the cells.
    var table: Int?
    /// The response keys from the row above, with which names of columns and tables begin.
    var names: [String] = []
    /// The response keys from the data.
    var path: [String] = []
    var chain: [Link]
    /// The connection that it is in.
    var connection: Int?
    /// Whether a list is above it.
    var isListed = false

    /// - Parameter isNode: Whether the field is the `node` of an edge, which is in no name.
    func below(_ field: SelectedField, isNode: Bool = false) -> Place {
      var inner = self
      if !isNode { inner.names.append(field.key) }
      inner.path.append(field.key)
      if let object = field.object, let last = chain.last {
        inner.chain.append(Link(object: object, keys: last.keys + [field.key], field: field))
      }
      return inner
    }
  }

  /// A table before all of its columns are known.
  struct Table {
    var definition: TableDefinition
    var location: SourceLocation
    /// The path of the object or list, for messages.
    var path: String
    /// The paths of columns, by name in lower case.
    var columnPaths: [String: String] = [:]
  }

  /// A connection before everything is added to its selections.
  struct Connection {
    var field: SelectedField
    var list: SelectedField
    var place: Place
    var paging: Paging
    var finding: Finding
    var pageInfo: (key: String, leaves: [String])
    /// As the object above has it.
    var inList: TableShape.List
  }

  let template: OperationTemplate
  var schema: Schema? { template.schema }
  var rules: KeyRules { template.keyRules }
  let keys: ObjectKeys
  let settings: TablesSettings
  private(set) var tables: [Table] = []
  private(set) var connections: [Connection] = []
  private(set) var problems: [TablePlanError.Problem] = []
  private(set) var notes: [String] = []
  private var rateLimit: [Selection] = []
  /// The paths of leaves that no table has.
  private var unplaced: [String] = []

  /// - Parameters:
  ///   - template: The operation, prepared with the key rules, and the schema; without one, connections are found by
  ///     their shape.
  ///   - settings: Has names of tables, and which are shared.
  init(_ template: OperationTemplate, settings: TablesSettings) {
    self.template = template
    keys = template.objectKeys
    self.settings = settings
  }

  /// Derives the tables of the operation.
  ///
  /// - Throws: All problems of the document and of the settings.
  consuming func plan() throws(TablePlanError) -> TablePlan {
    try refuseOthers()
    var reading = SelectionReading(SelectionTree(template))
    let data = try reading.data()
    var root = TableShape()
    read(data, Place(chain: [Link(object: data, keys: [], field: nil)]), into: &root)
    if !unplaced.isEmpty {
      let isOne = unplaced.count == 1
      notes.append(
        "\(unplaced.map { "`\($0)`" }.joined(separator: ", ")) \(isOne ? "is" : "are") in no table: no row has "
          + (isOne ? "it" : "them"))
    }
    if connections.isEmpty, problems.isEmpty, tables.allSatisfy(\.definition.isSingle) {
      refuseWithoutList()
    }
    nameTables()
    guard problems.isEmpty else {
      // Those of options come last.
      let sorted = problems.enumerated().sorted {
        ($0.element.location?.offset ?? .max, $0.offset)
          < ($1.element.location?.offset ?? .max, $1.offset)
      }
      throw TablePlanError(problems: sorted.map(\.element))
    }
    let certain = data.fields.filter { field in
      // The root has one type, so that a condition of a type leaves nothing out.
      field.uses.contains {
        $0.field.directives.isEmpty && $0.conditions.allSatisfy(\.directives.isEmpty)
      }
    }
    return TablePlan(
      template: try sent(data), tables: tables.map(\.definition), connections: made(),
      root: root, notes: notes, keys: keys, rateLimit: rateLimit,
      required: root.entries.map(\.key).filter { key in certain.contains { $0.key == key } })
  }

  private func refuseOthers() throws(TablePlanError) {
    let label = template.type.label(of: template.name)
    guard template.type == .query else {
      throw TablePlanError(
        "tables are made of queries, and the operation is \(label)", hint: nil,
        at: template.definition.location)
    }
    for name in ["defer", "stream"] {
      guard let location = template.callerDocument.location(ofDirective: name) else { continue }
      throw TablePlanError(
        "`@\(name)` makes a response arrive in parts, and tables are read from whole ones",
        hint: "remove it: the pages of lists are requested by themselves", at: location)
    }
  }

  private mutating func refuseWithoutList() {
    let hint =
      schema == nil
      ? "without a schema, only connections are lists: fields with `nodes` or `edges`; give the schema"
      : "select a connection or a list of objects; `run` prints a single object"
    fail(
      "the document selects no list of objects, so that it has no tables", hint: hint,
      at: template.definition.location)
  }

  /// Records a problem of the document, or of an option.
  mutating func fail(
    _ message: String, hint: String?, at location: SourceLocation? = nil,
    option: FileLocation? = nil
  ) {
    problems.append(
      TablePlanError.Problem(message: message, hint: hint, location: location, option: option))
  }

  /// Records a problem of the pages of a connection, which `allow_partial` makes a note. A bulk operation has no pages.
  mutating func failOrAllow(_ message: String, hint: String, at location: SourceLocation) {
    guard settings.bulk == nil else { return }
    if settings.allowPartial {
      notes.append(message)
    } else {
      fail(message, hint: hint, at: location)
    }
  }

  mutating func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

  // MARK: Fields

  /// Reads the fields of an object.
  ///
  /// - Parameters:
  ///   - lists: The lists of a connection, which are read by themselves.
  ///   - node: The field of an edge with the object of the row.
  private mutating func read(
    _ object: SelectedObject, _ place: Place, into shape: inout TableShape,
    isConnection: Bool = false,
    lists: [SelectedField] = [], node: SelectedField? = nil
  ) {
    for field in object.fields where !lists.contains(where: { $0 === field }) {
      if isConnection, field.name == "pageInfo" { continue }
      if place.path.isEmpty, isRateLimit(field) {
        rateLimit += field.uses.indices.map { .field(field.selected($0)) }
        continue
      }
      switch kind(of: field) {
      case .leaf: readLeaf(field, place, into: &shape)
      case .object: readObject(field, place, into: &shape, isNode: field === node)
      case .list: readList(field, of: nil, place, into: &shape)
      case .connection: readConnection(field, place, into: &shape)
      }
    }
  }

  private mutating func readLeaf(
    _ field: SelectedField, _ place: Place, into shape: inout TableShape
  ) {
    let path = (place.path + [field.key]).joined(separator: ".")
    guard let table = place.table else {
      unplaced.append(path)
      return
    }
    let name = (place.names + [field.key]).joined(separator: "_")
    let folded = name.lowercased()
    if TableDefinition.ownColumns.contains(folded) {
      fail(
        "`\(path)` would be the column `\(name)`, which each table has for itself",
        hint: "give the field an alias", at: field.location)
      return
    }
    if let other = tables[table].columnPaths.updateValue(path, forKey: folded) {
      fail(
        "`\(other)` and `\(path)` would be one column `\(name)`",
        hint: "give one of them an alias", at: field.location)
      return
    }
    shape.entries.append((field.key, .cell(tables[table].definition.columns.count)))
    tables[table].definition.columns.append(
      TableColumn(name: name, kind: columnKind(of: field), coordinate: field.coordinate))
  }

  private mutating func readObject(
    _ field: SelectedField, _ place: Place, into shape: inout TableShape, isNode: Bool
  ) {
    guard let object = field.object else { return }
    checkUnpaged(field, place)
    var inner = place.below(field, isNode: isNode)
    var own = TableShape()
    if place.table == nil, object.fields.contains(where: { $0.object == nil }) {
      own.identity = identify(object)
      own.table = addTable(
        field, names: inner.names, path: inner.path, below: nil, isSingle: true)
      inner.table = own.table
      inner.names = []
    }
    read(object, inner, into: &own)
    if !own.entries.isEmpty { shape.entries.append((field.key, .object(own))) }
  }

  private mutating func readConnection(
    _ field: SelectedField, _ place: Place, into shape: inout TableShape
  ) {
    guard let object = field.object else { return }
    let inner = place.below(field)
    let lists = lists(of: field)
    var own = TableShape()
    read(object, inner, into: &own, isConnection: true, lists: lists)
    if let list = chosen(lists, path: inner.path) { readList(list, of: field, inner, into: &own) }
    if !own.entries.isEmpty { shape.entries.append((field.key, .object(own))) }
  }

  /// Reads a list of objects.
  ///
  /// - Parameters:
  ///   - connection: The connection that has the list; `nil` for a list without pages.
  ///   - place: That of the list's object.
  private mutating func readList(
    _ field: SelectedField, of connection: SelectedField?, _ place: Place,
    into shape: inout TableShape
  ) {
    guard let object = field.object else { return }
    if connection == nil { checkList(field, place) }
    let node =
      connection != nil && field.name == "edges"
      ? object.fields(named: "node").first { $0.object != nil } : nil
    let names = connection == nil ? place.names + [field.key] : place.names
    let path = connection == nil ? place.path + [field.key] : place.path
    let table = addTable(connection ?? field, names: names, path: path, below: place.table)
    var list = TableShape.List(node: node?.key, table: table)
    var inner = Place(
      table: table, path: place.path + [field.key],
      chain: [Link(object: object, keys: [], field: nil)], connection: place.connection,
      isListed: true)
    if let connection {
      list.connection = addConnection(connection, list: field, as: list, at: place)
      inner.connection = list.connection ?? inner.connection
      shape.connection = list.connection
    }
    list.element.identity = identify(node?.object ?? object)
    read(object, inner, into: &list.element, node: node)
    shape.entries.append((field.key, .list(list)))
    if let index = list.connection { connections[index].inList = list }
  }

  /// Adds a connection; `nil` if it has no pages that can be requested.
  private mutating func addConnection(
    _ field: SelectedField, list: SelectedField, as inList: TableShape.List, at place: Place
  ) -> Int? {
    guard let object = field.object, let paging = paging(of: field, path: place.path) else {
      return nil
    }
    var pageInfo = (key: "pageInfo", leaves: paging.infoNames)
    for part in object.parts.indices {
      pageInfo = object.add("pageInfo", leaves: paging.infoNames, to: part)
    }
    let finding = finding(of: field, place, problem: paging.problem)
    connections.append(
      Connection(
        field: field, list: list, place: place, paging: paging, finding: finding,
        pageInfo: pageInfo, inList: inList))
    return connections.count - 1
  }

  // MARK: Tables

  /// Adds the table of an object or of a list.
  ///
  /// - Parameters:
  ///   - field: The object, the list or the connection.
  ///   - names: The response keys from the row above.
  ///   - path: Those from the data.
  private mutating func addTable(
    _ field: SelectedField, names: [String], path dataPath: [String], below parent: Int?,
    isSingle: Bool = false
  ) -> Int {
    let own = names.filter { !["edges", "nodes", "node"].contains($0) }
    let path = (own.isEmpty ? names.suffix(1) : own[...]).joined(separator: "_")
    let above = parent.map { tables[$0].definition.name + "_" } ?? ""
    tables.append(
      Table(
        definition: TableDefinition(
          name: above + path, parent: parent, isSingle: isSingle, columns: [],
          coordinate: field.coordinate, path: path), location: field.location,
        path: dataPath.joined(separator: ".")))
    return tables.count - 1
  }

  /// Gives the tables the names of `as`, and marks those of `shared`.
  private mutating func nameTables() {
    let derived = tables.map(\.definition.name)
    checkUnique(derived, hint: "give one of the fields an alias")
    func index(_ name: String, _ option: String, at location: FileLocation?) -> Int? {
      if let found = derived.firstIndex(of: name) { return found }
      fail(
        "`\(option)` names the table `\(name)`, which the document does not make",
        hint: suggestion(for: name, in: derived).map { "did you mean `\($0)`?" }
          ?? "its tables are \(derived.joined(separator: ", "))", option: location)
      return nil
    }
    for entry in settings.as.entries {
      guard let table = index(entry.name, "as", at: entry.nameLocation ?? entry.value.location)
      else { continue }
      if Name.isValid(entry.value.value) {
        tables[table].definition.name = entry.value.value
      } else {
        fail(
          "`\(entry.value.value)` cannot be the name of a table",
          hint: "letters, digits and `_`, of which the first is no digit",
          option: entry.value.location)
      }
    }
    for name in settings.shared {
      if let table = index(name.value, "shared", at: name.location) {
        tables[table].definition.isShared = true
      }
    }
    let names = tables.map(\.definition.name)
    if names != derived { checkUnique(names, hint: "give one of them another name with `as`") }
  }

  /// Databases and file systems may ignore case.
  private mutating func checkUnique(_ names: [String], hint: String) {
    var known: [String: Int] = [:]
    for (index, name) in names.enumerated() {
      guard let first = known.updateValue(index, forKey: name.lowercased()) else { continue }
      fail(
        "`\(tables[first].path)` and `\(tables[index].path)` would be one table `\(name)`",
        hint: hint, at: tables[index].location)
    }
  }

  // MARK: The plan

  /// The operation with everything that is added.
  private func sent(_ data: SelectedObject) throws(TablePlanError) -> OperationTemplate {
    var operation = template.definition
    operation.selectionSet = data.selections(of: 0)
    operation.isShorthand = false
    do throws(CacheError) {
      return try template.companion(Document(definitions: [.operation(operation)]))
    } catch {
      throw TablePlanError(error.message, hint: nil, at: error.location)
    }
  }

  private func made() -> [TableConnection] {
    connections.map { connection in
      let paging = connection.paging
      let total = connection.field.object?.fields(named: "totalCount").first { $0.object == nil }
      return TableConnection(
        keys: connection.place.path, parent: connection.place.connection,
        table: connection.inList.table,
        holder: connection.finding.holder, values: connection.finding.values,
        steps: steps(of: connection), cursorArgument: paging.cursor.name,
        sizeArgument: paging.size?.name, cursorType: paging.cursor.type,
        sizeType: paging.size?.type ?? .named(Name("Int", at: connection.field.location)),
        pageSize: paging.pageSize, listKey: connection.list.key, list: connection.inList,
        hasMoreKeys: [connection.pageInfo.key, connection.pageInfo.leaves[0]],
        cursorKeys: [connection.pageInfo.key, connection.pageInfo.leaves[1]],
        totalKey: total?.key)
    }
  }
}
