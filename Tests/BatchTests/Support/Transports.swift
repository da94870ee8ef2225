import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes

@testable import GQLRunBatch

/// The network, until so many requests were sent; then the run is stopped.
final class CountingTransport: HTTPTransport {
  private let network: AsyncHTTPTransport
  private let count = Locked(0)
  private let stopAt: Int
  private let control: RunControl

  init(_ network: AsyncHTTPTransport, stopAt: Int, _ control: RunControl) {
    self.network = network
    self.stopAt = stopAt
    self.control = control
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    if count.increment() == stopAt { await control.stop() }
    return try await network.send(request, limits: limits)
  }
}

/// The network; does something once, before the first request.
struct BreakingTransport: HTTPTransport {
  private let network: AsyncHTTPTransport
  private let once: Once

  init(_ network: AsyncHTTPTransport, _ action: @escaping @Sendable () throws -> Void) {
    self.network = network
    once = Once(action)
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    try await once.run()
    return try await network.send(request, limits: limits)
  }

  private actor Once {
    private var action: (@Sendable () throws -> Void)?

    init(_ action: @escaping @Sendable () throws -> Void) { self.action = action }

    func run() throws {
      let action = action
      self.action = nil
      try action?()
    }
  }
}

/// The open files of this process.
enum Descriptors {
  /// The number of descriptors with which this process has a file open.
  static func count(of path: String) throws -> Int {
    let files = FileManager.default
    let name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    return try files.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
      (try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == name
    }
  }

  /// Makes every descriptor of a file whose path begins with `prefix` one of another file.
  static func redirect(from prefix: String, to path: String) throws {
    let target = open(path, O_RDWR)
    defer { close(target) }
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let number = Int32(name),
        let file = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(name)"), file.hasPrefix(prefix)
      else { continue }
      dup2(target, number)
    }
  }
}

/// Answers what a test says.
final class ScriptedTransport: HTTPTransport {
  private let answer: @Sendable (String, Int) async throws -> HTTPResponseMessage
  private let counter = Locked(0)

  /// - Parameter answer: The answer to the request with this number, counted from 1.
  init(_ answer: @escaping @Sendable (Int) async throws -> HTTPResponseMessage) {
    self.answer = { try await answer($1) }
  }

  /// - Parameter answer: The answer to the request with this body and number. Requests that are sent at the same
  ///   time have no fixed order, so an answer that belongs to a row is chosen by the body.
  init(_ answer: @escaping @Sendable (String, Int) async throws -> HTTPResponseMessage) {
    self.answer = answer
  }

  /// How many requests there were.
  var count: Int { counter.withLock { $0 } }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    try await answer(String(decoding: request.body ?? [], as: UTF8.self), counter.increment())
  }
}

extension HTTPResponseMessage {
  /// A response; by default with the data of a user.
  static func response(
    _ status: Int = 200, _ body: String = #"{"data":{"user":{"id":"1","login":"a"}}}"#,
    headers: [String: String] = [:]
  ) -> HTTPResponseMessage {
    var fields = HTTPFields()
    fields[.contentType] = "application/json"
    for (name, value) in headers {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    return HTTPResponseMessage(
      head: HTTPResponse(status: .init(code: status), headerFields: fields),
      body: HTTPBody([Array(body.utf8)]))
  }

  /// A response with `data`, given as JSON.
  static func data(_ data: String) -> HTTPResponseMessage { response(200, #"{"data":\#(data)}"#) }

  /// A response with a page of a connection at the root.
  ///
  /// - Parameter nodes: The nodes of the page, as JSON.
  static func page(
    of connection: String, _ nodes: String, hasNextPage: Bool, endCursor: String
  ) -> HTTPResponseMessage {
    .data(
      #"{"\#(connection)":{"nodes":[\#(nodes)],"pageInfo":{"hasNextPage":\#(hasNextPage),"endCursor":"\#(endCursor)"}}}"#
    )
  }

  /// A response without data whose only error has this message.
  static func errors(_ message: String) -> HTTPResponseMessage {
    response(200, #"{"errors":[{"message":"\#(message)"}]}"#)
  }
}

extension ChainError {
  /// The server did not accept the connection.
  static let refusedConnection = ChainError(
    .transport, code: .connectionFailed, message: "refused", delivery: .notSent)
  /// The connection was closed after the request was sent.
  static let lostConnection = ChainError(
    .transport, code: .connectionClosed, message: "closed", delivery: .unknown)
}

/// Keeps the bodies of requests with files.
actor UploadTransport: HTTPTransport {
  private(set) var bodies: [String] = []

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    var bytes: [UInt8] = []
    if let reader = request.multipart?.makeReader() {
      while let chunk = try reader.next() { bytes += chunk }
    }
    bodies.append(String(decoding: bytes, as: UTF8.self))
    return .response()
  }
}
