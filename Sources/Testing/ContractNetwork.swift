import Foundation
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging
import Synchronization

/// A server in this process with the same answer to every request.
actor ContractNetwork: HTTPTransport {
  enum Answer: Sendable {
    /// Data, in five chunks.
    case answer
    case graphQLError
    /// Three events of a subscription, each in a chunk of its own.
    case events
    case failure(ChainError)
    /// Nothing, until the task is cancelled.
    case noAnswer
  }

  static let failure = ChainError(
    .transport, code: ChainError.Code(rawValue: "contract_failure"),
    message: "the server of the contract failed",
    delivery: .answered)

  /// The values in the events.
  static let events = ["first", "second", "third"]

  private let answer: Answer
  /// The chunks of all responses.
  let pullCount = PullCount()
  private(set) var requestCount = 0
  private(set) var wasCancelled = false
  private let isReleased = Monitor(false)
  /// Whether a request has arrived; `nil` while its caller runs.
  private let hasArrived = Monitor(Bool?.none)

  init(_ answer: Answer) {
    self.answer = answer
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    requestCount += 1
    hasArrived.update { $0 = true }
    switch answer {
    case .answer:
      return response([#"{"da"#, #"ta":{"#, #""contract":"#, #""kept""#, "}}"])
    case .graphQLError:
      return response([
        #"{"data":null,"errors":[{"message":"no","extensions":{"code":"CONTRACT"}}]}"#
      ])
    case .events:
      return response(
        Self.events.map { "event: next\ndata: {\"data\":{\"contract\":\"\($0)\"}}\n\n" }
          + ["event: complete\ndata:\n\n"], type: "text/event-stream")
    case .failure(let error): throw error
    case .noAnswer:
      try? await isReleased.wait { $0 }
      wasCancelled = Task.isCancelled
      throw CancellationError()
    }
  }

  /// Ends the request that has no answer.
  nonisolated func release() { isReleased.update { $0 = true } }

  /// Suspends until a request arrives, or until `caller` ends without one.
  nonisolated func waitForRequest(
    orEndOf caller: Task<[GraphQLResponse], any Error>
  ) async throws -> Bool {
    Task {
      _ = await caller.result
      hasArrived.update { $0 = $0 ?? false }
    }
    return try await hasArrived.take { $0 }
  }

  private func response(
    _ texts: [String], type: String = "application/json"
  ) -> HTTPResponseMessage {
    let (all, own) = (pullCount, PullCount())
    let chunks = texts.map { Array($0.utf8) }
    return HTTPResponseMessage(
      head: HTTPResponse(status: .ok, headerFields: [.contentType: type]),
      body: HTTPBody {
        _ = all.next()
        let index = own.next()
        return chunks.indices.contains(index) ? chunks[index] : nil
      })
  }
}

/// Counts the chunks that were read.
final class PullCount: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .acquiring) }

  /// The index of the next chunk.
  func next() -> Int { count.add(1, ordering: .acquiringAndReleasing).oldValue }
}

/// A GraphQL interceptor that answers with three results and calls no other.
actor ResultSource: GraphQLInterceptor {
  private(set) var count = 0

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    ResponseStream(pull: { await self.next() })
  }

  private func next() -> GraphQLResponse? {
    guard count < 3 else { return nil }
    count += 1
    return GraphQLResponse(source: .server, data: [UInt8](#"{"contract":"kept"}"#.utf8))
  }
}

/// An HTTP interceptor above the plugin that notes how much of the body has been read by then.
actor ChunkProbe: HTTPInterceptor {
  private(set) var pulls: (atHead: Int, atFirstChunk: Int)?

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request)
    guard let count = (context.services.transport as? ContractNetwork)?.pullCount else {
      return response
    }
    let atHead = count.value
    return response.mapChunks { chunk in
      await self.note(atHead, count.value)
      return chunk
    }
  }

  private func note(_ atHead: Int, _ atChunk: Int) {
    if pulls == nil { pulls = (atHead, atChunk) }
  }
}

/// Collects all log messages.
final class ContractLog: Sendable {
  private let lines = Locked<[String]>([])

  var text: String { lines.withLock { $0.joined(separator: "\n") } }

  var logger: Logger {
    var logger = Logger(label: "contract") { _ in Handler(log: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let log: ContractLog
    var logLevel = Logger.Level.trace
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
      log.lines.withLock { $0.append("\(event.message) \(metadata)") }
    }
  }
}

/// A folder with files, created on first use and removed with the contract.
final class ContractFolder: Sendable {
  let path =
    FileManager.default.temporaryDirectory.path + "/gqlrun-contract-\(UUID().uuidString)"

  func prepare(_ files: [String: String]) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, text) in files {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
