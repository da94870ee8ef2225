import Foundation
public import GQLRunJSON

/// Processes one response as its bytes arrive: to staged records, to the caller's result, or both,
/// in one pass and with memory that does not grow with the response.
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
/// Other readers of the store see nothing before ``PendingWrite/commit()``. Use it from one task.
public final class ResponseNormalizer {
  private let operation: PreparedOperation
  private let store: (any RecordStore)?
  /// The clearings of the store when the response was requested.
  private let epoch: Int
  private let options: Options
  // The parser does not use its context when it is released.
  private let memory: NormalizerMemory
  private var state: UnsafeMutablePointer<NormalizerState> { memory.state }
  private var parser: JSONParser
  /// The second thread, for large responses.
  private var tape: EventTape?
  private let shape: ResponseShape?
  private var transaction: (any RecordTransaction)?
  private var storeFailure: CacheError?
  private var keySpread = KeySpread()
  /// The size of a batch of staged records, in bytes.
  private var batchBytes: Int
  /// The number of fields and list elements that were examined to revert the nulls of errors; for tests
  /// of the cost.
  private(set) var examinedForErrors = 0
  /// The number of bytes passed to ``feed(_:)``.
  public private(set) var bytesRead = 0

  /// Creates a normalizer for one response of `operation`. Without a store, the response is only
  /// parsed, checked and converted to its result.
  public convenience init(
    _ operation: PreparedOperation, store: CacheStore?, options: Options = Options()
  ) throws(CacheError) {
    try self.init(
      operation, store: store?.records, segmentSeed: store?.records.segmentSeed ?? processSeed,
      options: options)
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
    memory = NormalizerMemory(
      operation.plan, segmentSeed: segmentSeed, types: store?.activity.concreteTypes,
      wantsResult: options.wantsResult, options: options)
    do { parser = try memory.parser(options.parsing) } catch {
      throw CacheError(.storage, "cannot start a JSON parser: \(error.message)")
    }
  }

  /// Processes the next chunk of the response.
  ///
  /// - Parameter bytes: The chunk; not used after the call.
  /// - Throws: ``CacheError``: `invalidJSON` with the byte offset, `malformedResponse` with the
  ///   path.
  public func feed(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    try feed(bytes, isLast: false)
  }

  /// Processes the next chunk of the response; the last one is parsed without a copy.
  package func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(CacheError) {
    bytesRead += bytes.count
    if tape == nil, bytesRead >= options.minTapeBytes { beginTape() }
    if tape == nil { state.pointee.text.setChunk(bytes) }
    defer { if tape == nil { state.pointee.text.setChunk(nil) } }
    do { try parser.feed(bytes, isLast: isLast) } catch { throw describe(error) }
    do throws(CacheError) {
      try shape?.feed(bytes)
    } catch {
      tape?.settle()
      throw tape?.hasFailed == true ? failure : error
    }
    if tape.map(\.hasFailed) ?? !memory.spoolLargeResult() { throw failure }
  }

  /// Begins the second thread, unless the store has one that writes: a third would wait for a processor.
  private func beginTape() {
    guard store?.takesWholeResponses != false,
      options.limits.json.maxStringBytes < TapeWriter.maxTextBytes,
      options.limits.json.maxKeyBytes < TapeWriter.maxTextBytes,
      options.limits.json.maxNumberBytes < TapeWriter.maxTextBytes
    else { return }
    tape = EventTape.begin(
      parser, memory, maxStagedBytes: store == nil ? options.flushThreshold : Int.max,
      isForced: options.forcesTape)
  }

  /// Whether ``flush()`` should be called before the next ``feed(_:)``.
  public var needsFlush: Bool {
    tape == nil && state.pointee.staging.table.arenaBytes >= batchBytes
  }

  /// Whether there are complete records that are not written yet.
  package var hasStagedRecords: Bool {
    tape?.settle()
    return !state.pointee.staging.table.isEmpty
  }

  /// Writes the staged records to the store, inside its transaction, while the next bytes are
  /// parsed.
  public func flush() async throws(CacheError) {
    if tape != nil { return }
    guard let store, storeFailure == nil else { return state.pointee.staging.discard() }
    // A memory store keeps everything in any case, so it takes the whole response at once.
    if store.takesWholeResponses { return }
    do throws(CacheError) {
      if transaction == nil { transaction = try await store.begin() }
      let isScattered =
        batchBytes == options.flushThreshold && keySpread.add(state.pointee.staging.table)
      let batch = state.pointee.staging.take(nullsAreFacts: options.errorPolicy != .skipErrored)
        .noting(pagesOf: operation.plan)
      let spent = try await transaction?.merge(batch)
      if isScattered { batchBytes *= Self.scatteredFactor }
      // Three large batches would use more memory than filling new pages costs time.
      if let spent, batchBytes == options.flushThreshold {
        state.pointee.staging.recycle(spent.table)
      }
    } catch {
      try await goOn(after: error)
    }
  }

  /// The factor by which batches are larger if keys are scattered.
  private static let scatteredFactor = 16

  /// Discards the records of this response, if it may continue without them.
  private func goOn(after failure: CacheError) async throws(CacheError) {
    guard options.continuesWithoutStore, failure.isStoreFailure else { throw failure }
    storeFailure = failure
    state.pointee.staging.discard()
    await abandon()
  }

  /// Ends the response.
  ///
  /// - Throws: ``CacheError`` if the response is truncated or not a GraphQL response. In this case,
  ///   and if the normalizer is released without this call, the store is unchanged.
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
    if let tape {
      tape.finish()
      if tape.hasFailed { throw failure }
      self.tape = nil
    }
    do { try parser.finish() } catch { throw describe(error) }
    try shape?.finish()
    if !memory.spoolResult(isLast: true) { throw failure }
  }

  /// Takes the objects and lists that later parts of the response may extend.
  func takeAnchors() -> AnchorList {
    var taken = AnchorList()
    swap(&taken, &state.pointee.anchors)
    return taken
  }

  /// Discards the response; the store is unchanged.
  public func abandon() async {
    await transaction?.rollback()
    transaction = nil
  }

  private func completed() async throws(CacheError) -> NormalizedResponse {
    let hasMember = state.pointee.envelope.hasData || state.pointee.envelope.dataIsNull
    guard hasMember || state.pointee.envelope.errors != nil else {
      throw CacheError(
        .malformedResponse,
        "the response has neither \"data\" nor \"errors\", so it is not a "
          + "GraphQL response")
    }
    let errors =
      try members(state.pointee.envelope.errors, "errors").map { $0.arrayValue ?? [] } ?? []
    let extensions = try members(state.pointee.envelope.extensions, "extensions")
    if hasMember == false && errors.isEmpty {
      throw CacheError(
        .malformedResponse, "the response has no \"data\" and an empty list of \"errors\"")
    }
    var response = NormalizedResponse(
      errors: errors, extensions: extensions?.objectValue, hasData: state.pointee.envelope.hasData,
      statistics: statistics, diagnostics: state.pointee.diagnostics,
      warnings: (shape?.warnings ?? []) + state.pointee.table.guessWarnings)
    if options.wantsResult, hasMember {
      response.data =
        response.hasData ? try memory.takeResult() : ResultBody(memory: Array("null".utf8))
    }
    do throws(CacheError) {
      response.write = try await pendingWrite(errors)
    } catch {
      try await goOn(after: error)
    }
    response.storeFailure = storeFailure
    return response
  }

  private func pendingWrite(_ errors: [JSONValue]) async throws(CacheError) -> PendingWrite? {
    guard let store, storeFailure == nil, state.pointee.envelope.hasData,
      errors.isEmpty || options.errorPolicy != .discard
    else {
      await abandon()
      return nil
    }
    let skipsErrored = options.errorPolicy == .skipErrored
    let resolution = NullResolution(
      plan: operation.plan, paths: ErrorPaths(skipsErrored ? errors : []),
      roots: state.pointee.storesRoot ? nil : state.pointee.staging.unstoredRoots,
      concreteConditions: state.pointee.table.concreteConditions,
      hidesSecrets: options.hidesSecrets)
    if resolution.paths.isTooLong {
      // The errors exceed a limit, so no null can be trusted and nothing is written.
      await abandon()
      return nil
    }
    if let transaction {
      var batch = state.pointee.staging.take(nullsAreFacts: !skipsErrored)
        .noting(pagesOf: operation.plan)
      if let types = state.pointee.table.responseTypes() { batch.types = [types] }
      _ = try await transaction.merge(batch)
      if !resolution.isEmpty {
        try await transaction.resolve(resolution)
      }
      self.transaction = nil
      return PendingWrite(content: .open(transaction), store: store, epoch: epoch)
    }
    if !resolution.isEmpty {
      examinedForErrors = resolution.run(state.pointee.staging.records)
    }
    let batch = state.pointee.release().noting(pagesOf: operation.plan)
    return PendingWrite(content: .staged(batch), store: store, epoch: epoch)
  }

  /// The records of `data`, for callers that write them themselves.
  static func records(
    ofData data: JSONValue, _ operation: PreparedOperation, segmentSeed: UInt64
  ) throws(CacheError) -> RecordBatch {
    var options = Options()
    options.wantsResult = false
    options.joinsPages = false
    // Without a store, a second thread discards the records.
    options.minTapeBytes = Int.max
    let normalizer = try ResponseNormalizer(
      operation, store: nil, segmentSeed: segmentSeed, options: options)
    let text = Array("{\"data\":\(data.jsonText())}".utf8)
    try text.withBytes { (text) throws(CacheError) in try normalizer.feed(text.raw) }
    try normalizer.end()
    return normalizer.state.pointee.release()
  }

  private func members(_ text: [UInt8]?, _ name: String) throws(CacheError) -> JSONValue? {
    guard let text else { return nil }
    return try options.value(text, "\"\(name)\"")
  }

  /// The statistics of the response so far.
  public var statistics: ResponseStatistics {
    tape?.settle()
    return ResponseStatistics(
      bytes: bytesRead, events: memory.context.pointee.scope.events, objects: state.pointee.objects,
      fields: state.pointee.fields, unknownFields: state.pointee.unknownFields)
  }

  /// Why the normalizer has refused an event.
  private var failure: CacheError {
    tape?.settle()
    var failure =
      state.pointee.error ?? CacheError(.malformedResponse, "the response cannot be normalized")
    failure.byteOffset = failure.byteOffset ?? tape?.failureOffset
    return failure
  }

  private func describe(_ error: JSONError) -> CacheError {
    // Events before the error may have been refused.
    tape?.settle()
    if state.pointee.error != nil {
      var own = failure
      own.byteOffset = own.byteOffset ?? error.offset
      return own
    }
    if error.code == .unexpectedEnd {
      return CacheError(
        .truncatedResponse,
        "the response is truncated: its JSON text ends after \(error.offset) bytes",
        byteOffset: error.offset)
    }
    return CacheError(
      .invalidJSON, "the response \(error.verdict) at byte \(error.offset): \(error.message)",
      byteOffset: error.offset)
  }
}

extension JSONError {
  /// What is wrong with the response: one that exceeds a limit may be valid.
  var verdict: String { code == .limitExceeded ? "exceeds a limit" : "is not valid JSON" }
}

/// Statistics of one response.
public struct ResponseStatistics: Sendable, Hashable {
  /// The number of bytes of the response.
  public var bytes: Int
  /// JSON events: values, keys, starts and ends of containers.
  public var events: Int
  /// Objects of the data, with and without identity.
  public var objects: Int
  /// Selected fields of the data.
  public var fields: Int
  /// Fields that the operation does not select; they are ignored.
  public var unknownFields: Int
}

/// A completely processed response.
public struct NormalizedResponse: Sendable {
  /// The `errors` of the response; empty if there are none.
  public var errors: [JSONValue]
  /// The `extensions` of the response.
  public var extensions: JSONObject?
  /// Whether `data` is an object. It may be null or absent if there are errors.
  public var hasData: Bool
  /// The `data` of the response, null or with exactly the selected fields; `nil` if the response has
  /// none, or if it is not collected.
  public var data: ResultBody?
  /// Statistics of the response.
  public var statistics: ResponseStatistics
  /// Notices about objects without identity.
  public var diagnostics: [CacheDiagnostic]
  /// What the schema does not define, if the shape was checked, and what was inferred without a
  /// schema.
  public var warnings: [String] = []
  /// The records to commit; `nil` if there are none.
  public var write: PendingWrite?
  /// Why nothing is written, if the store failed and the response continued without it.
  public var storeFailure: CacheError?
}

/// How nulls that are caused by errors are stored.
public enum ErrorPolicy: String, Sendable, Hashable, CaseIterable {
  /// They are not stored and do not overwrite stored values; all other data is written, and the errors beside it. What
  /// is read there is up to the reader: ``ErrorReadPolicy``.
  case skipErrored = "skip-errored"
  /// A response with errors is not written.
  case discard
  /// Nulls are written as received, as values: every reader reads null there. No error is stored.
  case keep
}

extension ResponseNormalizer {
  /// The options of a normalizer.
  public struct Options: Sendable {
    /// Whether the `data` of the response is collected as the caller's result. `true` by default.
    public var wantsResult = true
    /// How nulls that are caused by errors are stored. ``ErrorPolicy/skipErrored`` by default.
    public var errorPolicy = ErrorPolicy.skipErrored
    /// The limits of the response.
    public var limits = ResponseLimits()
    /// Whether root fields are stored, or only the objects in them. `true` by default.
    public var writesRoots = true
    /// The size of staged records at which they are written to the store, in bytes. 1 MiB by
    /// default.
    public var flushThreshold = 1 << 20
    /// Whether the response is checked against the schema, as by ``ResponseShape``. `false` by
    /// default, which leaves it to the operation.
    public var checksShape = false
    /// Whether pages are joined with stored lists; not for data written by a program.
    var joinsPages = true
    /// When the response was received, in seconds since 1970; the start of its records' age. By
    /// default, the time at which the options were created.
    public var received = Int(Date().timeIntervalSince1970)
    /// Whether a response whose records cannot be written is read to its end;
    /// ``NormalizedResponse/storeFailure`` then has the error. `false` by default.
    public var continuesWithoutStore = false
    /// Replaces the secrets of an error that is stored; `nil`, the default, stores errors as they were received.
    package var hidesSecrets: (@Sendable (JSONValue) -> JSONValue)?
    /// How the bytes are passed to the parser. Tests use small chunks.
    var parsing = JSONParser.Options()
    /// The bytes of a response after which a second thread normalizes, if a processor is free. 1 MiB by default;
    /// `Int.max` for one thread.
    package var minTapeBytes = 1 << 20
    /// Whether a second thread is used on any machine; for tests.
    var forcesTape = false

    /// Creates the default options.
    public init() {}

    /// The value of a part of the response, within its limits; `part` names it in errors.
    func value(
      _ text: [UInt8], _ part: @autoclosure () -> String = "a part"
    ) throws(CacheError) -> JSONValue {
      do {
        return try JSONValue(
          parsing: text, options: JSONValue.ParsingOptions(limits: limits.json))
      } catch {
        throw CacheError(.invalidJSON, "\(part()) of the response: \(error.message)")
      }
    }
  }
}

/// A notice about a response that is not an error: objects without identity.
public struct CacheDiagnostic: Sendable, Hashable, CustomStringConvertible {
  /// The type of the objects; empty if it is unknown.
  public var typename: String
  /// The key field that is missing or null.
  public var keyField: String

  /// The notice as a sentence.
  public var description: String {
    if typename.isEmpty {
      return
        "some objects have no \"__typename\", so they have no identity and are stored in their "
        + "parent; select it to store them as records"
    }
    return "objects of type \(typename) have no \"\(keyField)\", so they have no identity and are "
      + "stored in their parent; declare their key fields with keys: { types: { \(typename): [field] } }"
  }
}

/// Limits of a response. A response that exceeds one is rejected.
public struct ResponseLimits: Sendable, Hashable {
  /// Limits of depth, strings, keys and numbers of the JSON text.
  public var json: JSONLimits
  /// The maximum size of a custom scalar value and of the `errors` and `extensions` members, in
  /// bytes. 16 MiB by default.
  public var maxOpaqueBytes: Int

  /// Creates limits.
  public init(json: JSONLimits = JSONLimits(), maxOpaqueBytes: Int = 16 << 20) {
    self.json = json
    self.maxOpaqueBytes = maxOpaqueBytes
  }
}

/// The members of the response around `data`.
struct Envelope {
  /// The member whose value is next.
  enum Member: UInt8 { case data, errors, extensions, other }

  private(set) var member = Member.other
  /// The text of a captured member.
  var errors: [UInt8]?
  var extensions: [UInt8]?
  var hasData = false
  var dataIsNull = false

  mutating func begin(_ key: Bytes) {
    if key.equals("data") {
      member = .data
    } else if key.equals("errors") {
      member = .errors
    } else if key.equals("extensions") {
      member = .extensions
    } else {
      member = .other
    }
  }
}
