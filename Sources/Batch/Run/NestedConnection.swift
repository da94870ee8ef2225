import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
package import GQLRunPipeline

/// A connection whose further pages are requested by themselves, those of several objects at a time, and joined to its
/// first page.
struct NestedConnection: Sendable {
  /// The pages of the connection in one object.
  private struct Pages {
    /// The elements of each list.
    var lists: [[JSONValue]]
    /// The last page.
    var last: JSONObject
  }

  /// The maximum number of pages in one object.
  struct Limit {
    /// With the page that a result has.
    var maxPages: Int
    /// The message for an object with more.
    var message: String
  }

  /// What finds an object again, by name of the argument; `nil` for one whose connection is left as it is.
  typealias Finder = (JSONValue) throws(TaskProblem) -> [String: JSONValue]?

  /// The maximum number of objects whose next pages are one request, as in tables.
  private static let maxPack = 20

  /// The path of the connection in the emitted record, or in the result, for messages.
  let path: ResultPath
  /// The response keys of the connection's lists: its `nodes` and `edges`.
  let lists: [String]
  /// The response keys of its `pageInfo`.
  private let infos: [String]
  let documents: ContinuationDocuments
  /// The path from the data to the object that has the connection.
  private let object: ResultPath
  private let key: String

  private var connection: TableConnection { documents.connections[0] }

  /// - Parameters:
  ///   - path: The path of the connection, which ends with a key.
  ///   - base: The path of the records that it begins from.
  ///   - tree: The selections of the operation.
  ///   - holder: How a page reaches the object with the connection: `path`, or `node` with a type, if it is known.
  /// - Returns: `nil` if the operation does not select the connection.
  init?(
    _ path: ResultPath, below base: ResultPath?, of template: OperationTemplate,
    _ tree: SelectionTree, through holder: TableConnection.Holder
  ) {
    let keys = (base?.keys ?? []) + path.keys
    guard let key = keys.last,
      let connection = TableConnection(keys, tree, through: holder)
    else { return nil }
    self.path = path
    self.key = key
    var object = ResultPath()
    object.steps = (base?.steps ?? []) + path.steps.dropLast()
    self.object = object
    lists = tree.lists(at: keys)
    infos = tree.columns(at: keys, where: { $0.name == "pageInfo" })
    documents = ContinuationDocuments(template, [connection])
  }

  /// The data with all pages of the connection.
  ///
  /// - Parameters:
  ///   - given: The variables of the operation.
  ///   - limit: The maximum number of pages in one object; `nil` for any number.
  /// - Throws: ``TaskProblem`` for a page that cannot be used, and the errors of `request`.
  func complete(
    _ data: JSONValue, variables given: JSONObject, limit: Limit?, findBy finder: Finder,
    request: PageCompletion.Request
  ) async throws -> JSONValue {
    var found: [Int: Pages] = [:]
    var open: [(object: Int, next: Continuation)] = []
    for (index, object) in object.values(in: data).enumerated() {
      guard let page = object[key]?.objectValue,
        page["pageInfo"]?["hasNextPage"]?.boolValue == true, let holder = try finder(object)
      else { continue }
      let first = Continuation(connection: 0, holder: holder)
      guard let next = try next(first, over: page, limit) else { continue }
      open.append((index, next))
      found[index] = Pages(lists: lists.map { page[$0]?.arrayValue ?? [] }, last: page)
    }
    if open.isEmpty { return data }
    var limits = PackLimits(
      pack: connection.holder == .path ? 1 : Self.maxPack, pageSize: nil, hasSize: false)
    while !open.isEmpty {
      let taken = open.prefix(limits.pack)
      let pack = ContinuationPack(continuations: taken.map(\.next))
      let (template, variables) = try documents.request(pack, variables: given)
      let response: JSONValue?
      do {
        response = try await request(template, variables)
      } catch let error as TooCostlyPages {
        guard limits.shrink(after: pack) else { throw error.cause }
        continue
      }
      limits.grow(after: pack)
      open.removeFirst(taken.count)
      for (index, (object, continuation)) in taken.enumerated() {
        let page = try page(index, of: response, for: continuation)
        for (list, name) in lists.enumerated() {
          guard let new = page[name]?.arrayValue else {
            throw TaskProblem("a page of `\(path)` has no list `\(name)`")
          }
          found[object]?.lists[list] += new
        }
        found[object]?.last = page
        if let next = try next(continuation, over: page, limit) { open.append((object, next)) }
      }
    }
    var index = -1
    return data.changed(at: object.steps[...]) { value in
      index += 1
      guard let pages = found[index], case .object(var object) = value,
        case .object(var connection)? = object[key]
      else { return value }
      for (name, list) in zip(lists, pages.lists) { connection[name] = .array(list) }
      for name in infos where connection[name] != nil { connection[name] = pages.last[name] }
      object[key] = .object(connection)
      return .object(object)
    }
  }

  /// A page in the response to a pack.
  private func page(
    _ index: Int, of response: JSONValue?, for continuation: Continuation
  ) throws(TaskProblem) -> JSONObject {
    let object = connection.holderPath(index).reduce(response) { $0?.element(at: $1) }
    guard !connection.isOther(object, than: continuation) else {
      throw TaskProblem(
        "the server did not complete `\(self.path)` through node(id:): it gave an object with another `id`"
      )
    }
    let value = connection.holderKeys.reduce(object) { $0?[$1] }
    guard let page = value?.objectValue else {
      throw TaskProblem(
        "the server did not complete `\(self.path)` "
          + (connection.holder == .path ? "from the cursor of its page" : "through node(id:)"))
    }
    return page
  }

  /// The continuation after a page; `nil` after the last one.
  private func next(
    _ continuation: Continuation, over page: JSONObject, _ limit: Limit?
  ) throws(TaskProblem) -> Continuation? {
    guard let next = continuation.advanced(over: page, in: connection) else { return nil }
    if let problem = next.problem { throw TaskProblem("`\(path)` is incomplete: \(problem)") }
    if let limit, next.pages >= limit.maxPages { throw TaskProblem(limit.message) }
    return next
  }
}

/// Pages that cost too much for the server: fewer are requested at a time.
package struct TooCostlyPages: Error {
  /// The error if there is only one page.
  let cause: any Error

  /// The error of a request for pages; with another reason, the error itself.
  ///
  /// - Parameter errors: Those of the response.
  package static func error(_ cause: any Error, of errors: [GraphQLError] = []) -> any Error {
    FailureKind(cause, mayRepeat: true, now: 0).isTooCostly || FailureKind.isTooCostly(errors)
      ? Self(cause: cause) : cause
  }
}

extension TableConnection {
  /// A connection whose first pages are in results; `nil` if the operation does not select it.
  ///
  /// Without a schema, the arguments `id` and `after` are of `ID!` and `String`.
  fileprivate init?(_ keys: [String], _ tree: SelectionTree, through holder: Holder) {
    guard let way = tree.way(to: keys), let last = way.last else { return nil }
    var field = last.field
    // All that the document selects of it, in several fragments, too.
    field.selectionSet?.selections = tree.fields(at: keys)
      .flatMap { $0.field.selectionSet?.selections ?? [] }
    var steps = way.map { entry in
      Step(conditions: entry.conditions.compactMap { $0.type?.value }, field: entry.field)
    }
    var type = last.parent
    if case .field(_, let named, _) = holder {
      type = named ?? type
      steps = [Step(conditions: [], field: field)]
    } else {
      steps[steps.count - 1].field = field
    }
    func named(_ type: String) -> TypeReference { .named(Name(type, at: field.location)) }
    func argument(_ name: String, of field: String, on type: String?) -> TypeReference? {
      type.flatMap { tree.schema?.field(field, on: $0) }?.argument(named: name)?.type
    }
    let id =
      argument("id", of: "node", on: tree.schema?.rootType(for: .query)?.name)
      ?? .nonNull(named("ID"))
    self.init(
      keys: keys, parent: nil, table: 0, holder: holder,
      values: holder == .path ? [] : [HolderValue(argument: "id", keys: ["id"], type: id)],
      steps: [steps], cursorArgument: "after", sizeArgument: nil,
      cursorType: argument("after", of: last.name, on: type) ?? named("String"),
      sizeType: named("Int"), pageSize: nil,
      listKey: tree.lists(at: keys).first ?? "", list: TableShape.List(table: 0),
      hasMoreKeys: ["pageInfo", "hasNextPage"], cursorKeys: ["pageInfo", "endCursor"],
      totalKey: nil)
  }
}

extension SelectionTree {
  /// The response keys of the lists of the connection at a path: its `nodes` and `edges`.
  func lists(at keys: [String]) -> [String] {
    columns(at: keys, where: { ["nodes", "edges"].contains($0.name) })
  }
}

extension JSONValue {
  /// The value with those at a path replaced.
  func changed(
    at steps: ArraySlice<ResultPath.Step>, by change: (JSONValue) -> JSONValue
  ) -> JSONValue {
    guard let step = steps.first else { return change(self) }
    let rest = steps.dropFirst()
    switch (step, self) {
    case (.key(let key), .object(var object)):
      guard let inner = object[key] else { return self }
      object[key] = inner.changed(at: rest, by: change)
      return .object(object)
    case (.index(let index), .array(var elements)):
      guard elements.indices.contains(index) else { return self }
      elements[index] = elements[index].changed(at: rest, by: change)
      return .array(elements)
    case (.each, .array(let elements)):
      return .array(elements.map { $0.changed(at: rest, by: change) })
    default: return self
    }
  }
}
