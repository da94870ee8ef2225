import Foundation
public import GQLRunCache
public import GQLRunJSON
import GQLRunSupport
public import HTTPTypes

/// A result of an operation. Most operations have one; subscriptions and `cache-and-network` have
/// several.
///
/// A plain value. Copying costs one reference count, and the first change of a copy one allocation.
public struct GraphQLResponse: Sendable {
  /// The source of a result.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The cache, or the server.
    case cache, server
  }

  private struct Parts: Sendable {
    var source: Source
    var isReplayed = false
    var data: (any ResultData)?
    var errors: [GraphQLError]
    var extensions: JSONObject?
    var http: HTTPResponse?
    var timing: ResponseTiming
    var attempt: Int
    var context: RequestContext
    var pendingWrite: (any PendingCacheWrite)?
    var staleness: Staleness?
    var writeSummary: WriteSummary?
    var gap: SubscriptionGap?
    var isCatchUp = false
    var part: ResponsePart?
  }

  private var parts: Shareable<Parts>

  /// Whether the result is from the cache or from the server.
  public var source: Source {
    _read { yield parts.value.source }
    _modify { yield &parts.value.source }
  }
  /// Whether a result with the source `server` was read from a recording, without a request to the
  /// server.
  public var isReplayed: Bool {
    _read { yield parts.value.isReplayed }
    _modify { yield &parts.value.isReplayed }
  }
  /// The source as a word for people: `cache`, `server` or `recording`.
  public var origin: String { isReplayed ? "recording" : source.rawValue }
  /// The `data` of the result as JSON text, which is `null` if an error has left nothing of it.
  ///
  /// `nil` if the response has no `data`, as for an error of the request, which was not executed; or if the caller does
  /// not want it.
  public var data: (any ResultData)? {
    _read { yield parts.value.data }
    _modify { yield &parts.value.data }
  }
  /// The GraphQL errors of the response.
  public var errors: [GraphQLError] {
    _read { yield parts.value.errors }
    _modify { yield &parts.value.errors }
  }
  /// The `extensions` of the response; `nil` if there are none.
  public var extensions: JSONObject? {
    _read { yield parts.value.extensions }
    _modify { yield &parts.value.extensions }
  }
  /// The head of the HTTP response; `nil` for a result of the cache, and for one on a connection that operations
  /// share, such as WebSocket.
  public var http: HTTPResponse? {
    _read { yield parts.value.http }
    _modify { yield &parts.value.http }
  }
  /// Durations and sizes of the attempt.
  public var timing: ResponseTiming {
    _read { yield parts.value.timing }
    _modify { yield &parts.value.timing }
  }
  /// The attempt that delivered this result, from 1.
  public var attempt: Int {
    _read { yield parts.value.attempt }
    _modify { yield &parts.value.attempt }
  }
  /// Values from lower interceptors for those above, by typed keys.
  public var context: RequestContext {
    _read { yield parts.value.context }
    _modify { yield &parts.value.context }
  }
  /// The records of this result, not yet visible to other readers. The chain commits them before it
  /// delivers the result.
  public var pendingWrite: (any PendingCacheWrite)? {
    _read { yield parts.value.pendingWrite }
    _modify { yield &parts.value.pendingWrite }
  }
  /// The age of the first stale field of a cached result; `nil` if all fields are fresh.
  public var staleness: Staleness? {
    _read { yield parts.value.staleness }
    _modify { yield &parts.value.staleness }
  }
  /// The changes of the commit in the store; set by the chain when it delivers the result. Parts of a response that were
  /// stored together have one, in the first of them.
  public var writeSummary: WriteSummary? {
    _read { yield parts.value.writeSummary }
    _modify { yield &parts.value.writeSummary }
  }

  /// For an element of a subscription that is no event: the connection was lost and is open again, or the caller was
  /// too slow, and events may be missing. `nil` for results and events.
  public var gap: SubscriptionGap? {
    _read { yield parts.value.gap }
    _modify { yield &parts.value.gap }
  }

  /// Whether this element of a subscription is no event but the result of the query that fetches what was missed; see
  /// ``SubscriptionSettings/catchUp``.
  public internal(set) var isCatchUp: Bool {
    _read { yield parts.value.isCatchUp }
    _modify { yield &parts.value.isCatchUp }
  }
  /// What a part of the response has added to the data, and what is pending; `nil` for a response in one piece.
  ///
  /// A response with `@defer` or `@stream` has a result for each part. ``data`` and ``errors`` are those of all parts
  /// so far.
  public var part: ResponsePart? {
    _read { yield parts.value.part }
    _modify { yield &parts.value.part }
  }
  /// The deferred fragments and streamed lists that the server has announced and not yet completed.
  public var pending: [PendingFragment] { part?.pending ?? [] }
  /// Whether ``data`` is that of a whole response: no more parts follow.
  public var isComplete: Bool { part?.hasNext != true }

  /// Creates the element that announces a gap.
  init(gap: SubscriptionGap) {
    self.init(source: .server)
    self.gap = gap
  }

  /// Creates a result, for interceptors that answer requests themselves.
  ///
  /// - Parameters:
  ///   - source: The source of the result.
  ///   - data: The `data` of the result.
  ///   - errors: The GraphQL errors.
  ///   - extensions: The `extensions` of the response.
  ///   - http: The head of the HTTP response.
  ///   - timing: Durations and sizes; the chain completes them.
  ///   - attempt: The attempt, from 1; set by the chain.
  ///   - context: Values for the interceptors above.
  ///   - pendingWrite: The records of the result, not yet committed.
  public init(
    source: Source, data: (any ResultData)? = nil, errors: [GraphQLError] = [],
    extensions: JSONObject? = nil, http: HTTPResponse? = nil,
    timing: ResponseTiming = ResponseTiming(), attempt: Int = 1,
    context: RequestContext = RequestContext(), pendingWrite: (any PendingCacheWrite)? = nil
  ) {
    parts = Shareable(
      Parts(
        source: source, data: data, errors: errors, extensions: extensions, http: http,
        timing: timing, attempt: attempt, context: context, pendingWrite: pendingWrite))
  }
}

/// A time in which events of a subscription may have been missed.
public struct SubscriptionGap: Sendable {
  /// The time at which the connection was lost or the first event was dropped, in seconds since 1970.
  public var since: Double
  /// Whether the connection was lost and is open again. `false` if only the caller was too slow.
  public var lostConnection: Bool
  /// Why the connection was lost; `nil` if it is not known.
  public var cause: (any Error)?
  /// The number of events that arrived and were dropped, because the caller did not read them in time;
  /// see ``SubscriptionSettings/Overflow/dropOldest``. Their records are in the cache.
  public var dropped: Int
  /// The outcome of the query that fetches what was missed; `nil` if there is none.
  public var catchUp: CatchUp?

  /// The outcome of a query that fetches what was missed.
  public enum CatchUp: Sendable {
    /// Its result is in the cache.
    case succeeded
    /// It failed, or its result has errors.
    case failed(any Error)
  }

  /// Creates the description of a gap.
  ///
  /// - Parameters:
  ///   - since: The time of the first event that may be missing, in seconds since 1970.
  ///   - lostConnection: Whether the connection was lost.
  ///   - cause: Why the connection was lost.
  ///   - dropped: The number of events that arrived and were dropped.
  public init(
    since: Double, lostConnection: Bool = true, cause: (any Error)? = nil, dropped: Int = 0
  ) {
    self.since = since
    self.lostConnection = lostConnection
    self.cause = cause
    self.dropped = dropped
  }
}

/// A part of a response with `@defer` or `@stream`.
public struct ResponsePart: Sendable {
  /// The number of the part, from 0.
  public var index: Int
  /// What the part has added, in the order of the message.
  public var delivered: [DeliveredFragment]
  /// What the server has announced and not yet completed. Empty in formats before 2023, which announce nothing.
  public var pending: [PendingFragment] {
    get { announced.all }
    set { announced = .list(newValue) }
  }
  /// Whether more parts follow.
  public var hasNext: Bool
  private var announced: PendingFragments
  /// Whether the next part has arrived, too: reading it waits for nothing.
  package var isFollowed = false

  /// Creates the description of a part.
  ///
  /// - Parameters:
  ///   - index: The number of the part, from 0.
  ///   - delivered: What the part has added.
  ///   - pending: What the server has announced and not yet completed.
  ///   - hasNext: Whether more parts follow.
  public init(
    index: Int, delivered: [DeliveredFragment] = [], pending: [PendingFragment] = [],
    hasNext: Bool
  ) {
    self.init(index: index, delivered: delivered, announced: .list(pending), hasNext: hasNext)
  }

  /// The description of a part whose pending fragments are listed when they are read.
  package init(
    index: Int, delivered: [DeliveredFragment], announced: PendingFragments, hasNext: Bool
  ) {
    self.index = index
    self.delivered = delivered
    self.announced = announced
    self.hasNext = hasNext
  }
}

/// Durations and sizes of one attempt.
public struct ResponseTiming: Sendable, Hashable {
  /// From the start of the attempt to the result.
  public var total: Duration
  /// From sending the request to the head of the response; `nil` without network.
  public var firstByte: Duration?
  /// The size of the response's body in bytes, after decompression.
  public var receivedBytes: Int

  /// Creates a measurement.
  ///
  /// - Parameters:
  ///   - total: From the start of the attempt to the result.
  ///   - firstByte: From sending the request to the head of the response.
  ///   - receivedBytes: The size of the body in bytes, after decompression.
  public init(total: Duration = .zero, firstByte: Duration? = nil, receivedBytes: Int = 0) {
    self.total = total
    self.firstByte = firstByte
    self.receivedBytes = receivedBytes
  }
}

extension GraphQLResponse {
  /// Calls `body` with the response as JSON text, piece by piece: `data`, `errors` and `extensions`,
  /// each if the response has it.
  ///
  /// - Parameter body: Called with each piece in order; the pointer is only valid during the call.
  /// - Throws: The errors of `body`, and an error if buffered data cannot be read from its file.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    if let data {
      try Array(#"{"data":"#.utf8).withUnsafeBytes(body)
      try data.forEachChunk(body)
    }
    var others = JSONObject()
    if !errors.isEmpty { others["errors"] = .array(errors.map(\.json)) }
    if let extensions { others["extensions"] = .object(extensions) }
    var tail = JSONValue.object(others).jsonBytes()
    // The members after `data` continue its object.
    if data != nil { tail.replaceSubrange(..<1, with: others.isEmpty ? [] : [UInt8(ascii: ",")]) }
    try tail.withUnsafeBytes(body)
  }
}

extension GraphQLError {
  /// The error as JSON, as in a response.
  package var json: JSONValue {
    var object = JSONObject()
    object["message"] = .string(message)
    if !locations.isEmpty { object["locations"] = Self.json(locations) }
    if let path { object["path"] = Self.json(path) }
    if let extensions { object["extensions"] = .object(extensions) }
    return .object(object)
  }

  /// A path as JSON, as in a response.
  package static func json(_ path: [PathElement]) -> JSONValue {
    .array(
      path.map { step in
        switch step {
        case .key(let key): .string(key)
        case .index(let index): .number(JSONNumber(index))
        }
      })
  }

  /// Locations as JSON, as in a response.
  package static func json(_ locations: [Location]) -> JSONValue {
    .array(
      locations.map { location in
        .object([
          "line": .number(JSONNumber(location.line)),
          "column": .number(JSONNumber(location.column)),
        ])
      })
  }
}

extension SubscriptionGap {
  /// The gap as a line of NDJSON between events:
  /// `{"gap":{"since":"2026-11-23T20:15:00Z","lostConnection":true,"cause":"…"}}`.
  ///
  /// `dropped` is a member if events were dropped, and `catchUp` (`succeeded` or `failed`) if a query has fetched what
  /// was missed. An event has no member `gap`, so that a reader can tell the two apart.
  ///
  /// - Parameters:
  ///   - cause: Why events may be missing, for people and without secrets; `nil` leaves it out.
  ///   - until: The time from which events are complete again, in seconds since 1970; `nil` leaves it out.
  ///   - others: Further members, such as the task of a batch. They precede those of the gap.
  /// - Returns: The JSON text, without a line feed.
  package func gapLine(
    cause: String? = nil, until: Double? = nil, others: JSONObject = JSONObject()
  ) -> [UInt8] {
    func time(_ seconds: Double) -> JSONValue {
      .string(Date(timeIntervalSince1970: seconds).formatted(.iso8601))
    }
    var gap = others
    gap["since"] = time(since)
    if let until { gap["until"] = time(until) }
    gap["lostConnection"] = .boolean(lostConnection)
    if let cause { gap["cause"] = .string(cause) }
    if dropped > 0 { gap["dropped"] = .number(JSONNumber(dropped)) }
    switch catchUp {
    case .succeeded: gap["catchUp"] = "succeeded"
    case .failed: gap["catchUp"] = "failed"
    case nil: break
    }
    return JSONValue.object(["gap": .object(gap)]).jsonBytes()
  }
}

/// The JSON text of a result's `data`, in memory or in a file.
///
/// The parser and the cache return `ResultBody`; interceptors that answer requests themselves can
/// return `[UInt8]`.
public protocol ResultData: Sendable {
  /// The number of bytes.
  var count: Int { get }
  /// Whether the text is `null`: an error has left nothing of the data.
  var isNull: Bool { get }

  /// Calls `body` with the bytes in order, in pieces of any size. The pointer is only valid during
  /// the call.
  ///
  /// - Throws: The errors of `body`, and an error if buffered data cannot be read from its file.
  func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws

  /// The whole text, for data that fits into memory; without a copy if it is in memory already.
  ///
  /// - Throws: An error if buffered data cannot be read from its file.
  func bytes() throws -> [UInt8]
}

extension ResultData {
  /// Whether the text is `null`.
  public var isNull: Bool {
    count == 4 && (try? bytes())?.elementsEqual("null".utf8) == true
  }

  /// The whole text, collected from its chunks.
  public func bytes() throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    try forEachChunk { bytes.append(contentsOf: $0) }
    return bytes
  }
}

extension Optional where Wrapped == any ResultData {
  /// The data, unless it is null.
  package var unlessNull: (any ResultData)? { flatMap { $0.isNull ? nil : $0 } }
}

extension ResultBody: ResultData {}
extension MergedData: ResultData {}

extension [UInt8]: ResultData {
  /// Calls `body` once, with all bytes.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeBytes { try body($0) }
  }
  /// The array itself.
  public func bytes() -> [UInt8] { self }
}

/// A queue of elements; each is read once.
///
/// Guarded by a lock and not by an actor: a result passes several queues and should not suspend at
/// each.
final class ElementQueue<Element: Sendable>: Sendable {
  private let elements: Locked<ArraySlice<Element>>

  init(_ elements: [Element]) {
    self.elements = Locked(elements[...])
  }

  func next() -> Element? {
    elements.withLock { $0.popFirst() }
  }
}

extension GraphQLResponse {
  /// Whether the operation was executed, at least in part: there is data, or an error with a path, which belongs to a field.
  package var showsExecution: Bool {
    data.unlessNull != nil || errors.contains { $0.path != nil }
  }

  /// The failure that a result represents: the server refuses the operation with a body of GraphQL's own type, which is a
  /// result with any status.
  package var refusal: ChainError? {
    guard source == .server, let head = http, head.status.code >= 400, !errors.isEmpty,
      !showsExecution
    else { return nil }
    return ChainError(
      .transport, code: .httpStatus, message: "the server answered \(head.status.shown)",
      http: .init(status: head.status.code, headers: head.headerFields), delivery: .answered)
  }
}

extension HTTPResponse.Status {
  /// The code and its phrase, such as `503 Service Unavailable`.
  package var shown: String { reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)" }
}
