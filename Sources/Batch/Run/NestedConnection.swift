import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// A connection whose further pages are requested by themselves, and joined to its first page.
struct NestedConnection: Sendable {
  /// The path of the connection in the emitted record, or in the result.
  let path: ResultPath
  /// The response keys of the connection's lists: its `nodes` and `edges`.
  let lists: [String]
  /// The document that requests the next page of the connection.
  let template: OperationTemplate
  /// The response keys to the object with the connection in a page.
  private let objectKeys: [String]

  init(_ next: NestedDocument, path: ResultPath, template: OperationTemplate) {
    self.path = path
    lists = next.lists
    objectKeys = next.objectKeys
    self.template = template
  }

  /// Whether pages find the object by its id.
  private var needsID: Bool {
    template.definition.variables.contains { $0.name.value == NestedDocument.idVariable }
  }

  /// The object with all pages of its connection.
  ///
  /// - Parameters:
  ///   - variables: Those of the operation.
  ///   - limit: The maximum number of pages of the connection, the given one included, and the message for an object
  ///     with more; `nil` for any number.
  /// - Throws: ``TaskProblem`` for a page that cannot be used, and the errors of `request`.
  func complete(
    _ value: JSONValue, variables given: JSONObject, limit: (maxPages: Int, message: String)?,
    request: PageCompletion.Request
  ) async throws -> JSONValue {
    guard case .object(var object) = value, let key = path.keys.last,
      case .object(var connection)? = object[key]
    else { return value }
    var seen: Set<String> = []
    // Appended to once, because each change copies a list.
    var joined = lists.map { connection[$0]?.arrayValue ?? [] }
    while connection["pageInfo"]?["hasNextPage"]?.boolValue == true {
      guard let cursor = connection["pageInfo"]?["endCursor"]?.stringValue else {
        throw TaskProblem(
          "the server says that there are further pages of `\(path)` and gives no endCursor")
      }
      guard seen.insert(cursor).inserted else {
        throw TaskProblem("the nested connection `\(path)` gave a cursor a second time")
      }
      if let limit, seen.count >= limit.maxPages { throw TaskProblem(limit.message) }
      var variables = JSONObject()
      for variable in template.definition.variables {
        variables[variable.name.value] = given[variable.name.value]
      }
      if needsID {
        guard let id = object["id"], !id.isNull else {
          throw TaskProblem("an object has no `id` to complete `\(path)` by")
        }
        variables[NestedDocument.idVariable] = id
      }
      variables[NestedDocument.cursorVariable] = .string(cursor)
      let page = try await request(template, variables)
      guard let more = objectKeys.reduce(page, { $0?[$1] })?[key], !more.isNull else {
        throw TaskProblem(
          "the server did not complete `\(path)` "
            + (needsID ? "through node(id:)" : "from the cursor of its page"))
      }
      for (index, list) in lists.enumerated() {
        guard let new = more[list]?.arrayValue else {
          throw TaskProblem("a page of `\(path)` has no list `\(list)`")
        }
        joined[index] += new
      }
      guard let info = more["pageInfo"], info["hasNextPage"]?.boolValue != nil else {
        throw TaskProblem("a page of `\(path)` does not have `hasNextPage`")
      }
      connection["pageInfo"] = info
    }
    guard !seen.isEmpty else { return value }
    for (name, list) in zip(lists, joined) { connection[name] = .array(list) }
    object[key] = .object(connection)
    return .object(object)
  }
}

extension JSONValue {
  /// The value with those at a path replaced; nulls are kept.
  func changed(
    at steps: ArraySlice<ResultPath.Step>, by change: (JSONValue) async throws -> JSONValue
  ) async throws -> JSONValue {
    guard let step = steps.first else { return isNull ? self : try await change(self) }
    let rest = steps.dropFirst()
    switch step {
    case .key(let key):
      guard case .object(var object) = self, let inner = object[key] else { return self }
      object[key] = try await inner.changed(at: rest, by: change)
      return .object(object)
    case .index(let index):
      guard case .array(var elements) = self, elements.indices.contains(index) else { return self }
      elements[index] = try await elements[index].changed(at: rest, by: change)
      return .array(elements)
    case .each:
      guard case .array(var elements) = self else { return self }
      for index in elements.indices {
        elements[index] = try await elements[index].changed(at: rest, by: change)
      }
      return .array(elements)
    }
  }
}
