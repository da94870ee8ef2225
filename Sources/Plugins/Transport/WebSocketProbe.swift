import Foundation
package import GQLRunPipeline
package import HTTPTypes
import NIOCore
import NIOPosix

/// Asks a server by a handshake whether it speaks WebSocket, without using the connection.
///
/// https://www.rfc-editor.org/rfc/rfc6455#section-4.1
package enum WebSocketProbe {
  /// The answer to a handshake.
  package struct Answer: Sendable, Equatable {
    /// The HTTP status; 101 accepts.
    package var status: Int
    /// The subprotocol that the server chose; `nil` for none.
    package var subprotocol: String?
    /// Whether the server asks for a pause because of its load, or the number of requests.
    package var isLimited = false
  }

  /// The most bytes of an answer that are read.
  private static let maxBytes = 16 << 10

  /// The answer of a server; `nil` if there is none within the limits, or none of HTTP.
  ///
  /// - Parameters:
  ///   - head: URL and header fields.
  ///   - subprotocols: The subprotocols to offer, the preferred one first.
  ///   - limits: The limits of time, and the settings of the connection.
  package static func answer(
    to head: HTTPRequest, offering subprotocols: [String], limits: HTTPLimits
  ) async throws -> Answer? {
    let request = text(of: head, subprotocols)
    return try await withThrowingTaskGroup(of: Answer?.self) { group in
      group.addTask {
        let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
          channel = try await connect(to: head, limits: limits)
        } catch {
          try Task.checkCancellation()
          return nil
        }
        return try await answer(on: channel, to: request)
      }
      group.addTask {
        try await ServiceClock(ContinuousClock()).sleep(for: limits.total)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }

  /// Connects as a WebSocket connection does, so that credentials reach the same server as other requests.
  private static func connect(
    to head: HTTPRequest, limits: HTTPLimits
  ) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
    var head = head
    head.scheme = head.scheme == "https" ? "wss" : "ws"
    let request = HTTPRequestMessage(head: head)
    let failures = TransportFailures(
      request: request, limits: limits, route: ConnectionRoute(head, limits.connection))
    let opening = SocketOpening(
      request: request, limits: limits, failures: failures, userAgent: "", meter: nil,
      observer: nil)
    return try await opening.connect(on: MultiThreadedEventLoopGroup.singleton.next()) { channel in
      // Also ends a connection whose proxy or server does not answer.
      let timeout = channel.eventLoop.scheduleTask(in: .nanoseconds(limits.total.nanoseconds)) {
        channel.close(promise: nil)
      }
      channel.closeFuture.whenComplete { _ in timeout.cancel() }
    }.flatMapThrowing { channel in
      try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
    }.get()
  }

  private static func answer(
    on channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>, to request: String
  ) async throws -> Answer? {
    do {
      return try await channel.executeThenClose { inbound, outbound in
        try await outbound.write(ByteBuffer(string: request))
        var text = ""
        for try await piece in inbound {
          text += String(buffer: piece)
          if text.contains("\r\n\r\n") || text.utf8.count > maxBytes { break }
        }
        return parsed(text)
      }
    } catch {
      try Task.checkCancellation()
      return nil
    }
  }

  private static func text(of head: HTTPRequest, _ subprotocols: [String]) -> String {
    let key = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    let fields = head.headerFields.map { "\($0.name.rawName): \($0.value)" }
    let lines =
      [
        "GET \(head.path ?? "/") HTTP/1.1", "Host: \(head.authority ?? "")", "Connection: Upgrade",
        "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(key)",
        "Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))",
      ] + fields
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  static func parsed(_ text: String) -> Answer? {
    let lines = text.components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      return nil
    }
    let prefix = "sec-websocket-protocol:"
    let field = lines.first { $0.lowercased().hasPrefix(prefix) }
    return Answer(
      status: status,
      subprotocol: field.map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) },
      isLimited: status == 429
        || status == 503 && lines.contains { $0.lowercased().hasPrefix("retry-after:") })
  }
}
