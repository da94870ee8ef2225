import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// Sends requests to a collector.
///
/// https://opentelemetry.io/docs/specs/otlp/#otlphttp
struct OTLPExporter: Sendable {
  /// What became of a request.
  enum Outcome: Sendable, Equatable {
    case accepted
    /// The collector has it without some spans or values, which it would not accept later either.
    case partly(rejected: Int, String)
    /// A later request may succeed.
    case postponed(String)
    /// The same request would fail again.
    case refused(String)
  }

  let target: TelemetrySettings.Target
  let transport: any HTTPTransport
  /// The longest time to connect. The transport's shutdown waits for the end of an attempt to connect.
  let maxConnect: Duration

  /// The most bytes of a response that are read.
  private static let maxAnswer = 16 << 10
  /// The most characters of a message of the collector that are shown.
  private static let maxMessage = 200

  func send(_ body: [UInt8]) async -> Outcome {
    let url = target.url
    var head = HTTPRequest(
      method: .post, scheme: url.scheme, authority: url.authority, path: url.path,
      headerFields: url.headers)
    head.headerFields[.contentType] = "application/json"
    var limits = HTTPLimits()
    limits.total = target.timeout
    limits.idle = target.timeout
    limits.connect = min(maxConnect, target.timeout)
    do {
      let response = try await transport.send(
        HTTPRequestMessage(head: head, body: body), limits: limits)
      let answer = try await response.body.prefix(Self.maxAnswer)
      switch response.head.status.code {
      case 200..<300: return Self.outcome(answer)
      case 429, 502, 503, 504: return .postponed("it answered \(response.head.status.code)")
      default: return .refused("it answered \(response.head.status.code)")
      }
    } catch let error as ChainError {
      return .postponed(error.message)
    } catch {
      return .postponed("\(error)")
    }
  }

  /// https://opentelemetry.io/docs/specs/otlp/#partial-success-1
  private static func outcome(_ answer: [UInt8]) -> Outcome {
    guard let partial = try? JSONValue(parsing: answer)["partialSuccess"],
      let count = partial["rejectedSpans"] ?? partial["rejectedDataPoints"],
      // A 64-bit integer is a string in OTLP; numbers are accepted, too.
      let rejected = count.stringValue.flatMap({ Int($0) }) ?? count.intValue, rejected > 0
    else { return .accepted }
    let message = partial["errorMessage"]?.stringValue ?? ""
    return .partly(
      rejected: rejected,
      "it rejected \(rejected)"
        + (message.isEmpty ? "" : ": \(Printable.line(String(message.prefix(maxMessage))))"))
  }
}
