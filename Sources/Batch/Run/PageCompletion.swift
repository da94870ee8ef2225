package import GQLRunCache
package import GQLRunJSON
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
  /// The connections that were completed, by their paths.
  private var nested: [String: NestedConnection] = [:]
  /// The connections that a result has completely, or that the caller follows.
  private var begun: Set<[String]> = []
  /// Why connections cannot be completed, and what would work, by their paths. Continues a sentence.
  package private(set) var problems: [String: String] = [:]

  /// - Parameter maxPages: The maximum number of pages of one connection; `nil` for any.
  package init(_ operation: PreparedOperation, maxPages: Int?) {
    template = operation.template
    variables = operation.variables
    tree = SelectionTree(template)
    fields = operation.template.connectionFields()
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
  package func clear(_ data: inout any ResultData, except followed: Set<[String]>) throws {
    let cleared = fields.filter {
      begun.contains($0.keys) && !followed.contains($0.keys) && problems[$0.path] == nil
        && !$0.endCursor.isEmpty && !$0.hasAlias
    }
    guard !cleared.isEmpty else { return }
    let given = try JSONValue(parsing: data.bytes())
    var value = given
    for field in cleared {
      let lists = tree.lists(at: field.keys)
      // A path that leads through a list has no such step: its objects are others on each page.
      value = value.changed(at: field.keys.map { .key($0) }[...]) { value in
        guard case .object(var connection) = value, connection["pageInfo"]?.objectValue != nil
        else { return value }
        for list in lists { connection[list] = .array([]) }
        var emptied = JSONValue.object(connection)
        for path in field.hasNextPage {
          emptied = emptied.changed(at: path.map { .key($0) }[...]) { _ in .boolean(false) }
        }
        for path in field.endCursor {
          emptied = emptied.changed(at: path.map { .key($0) }[...]) { _ in .null }
        }
        return emptied
      }
    }
    if value != given { data = value.jsonBytes() }
  }

  // MARK: One connection

  private mutating func complete(
    _ connection: UnreadPages.Connection, of data: inout any ResultData, request: Request
  ) async throws {
    let keys = connection.field.keys
    guard let path = ResultPath(connection.resultPath()) else { return }
    let isInList = path.steps.contains(.each)
    let made =
      nested[path.description]
      ?? NestedConnection(
        path, below: nil, of: template, tree, through: isInList ? .node(type: nil) : .path)
    guard let made else { return }
    nested[path.description] = made
    // By the document and the schema.
    let type = tree.way(to: keys)?.last?.parent
    var problem: String?
    defer { problem.map { problems[connection.field.path] = $0 } }
    let limit = maxPages.map {
      NestedConnection.Limit(
        maxPages: $0,
        message:
          "there are more pages of `\(path)` than --max-pages \($0); raise the limit to get them"
      )
    }
    data = try await made.complete(
      JSONValue(parsing: data.bytes()), variables: variables, limit: limit,
      findBy: { object in
        do throws(TaskProblem) {
          let holder = isInList ? try Self.holder(object, type: type) : [:]
          guard
            let reason = made.documents.problem(of: Continuation(connection: 0, holder: holder))
          else { return holder }
          throw TaskProblem(
            "it cannot be requested \(isInList ? "through `node(id:)`" : "from a cursor"): \(reason); request more "
              + "at a time, or in another operation")
        } catch {
          problem = error.message
          return nil
        }
      }, request: request
    ).jsonBytes()
  }

  /// What finds an object through `node(id:)`.
  ///
  /// - Parameter type: The type of the objects; `nil` if it is not known.
  /// - Throws: The problem of an object that cannot be requested.
  private static func holder(
    _ object: JSONValue, type: String?
  ) throws(TaskProblem) -> [String: JSONValue] {
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
    return ["id": id, "__typename": .string(type)]
  }

  /// Why no object of a connection can be completed; `nil` if it depends on the object.
  private func problem(of connection: UnreadPages.Connection) -> String? {
    let field = connection.field
    guard !field.endCursor.isEmpty else { return "select its `endCursor`, too" }
    guard !field.hasAlias else {
      return "select its `pageInfo { hasNextPage endCursor }` without aliases"
    }
    guard connection.lists.last == 0 else {
      return "it is a list of connections; request each of them in an operation of its own"
    }
    return tree.lists(at: field.keys).isEmpty ? "select its `nodes` or `edges`" : nil
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
