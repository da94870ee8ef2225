import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Sends hashes instead of documents: automatic persisted queries, persisted documents, and registered operations.
///
/// https://www.apollographql.com/docs/apollo-server/performance/apq
/// https://github.com/graphql/graphql-over-http/pull/264
public struct PersistedQueriesPlugin: Plugin {
  /// `apq`: automatic persisted queries.
  public static let name = "apq"
  /// What `apq` does, in one sentence.
  public static let summary =
    "Sends the hash of a document first, and the document only when the server does not know it"
  /// When to use `apq`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it for servers with automatic persisted queries, to send less and to let caches between "
      + "client and server answer GET requests; or with an operation manifest, for servers that "
      + "accept registered operations only.",
    position:
      "It belongs between the cache read and the HTTP stage, and below `max-retry`: a hash that "
      + "the server does not know starts the chain again.",
    example: "apq: { query_method: GET }",
    narration:
      "A query is sent as a GET request with its hash. A server that does not know the hash "
      + "answers PersistedQueryNotFound; the query is then sent again by POST, with the document, "
      + "and the server knows it from then on. With `protocol: document-id`, the document is sent without its "
      + "identifier, by itself from then on, and does not become known.",
    subscriptions:
      "Passes subscriptions unchanged, with their document.",
    uploads:
      "Passes requests with files unchanged, with their document. With `persisted_only`, they "
      + "are errors, and nothing is sent.",
    moreExamples: [
      "apq", "apq: { manifest: operations.json, persisted_only: true }",
      "apq: { protocol: document-id, query_method: QUERY }",
    ])

  @Option("HTTP method of queries that are sent by their hash; mutations are always sent by POST")
  var queryMethod = Endpoint.Method.post
  @Option("HTTP method of queries whose hash the server did not know")
  var retryMethod = Endpoint.Method.post
  @Option("Operation manifest of the server; its ids are sent as hashes") var manifest: OptionPath?
  @Option("Whether documents are never sent, so that an operation the server does not know fails")
  var persistedOnly = false
  @Option(
    "What identifies a document: extensions.persistedQuery of Apollo, which also registers it, or documentId of "
      + "GraphQL over HTTP (draft), with `sha256:` and its hash, or with the id of the manifest")
  var `protocol` = PersistedQueryProtocol.extensions

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// May restart the chain, except with `persisted_only`, which fails requests with files.
  public var traits: PluginTraits {
    [.passesSubscriptions, persistedOnly ? .refusesUploads : [.restarts, .passesUploads]]
  }

  /// Surrounds the network: below the cache read, above the fetch.
  public var placement: Placement {
    var placement = Placement.wrap(
      .graphQL,
      rules: [
        .below(
          .readsCache, code: .persistedQueries,
          reason: "where its second attempt would read the cache again"),
        .above(
          .parses, moving: .fetches, code: .persistedQueries,
          reason: "its position in Apollo iOS 1.x; here it surrounds the network"),
        .above(.fetches, code: .persistedQueries, reason: "too late to change what is sent"),
      ])
    placement.stageCode = nil
    return placement
  }

  /// Creates the interceptor that sends hashes; reads the operation manifest.
  ///
  /// - Throws: `OptionError` if the manifest cannot be read, or has an id that `documentId` cannot have.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    [.graphQL(PersistedQueriesInterceptor(self, ids: try ids()))]
  }

  /// The largest manifest that is read, in bytes.
  private static let maxManifest = 64 << 20

  private func ids() throws(OptionError) -> PersistedQueriesInterceptor.Manifest? {
    guard let manifest else { return nil }
    do {
      guard let bytes = try SystemIO.readExistingFile(manifest.path, limit: Self.maxManifest) else {
        throw $manifest.error(
          "the file does not exist", remedy: "create it with `gqlrun operations manifest`")
      }
      let operations = try OperationManifest(JSONValue(parsing: bytes))
      if `protocol` == .documentId {
        for operation in operations.operations {
          guard let problem = operation.identifierProblem else { continue }
          throw $manifest.error(
            "the id `\(operation.id.prefix(80))` of \(operation.name) cannot be sent as `documentId`: \(problem)",
            remedy:
              "create the manifest with `gqlrun operations manifest`, or use `protocol: extensions`"
          )
        }
      }
      return .init(operations)
    } catch let error as OptionError {
      throw error
    } catch {
      throw $manifest.error(
        "the operation manifest cannot be used: \(error)",
        remedy: "create it with `gqlrun operations manifest`")
    }
  }
}

/// How a request identifies its document.
enum PersistedQueryProtocol: String, CaseIterable, ExpressibleByOption {
  case extensions
  case documentId = "document-id"
}

extension OperationManifest.Operation {
  /// Why the id is no document identifier; `nil` if it is one. Without a prefix, its meaning is the server's own.
  ///
  /// https://github.com/graphql/graphql-over-http/pull/264, "Identifying a Document"
  fileprivate var identifierProblem: String? {
    let parts = id.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let isKnownText = id.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._~:".utf8.contains($0) }
    guard isKnownText, parts.allSatisfy({ !$0.isEmpty }) else {
      return
        "an identifier has letters, digits, `-`, `.`, `_` and `~`, after a prefix and `:` if it has one"
    }
    guard parts.count == 2 else { return nil }
    if parts[0] == "sha256" {
      return parts[1] == DocumentHash.sha256(body)
        ? nil : "after `sha256:`, it has to be the hash of the document in lower-case hexadecimal"
    }
    return parts[0].hasPrefix("x-")
      ? nil
      : "the prefix `\(parts[0].prefix(20))` is reserved; other prefixes than `sha256` begin with `x-`"
  }
}

private final class PersistedQueriesInterceptor: GraphQLInterceptor, RequestPreviewing {
  struct Manifest: Sendable {
    /// The ids by the bytes of the documents.
    var ids: [UTF8Text: String]
    var names: Set<String>

    init(_ manifest: OperationManifest) {
      ids = Dictionary(manifest.operations.map { (UTF8Text($0.body), $0.id) }) { first, _ in first }
      names = Set(manifest.operations.map(\.name))
    }
  }

  /// How an operation is sent; retries keep it.
  private enum Form {
    /// The hash alone.
    case hash
    /// The hash and the document, which registers it.
    case both
    /// The document alone.
    case plain
    /// The document alone, because the server does not know its `documentId`.
    case document
    /// The document alone, to find out whether the server supports persisted queries.
    case probe
  }

  private enum FormKey: RequestContextKey {
    typealias Value = Form
  }

  private let options: PersistedQueriesPlugin
  private let ids: Manifest?
  private var isOnly: Bool { options.persistedOnly }
  private var usesDocumentID: Bool { options.protocol == .documentId }
  /// The values of `documentId` that the server did not know: sending their documents has not changed that.
  private let unknown = Locked<Set<String>>([])
  /// The most of them that are remembered.
  private static let maxUnknown = 1_000

  init(_ options: PersistedQueriesPlugin, ids: Manifest?) {
    self.options = options
    self.ids = ids
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    guard request.operationType != .subscription else { return await next(request) }
    guard request.uploads.isEmpty else {
      guard isOnly else { return await next(request) }
      throw ChainError(
        notSent: .notPersisted,
        "\(request.label) sends files, which requires its document, and only persisted operations "
          + "are sent (`persisted_only`); send it through a pipeline without apq",
        entry: context.entryID)
    }
    let support = EndpointSupport.of(
      usesDocumentID ? "persisted documents" : "persisted queries", context)
    let (form, sent) = try prepared(request, support: support, location: context.entryID)
    return await next(sent)
      .map { [self] response in
        if let answer = answer(in: response, to: request, form: form) {
          try await retry(
            request, form: form, answer: answer, errors: response.errors, support: support,
            context: context)
        }
        if form == .probe, response.errors.isEmpty { support.note(isSupported: false) }
        // Without a result, the missing document was not the reason for the refusal.
        if form == .document, response.errors.isEmpty || response.data.unlessNull != nil {
          noteUnknown(try id(of: request, context.entryID))
        }
        return response
      }
      .mapErrors { [self] error in
        if let failure = error as? ChainError, let answer = answer(in: failure, to: request) {
          try await retry(
            request, form: form, answer: answer, errors: failure.refusedErrors, support: support,
            context: context)
        }
        throw error
      }
  }

  func preview(of request: GraphQLRequest) -> GraphQLRequest {
    guard request.operationType != .subscription, request.uploads.isEmpty,
      let id = try? id(of: request, "")
    else { return request }
    return named(request, .hash, id: id)
  }

  /// The request in the form in which it is sent now.
  ///
  /// - Parameter location: The entry of the chain, for errors.
  private func prepared(
    _ request: GraphQLRequest, support: EndpointSupport, location: String
  ) throws -> (Form, GraphQLRequest) {
    let form = request.context[FormKey.self] ?? .hash
    switch form {
    case .hash where !isOnly && support.isSupported == false: return (.plain, request)
    case .hash:
      let id = try id(of: request, location)
      let isUnknown = !isOnly && usesDocumentID && unknown.withLock { $0.contains(id) }
      return isUnknown ? document(of: request) : (form, named(request, form, id: id))
    case .both: return (form, named(request, form, id: try id(of: request, location)))
    case .document: return document(of: request)
    case .plain, .probe: return (form, request)
    }
  }

  private func document(of request: GraphQLRequest) -> (Form, GraphQLRequest) {
    var request = request
    request.method = options.retryMethod
    return (.document, request)
  }

  /// The request with the hash of its document, and without the document in the first attempt.
  private func named(_ request: GraphQLRequest, _ form: Form, id: String) -> GraphQLRequest {
    var request = request
    if usesDocumentID {
      request.documentID = id
    } else {
      request.extensions["persistedQuery"] = ["version": 1, "sha256Hash": .string(id)]
      request.sendsDocument = form == .both
    }
    request.method = form == .both ? options.retryMethod : options.queryMethod
    return request
  }

  /// The answer of the server to a request in a form; `nil` if the response has nothing about its document.
  private func answer(
    in response: GraphQLResponse, to request: GraphQLRequest, form: Form
  ) -> Answer? {
    // A mutation with data was executed, whatever its errors are.
    guard request.isIdempotent || response.data.unlessNull == nil else { return nil }
    if let answer = Answer.of(response.errors) { return answer }
    // The draft has a single error for an unknown document, and no code for it. Other statuses have other causes, such
    // as credentials, a rate limit, or a timeout. A server that breaks the rule about `data` may have executed a
    // mutation, unless the status denies it.
    let status = response.http?.status.code
    let isRefused = status.map { [400, 404, 422].contains($0) } ?? false
    let isSuccess = status.map { (200..<300).contains($0) } ?? true
    guard usesDocumentID, form == .hash, isRefused || isSuccess && request.isIdempotent,
      response.data == nil, response.errors.count == 1, let error = response.errors.first,
      error.path == nil, error.locations.isEmpty
    else { return nil }
    switch error.code {
    case nil: return .notFound
    // GraphQL Yoga and Apollo Server do not know `documentId`, and miss the document.
    case "BAD_REQUEST": return status == 400 || status == 422 ? .unclear : .notFound
    default: return nil
    }
  }

  /// The answer of the server in a rejected response; `nil` if it has nothing about the document, or if the server may
  /// have executed a mutation: data shows that, and a page in place of a result does not exclude it.
  private func answer(in failure: ChainError, to request: GraphQLRequest) -> Answer? {
    guard !request.isIdempotent else { return Answer.of(failure) }
    guard !failure.showsExecution else { return nil }
    let isRefused = failure.http.map { $0.status >= 400 } ?? false
    return isRefused ? Answer.of(failure) : Answer.of(failure.refusedErrors)
  }

  private func id(of request: GraphQLRequest, _ location: String) throws -> String {
    if let id = ids?.ids[UTF8Text(request.document)] { return id }
    guard let ids, isOnly else {
      return (usesDocumentID ? "sha256:" : "") + DocumentHash.sha256(request.document)
    }
    let isKnown = request.operationName.map { ids.names.contains($0) } ?? false
    throw ChainError(
      notSent: .notPersisted,
      isKnown
        ? "the operation manifest has another text for \(request.label); rebuild it with "
          + "`gqlrun operations manifest`, and register it"
        : "\(request.label) is not in the operation manifest, and only persisted operations are "
          + "sent; add it with `gqlrun operations manifest`", entry: location)
  }

  /// Restarts the chain with the document if the answer shows that the server needs it.
  ///
  /// - Parameter errors: Those of the answer.
  private func retry(
    _ request: GraphQLRequest, form: Form, answer: Answer, errors: [GraphQLError],
    support: EndpointSupport, context: ChainContext
  ) async throws {
    guard form == .hash else {
      guard form == .both, answer == .notFound else { return }
      throw ChainError(
        .graphQL, code: .persistedQueryRefused,
        message:
          "the server does not know the hash of \(request.label), although the document was sent "
          + "with it; is there more than one server, or a proxy that changes requests?",
        entry: context.entryID, delivery: .answered)
    }
    guard !isOnly else {
      throw ChainError(
        .graphQL, code: .persistedQueryRefused,
        message: "the server does not know \(request.label), and documents are not sent "
          + "(`persisted_only`); register the operation manifest with the server"
          + (errors.first.map { ": the server answered \"\($0.message.prefix(200))\"" } ?? ""),
        entry: context.entryID, graphQLErrors: errors, delivery: .answered)
    }
    if answer == .notSupported { support.note(isSupported: false) }
    context.services.logger.info(
      answer == .notFound
        ? "↻ \(request.label): the server requests the document"
        : "↻ \(request.label): the server does not seem to support persisted queries")
    var retry = request.withOwnRetry()
    switch answer {
    case .notFound where usesDocumentID: retry.context[FormKey.self] = .document
    case .notFound: retry.context[FormKey.self] = .both
    case .notSupported: retry.context[FormKey.self] = .plain
    case .unclear: retry.context[FormKey.self] = .probe
    }
    // The first attempt has read the cache.
    if retry.cachePolicy == .cacheFirst || retry.cachePolicy == .cacheAndNetwork {
      retry.cachePolicy = .networkOnly
    }
    throw ChainRetry(retry)
  }

  private func noteUnknown(_ id: String) {
    unknown.withLock { unknown in
      if unknown.count >= Self.maxUnknown, !unknown.contains(id) { unknown.removeAll() }
      unknown.insert(id)
    }
  }
}

/// The answer of a server to a request without a document.
private enum Answer: Equatable {
  case notFound
  case notSupported
  /// A refusal whose reason may be the missing document.
  case unclear

  /// The answer in the errors of a result.
  static func of(_ errors: [GraphQLError]) -> Answer? {
    // An error with a path is one of a field, and the document was executed.
    let texts = errors.lazy.filter { $0.path == nil }.flatMap { [$0.message, $0.code ?? ""] }
    let text = texts.first { isNotFound($0) || isNotSupported($0) }
    return text.map { isNotFound($0) ? .notFound : .notSupported }
  }

  /// The answer in a response that was rejected because of its status or type.
  static func of(_ failure: ChainError) -> Answer? {
    guard let http = failure.http else { return nil }
    guard (400..<600).contains(http.status) else {
      // A web page, which servers send for a GET without a document.
      return failure.code == .unexpectedContentType ? .unclear : nil
    }
    if let answer = of(failure.refusedErrors) { return answer }
    let text = String(decoding: http.bodyPrefix, as: UTF8.self)
    let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
    if words.contains(where: isNotFound) { return .notFound }
    if words.contains(where: isNotSupported) { return .notSupported }
    guard http.status == 400 || http.status == 422 else { return nil }
    // Servers without the feature report the missing document in words of their own.
    let isUnclear = ResponseCheck.isPlainText(http.headers) || failure.refusesRequest
    return isUnclear ? .unclear : nil
  }

  private static func isNotFound(_ text: String) -> Bool {
    [
      "PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", "PersistedDocumentNotFound",
      "PERSISTED_DOCUMENT_NOT_FOUND",
    ].contains(text)
  }

  private static func isNotSupported(_ text: String) -> Bool {
    [
      "PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED",
      "PERSISTED_DOCUMENTS_NOT_SUPPORTED",
    ].contains(text)
  }
}

extension ChainError.Code {
  /// The operation is not in the operation manifest, and only those in it may be sent.
  public static let notPersisted = Self(rawValue: "not_persisted")
  /// The server rejected the hash of a document.
  public static let persistedQueryRefused = Self(rawValue: "persisted_query_refused")
}
