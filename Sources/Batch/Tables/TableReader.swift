import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// What one response contributes to the tables.
struct TablePage: Sendable {
  /// The rows, each after that of its parent.
  var rows: [TableRow] = []
  /// The connections with more pages, and those whose first page failed. With a ``Continuation/problem``, there are
  /// pages that cannot be had.
  var open: [Continuation] = []
}

/// Reads rows and connections with more pages from responses.
struct TableReader: Sendable {
  let plan: TablePlan
  /// The pages of each connection.
  private let pages: [TableShape]

  init(plan: TablePlan) {
    self.plan = plan
    pages = plan.connections.enumerated().map { index, connection in
      TableShape(entries: [(connection.listKey, .list(connection.list))], connection: index)
    }
  }

  /// Reads the response to the operation itself.
  ///
  /// A connection with an error is in ``TablePage/open`` without a cursor, if it can be requested by itself.
  ///
  /// - Parameter rowKey: The key of the manifest's row, which is the `_parent` of the first level; `nil` without rows.
  /// - Throws: A response that lacks something: an error outside of the connections that can be requested by
  ///   themselves.
  func read(
    _ data: JSONValue, errors: [GraphQLError], rowKey: String?
  ) throws(TaskProblem) -> TablePage {
    var failed: FailedPlaces?
    for error in errors {
      guard let path = error.path, let length = failing(path[...], in: plan.root, of: data) else {
        throw TaskProblem(errors.problem())
      }
      failed = failed ?? FailedPlaces()
      failed?.add(path.prefix(length))
    }
    guard case .object(let object) = data else {
      throw errors.isEmpty ? TaskProblem("the response has no data") : TaskProblem(errors.problem())
    }
    if let key = plan.required.first(where: { object[$0] == nil && failed?[$0] == nil }) {
      throw TaskProblem("the response lacks `\(key)`, which the operation selects")
    }
    var rows = RowReader(plan: plan, rowKey: rowKey)
    try rows.read(object, as: plan.root, at: RowReader.Place(row: rowKey, failed: failed))
    return rows.page
  }

  /// Reads the response to the next pages of some connections.
  ///
  /// - Returns: The page of each continuation of the pack, in its order: what it contributes, or why it is to be
  ///   requested again.
  func read(
    _ data: JSONValue, errors: [GraphQLError], pack: ContinuationPack
  ) -> [Result<TablePage, TaskProblem>] {
    let places = pack.continuations.enumerated().map { index, continuation in
      plan.connections[continuation.connection].holderPath(index)
    }
    var own = places.map { _ in [GraphQLError]() }
    for error in errors {
      let first = error.path?.first
      let index = first.flatMap { first in places.firstIndex { $0.first == first } }
      for place in index.map({ $0...$0 }) ?? 0...(places.count - 1) { own[place].append(error) }
    }
    return places.indices.map { index in
      Result { () throws(TaskProblem) in
        try page(pack.continuations[index], at: places[index], of: data, errors: own[index])
      }
    }
  }

  /// Reads a part of the list of a connection that is no page, such as lines of a bulk operation.
  ///
  /// - Parameters:
  ///   - value: The connection.
  ///   - connection: Its index in the plan.
  ///   - parent: The `_parent` of its rows.
  ///   - position: The `_position` of the first element.
  func read(
    _ value: JSONObject, of connection: Int, parent: String?, position: Int
  ) throws(TaskProblem) -> [TableRow] {
    var rows = RowReader(plan: plan, rowKey: nil)
    let place = RowReader.Place(row: parent, position: position)
    try rows.read(value, as: pages[connection], at: place)
    return rows.page.rows
  }

  // MARK: Packs

  private func page(
    _ continuation: Continuation, at holder: [GraphQLError.PathElement], of data: JSONValue,
    errors: [GraphQLError]
  ) throws(TaskProblem) -> TablePage {
    let connection = plan.connections[continuation.connection]
    let shape = pages[continuation.connection]
    let path = holder + connection.holderKeys.map { .key($0) }
    if errors.isEmpty, data.isNull { throw TaskProblem("the response has no data") }
    let object: JSONValue? = holder.reduce(data) { $0?.element(at: $1) }
    let value = connection.holderKeys.reduce(object) { $0?[$1] }

    var failed: FailedPlaces?
    for error in errors {
      guard let steps = error.path, steps.starts(with: path), let value,
        let length = failing(steps.dropFirst(path.count), in: shape, of: value)
      else { throw TaskProblem(errors.problem()) }
      failed = failed ?? FailedPlaces()
      failed?.add(steps.dropFirst(path.count).prefix(length))
    }
    if connection.isOther(object, than: continuation) {
      var ended = continuation
      ended.problem =
        "its object is another one: the server found it by \(Self.found(continuation)), and gave another `id`"
      return TablePage(open: [ended])
    }
    guard case .object(let members)? = value else {
      return try absent(continuation, object: object, value: value)
    }
    var rows = RowReader(plan: plan, rowKey: nil)
    let place = RowReader.Place(
      row: continuation.parent, position: continuation.count, failed: failed)
    try rows.read(members, as: shape, at: place)
    if let next = continuation.advanced(over: members, in: connection) {
      rows.page.open.append(next)
    }
    return rows.page
  }

  /// The page of a connection that the response does not have, without an error.
  private func absent(
    _ continuation: Continuation, object: JSONValue?, value: JSONValue?
  ) throws(TaskProblem) -> TablePage {
    if let value, !value.isNull {
      throw TaskProblem("the connection is \(value.shape) in the response, not an object")
    }
    var ended = continuation
    if object?.isNull ?? true {
      ended.problem =
        "its object is gone: the server finds none by \(Self.found(continuation))"
    } else if value == nil {
      ended.problem =
        "its object is of another type now, or lacks the connection: the response has no such field"
    } else if continuation.cursor != nil {
      ended.problem = "the server announced a page, and returned null for it without an error"
    } else {
      // Null without an error is a value: the object has no such list.
      return TablePage()
    }
    return TablePage(open: [ended])
  }

  /// What finds the object of a page, for messages.
  private static func found(_ continuation: Continuation) -> String {
    continuation.holder.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value.jsonText())" }.joined(separator: ", ")
  }

  // MARK: Errors

  /// The number of steps of an error's path to the innermost connection that lacks something because of the error and
  /// can be requested by itself; `nil` if there is none.
  ///
  /// If an object above a connection is null because of an error in it, the connection outside of that object lacks it. So it
  /// does if the error concerns something else in the object of a connection than its list, such as a cell, because the row
  /// above has it.
  private func failing(
    _ path: ArraySlice<GraphQLError.PathElement>, in shape: TableShape, of data: JSONValue
  ) -> Int? {
    /// The innermost connection, and the innermost around the row.
    var (found, outer): (Int?, Int?)
    /// The connection whose object the path is in, outside of its list.
    var current: Int?
    var value = data
    var element: JSONValue?
    var target = TableShape.Target.object(shape)
    for (index, step) in path.enumerated() {
      let next = value.element(at: step)
      switch (step, target) {
      case (.key(let key), .object(let shape)):
        guard let entry = shape.entries.first(where: { $0.key == key }) else { return found }
        target = entry.target
        let isLost = next?.objectValue == nil
        switch target {
        case .cell: return outer
        case .list(let list):
          if list.connection == nil || list.connection != current { found = outer }
        case .object(let inner):
          if let connection = inner.connection,
            plan.connections[connection].holderValues(in: element) != nil
          {
            if isLost, inner.hasOthers { return outer }
            (found, current) = (index + 1, connection)
          } else if isLost, inner.connection != nil || inner.hasOthers {
            return outer
          }
        }
      case (.index, .list(let list)):
        target = .object(list.element)
        element = next
        (outer, current) = (found, nil)
      default: return found
      }
      guard let next, !next.isNull else { return found }
      value = next
    }
    return found
  }
}

extension [GraphQLError] {
  /// Why a response with these errors is a failure, with the first three of them.
  ///
  /// - Parameter document: The name of the document; `nil` leaves out their locations in it.
  func problem(in document: String? = nil) -> String {
    let first = prefix(3).map { $0.description(in: document) }.joined(separator: "; ")
    return "the response has \(Quantity.count(count, "error")): \(first)"
  }
}

extension JSONValue {
  /// The value at one step of an error's path; `nil` if there is none.
  func element(at step: GraphQLError.PathElement) -> JSONValue? {
    switch step {
    case .key(let key): self[key]
    case .index(let index): self[index]
    }
  }
}

extension TableConnection {
  /// The values that find an object again, by name of the argument.
  ///
  /// - Parameter element: The element of the list that the connection is in; `nil` if no list is above it.
  /// - Returns: `nil` if nothing finds it.
  func holderValues(in element: JSONValue?) -> [String: JSONValue]? {
    if case .none = holder { return nil }
    var found: [String: JSONValue] = [:]
    for wanted in values {
      guard let value = element?.objectValue?.value(at: wanted.keys), !value.isNull else {
        return nil
      }
      found[wanted.argument] = value
    }
    return found
  }
}

/// Reads the rows of one response, or of one of its connections.
private struct RowReader {
  /// Where an object is that is being read.
  struct Place {
    /// The `_key` of the row above; that of the manifest's row at the first level.
    var row: String?
    /// The element of the innermost list around it.
    var element: JSONValue?
    /// The `_position` of the first element of a list in it.
    var position = 0
    /// The connections in it that errors make unusable.
    var failed: FailedPlaces?
  }

  let plan: TablePlan
  let rowKey: String?
  var page = TablePage()

  /// Reads an object without a row.
  mutating func read(
    _ object: JSONObject, as shape: TableShape, at place: Place
  ) throws(TaskProblem) {
    var cells: [JSONValue?] = []
    try read(object, as: shape, at: place, cells: &cells)
  }

  /// - Parameter cells: Those of the row that has the object; empty if there is none.
  private mutating func read(
    _ object: JSONObject, as shape: TableShape, at place: Place, cells: inout [JSONValue?]
  ) throws(TaskProblem) {
    // The members of a response have the order of the document, so that the next one is mostly right.
    var next = 0
    for (key, target) in shape.entries {
      let value: JSONValue
      if let index = object.index(of: key, from: next) {
        next = index + 1
        value = object[index].value
      } else if place.failed?[key] != nil {
        // An error has removed it from the response.
        value = .null
      } else {
        continue
      }
      if case .cell(let column) = target {
        if column < cells.count { cells[column] = value }
        continue
      }
      if value.isNull, place.failed == nil { continue }
      var inner = place
      inner.failed = place.failed?[key]
      switch target {
      case .cell: break
      case .list(let list):
        let isFailed = place.failed?.isFailed == true && list.connection == shape.connection
        if !isFailed { try read(value, as: list, key: key, at: inner) }
      case .object(let shape): try read(value, as: shape, key: key, at: inner, cells: &cells)
      }
    }
  }

  private mutating func read(
    _ value: JSONValue, as shape: TableShape, key: String, at place: Place,
    cells: inout [JSONValue?]
  ) throws(TaskProblem) {
    if let connection = shape.connection, place.failed?.isFailed == true {
      addFailed(connection, place)
      // Rows above have what else is in it.
      if case .object(let object) = value { try read(object, as: shape, at: place, cells: &cells) }
      return
    }
    if value.isNull { return }
    guard case .object(let object) = value else {
      throw mismatch(value, of: key, with: "an object")
    }
    if let table = shape.table {
      var place = place
      if plan.tables[table].parent == nil { place.row = rowKey }
      try addRow(of: object, table: table, from: object, as: shape, at: place)
    } else {
      try read(object, as: shape, at: place, cells: &cells)
    }
    if let connection = shape.connection { addMore(connection, of: object, place) }
  }

  private mutating func read(
    _ value: JSONValue, as list: TableShape.List, key: String, at place: Place
  ) throws(TaskProblem) {
    if value.isNull { return }
    guard case .array(let elements) = value else { throw mismatch(value, of: key, with: "a list") }
    for (index, element) in elements.enumerated() {
      // An edge without the field, which `@include` leaves out or only some types have, is a row without its cells.
      let node = list.node.flatMap { element[$0] } ?? element
      if node.isNull { continue }
      guard case .object(let whole) = element, case .object(let object) = node else {
        throw mismatch(node, of: key, with: "a list of objects")
      }
      let inner = Place(
        row: place.row, element: element, position: place.position + index,
        failed: place.failed?[index])
      try addRow(of: object, table: list.table, from: whole, as: list.element, at: inner)
    }
  }

  /// Adds the row of an object, and what is in the object.
  ///
  /// - Parameters:
  ///   - source: What has the cells: the object, or the edge that it is the node of.
  ///   - place: That of the row, with its position.
  private mutating func addRow(
    of object: JSONObject, table: Int, from source: JSONObject, as shape: TableShape,
    at place: Place
  ) throws(TaskProblem) {
    let definition = plan.tables[table]
    let key =
      plan.key(of: object, in: shape)
      ?? (place.row.map { $0 + "." } ?? "") + "\(definition.path).\(place.position)"
    let index = page.rows.count
    page.rows.append(
      TableRow(table: table, key: key, parent: place.row, position: place.position, cells: []))
    var cells = [JSONValue?](repeating: nil, count: definition.columns.count)
    var inner = place
    (inner.row, inner.position) = (key, 0)
    try read(source, as: shape, at: inner, cells: &cells)
    page.rows[index].cells = cells
  }

  // MARK: Connections

  /// Adds the first page of a connection that an error makes unusable.
  private mutating func addFailed(_ index: Int, _ place: Place) {
    let holder = plan.connections[index].holderValues(in: place.element) ?? [:]
    page.open.append(
      Continuation(connection: index, holder: holder, parent: place.row, failures: 1))
  }

  /// Adds a connection that has more pages than the response.
  private mutating func addMore(_ index: Int, of object: JSONObject, _ place: Place) {
    let connection = plan.connections[index]
    let begun = Continuation(connection: index, parent: place.row)
    guard var next = begun.advanced(over: object, in: connection) else { return }
    if let holder = connection.holderValues(in: place.element) {
      next.holder = holder
    } else if case .none(let reason) = connection.holder {
      next.problem = reason
    } else {
      let names = connection.values.map { $0.keys.joined(separator: ".") }
      next.problem = "its object has no \(names.joined(separator: ", ")) to find it by"
    }
    page.open.append(next)
  }

  private func mismatch(
    _ value: JSONValue, of key: String, with expected: String
  ) -> TaskProblem {
    TaskProblem(
      "`\(key)` is \(value.shape) in the response, and the tables expect \(expected)"
        + (plan.template.schema == nil ? "; give the schema (--schema)" : ""))
  }
}

extension JSONObject {
  /// The index of a member, which is probably near `start`; `nil` if there is none.
  fileprivate func index(of key: String, from start: Int) -> Int? {
    let members = self.members
    return members.indices.dropFirst(start).first { utf8Equal(members[$0].key, key) }
      ?? members.indices.prefix(start).first { utf8Equal(members[$0].key, key) }
  }
}

/// The connections of a response that errors make unusable, as a tree of the steps to them.
private final class FailedPlaces {
  private(set) var isFailed = false
  private var inner: [GraphQLError.PathElement: FailedPlaces] = [:]

  func add(_ path: some Collection<GraphQLError.PathElement>) {
    guard let first = path.first else {
      isFailed = true
      return
    }
    let next = inner[first] ?? FailedPlaces()
    inner[first] = next
    next.add(path.dropFirst())
  }

  subscript(key: String) -> FailedPlaces? { inner[.key(key)] }
  subscript(index: Int) -> FailedPlaces? { inner[.index(index)] }
}
