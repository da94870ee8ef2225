import ArgumentParser
import GQLRunDemoServer
import HTTPTypes

/// Metrics in the text format of Prometheus, over HTTP and in a file.
struct MetricsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Serve metrics for Prometheus at /metrics on this port; 0 selects a free one.",
      valueName: "port"))
  var metricsPort: Int?

  @Option(
    help: ArgumentHelp(
      "With --metrics-port: address to listen on; default: 127.0.0.1.", valueName: "host"))
  var metricsHost: String?

  @Option(
    help: ArgumentHelp(
      "Write metrics for the textfile collector of Prometheus, every 15 s and at the end.",
      valueName: "file"))
  var metricsFile: String?

  /// The address of the metrics; `nil` without one.
  var address: TelemetrySettings.Address? {
    metricsPort.map { TelemetrySettings.Address(host: metricsHost ?? "127.0.0.1", port: $0) }
  }

  /// The form of the file that may be replaced.
  static let form = {
    var form = OutputForm("metrics of gqlrun", beginningWith: "#HELP")
    form.remedy = "choose another name, or remove it"
    return form
  }()

  func validate() throws {
    try require("--metrics-port", metricsPort, in: 0...65_535, or: "is not a port")
    if metricsHost != nil, metricsPort == nil {
      throw ValidationError("--metrics-host needs a port: --metrics-port 9464")
    }
  }
}

/// Serves the metrics until its task is cancelled.
struct MetricsEndpoint: Sendable {
  let address: TelemetrySettings.Address
  let registry: MetricsRegistry

  /// - Parameter onReady: Called with the URL of the metrics when the server accepts requests.
  /// - Throws: ``Failure`` if it cannot listen.
  func run(onReady: @escaping @Sendable (String) -> Void) async throws {
    let server = LocalServer { [registry] request in
      guard request.path == "/metrics" else {
        return LocalResponse(.notFound, [:], body: .bytes(Array("See /metrics.\n".utf8)))
      }
      return LocalResponse(
        .ok, [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
        body: .bytes(Array(await registry.prometheusText().utf8)))
    }
    let host = address.host
    do {
      try await server.run(host: host, port: address.port) { port in
        onReady("http://\(host.contains(":") ? "[\(host)]" : host):\(port)/metrics")
      }
    } catch let failure as DemoServer.Failure {
      throw Failure(
        .failed,
        failure.message.contains("Address already in use")
          ? "port \(address.port) is in use already; choose another with --metrics-port N, or a free one with "
            + "--metrics-port 0"
          : "metrics are not served: \(failure.message); use a port above 1023 (--metrics-port) and an address of "
            + "this machine (--metrics-host)")
    }
  }
}
