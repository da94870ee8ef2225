import ArgumentParser
import GQLRun
import GQLRunBatch
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport

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
  /// The path of the list whose pages are followed; `nil` without `--paginate`.
  let followed: String?
  private var pager: Pager?
  private var responses: ResponseStream.AsyncIterator
  private var last: GraphQLResponse?
  private var count = 1

  /// - Parameters:
  ///   - results: The results of `request`: the first page.
  ///   - name: The document's name, for error messages.
  init(
    _ request: GraphQLRequest, options: PageOptions, client: PipelineClient,
    results: ResponseStream, name: String
  ) throws {
    self.client = client
    self.request = request
    limit = options.maxPages
    responses = results.makeAsyncIterator()
    guard options.paginate, let operation = request.operation else {
      followed = nil
      return
    }
    guard operation.type == .query else {
      throw gqlrun.Failure(
        .usage, "--paginate follows the pages of queries; \(operation.label) is none")
    }
    guard request.cachePolicy != .cacheAndNetwork else {
      throw gqlrun.Failure(
        .usage, "--paginate needs one result per page; choose another policy than cache-and-network"
      )
    }
    (pager, followed) = try operation.pager(name)
  }

  func makeAsyncIterator() -> RunPages { self }

  mutating func next() async throws -> GraphQLResponse? {
    while true {
      if let response = try await responses.next() {
        // Data without another reference grows in place with the parts of a response.
        last = pager != nil && response.isComplete ? response : nil
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

extension PreparedOperation {
  /// A pager for the list whose pages a variable selects, and the path of the list.
  ///
  /// - Parameter name: The document's name, for error messages.
  fileprivate func pager(_ name: String) throws -> (Pager, path: String) {
    let matches = pagedFields()
    let connections = matches.filter(\.isConnection)
    let candidates = connections.isEmpty ? matches : connections
    let named = candidates.filter { $0.variable == "endCursor" }
    guard let match = candidates.count == 1 ? candidates.first : named.count == 1 ? named[0] : nil
    else {
      let found = candidates.map { "\($0.path) ($\($0.variable))" }.joined(separator: ", ")
      throw Failure(
        .badInput,
        candidates.isEmpty
          ? "\(name): --paginate finds no list with pages in \(label); select `pageInfo { hasNextPage "
            + "endCursor }` of a connection whose `after` is a variable, such as `feed(first: 50, after: $after)`, or "
            + "declare `merge: offset` for a list in the pipeline file"
          : "\(name): --paginate finds several lists with pages in \(label): \(found); name the variable "
            + "of the one to follow `$endCursor`")
    }
    let pager =
      match.isConnection
      ? Pager(connection: match.path, cursor: match.variable, variables: variables)
      : Pager(items: match.path, offset: match.variable, variables: variables)
    guard let pager else { throw Failure(.badInput, "\(name): cannot follow \(match.path)") }
    return (pager, match.path)
  }
}

extension UnreadPages {
  /// Reads the data of a result.
  mutating func read(_ response: GraphQLResponse) throws {
    guard !connections.isEmpty, let data = response.data else { return }
    beginResult()
    try data.forEachChunk { read($0) }
  }
}

extension UnreadPages.Connection {
  /// What a result leaves out, and what requests it.
  ///
  /// - Parameter isPaginated: Whether `--paginate` follows another list of the operation.
  func note(isPaginated: Bool) -> String {
    guard count == 1 else {
      let times = count == unread ? "all \(count)" : "\(unread) of \(count)"
      return
        "`\(field.path)` has more pages in \(times) objects; request more at a time, or the rest of each "
        + "object by its id: --paginate follows one list of an operation"
    }
    let known = "`\(field.path)` has more pages (hasNextPage is true)"
    if isPaginated {
      return "\(known); --paginate follows one list of an operation, so request this one in another"
    }
    guard let variable = field.variable else {
      return
        "\(known); pass a variable as its cursor, such as `\(field.keys.last ?? "")(after: $after)`, and use "
        + "--paginate"
    }
    guard field.endCursor != nil else {
      return "\(known); select `endCursor`, too, and use --paginate"
    }
    let next =
      cursor.map { ", --var \(QuotedText.shellWord("\(variable)=\($0)")) the next one" } ?? ""
    return "\(known): --paginate requests all of them\(next)"
  }
}
