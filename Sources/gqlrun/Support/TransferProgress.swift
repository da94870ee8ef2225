import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// The line about a transfer that takes longer than a second.
struct TransferProgress {
  /// The number of bytes of files to send.
  private let uploaded: Int
  private var start: (received: Int, sent: Int, time: Duration)?

  /// - Parameter count: The number of bytes of files to send.
  init(uploading count: Int = 0) { uploaded = count }

  /// The line to show.
  ///
  /// - Parameters:
  ///   - received: The number of bytes received so far.
  ///   - sent: The number of bytes sent so far.
  ///   - now: The time, from any origin.
  /// - Returns: The bytes and their rate; `nil` within the first second after the first bytes. Of an
  ///   upload, what was sent until all of it was.
  mutating func line(received: Int, sent: Int = 0, now: Duration) -> String? {
    guard received > 0 || uploaded > 0 && sent > 0 else { return nil }
    guard let start else {
      start = (received, sent, now)
      return nil
    }
    let time = now - start.time
    guard time >= .seconds(1) else { return nil }
    if sent < uploaded {
      let rate = Quantity.rate(bytes: sent - start.sent, seconds: time.seconds)
      return "sent \(Quantity.size(sent)) of \(Quantity.size(uploaded)), \(rate)"
    }
    let rate = Quantity.rate(bytes: received - start.received, seconds: time.seconds)
    return "received \(Quantity.size(received)), \(rate)"
  }

  /// Shows the progress on standard error until the task is cancelled.
  ///
  /// - Parameters:
  ///   - count: The number of bytes of files to send.
  ///   - meter: Counts the bytes.
  static func show(uploading count: Int, _ meter: ConnectionMeter) async {
    var progress = TransferProgress(uploading: count)
    let start = ContinuousClock.now
    await Terminal.showStatus(every: .milliseconds(250)) {
      progress.line(
        received: meter.receivedBytes, sent: meter.sentBytes, now: ContinuousClock.now - start)
    }
  }
}

/// Shows connections, requests and responses, like curl's `-v`, and keeps the last head for `--include`.
final class NetworkTrace: Sendable {
  private struct State {
    /// The version of HTTP of the last connection.
    var version = "HTTP/1.1"
    var head: HTTPResponse?
    /// The secrets of the last request, which a server may repeat.
    var secrets: [SecretString] = []
  }

  private let state = Locked(State())
  private let secrets: KnownSecrets
  private let detail: Detail
  /// Whether the server's certificate is verified.
  private let verifies: Bool

  /// Which events are printed.
  enum Detail: Comparable {
    case nothing, sockets, connections, everything
  }

  /// Whether events are printed.
  var isPrinting: Bool { detail > .nothing }

  /// - Parameters:
  ///   - secrets: The secrets to hide; shared with the services of the run.
  ///   - detail: The events that are printed on standard error.
  init(_ secrets: KnownSecrets, showing detail: Detail, verifies: Bool) {
    self.secrets = secrets
    self.detail = detail
    self.verifies = verifies
  }

  func note(_ event: NetworkEvent) {
    switch event {
    case .connected(let connection):
      state.withLock { $0.version = connection.http }
      print(facts(of: connection), "*", from: .connections)
    case .sent(let request):
      let (hiding, version) = state.withLock { state in
        state.secrets = request.headerFields.secrets
        return (secrets.hiding(with: state.secrets), state.version)
      }
      // A proxy that forwards gets the whole URL.
      var path = request.path ?? "/"
      if path.hasPrefix("/http://") { path.removeFirst() }
      let isLong = path.contains("?")
      path = hiding.text(String(path.prefix { $0 != "?" })) + (isLong ? "?…" : "")
      print(
        ["\(request.method.rawValue) \(path) \(version)"]
          + lines(of: request.headerFields, hiding) + [""], ">")
    case .received(let response, let version):
      let hiding = state.withLock { state in
        state.head = response
        state.version = version
        return secrets.hiding(with: state.secrets)
      }
      print([status(of: response, version)] + lines(of: response.headerFields, hiding) + [""], "<")
    case .socketOpened(let origin):
      print(["WebSocket connection to \(origin): open"], "*", from: .sockets)
    case .socketClosed(let origin, let reason):
      print(["WebSocket connection to \(origin): \(hidden(reason))"], "*", from: .sockets)
    case .eventStreamOpened(let origin):
      print(["event stream from \(origin): open"], "*", from: .sockets)
    case .eventStreamClosed(let origin, let reason):
      print(["event stream from \(origin): \(hidden(reason))"], "*", from: .sockets)
    }
  }

  private func hidden(_ reason: String) -> String {
    state.withLock { secrets.hiding(with: $0.secrets) }.text(reason)
  }

  /// Status line and header fields, with secrets hidden, each ended by CRLF, as `curl -i` prints them.
  ///
  /// - Parameter response: The head; `nil`, the default, is the last one that arrived.
  /// - Returns: The text, which ends with an empty line; `nil` if there is no head.
  func head(of response: HTTPResponse? = nil) -> String? {
    let (last, version, hiding) = state.withLock { state in
      (state.head, state.version, secrets.hiding(with: state.secrets))
    }
    guard let head = response ?? last else { return nil }
    return ([status(of: head, version)] + lines(of: head.headerFields, hiding) + [""])
      .map { Terminal.safe($0) + "\r\n" }.joined()
  }

  private func status(of response: HTTPResponse, _ version: String) -> String {
    let reason = version == "HTTP/2" ? "" : response.status.reasonPhrase
    return "\(version) \(response.status.code)" + (reason.isEmpty ? "" : " \(reason)")
  }

  private func lines(of fields: HTTPFields, _ hiding: SecretHiding) -> [String] {
    fields.map { "\($0.name.rawName): \(hiding.value($0.value, ofField: $0.name.rawName))" }
  }

  private func facts(of connection: NetworkConnection) -> [String] {
    var lines = ["Connected to \(connection.peer ?? "the server"), \(connection.http)"]
    if let tls = connection.tls {
      var line = "\(tls), the server's certificate is \(verifies ? "" : "not ")verified"
      if let end = connection.certificateEnd {
        let day = Date(timeIntervalSince1970: end).formatted(.iso8601.year().month().day())
        line += ", valid until \(day)"
      }
      lines.append(line)
    }
    return lines
  }

  private func print(_ lines: [String], _ sign: String, from least: Detail = .everything) {
    guard detail >= least else { return }
    Terminal.note(
      Terminal.styled(
        lines.map { Terminal.safe($0.isEmpty ? sign : "\(sign) \($0)") }.joined(separator: "\n"),
        .dim)
    )
  }
}
