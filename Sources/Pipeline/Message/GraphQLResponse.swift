public import Cache
public import HTTPTypes
public import JSONStream

/// One result of an operation. Most operations have one; subscriptions and `cache-and-network` have
/// several.
public struct GraphQLResponse: Sendable {
  /// Who answered.
  public enum Source: String, Sendable, Hashable {
    case cache, server
  }

  public var source: Source
  /// The `data` of the result; `nil` when the server sent none or nobody asked for it.
  public var data: (any ResultData)?
  /// The errors that the server reported beside the data.
  public var errors: [GraphQLError]
  public var extensions: JSONObject?
  /// `nil` for a result from the cache.
  public var http: HTTPResponse?
  public var timing: ResponseTiming
  /// The attempt that brought this result, from 1.
  public var attempt: Int
  /// What lower interceptors tell those above, by typed keys.
  public var context: RequestContext
  /// The records of this result, not yet visible to others. The chain commits them before it
  /// delivers the result.
  public var pendingWrite: (any PendingCacheWrite)?

  /// How old the first stale field of a cached result is; `nil` when everything is fresh.
  public var staleness: Staleness?

  /// What the commit changed in the store; set by the chain when it delivers the result.
  public var writeSummary: WriteSummary?

  public init(
    source: Source, data: (any ResultData)? = nil, errors: [GraphQLError] = [],
    extensions: JSONObject? = nil, http: HTTPResponse? = nil,
    timing: ResponseTiming = ResponseTiming(), attempt: Int = 1,
    context: RequestContext = RequestContext(), pendingWrite: (any PendingCacheWrite)? = nil
  ) {
    self.source = source
    self.data = data
    self.errors = errors
    self.extensions = extensions
    self.http = http
    self.timing = timing
    self.attempt = attempt
    self.context = context
    self.pendingWrite = pendingWrite
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
