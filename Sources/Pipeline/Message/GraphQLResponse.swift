public import GQLRunCache
public import GQLRunJSON
public import HTTPTypes

/// One result of an operation. Most operations have one; subscriptions and `cache-and-network` have
/// several.
///
/// A plain value; a copy costs as much as one reference, until it is changed.
public struct GraphQLResponse: Sendable {
  /// Who answered.
  public enum Source: String, Sendable, Hashable {
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
  }

  private var parts: Shareable<Parts>

  public var source: Source {
    _read { yield parts.value.source }
    _modify { yield &parts.value.source }
  }
  /// Whether a result of the source `server` was read from a recording of an earlier exchange, so that the
  /// server was not asked.
  public var isReplayed: Bool {
    _read { yield parts.value.isReplayed }
    _modify { yield &parts.value.isReplayed }
  }
  /// Where the result is from, in one word for people: `cache`, `server` or `recording`.
  public var origin: String { isReplayed ? "recording" : source.rawValue }
  /// The `data` of the result; `nil` when the server sent none or nobody asked for it.
  public var data: (any ResultData)? {
    _read { yield parts.value.data }
    _modify { yield &parts.value.data }
  }
  /// The errors that the server reported beside the data.
  public var errors: [GraphQLError] {
    _read { yield parts.value.errors }
    _modify { yield &parts.value.errors }
  }
  public var extensions: JSONObject? {
    _read { yield parts.value.extensions }
    _modify { yield &parts.value.extensions }
  }
  /// `nil` for a result from the cache.
  public var http: HTTPResponse? {
    _read { yield parts.value.http }
    _modify { yield &parts.value.http }
  }
  public var timing: ResponseTiming {
    _read { yield parts.value.timing }
    _modify { yield &parts.value.timing }
  }
  /// The attempt that brought this result, from 1.
  public var attempt: Int {
    _read { yield parts.value.attempt }
    _modify { yield &parts.value.attempt }
  }
  /// What lower interceptors tell those above, by typed keys.
  public var context: RequestContext {
    _read { yield parts.value.context }
    _modify { yield &parts.value.context }
  }
  /// The records of this result, not yet visible to others. The chain commits them before it
  /// delivers the result.
  public var pendingWrite: (any PendingCacheWrite)? {
    _read { yield parts.value.pendingWrite }
    _modify { yield &parts.value.pendingWrite }
  }
  /// How old the first stale field of a cached result is; `nil` when everything is fresh.
  public var staleness: Staleness? {
    _read { yield parts.value.staleness }
    _modify { yield &parts.value.staleness }
  }
  /// What the commit changed in the store; set by the chain when it delivers the result.
  public var writeSummary: WriteSummary? {
    _read { yield parts.value.writeSummary }
    _modify { yield &parts.value.writeSummary }
  }

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

/// How long a result took.
public struct ResponseTiming: Sendable, Hashable {
  /// From the start of the attempt until the result was there.
  public var total: Duration
  /// From sending the request until the head of the response was there; `nil` without network.
  public var firstByte: Duration?
  /// The bytes of the response's body as received, after decompression.
  public var receivedBytes: Int

  public init(total: Duration = .zero, firstByte: Duration? = nil, receivedBytes: Int = 0) {
    self.total = total
    self.firstByte = firstByte
    self.receivedBytes = receivedBytes
  }
}
