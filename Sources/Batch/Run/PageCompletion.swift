package import GQLRunCache
package import GQLRunJSON
import GQLRunLanguage
package import GQLRunPipeline

/// Completes the connections in the results of one operation that is not a task, at any depth.
///
/// Those in lists are requested through `node(id:)`, the others by their path from the root. Those whose pages the
/// caller follows with variables of the operation are its own concern.
package struct PageCompletion: Sendable {
  /// Requests a page with a document and its variables; `nil` for a result without data.
  package typealias Request = (OperationTemplate, JSONObject) async throws -> JSONValue?

  private let template: OperationTemplate
  private let variables: JSONObject
  private let tree: SelectionTree
  private let fields: [ConnectionField]
  private let maxPages: Int?
  /// The connections that a result has completely, or that the caller follows.
  private var begun: Set<[String]> = []
  /// Why connections cannot be completed, and what would work, by their paths. Continues a sentence.
  package private(set) var problems: [String: String] = [:]

  /// - Parameter maxPages: The maximum number of pages of one connection; `nil` for any.
  package init(_ operation: PreparedOperation, maxPages: Int?) {
    template = operation.template
    variables = operation.variables
    tree = SelectionTree(template.callerDocument, template.definition)
    fields = operation.connectionFields()
    self.maxPages = maxPages
  }

  /// Completes the connections of a result, each before those in it. Those that cannot be requested are left, with
  /// their reason in ``problems``.
  ///
  /// - Parameters:
  ///   - data: The result; after an error, with the connections that are complete.
  ///   - followed: The response keys of the connections that the caller follows.
  /// - Throws: ``TaskProblem`` for a page that cannot be used, and the errors of `request`.
  package mutating func complete(
    _ data: inout any ResultData, except followed: Set<[String]>, request: Request
  ) async throws {
    var known = followed
    while true {
      // A connection in another one may have more pages only on a page that was added.
      var pages = UnreadPages(fields.filter { !known.contains($0.keys) })
      pages.beginResult()
      try data.forEachChunk { pages.read($0) }
      if known == followed {
        begun.formUnion(pages.connections.filter { $0.count > 0 }.map(\.field.keys))
        begun.formUnion(followed)
      }
      guard let next = pages.unread.min(by: { $0.field.keys.count < $1.field.keys.count }) else {
        return
      }
      known.insert(next.field.keys)
      if let problem = problem(of: next) {
        problems[next.field.path] = problem
      } else {
        try await complete(next, of: &data, request: request)
      }
    }
  }

  /// Empties the connections that are complete in an earlier result, because a page of another list repeats their first
  /// pages.
  ///
  /// - Parameter followed: The response keys of the connections that the caller follows.
  package func clear(_ data: inout any ResultData, except followed: Set<[String]>) async throws {
    let cleared = fields.filter {
      begun.contains($0.keys) && !followed.contains($0.keys) && problems[$0.path] == nil
        && $0.isRequestable
    }
    guard !cleared.isEmpty else { return }
    let given = try JSONValue(parsing: data.bytes())
    var value = given
    for field in cleared {
      let lists = tree.field(at: field.keys).map { tree.lists(of: $0) } ?? []
      // A path that leads through a list has no such step: its objects are others on each page.
      value = try await value.changed(at: field.keys.map { .key($0) }[...]) { value in
        guard case .object(var connection) = value, case .object(var info)? = connection["pageInfo"]
        else { return value }
        for list in lists { connection[list] = .array([]) }
        info["hasNextPage"] = .boolean(false)
        info["endCursor"] = .null
        connection["pageInfo"] = .object(info)
        return .object(connection)
      }
    }
    if value != given { data = value.jsonBytes() }
  }

  // MARK: One connection

  private mutating func complete(
    _ connection: UnreadPages.Connection, of data: inout any ResultData, request: Request
  ) async throws {
    guard let path = ResultPath(connection.resultPath()), let key = path.keys.last else { return }
    let value = try JSONValue(parsing: data.bytes())
    var object = path
    object.steps.removeLast()
    let search = HolderSearch(
      isInList: path.steps.contains(.each),
      type: tree.type(at: connection.field.keys, schema: template.schema))
    var nested: [NestedDocument.Holder: Result<NestedConnection, TaskProblem>] = [:]
    for value in object.values(in: value) where Self.isOpen(value[key]) {
      do {
        let holder = try search.holder(value)
        let found =
          nested[holder]
          ?? Result { () throws(TaskProblem) in
            try self.nested(connection.field, at: path, holder)
          }
        nested[holder] = found
        _ = try found.get()
      } catch {
        problems[connection.field.path] = error.message
      }
    }
    let limit = maxPages.map {
      (
        maxPages: $0,
        message:
          "there are more pages of `\(path)` than --max-pages \($0); raise the limit to get them"
      )
    }
    let (variables, requested) = (variables, nested)
    let result = try await value.changed(at: object.steps[...]) { value in
      guard Self.isOpen(value[key]), let holder = try? search.holder(value),
        case .success(let nested)? = requested[holder]
      else { return value }
      return try await nested.complete(
        value, variables: variables, limit: limit, request: request)
    }
    data = result.jsonBytes()
  }

  private static func isOpen(_ connection: JSONValue?) -> Bool {
    connection?["pageInfo"]?["hasNextPage"]?.boolValue == true
  }

  private func nested(
    _ field: ConnectionField, at path: ResultPath, _ holder: NestedDocument.Holder
  ) throws(TaskProblem) -> NestedConnection {
    guard
      let next = NestedDocument(
        tree, template: template, keys: field.keys, holder: holder, schema: template.schema),
      let nextTemplate = try? template.companion(next.document)
    else { throw TaskProblem("it cannot be requested by itself; request it in another operation") }
    if let schema = template.schema,
      let error = nextTemplate.callerDocument.validate(against: schema).first
    {
      let access = holder == .path ? "from a cursor" : "through `node(id:)`"
      throw TaskProblem(
        "it cannot be requested \(access): \(error.message); request more at a time, or in another operation"
      )
    }
    return NestedConnection(next, path: path, template: nextTemplate)
  }

  /// Why no object of a connection can be completed; `nil` if it depends on the object.
  private func problem(of connection: UnreadPages.Connection) -> String? {
    let field = connection.field
    guard field.endCursor != nil else { return "select its `endCursor`, too" }
    guard field.isRequestable else {
      return "select its `pageInfo { hasNextPage endCursor }` without aliases"
    }
    guard connection.lists.last == 0 else {
      return "it is a list of connections; request each of them in an operation of its own"
    }
    guard let selected = tree.field(at: field.keys), !tree.lists(of: selected).isEmpty else {
      return "select its `nodes` or `edges`"
    }
    return nil
  }
}

/// Finds how the next page of a connection in an object is requested.
private struct HolderSearch {
  let isInList: Bool
  /// The type of the objects by the document and the schema; `nil` if it is not known.
  let type: String?

  /// - Throws: The problem of an object that cannot be requested.
  func holder(_ object: JSONValue) throws(TaskProblem) -> NestedDocument.Holder {
    guard isInList else { return .path }
    guard let id = object["id"], !id.isNull else {
      throw TaskProblem(
        "select the `id` of the objects that have it, so that `node(id:)` requests the rest of each"
      )
    }
    guard let type = object["__typename"]?.stringValue ?? type else {
      throw TaskProblem(
        "select `__typename` next to the `id` of the objects that have it, or give --schema, so that `node(id:)` "
          + "requests the rest of each")
    }
    return .node(type: type)
  }
}

extension ConnectionField {
  /// Whether the next page can be requested: it has the cursor under its own name.
  fileprivate var isRequestable: Bool {
    hasNextPage == ["pageInfo", "hasNextPage"] && endCursor == ["pageInfo", "endCursor"]
  }
}

extension UnreadPages.Connection {
  /// The path of the connection in the result, with `[*]` after lists.
  ///
  /// - Parameter count: The number of keys at its beginning to leave out.
  func resultPath(dropping count: Int = 0) -> String {
    zip(field.keys, lists).dropFirst(count).map { $0 + String(repeating: "[*]", count: $1) }
      .joined(separator: ".")
  }
}
