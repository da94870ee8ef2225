import GQLRunSupport
public import HTTPTypes

/// What a server was asked, for tests and for people who watch it.
public final class RequestLog: Sendable {
  /// One request.
  public struct Entry: Sendable {
    /// Such as `POST`.
    public var method: String
    /// The path with its query.
    public var path: String
    public var headers: HTTPFields
    /// The beginning of the body, at most ``RequestLog/keptBodyBytes``.
    public var body: [UInt8]

    /// The first header field of this name, if there is one.
    public func header(_ name: String) -> String? {
      HTTPField.Name(name).flatMap { headers[$0] }
    }

    /// The beginning of the body as text.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }
  }

  /// How many requests are kept; the oldest go first.
  public static let keptEntries = 1000
  /// How much of a body is kept.
  public static let keptBodyBytes = 16 << 10

  private struct Contents {
    var count = 0
    var entries: [Entry] = []
    var bytesWritten = 0
    var largestChunk = 0
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let contents = Locked(Contents())

  init() {}

  /// How many requests to GraphQL there were.
  public var requestCount: Int { contents.withLock { $0.count } }
  /// The last requests, oldest first.
  public var requests: [Entry] {
    contents.withLock { Array($0.entries.suffix(Self.keptEntries)) }
  }
  public var last: Entry? { contents.withLock { $0.entries.last } }
  /// How many bytes of response bodies were written.
  public var bytesWritten: Int { contents.withLock { $0.bytesWritten } }
  /// The largest piece in which a response body was written, in bytes: what is held at a time.
  public var largestChunk: Int { contents.withLock { $0.largestChunk } }

  /// Waits until there were so many requests to GraphQL.
  public func requests(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = contents.withLock { contents in
        if contents.count < count { contents.waiting.append((count, continuation)) }
        return contents.count >= count
      }
      if isThere { continuation.resume() }
    }
  }

  /// Forgets everything that was asked; who waits goes on waiting.
  public func clear() {
    contents.withLock { contents in
      let waiting = contents.waiting
      contents = Contents()
      contents.waiting = waiting
    }
  }

  func add(_ entry: Entry) {
    let reached = contents.withLock { contents in
      contents.count += 1
      // Half of them at once, so that the array is not moved for every request.
      if contents.entries.count >= 2 * Self.keptEntries {
        contents.entries.removeFirst(Self.keptEntries)
      }
      contents.entries.append(entry)
      guard !contents.waiting.isEmpty else { return [CheckedContinuation<Void, Never>]() }
      let reached = contents.waiting.filter { $0.count <= contents.count }
      contents.waiting.removeAll { $0.count <= contents.count }
      return reached.map(\.continuation)
    }
    for continuation in reached { continuation.resume() }
  }

  func noteWritten(_ count: Int) {
    contents.withLock { contents in
      contents.bytesWritten += count
      contents.largestChunk = max(contents.largestChunk, count)
    }
  }
}
