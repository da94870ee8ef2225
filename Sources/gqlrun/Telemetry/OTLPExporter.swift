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
    /// The collector has it, without as many spans or values.
    case accepted(without: Int = 0)
    /// A later request may succeed.
    case postponed(String)
    /// The same request would fail again.
    case refused(String)
  }

  let target: TelemetrySettings.Target
  let transport: any HTTPTransport

  /// The most bytes of a response that are read.
  private static let maxAnswer = 16 << 10

  func send(_ body: [UInt8]) async -> Outcome {
    var head = HTTPRequest(
      method: .post, scheme: target.url.scheme, authority: target.url.authority,
      path: target.url.path, headerFields: [.contentType: "application/json"])
    for (name, value) in target.headers {
      if let name = HTTPField.Name(name) { head.headerFields[name] = value }
    }
    var limits = HTTPLimits()
    limits.total = target.timeout
    limits.connect = min(limits.connect, target.timeout)
    limits.idle = target.timeout
    do {
      let response = try await transport.send(
        HTTPRequestMessage(head: head, body: body), limits: limits)
      let answer = try await response.body.prefix(Self.maxAnswer)
      switch response.head.status.code {
      case 200..<300: return .accepted(without: Self.rejected(in: answer))
      case 429, 502, 503, 504: return .postponed("it answered \(response.head.status.code)")
      default: return .refused("it answered \(response.head.status.code)")
      }
    } catch let error as ChainError {
      return .postponed(error.message)
    } catch {
      return .postponed("\(error)")
    }
  }

  /// The number of spans or values that the collector did not accept.
  private static func rejected(in answer: [UInt8]) -> Int {
    guard let partial = try? JSONValue(parsing: answer)["partialSuccess"] else { return 0 }
    for name in ["rejectedSpans", "rejectedDataPoints"] {
      // A 64-bit integer is a string in OTLP; numbers are accepted, too.
      guard let value = partial[name] else { continue }
      return max(0, value.stringValue.flatMap { Int($0) } ?? value.intValue ?? 0)
    }
    return 0
  }
}
