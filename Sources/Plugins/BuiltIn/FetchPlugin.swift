import GraphQL
import Logging
public import Pipeline

/// Sends requests over the network.
public struct FetchPlugin: Plugin {
  public static let description = PluginDescription(
    name: "fetch",
    summary: "Sends the request over the network and hands the response on as it arrives",
    kind: .step, stages: [.http], roles: [.fetch],
    options: [
      OptionDescription(
        "timeout", .duration(in: .milliseconds(1)...(.seconds(86_400))), default: "5m",
        "The longest time from sending the request to the last byte of the body"),
      OptionDescription(
        "connect_timeout", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "10s",
        "The longest time until a connection stands"),
      OptionDescription(
        "idle_timeout", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "30s",
        "The longest silence of the server"),
      OptionDescription(
        "max_body", .size(in: ByteSize(bytes: 1)...ByteSize(bytes: 1 << 50)), default: "1GiB",
        "The largest body, after decompression"),
      OptionDescription(
        "max_ratio", .int(in: 1...1_000_000),
        "How many times larger a body may become by decompression; any number when not given"),
      OptionDescription(
        "max_headers", .size(in: ByteSize(bytes: 256)...ByteSize(bytes: 2 << 20)),
        default: "64KiB", "The largest header of a response, in all its fields"),
      OptionDescription(
        "min_throughput", .size(in: ByteSize(bytes: 0)...ByteSize(bytes: 1 << 40)),
        default: "0B",
        "The fewest bytes per second of a body that takes longer than idle_timeout; 0B takes any"),
    ],
    examples: ["fetch", "fetch: { timeout: 30s, max_body: 8GiB }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    var limits = HTTPLimits()
    limits.total = options.duration("timeout")
    limits.connect = options.duration("connect_timeout")
    limits.idle = options.duration("idle_timeout")
    limits.bodyBytes = options.size("max_body")
    limits.decompressionRatio = options.int(ifGiven: "max_ratio")
    limits.headerBytes = options.size("max_headers")
    limits.minimumThroughput = options.size("min_throughput")
    return .fetch(FetchInterceptor(limits: limits))
  }
}

private struct FetchInterceptor: HTTPInterceptor {
  let limits: HTTPLimits

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    guard let transport = context.services.transport else {
      throw ChainError(
        .transport, .connectionFailed, "there is no network here to send requests over",
        place: context.entryID, delivery: .notSent)
    }
    do {
      return try await transport.send(request, limits: limits)
    } catch let error as ChainError
      where error.cause is KeptConnectionClosed && context.operationType == .query
    {
      // Once, and only what does no harm twice. A mutation may have been carried out.
      context.services.logger.debug("\(context.operationLabel): sent again, \(error)")
      return try await transport.send(request, limits: limits)
    }
  }
}
