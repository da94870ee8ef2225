import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// Connections whose next pages are one request.
struct ContinuationPack: Sendable {
  /// All of one connection of the plan; at least one.
  var continuations: [Continuation]
  /// The size of a page; `nil` for that of the document.
  var pageSize: Int?
  /// The number in the frontier.
  var number = 0

  /// The index of the connection in the plan.
  var connection: Int { continuations[0].connection }
}

/// Creates the documents that request packs, and remembers them.
///
/// ```graphql
/// query ShopNextPage($gqlrunID_0: ID!, $gqlrunAfter_0: String, $gqlrunID_1: ID!, …) {
///   p0: node(id: $gqlrunID_0) {
///     gqlrunID: id
///     ... on Customer { orders(first: 50, after: $gqlrunAfter_0) { ...gqlrunPage } }
///   }
///   p1: node(id: $gqlrunID_1) { … }
/// }
/// fragment gqlrunPage on OrderConnection { … }
/// ```
final class ContinuationDocuments: Sendable {
  /// What decides on a document.
  private struct Key: Hashable {
    var connection: Int
    /// The type of the object of each page.
    var types: [String?]
    var hasSize: Bool
  }

  /// That of the operation.
  private let template: OperationTemplate
  let connections: [TableConnection]
  private let templates = Locked<[Key: Result<OperationTemplate, CacheError>]>([:])
  /// Objects of several types make many documents; more are made each time.
  private static let maxTemplates = 1_000

  /// What each document selects beside its pages.
  private let rateLimit: [Selection]

  convenience init(_ plan: TablePlan) {
    self.init(plan.template, plan.connections, rateLimit: plan.rateLimit)
  }

  init(
    _ template: OperationTemplate, _ connections: [TableConnection], rateLimit: [Selection] = []
  ) {
    self.template = template
    self.connections = connections
    self.rateLimit = rateLimit
  }

  /// The template and the variables of a pack.
  ///
  /// - Parameter given: Those of the operation.
  func request(
    _ pack: ContinuationPack, variables given: JSONObject
  ) throws(TaskProblem) -> (template: OperationTemplate, variables: JSONObject) {
    let connection = connections[pack.connection]
    let types = pack.continuations.map { connection.type(of: $0) }
    let hasSize = pack.pageSize != nil && connection.sizeArgument != nil
    let key = Key(connection: pack.connection, types: types, hasSize: hasSize)
    let template: OperationTemplate
    do throws(CacheError) {
      template = try self.template(key).get()
    } catch {
      throw TaskProblem(
        "the next pages of `\(connection.path)` cannot be requested: \(error.message)")
    }
    var variables = given.values(of: template.definition.variables)
    if hasSize, let size = pack.pageSize {
      variables[PageDocument.sizeVariable(nil)] = .number(JSONNumber(size))
    }
    for (index, continuation) in pack.continuations.enumerated() {
      let number = connection.number(of: index)
      for value in connection.finders {
        guard let found = continuation.holder[value.argument] else { continue }
        variables[PageDocument.variable(value.argument, number)] = found
      }
      let cursor =
        continuation.cursor.map { .string($0) }
        ?? connection.given(connection.cursorArgument, given)
      variables[PageDocument.cursorVariable(number)] = cursor
    }
    return (template, variables)
  }

  /// Why the next page of a connection cannot be requested, by the schema; `nil` if it can.
  func problem(of continuation: Continuation) -> String? {
    let type = connections[continuation.connection].type(of: continuation)
    let key = Key(connection: continuation.connection, types: [type], hasSize: false)
    if case .failure(let error) = template(key) { return error.message }
    return nil
  }

  /// The operation itself with smaller pages.
  ///
  /// - Parameters:
  ///   - sizes: Those of ``TableFrontier/firstSizes``, by index of the connection.
  ///   - given: The variables of the operation.
  func first(
    sizes: [Int: Int], variables given: JSONObject
  ) throws(TaskProblem) -> (template: OperationTemplate, variables: JSONObject) {
    if sizes.isEmpty { return (template, given) }
    var variables = given
    var fields: [[String]: (argument: String, number: Int, type: TypeReference)] = [:]
    for (index, size) in sizes {
      let connection = connections[index]
      guard let argument = connection.sizeArgument else { continue }
      fields[connection.keys] = (argument, index, connection.sizeType)
      variables[PageDocument.sizeVariable(index)] = .number(JSONNumber(size))
    }
    var operation = template.definition
    let maker = SyntaxMaker(at: operation.location)
    operation.selectionSet.change { given, keys in
      guard let size = fields[keys] else { return given }
      var field = given
      field.arguments.removeAll { $0.name.value == size.argument }
      field.arguments.append(
        maker.argument(size.argument, variable: PageDocument.sizeVariable(size.number)))
      return field
    }
    operation.variables += fields.values.sorted { $0.number < $1.number }.map {
      maker.variable(PageDocument.sizeVariable($0.number), of: $0.type)
    }
    variables = operation.removeUnusedVariables(variables)
    do {
      return (try template.companion(Document(definitions: [.operation(operation)])), variables)
    } catch {
      throw TaskProblem("smaller pages cannot be requested: \(error.message)")
    }
  }

  private func template(_ key: Key) -> Result<OperationTemplate, CacheError> {
    if let known = templates.withLock({ $0[key] }) { return known }
    let template = Result { () throws(CacheError) in try makeTemplate(key) }
    templates.withLock { if $0.count < Self.maxTemplates { $0[key] = template } }
    return template
  }

  private func makeTemplate(_ key: Key) throws(CacheError) -> OperationTemplate {
    let connection = connections[key.connection]
    if let type = key.types.compactMap({ $0 }).first(where: { !Name.isValid($0) }) {
      throw CacheError(
        .invalidOperation,
        "the server has named the type " + JSONValue.string(String(type.prefix(100))).jsonText())
    }
    let document = PageDocument(
      template: template, connection: connection, types: key.types, hasSize: key.hasSize,
      rateLimit: rateLimit
    ).document
    let page = try template.companion(document)
    if let schema = template.schema,
      let error = page.callerDocument.validateForClient(against: schema).first
    {
      throw CacheError(.invalidOperation, error.message)
    }
    return page
  }
}

extension TableConnection {
  /// The response key of the object of a page.
  static func alias(_ index: Int) -> String { "p\(index)" }

  /// The path of the object that ``holderKeys`` begin from, in the response to a pack.
  ///
  /// - Parameter index: The index of the page.
  func holderPath(_ index: Int) -> [GraphQLError.PathElement] {
    switch holder {
    case .path: []
    case .field(_, _, isList: true): [.key(Self.alias(index)), .index(0)]
    case .field, .none: [.key(Self.alias(index))]
    }
  }

  /// The response key of the `id` of a page's object.
  static let idKey = "gqlrunID"

  /// Whether a page selects the `id` of its object, which is what finds it.
  func selectsID(_ schema: Schema?) -> Bool {
    // A schema may have another field of this name, such as `node(name:)`.
    guard case .field(let name, _, _) = holder,
      let argument = ["node": "id", "nodes": "ids"][name],
      finders.map(\.argument) == [argument]
    else { return false }
    guard let schema else { return true }
    guard let query = schema.rootType(for: .query)?.name,
      let type = schema.field(name, on: query)?.type.namedType.value
    else { return false }
    return schema.field("id", on: type) != nil
  }

  /// Whether the object of a page is not the one that was requested: its elements would be those of another object.
  func isOther(_ object: JSONValue?, than continuation: Continuation) -> Bool {
    guard let found = object?[Self.idKey], !found.isNull,
      let wanted = finders.first.flatMap({ continuation.holder[$0.argument] })
    else { return false }
    // An ID may be a number in one response and text in another.
    return (found.stringValue ?? found.jsonText()) != (wanted.stringValue ?? wanted.jsonText())
  }

  /// The type that the object of a page is requested as; `nil` for none.
  fileprivate func type(of continuation: Continuation) -> String? {
    guard case .field(_, let type, _) = holder else { return nil }
    return type ?? continuation.holder["__typename"]?.stringValue
  }

  /// The value of an argument in the document; `nil` for an absent one.
  func given(_ argument: String?, _ variables: JSONObject) -> JSONValue? {
    let given = field?.arguments.first { $0.name.value == argument }
    return given.flatMap { JSONValue($0.value, variables: variables) }
  }
}
