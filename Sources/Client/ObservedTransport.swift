import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Tracing

/// A transport that reports each request as a client span and as HTTP client metrics, and
/// propagates the trace context.
///
/// https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client
struct ObservedTransport: HTTPTransport {
  let base: any HTTPTransport
  let telemetry: Telemetry

  var executors: [any TaskExecutor] { base.executors }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let exchange = ExchangeObservation(request, telemetry: telemetry)
    var request = request
    telemetry.tracer.inject(
      exchange.span.context, into: &request.head.headerFields, using: FieldInjector())
    do {
      var response = try await InstrumentationContext.withValue(exchange.span.context) {
        [request] in try await base.send(request, limits: limits)
      }
      exchange.note(response)
      let body = response.body
      response.body = HTTPBody(ready: { body.takeReady() }) {
        do {
          let chunk = try await body.next()
          if chunk == nil { exchange.end() }
          return chunk
        } catch {
          exchange.end(error)
          throw error
        }
      }
      return response
    } catch {
      exchange.end(error)
      throw error
    }
  }
}

/// The span and the metrics of one request.
private final class ExchangeObservation: Sendable {
  private struct State {
    var status: Int?
    var hasEnded = false
  }

  let span: any Span
  private let telemetry: Telemetry
  private let start: Duration
  private let attributes: Telemetry.Attributes
  private let bodySize: Int
  private let state = Locked(State())

  init(_ request: HTTPRequestMessage, telemetry: Telemetry) {
    self.telemetry = telemetry
    start = telemetry.clock.now()
    bodySize = request.bodyCount ?? 0
    let head = request.head
    let (address, port) = Self.server(head)
    // Without the query, which may contain the document, its variables and keys.
    let url = telemetry.secrets.hide(
      in: "\(head.scheme ?? "")://\(head.authority ?? "")\((head.path ?? "/").prefix { $0 != "?" })"
    )
    attributes = [
      ("http.request.method", head.method.rawValue), ("server.address", address),
      ("server.port", String(port)),
    ]
    span = telemetry.tracer.startSpan(head.method.rawValue, ofKind: .client)
    span.attributes["http.request.method"] = head.method.rawValue
    span.attributes["server.address"] = address
    span.attributes["server.port"] = port
    span.attributes["url.full"] = url
    if let count = OperationObservation.current?.resendCount(of: url), count > 0 {
      span.attributes["http.request.resend_count"] = count
    }
  }

  /// The response, or its body, was released.
  deinit { end() }

  /// https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2
  private static func server(_ head: HTTPRequest) -> (address: String, port: Int) {
    let authority = Authority(head.authority ?? "")
    return (
      String(authority.writtenHost), authority.port ?? (head.scheme == "https" ? 443 : 80)
    )
  }

  func note(_ response: HTTPResponseMessage) {
    let status = response.head.status.code
    state.withLock { $0.status = status }
    span.attributes["http.response.status_code"] = status
    if let slash = response.version.firstIndex(of: "/") {
      span.attributes["network.protocol.version"] =
        String(response.version[response.version.index(after: slash)...])
    }
  }

  func end(_ error: (any Error)? = nil) {
    let (isFirst, status) = state.withLock { state in
      defer { state.hasEnded = true }
      return (!state.hasEnded, state.status)
    }
    guard isFirst else { return }
    var attributes = attributes
    if let status { attributes.append(("http.response.status_code", String(status))) }
    let type = error.map(Telemetry.type) ?? status.flatMap { $0 >= 400 ? String($0) : nil }
    if let type {
      attributes.append(("error.type", type))
      span.attributes["error.type"] = type
      span.setStatus(SpanStatus(code: .error))
    }
    telemetry.time(
      "http.client.request.duration", duration: telemetry.clock.now() - start,
      attributes: attributes)
    telemetry.record("http.client.request.body.size", value: bodySize, attributes: attributes)
    span.end()
  }
}

/// Writes the trace context into header fields.
private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
    if let name = HTTPField.Name(key) { fields[name] = value }
  }
}
