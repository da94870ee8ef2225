import GQLRunSupport
public import HTTPTypes

/// The requests that a server received, for tests and observers.
public final class RequestLog: Sendable {
  /// A request.
  public struct Entry: Sendable {
    /// The HTTP method, such as `POST`.
    public var method: String
    /// The path with its query.
    public var path: String
    /// The header fields.
    public var headers: HTTPFields
    /// The first bytes of the body, or of the GraphQL request in a form; at most
    /// ``RequestLog/keptBodyBytes``.
    public var body: [UInt8]

    /// The value of the first header field with this name; `nil` if there is none.
    public func header(_ name: String) -> String? {
      HTTPField.Name(name).flatMap { headers[$0] }
    }

    /// The first bytes of the body as text.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }
  }

  /// The number of requests that are stored; older ones are removed.
  public static let keptEntries = 1000
  /// The number of bytes that are stored of each body.
  public static let keptBodyBytes = 16 << 10

  private struct Contents: Sendable {
    var count = 0
    var entries: [Entry] = []
    var bytesWritten = 0
    var largestChunk = 0
  }

  private let contents = Monitor(Contents())

  init() {}

  /// The number of GraphQL requests received so far.
  public var requestCount: Int { contents.withLock { $0.count } }
  /// The last ``keptEntries`` requests, oldest first.
  public var requests: [Entry] {
    contents.withLock { Array($0.entries.suffix(Self.keptEntries)) }
  }
  /// The last request; `nil` before the first one.
  public var last: Entry? { contents.withLock { $0.entries.last } }
  /// The number of bytes of response bodies written so far.
  public var bytesWritten: Int { contents.withLock { $0.bytesWritten } }
  /// The size of the largest chunk of a response body, in bytes.
  public var largestChunk: Int { contents.withLock { $0.largestChunk } }

  /// Suspends until the server has received `count` GraphQL requests, or the task is cancelled.
  public func requests(_ count: Int) async { try? await contents.wait { $0.count >= count } }

  /// Removes all requests and resets all counts; suspended callers keep waiting.
  public func clear() {
    contents.withLock { $0 = Contents() }
  }

  func add(_ entry: Entry) {
    contents.update { contents in
      contents.count += 1
      // Removes half of them at once, so that the array is not moved for every request.
      if contents.entries.count >= 2 * Self.keptEntries {
        contents.entries.removeFirst(Self.keptEntries)
      }
      contents.entries.append(entry)
    }
  }

  func noteWritten(_ count: Int) {
    contents.withLock { contents in
      contents.bytesWritten += count
      contents.largestChunk = max(contents.largestChunk, count)
    }
  }
}
