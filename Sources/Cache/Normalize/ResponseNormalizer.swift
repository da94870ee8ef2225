import Foundation
public import GQLRunJSON

/// What becomes of nulls that stand for errors.
public enum ErrorPolicy: String, Sendable, Hashable, CaseIterable {
  /// They are not stored and do not overwrite what is stored; everything else is written.
  case skipErrored = "skip-errored"
  /// A response with errors writes nothing.
  case discard
  /// Nulls are written as they are.
  case keep
}

/// Reads one response as its bytes arrive: into staged records, into the result the caller asked for,
/// or both, in one pass and with memory that does not grow with the response.
///
/// ```swift
/// let normalizer = try ResponseNormalizer(operation, store: store)
/// for chunk in chunks {
///   try normalizer.feed(chunk)
///   if normalizer.needsFlush { try await normalizer.flush() }
/// }
/// let response = try await normalizer.finish()
/// let summary = try await response.write?.commit()
/// ```
/// Nothing reaches other readers of the store before ``PendingWrite/commit()``. Used by one task.
public final class ResponseNormalizer {
  public struct Options: Sendable {
    /// Whether the `data` of the response is collected as the caller's result. `true` by default.
    public var wantsResult = true
    public var errorPolicy = ErrorPolicy.skipErrored
    public var limits = ResponseLimits()
    /// Whether the answers to root fields are stored, or only the objects in them. `true` by default.
    public var writesRoots = true
    /// How many bytes of staged records are collected before they go to the store. 1 MiB by default.
    public var flushThreshold = 1 << 20
    /// Whether the response is held against the schema, as by ``ResponseShape``. `false` by default,
    /// and then only where the operation asks for it.
    public var checksShape = false
    /// Whether pages are joined with stored lists. Data put in by hand is what it is.
    var joinsPages = true
    /// When the response was received, in seconds since 1970: how old its records will be is counted
    /// from there. The moment at which the options were made, unless another is given.
    public var received = Int(Date().timeIntervalSince1970)
    /// Whether a response whose records cannot be written is read to its end all the same; then
    /// ``NormalizedResponse/storeFailure`` says why. `false` by default.
    public var goesOnWithoutStore = false
    /// How the bytes are handed to the parser. Tests make the pieces small.
    var parsing = JSONParser.Options()

    public init() {}
  }

  private let operation: PreparedOperation
  private let store: (any RecordStore)?
  /// When the response was asked for, in clearings of the store.
  private let epoch: Int
  private let options: Options
  private let state: UnsafeMutablePointer<NormalizerState>
  private var parser: JSONParser
  private var spool = ResultSpool()
  private let shape: ResponseShape?
  private var transaction: (any RecordTransaction)?
  private var storeFailure: CacheError?
  private var keySpread = KeySpread()
  /// How many bytes of staged records go to the store at once.
  private var batchBytes: Int
  /// Bytes fed so far.
  public private(set) var bytesRead = 0

  /// A normalizer for one response of `operation`. Without a store, nothing is staged for long: the
  /// response is parsed, checked and turned into its result only.
  public convenience init(
    _ operation: PreparedOperation, store: (any RecordStore)?, options: Options = Options()
  ) throws(CacheError) {
    try self.init(
      operation, store: store, segmentSeed: store?.segmentSeed ?? processSeed, options: options)
  }

  private init(
    _ operation: PreparedOperation, store: (any RecordStore)?, segmentSeed: UInt64, options: Options
  ) throws(CacheError) {
    guard store == nil || !operation.plan.isPassing else {
      throw CacheError(
        .invalidOperation,
        "the operation was prepared for responses that are not stored; prepare it with isStored")
    }
    self.operation = operation
    self.store = store
    self.options = options
    batchBytes = options.flushThreshold
    epoch = store?.activity.epoch ?? 0
    shape =
      options.checksShape || operation.checksShape
      ? try ResponseShape(operation, limits: options.limits.json) : nil
    state = .allocate(capacity: 1)
    state.initialize(
      to: NormalizerState(
        plan: operation.plan,
        staging: Staging(segmentSeed: segmentSeed, received: Seconds.stored(options.received)),
        wantsResult: options.wantsResult, storesRoot: options.writesRoots, limits: options.limits,
        separatesPages: options.joinsPages))
    if let store { state.pointee.table.learn(store.activity.concreteTypes) }
    do {
      parser = try JSONParser(
        handlers: normalizerHandlers, context: UnsafeMutableRawPointer(state),
        options: options.parsing)
    } catch {
      state.deinitialize(count: 1)
      state.deallocate()
      throw CacheError(.storage, "cannot start a JSON parser: \(error.message)")
    }
  }

  deinit {
    // The parser goes first in `parser`'s own deinit only after this body: it does not touch its
    // context when it is freed.
    var table = PlanTable()
    swap(&table, &state.pointee.table)
    operation.plan.tables.give(table)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Takes the next bytes of the response. They are not needed after the call.
  ///
  /// - Throws: ``CacheError``: `invalidJSON` with the byte offset, `malformedResponse` with the path.
  public func feed(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    state.pointee.chunkStart = UInt(bitPattern: bytes.baseAddress)
    state.pointee.chunkEnd = state.pointee.chunkStart + UInt(bytes.count)
    defer {
      state.pointee.chunkStart = 0
      state.pointee.chunkEnd = 0
    }
    bytesRead += bytes.count
    do {
      try parser.feed(bytes)
    } catch {
      throw describe(error)
    }
    try shape?.feed(bytes)
    if state.pointee.result.count > 64 << 10 { try spoolResult() }
  }

  /// Whether ``flush()`` should be called before the next ``feed(_:)``.
  public var needsFlush: Bool { state.pointee.staging.table.arenaBytes >= batchBytes }

  /// Whether a record is complete that was not handed over yet.
  package var hasStagedRecords: Bool { !state.pointee.staging.table.isEmpty }

  /// Hands the staged records to the store, inside its transaction, while the next bytes are parsed.
  public func flush() async throws(CacheError) {
    guard let store, storeFailure == nil else { return state.pointee.staging.discard() }
    // A memory store holds everything in any case: it takes the whole response at once.
    if store.takesWholeResponses { return }
    do throws(CacheError) {
      if transaction == nil { transaction = try await store.begin() }
      let isScattered =
        batchBytes == options.flushThreshold && keySpread.add(state.pointee.staging.table)
      let batch = state.pointee.staging.take(nullsAreFacts: options.errorPolicy != .skipErrored)
        .noting(pagesOf: operation.plan)
      let spent = try await transaction?.merge(batch)
      if isScattered { batchBytes *= Self.scatteredFactor }
      // Three large batches would take more memory than filling new pages takes time.
      if let spent, batchBytes == options.flushThreshold {
        state.pointee.staging.recycle(spent.table)
      }
    } catch {
      try await goOn(after: error)
    }
  }

  /// How much larger batches are when keys are random.
  private static let scatteredFactor = 16

  /// Forgets the records of this response, if it may go on without them.
  private func goOn(after failure: CacheError) async throws(CacheError) {
    guard options.goesOnWithoutStore, failure.isStoreFailure else { throw failure }
    storeFailure = failure
    state.pointee.staging.discard()
    await abandon()
  }

  /// Says that the response has ended.
  ///
  /// - Throws: ``CacheError`` when the response is cut off or not a GraphQL response. Then, and when
  ///   the normalizer is dropped without a call, the store is as it was.
  public func finish() async throws(CacheError) -> NormalizedResponse {
    do throws(CacheError) {
      try end()
      return try await completed()
    } catch {
      await abandon()
      throw error
    }
  }

  private func end() throws(CacheError) {
    if bytesRead == 0 {
      throw CacheError(
        .malformedResponse, "the response is empty; a GraphQL response is a JSON object")
    }
    do { try parser.finish() } catch { throw describe(error) }
    try shape?.finish()
    try spoolResult()
  }

  /// Gives up: the store stays as it was.
  public func abandon() async {
    await transaction?.rollback()
    transaction = nil
  }

  private func completed() async throws(CacheError) -> NormalizedResponse {
    let hasMember = state.pointee.hasData || state.pointee.dataIsNull
    guard hasMember || state.pointee.errorsText != nil else {
      throw CacheError(
        .malformedResponse,
        "the response has neither \"data\" nor \"errors\", so it is not a "
          + "GraphQL response")
    }
    let errors = try members(state.pointee.errorsText, "errors").map { $0.arrayValue ?? [] } ?? []
    let extensions = try members(state.pointee.extensionsText, "extensions")
    if hasMember == false && errors.isEmpty {
      throw CacheError(
        .malformedResponse, "the response has no \"data\" and an empty list of \"errors\"")
    }
    var response = NormalizedResponse(
      errors: errors, extensions: extensions?.objectValue, hasData: state.pointee.hasData,
      statistics: statistics,
      diagnostics: state.pointee.diagnostics.sorted {
        ($0.typename, $0.keyField) < ($1.typename, $1.keyField)
      },
      warnings: (shape?.warnings ?? []) + guessWarnings)
    if options.wantsResult, state.pointee.hasData {
      let finished = try consumeSpool()
      response.data = finished
    }
    do throws(CacheError) {
      response.write = try await pendingWrite(errors)
    } catch {
      try await goOn(after: error)
    }
    response.storeFailure = storeFailure
    return response
  }

  /// What was decided by the fields that are there, because no schema says which types are possible.
  private var guessWarnings: [String] {
    state.pointee.table.guessedConditions.sorted().prefix(20).map {
      "without a schema it is not known which types can be a \($0): what fragments on it ask for is "
        + "stored where the response has it; a schema (--schema FILE, or the pipeline's key `schema`) "
        + "decides"
    }
  }

  private func consumeSpool() throws(CacheError) -> ResultBody {
    var taken = ResultSpool()
    swap(&taken, &spool)
    return try taken.finish()
  }

  private func pendingWrite(_ errors: [JSONValue]) async throws(CacheError) -> PendingWrite? {
    guard let store, storeFailure == nil, state.pointee.hasData else {
      await abandon()
      return nil
    }
    if !errors.isEmpty && options.errorPolicy == .discard {
      await abandon()
      return nil
    }
    let skipsErrored = options.errorPolicy == .skipErrored
    let resolution = NullResolution(
      plan: operation.plan, errors: skipsErrored ? errors : [],
      roots: state.pointee.storesRoot ? nil : state.pointee.staging.unstoredRoots,
      concreteConditions: state.pointee.table.concreteConditions)
    if resolution.paths.isTooLong {
      // More errors than can be followed: no null can be trusted, so nothing is written.
      await abandon()
      return nil
    }
    if let transaction {
      var batch = state.pointee.staging.take(nullsAreFacts: !skipsErrored)
        .noting(pagesOf: operation.plan)
      batch.shapes = state.pointee.table.shapes()
      _ = try await transaction.merge(batch)
      if !resolution.isEmpty {
        try await transaction.resolve(NullResolutionRequest(resolution))
      }
      self.transaction = nil
      return PendingWrite(open: transaction, store: store, epoch: epoch)
    }
    if !resolution.isEmpty {
      resolution.run(
        StagedRecords(state.pointee.staging.segments, table: state.pointee.staging.table))
    }
    var batch = state.pointee.staging.release().noting(pagesOf: operation.plan)
    batch.shapes = state.pointee.table.shapes()
    return PendingWrite(store: store, batch: batch, epoch: epoch)
  }

  /// The records that `data` consists of, for those who put them where they belong themselves.
  static func records(
    ofData data: JSONValue, _ operation: PreparedOperation, segmentSeed: UInt64
  ) throws(CacheError) -> RecordBatch {
    var options = Options()
    options.wantsResult = false
    options.joinsPages = false
    let normalizer = try ResponseNormalizer(
      operation, store: nil, segmentSeed: segmentSeed, options: options)
    let text = Array("{\"data\":\(data.jsonText())}".utf8)
    do {
      try text.withUnsafeBytes { try normalizer.feed($0) }
    } catch let error as CacheError {
      throw error
    } catch {
      throw CacheError(.invalidData, "\(error)")
    }
    try normalizer.end()
    var batch = normalizer.state.pointee.staging.release()
    batch.shapes = normalizer.state.pointee.table.shapes()
    return batch
  }

  private func members(_ text: [UInt8]?, _ name: String) throws(CacheError) -> JSONValue? {
    guard let text else { return nil }
    do {
      var parsing = JSONValue.ParsingOptions()
      parsing.limits = options.limits.json
      return try JSONValue(parsing: text, options: parsing)
    } catch {
      throw CacheError(.invalidJSON, "\"\(name)\" of the response: \(error.message)")
    }
  }

  private func spoolResult() throws(CacheError) {
    try spool.take(&state.pointee.result)
  }

  /// What the response consisted of, so far.
  public var statistics: ResponseStatistics {
    ResponseStatistics(
      bytes: bytesRead, events: state.pointee.scope.events, objects: state.pointee.objects,
      fields: state.pointee.fields, unknownFields: state.pointee.unknownFields)
  }

  private func describe(_ error: JSONError) -> CacheError {
    if let own = state.pointee.error {
      var own = own
      own.byteOffset = own.byteOffset ?? error.offset
      return own
    }
    if error.code == .unexpectedEnd {
      return CacheError(
        .truncatedResponse,
        "the response is cut off: its JSON text ends in the middle, after \(error.offset) bytes",
        byteOffset: error.offset)
    }
    return CacheError(
      .invalidJSON, "the response is not valid JSON at byte \(error.offset): \(error.message)",
      byteOffset: error.offset)
  }
}

/// Counts of one response.
public struct ResponseStatistics: Sendable, Hashable {
  public var bytes: Int
  /// JSON events: values, keys, starts and ends.
  public var events: Int
  /// Objects of the data, with and without identity.
  public var objects: Int
  /// Field values of the data that the operation asks for.
  public var fields: Int
  /// Fields of the response that the operation does not ask for; they are dropped.
  public var unknownFields: Int
}

/// A response that has been read to its end.
public struct NormalizedResponse: Sendable {
  /// The `errors` of the response; empty without any.
  public var errors: [JSONValue]
  public var extensions: JSONObject?
  /// Whether `data` was an object. It may be null or absent when there are errors.
  public var hasData: Bool
  /// The `data` of the response, exactly the fields asked for; `nil` without data or when not wanted.
  public var data: ResultBody?
  public var statistics: ResponseStatistics
  public var diagnostics: [CacheDiagnostic]
  /// What the schema does not know, where the shape was checked, and what had to be guessed without one.
  public var warnings: [String] = []
  /// What is to be written to the store; `nil` when there is nothing to write.
  public var write: PendingWrite?
  /// Why nothing is to be written, when the store failed and the response went on without it.
  public var storeFailure: CacheError?
}
