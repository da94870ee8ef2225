import ArgumentParser
import GQLRun
import GQLRunBatch
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport

/// The options that follow the pages of a result.
struct PageOptions: ParsableArguments {
  @Flag(
    help: """
      Follow the pages of all connections that select pageInfo { hasNextPage endCursor }, at any depth, and of lists \
      with `merge: offset` in the pipeline file; one result per page. Fail if one cannot be followed.
      """)
  var paginate = false

  @Flag(help: "With --paginate, print one JSON array with all pages.")
  var slurp = false

  @Option(
    help: ArgumentHelp(
      "With --paginate, fail if a connection has more pages than this.", valueName: "n"))
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
/// Lists that are no elements of others, and whose page a variable of their own selects, are followed together: each result
/// has the next page of all that have one. All other connections are completed in the result that they begin in. Keeps one
/// result at a time.
struct RunPages: AsyncSequence, AsyncIteratorProtocol {
  /// A list whose pages are results of their own.
  private struct Followed {
    let field: PagedField
    var pager: Pager
  }

  private let client: PipelineClient
  private let request: GraphQLRequest
  private let limit: Int?
  /// The lists whose next page the next result has.
  private var followed: [Followed] = []
  /// The paths of all lists that were followed to their last page.
  private(set) var complete: Set<String> = []
  /// Completes the other connections; `nil` without `--paginate`.
  private var completion: PageCompletion?
  /// The variables of the current page.
  private var variables: JSONObject
  private var responses: ResponseStream.AsyncIterator
  private var last: GraphQLResponse?
  private var count = 1
  /// The error of a page that was requested for the last result.
  private var failure: (any Error)?

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
    variables = request.operation?.variables ?? JSONObject()
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
    guard operation.hasPages else {
      throw gqlrun.Failure(
        .badInput,
        "\(name): --paginate finds no list with pages in \(operation.label); select `pageInfo { hasNextPage "
          + "endCursor }` of a connection, such as `feed(first: 50, after: $after)`, or declare `merge: offset` for a "
          + "list in the pipeline file")
    }
    completion = PageCompletion(operation, maxPages: options.maxPages)
  }

  func makeAsyncIterator() -> RunPages { self }

  /// Why connections of the results are not complete, by their paths.
  var problems: [String: String] { completion?.problems ?? [:] }

  mutating func next() async throws -> GraphQLResponse? {
    while true {
      if var response = try await responses.next() {
        last = nil
        if completion != nil, response.isComplete {
          await complete(&response)
          // Data without another reference grows in place with the parts of a response.
          last = response
        }
        return response
      }
      guard let operation = try nextPage() else { return nil }
      responses = client.execute(Self.page(operation, after: request)).makeAsyncIterator()
    }
  }

  /// The request of a page after that of the first one.
  private static func page(
    _ operation: PreparedOperation, after first: GraphQLRequest
  ) -> GraphQLRequest {
    var request = GraphQLRequest(operation, cachePolicy: first.cachePolicy)
    request.context = first.context
    // The cache returns merged pages as one list.
    if request.cachePolicy == nil, operation.mergesPages { request.cachePolicy = .networkOnly }
    return request
  }

  /// Completes the connections of a result that are not followed. An error ends the pages after this result.
  private mutating func complete(_ response: inout GraphQLResponse) async {
    guard var data = response.data.unlessNull, var completion, let operation = request.operation
    else {
      return
    }
    let (client, first) = (client, request)
    do {
      if count == 1 {
        var unread = UnreadPages(of: operation)
        try unread.read(response)
        followed = operation.followedFields(unread.unread).compactMap { field in
          Pager(field, variables: variables).map { Followed(field: field, pager: $0) }
        }
        complete = Set(followed.map(\.field.path))
      }
      let keys = Set(followed.map(\.field.keys))
      if count > 1 { try completion.clear(&data, except: keys) }
      try await completion.complete(&data, except: keys) { template, variables in
        let page = Self.page(try template.prepared(variables), after: first)
        return try await Self.value(client.execute(page))
      }
    } catch {
      let isKnown = error is ChainError || error is CancellationError || error is gqlrun.Failure
      failure =
        isKnown
        ? error : gqlrun.Failure(.failed, "the result is incomplete: \(Terminal.safe("\(error)"))")
    }
    response.data = data
    self.completion = completion
  }

  /// The data of a page that is part of a result.
  private static func value(_ results: ResponseStream) async throws -> JSONValue? {
    var last: GraphQLResponse?
    do {
      for try await response in results {
        last = response.isComplete ? response : nil
      }
    } catch {
      throw TooCostlyPages.error(error)
    }
    if let errors = last?.errors, let error = errors.first {
      throw TooCostlyPages.error(
        gqlrun.Failure(
          .failed,
          "the result is incomplete: a page of a connection failed: \(Terminal.safe(error.message)); if the server "
            + "cannot find its object, request it in another operation"), of: errors)
    }
    return try last?.data.unlessNull.map { try JSONValue(parsing: $0.bytes()) }
  }

  /// The operation with the variables of the next page; `nil` after the last one.
  ///
  /// - Throws: ``Failure`` if there are more pages than `--max-pages`, or if the server repeats a cursor or leaves a page out.
  private mutating func nextPage() throws -> PreparedOperation? {
    if let failure { throw failure }
    guard let last, let operation = request.operation else { return nil }
    guard let data = last.data.unlessNull else {
      // The errors of a result are reported, and decide about the exit code. A first page is what the server answered.
      guard last.errors.isEmpty, count > 1 else { return nil }
      throw gqlrun.Failure(
        .failed,
        "the result is incomplete: page \(count) has no data and no error; run the command again")
    }
    do {
      var pages = UnreadPages(of: operation)
      try pages.read(last)
      if last.errors.isEmpty, let page = pages.unknown.first {
        throw gqlrun.Failure(.failed, "the result is incomplete: \(page.unknownNote)")
      }
      var left: [Followed] = []
      for var list in followed {
        let variable = list.field.variable
        if try list.pager.advance(over: data) {
          variables[variable] = list.pager.variables[variable]
          left.append(list)
          continue
        }
        guard let page = pages.connections.first(where: { $0.field.keys == list.field.keys })
        else { continue }
        guard !list.field.isConnection || page.unread == 0 else {
          throw gqlrun.Failure(
            .failed,
            "the result is incomplete: `\(list.field.path)` has more pages after page \(count); select its "
              + "`pageInfo { hasNextPage endCursor }` without aliases and directives")
        }
        guard page.count > 0 || !last.errors.isEmpty else {
          throw gqlrun.Failure(
            .failed,
            "the result is incomplete: page \(count) of `\(list.field.path)` is null, and the page before it has a next "
              + "one; run the command again")
        }
        // The page after the last one is empty, if the server has no elements that are new.
        if let end = page.cursor { variables[variable] = .string(end) }
      }
      followed = left
      guard !followed.isEmpty else { return nil }
      if let limit, count >= limit {
        throw gqlrun.Failure(
          .failed, "there are more pages than --max-pages \(limit); raise the limit to get them")
      }
      count += 1
      return try operation.with(variables: variables)
    } catch let error as gqlrun.Failure {
      throw error
    } catch {
      throw gqlrun.Failure(.failed, "page \(count): \(error)")
    }
  }
}

extension PreparedOperation {
  /// Whether the operation has lists with pages that can be requested.
  fileprivate var hasPages: Bool {
    !pagedFields().isEmpty || template.connectionFields().contains { !$0.endCursor.isEmpty }
  }

  /// The lists that are followed by variables of their own: those that have more pages, and are no elements of other lists.
  fileprivate func followedFields(_ unread: [UnreadPages.Connection]) -> [PagedField] {
    let lists = pagedFields()
    // A cursor of one list is none of another list, nor of those in its elements.
    let uses =
      lists.map { ($0.keys, $0.variable) }
      + template.connectionFields().compactMap { field in
        field.variable.map { (field.keys, $0) }
      }
    var seen: Set<[String]> = []
    return lists.filter { list in
      guard seen.insert(list.keys).inserted else { return false }
      guard uses.allSatisfy({ $0.0 == list.keys || $0.1 != list.variable }) else { return false }
      guard list.isConnection else { return true }
      return unread.contains {
        $0.field.keys == list.keys && !$0.lists.contains { $0 > 0 }
      }
    }
  }
}

extension Pager {
  /// A pager for the list; `nil` for text that is not a path.
  fileprivate init?(_ field: PagedField, variables: JSONObject) {
    if field.isConnection {
      self.init(connection: field.path, cursor: field.variable, variables: variables)
    } else {
      self.init(items: field.path, offset: field.variable, variables: variables)
    }
  }
}

extension UnreadPages {
  /// Reads the data of a result.
  mutating func read(_ response: GraphQLResponse) throws {
    guard !connections.isEmpty, let data = response.data.unlessNull else { return }
    beginResult()
    try data.forEachChunk { read($0) }
  }
}

extension UnreadPages.Connection {
  /// What a result leaves out, and what requests it.
  ///
  /// - Parameter problem: Why `--paginate` does not complete the connection; `nil` without `--paginate`.
  func note(problem: String?) -> String {
    let isInList = lists.contains { $0 > 0 }
    let times = count == unread ? "all \(count)" : "\(unread) of \(count)"
    let known =
      isInList || count > 1
      ? "`\(field.path)` has more pages in \(times) objects"
      : "`\(field.path)` has more pages (hasNextPage is true)"
    if let problem { return "\(known): \(problem)" }
    guard !field.endCursor.isEmpty else {
      return "\(known); select `endCursor`, too, and use --paginate"
    }
    guard !isInList else {
      return "\(known); --paginate requests the rest of each object by its `id`"
    }
    let all = "\(known): --paginate requests all of them"
    guard let variable = field.variable, let cursor else { return all }
    let word = QuotedText.shellWord("\(variable)=\(cursor)")
    // A word that the terminal cannot show on a line would send another cursor.
    return Printable.line(word) == word ? "\(all), --var \(word) the next one" : all
  }
}
