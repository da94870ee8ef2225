public import ArgumentParser
public import GQLRunCache
import GQLRunJSON
import GQLRunSupport

struct CacheImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Normalize the response of an operation into a cache.",
    discussion: """
      Reads the response as a stream, so that a large file needs no more memory than a small one. \
      With --store memory, the import is measured and discarded. A response that is truncated or not \
      JSON leaves the cache unchanged.

      EXAMPLES
        gqlrun cache import feed.graphql response.json --var first=250 \\
          --store sqlite:cache.db
        cat country.json | gqlrun cache import country.graphql - --var code=DE \\
          --keys Country=code --store sqlite:cache.db
      """)

  @Argument(help: "GraphQL document of the response.")
  var document: String
  @Argument(help: "Response, a JSON file; - is standard input.")
  var response: String
  @OptionGroup var storeOptions: CacheCommand.StoreOptions
  @OptionGroup var operationOptions: OperationOptions
  @Option(
    help: ArgumentHelp(
      "How to store nulls that result from GraphQL errors.", valueName: "policy"))
  var onErrors = ErrorPolicy.skipErrored
  @Flag(
    help: ArgumentHelp(
      "Validate the response against the schema: a null or a value that it forbids is an error. Needs a schema."
    ))
  var checkShape = false
  @Option(
    help: ArgumentHelp(
      "Time since the response was received, such as 2h. Default: 0s.",
      valueName: "duration"), transform: AgeArgument.init)
  var age: AgeArgument?

  func run() async throws {
    var operation = try operationOptions.prepare(document, others: [response])
    operation.checksShape = checkShape
    let file = try InputReader(response, "the response")
    let store = try await storeOptions.store.open()
    try await store.adopt(keyResolver: nil)
    let start = ContinuousClock.now
    let (normalized, summary) = try await Interruption.run {
      [operation, file = Transferred(file)] in
      try await normalize(operation, file: file.value, store: store)
    }
    let seconds = (ContinuousClock.now - start).seconds
    try await store.checkpoint()
    try store.close()
    report(normalized, summary: summary, seconds: seconds)
    if !normalized.errors.isEmpty { throw Failure(.graphQLErrors, "") }
  }

  private func normalize(
    _ operation: PreparedOperation, file: InputReader, store: CacheStore
  ) async throws -> (NormalizedResponse, WriteSummary) {
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    options.errorPolicy = onErrors
    if let age { options.received -= age.seconds }
    let normalizer = try ResponseNormalizer(operation, store: store, options: options)
    do {
      while let chunk = try file.next() {
        try Task.checkCancellation()
        try normalizer.feed(chunk)
        if normalizer.needsFlush { try await normalizer.flush() }
      }
      let normalized = try await normalizer.finish()
      let statistics = normalized.statistics
      if statistics.fields == 0, statistics.unknownFields > 0 {
        await normalized.write?.rollback()
        throw Failure(
          .badInput,
          "\(Input.label(response)): the response has no field that \(operation.label) asks for; is "
            + "\(Input.label(document)) the document it belongs to?")
      }
      return (normalized, try await normalized.write?.commit() ?? WriteSummary())
    } catch {
      await normalizer.abandon()
      guard let error = error as? CacheError else { throw error }
      var failure = Failure(error)
      failure.message = "\(Input.label(response)): \(failure.message)"
      throw failure
    }
  }

  private func report(
    _ response: NormalizedResponse, summary: WriteSummary, seconds: Double
  ) {
    let statistics = response.statistics
    let records = summary.newRecords + summary.changedRecords + summary.unchangedRecords
    Terminal.note(
      "imported \(Quantity.count(records, "record")) (\(summary.newRecords) new, "
        + "\(summary.changedRecords) changed, \(summary.unchangedRecords) unchanged), "
        + "\(Quantity.count(statistics.fields, "field")), \(Quantity.count(statistics.bytes, "byte")) in "
        + "\(Duration.seconds(seconds).shown), "
        + Quantity.rate(bytes: statistics.bytes, seconds: seconds))
    if statistics.unknownFields > 0 {
      let fields = Quantity.count(statistics.unknownFields, "field")
      Terminal.warning(
        "the operation does not ask for \(fields) of the response, which "
          + "\(statistics.unknownFields == 1 ? "was" : "were") left out")
    }
    for warning in response.warnings + summary.warnings {
      Terminal.warning(warning)
    }
    for (field, types) in Dictionary(grouping: response.diagnostics, by: \.keyField)
      .sorted(by: { $0.key < $1.key })
    {
      let names = types.map(\.typename).filter { !$0.isEmpty }.sorted()
      Terminal.hint(
        names.isEmpty
          ? "objects of the response lack \(field), so they have no identity and are stored where they were "
            + "found; ask the server for \(field)"
          : "without \(field), objects of these types have no identity and are stored where they were "
            + "found: \(names.joined(separator: ", ")); --keys Type=field names what identifies one"
      )
    }
    if !response.errors.isEmpty {
      Terminal.warning(
        "the response has \(Quantity.count(response.errors.count, "error")); "
          + (response.hasData
            ? "on-errors is \(onErrors.rawValue)" : "without data there is nothing to import"))
      for error in response.errors.prefix(10) {
        let message = error["message"]?.stringValue ?? error.jsonText()
        Terminal.graphQLError(message)
      }
    }
  }
}

extension ErrorPolicy: ExpressibleByArgument {}
extension ErrorReadPolicy: ExpressibleByArgument {}

/// Transfers a value to a task that becomes its only user.
///
/// `@unchecked Sendable` because the sender does not use the value until the task has finished.
private struct Transferred<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}
