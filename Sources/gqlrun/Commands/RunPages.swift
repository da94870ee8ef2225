import ArgumentParser
import GQLRun
import GQLRunBatch
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline

/// The options that follow the pages of a result.
struct PageOptions: ParsableArguments {
  @Flag(
    name: .long,
    help: """
      Follow the pages of a connection that selects pageInfo { hasNextPage endCursor }, or of a list with \
      `merge: offset` in the pipeline file; one result per page.
      """)
  var paginate = false

  @Flag(name: .long, help: "With --paginate, print one JSON array with all pages.")
  var slurp = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --paginate, fail if there are more pages than this.", valueName: "n"))
  var maxPages: Int?

  /// Whether each page is one line, unless the user asks for indentation.
  var isLinePerPage: Bool { paginate && !slurp }

  func validate() throws {
    if let maxPages, maxPages < 1 {
      throw ValidationError("--max-pages must be at least 1, found \(maxPages)")
    }
    let option = slurp ? "--slurp" : maxPages == nil ? nil : "--max-pages"
    if !paginate, let option { throw ValidationError("\(option) requires --paginate") }
  }
}

/// The results of an operation of the command line, page by page; without `--paginate` there is one page.
///
/// Keeps one page at a time.
struct RunPages: AsyncSequence, AsyncIteratorProtocol {
  private let client: PipelineClient
  private let request: GraphQLRequest
  private let limit: Int?
  private var pager: Pager?
  private var responses: ResponseStream.AsyncIterator
  private var last: GraphQLResponse?
  private var count = 1

  /// - Parameters:
  ///   - results: The results of `request`: the first page.
  ///   - name: The document's name, for error messages.
  init(
    _ request: GraphQLRequest, _ options: PageOptions, _ client: PipelineClient,
    _ results: ResponseStream, name: String
  ) throws {
    self.client = client
    self.request = request
    limit = options.maxPages
    responses = results.makeAsyncIterator()
    guard options.paginate, let operation = request.operation else { return }
    guard operation.type == .query else {
      throw gqlrun.Failure(
        .usage, "--paginate follows the pages of queries; \(operation.label) is none")
    }
    guard request.cachePolicy != .cacheAndNetwork else {
      throw gqlrun.Failure(
        .usage, "--paginate needs one result per page; choose another policy than cache-and-network"
      )
    }
    pager = try PageSearch(operation).pager(name)
  }

  func makeAsyncIterator() -> RunPages { self }

  mutating func next() async throws -> GraphQLResponse? {
    while true {
      if let response = try await responses.next() {
        last = response
        return response
      }
      guard let operation = try nextPage() else { return nil }
      var request = GraphQLRequest(operation, cachePolicy: request.cachePolicy)
      request.context = self.request.context
      // The cache returns merged pages as one list.
      if request.cachePolicy == nil, operation.mergesPages { request.cachePolicy = .networkOnly }
      responses = client.execute(request).makeAsyncIterator()
    }
  }

  /// The operation with the variables of the next page; `nil` after the last one.
  ///
  /// - Throws: ``Failure`` if there are more pages than `--max-pages`, or if the server repeats a cursor.
  private mutating func nextPage() throws -> PreparedOperation? {
    guard let data = last?.data else { return nil }
    do {
      guard try pager?.advance(over: data) == true, let pager else { return nil }
      if let limit, count >= limit {
        throw gqlrun.Failure(
          .failed, "there are more pages than --max-pages \(limit); raise the limit to get them")
      }
      count += 1
      return try request.operation?.with(variables: pager.variables)
    } catch let error as gqlrun.Failure {
      throw error
    } catch {
      throw gqlrun.Failure(.failed, "page \(count): \(error)")
    }
  }
}

/// Searches an operation for the list whose pages a variable selects.
private struct PageSearch {
  private struct Match {
    var path: String
    var variable: String
    var isConnection: Bool
  }

  private let operation: PreparedOperation
  private let fragments: [String: FragmentDefinition]
  private var matches: [Match] = []

  init(_ operation: PreparedOperation) throws {
    self.operation = operation
    let document = try Document(parsing: operation.callerDocument)
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
    for definition in document.operations { visit(definition.selectionSet, "") }
  }

  /// - Parameter name: The document's name, for error messages.
  func pager(_ name: String) throws -> Pager {
    let connections = matches.filter(\.isConnection)
    let candidates = connections.isEmpty ? matches : connections
    let named = candidates.filter { $0.variable == "endCursor" }
    guard let match = candidates.count == 1 ? candidates.first : named.count == 1 ? named[0] : nil
    else {
      let found = candidates.map { "\($0.path) ($\($0.variable))" }.joined(separator: ", ")
      throw Failure(
        .badInput,
        candidates.isEmpty
          ? "\(name): --paginate finds no list with pages in \(operation.label); select `pageInfo { hasNextPage "
            + "endCursor }` of a connection whose `after` is a variable, such as `feed(first: 50, after: $after)`, or "
            + "declare `merge: offset` for a list in the pipeline file"
          : "\(name): --paginate finds several lists with pages in \(operation.label): \(found); name the variable "
            + "of the one to follow `$endCursor`")
    }
    let pager =
      match.isConnection
      ? Pager(
        connection: match.path, cursor: match.variable, variables: operation.variables)
      : Pager(items: match.path, offset: match.variable, variables: operation.variables)
    guard let pager else { throw Failure(.badInput, "\(name): cannot follow \(match.path)") }
    return pager
  }

  private mutating func visit(_ set: SelectionSet, _ path: String) {
    for field in fields(of: set) {
      let path = path.isEmpty ? field.responseKey : "\(path).\(field.responseKey)"
      guard let inner = field.selectionSet else { continue }
      let variables = field.arguments.compactMap { argument -> (argument: String, name: String)? in
        guard case .variable(let name) = argument.value else { return nil }
        return (argument.name.value, name.value)
      }
      let cursor = variables.first { $0.argument == "after" || $0.name == "endCursor" }
      let offset = variables.first { $0.argument == "offset" || $0.argument == "skip" }
      if let cursor, hasPageInfo(inner) {
        matches.append(Match(path: path, variable: cursor.name, isConnection: true))
      } else if let offset, operation.joinsByOffset(field.name.value) {
        matches.append(Match(path: path, variable: offset.name, isConnection: false))
      }
      visit(inner, path)
    }
  }

  private func hasPageInfo(_ set: SelectionSet) -> Bool {
    guard let info = fields(of: set).first(where: { $0.responseKey == "pageInfo" })?.selectionSet
    else { return false }
    let names = fields(of: info).map(\.responseKey)
    return names.contains("hasNextPage") && names.contains("endCursor")
  }

  /// The fields of a selection set and its fragments. Fragments of a prepared operation are acyclic.
  private func fields(of set: SelectionSet) -> [Field] {
    set.selections.flatMap { selection -> [Field] in
      switch selection {
      case .field(let field): [field]
      case .inlineFragment(let fragment): fields(of: fragment.selectionSet)
      case .fragmentSpread(let spread):
        fragments[spread.name.value].map { fields(of: $0.selectionSet) } ?? []
      }
    }
  }
}
