import ArgumentParser
import Foundation
import GQLRunSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Metrics in the text format of Prometheus, over HTTP and in a file.
struct MetricsOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Serve metrics for Prometheus at /metrics on this port; 0 selects a free one.",
      valueName: "port"))
  var metricsPort: Int?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --metrics-port: address to listen on; default: 127.0.0.1.", valueName: "host"))
  var metricsHost: String?

  @Option(
    name: .long,
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
    if let metricsPort, !(0...65_535).contains(metricsPort) {
      throw ValidationError("--metrics-port \(metricsPort) is not a port; use 0 to 65535")
    }
    if metricsHost != nil, metricsPort == nil {
      throw ValidationError("--metrics-host needs a port: --metrics-port 9464")
    }
  }
}

/// Serves the metrics until its task is cancelled.
struct MetricsEndpoint: Sendable {
  let address: TelemetrySettings.Address
  let registry: MetricsRegistry

  /// - Parameter onReady: Called with the port once it listens.
  /// - Throws: ``Failure`` if it cannot listen.
  func run(onReady: @escaping @Sendable (Int) -> Void) async throws {
    let router = Router()
    router.get("metrics") { [registry] _, _ in
      Response(
        status: .ok,
        headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: await registry.prometheusText())))
    }
    let application = Application(
      router: router,
      configuration: ApplicationConfiguration(
        address: .hostname(address.host, port: address.port), serverName: "gqlrun"),
      onServerRunning: { onReady($0.localAddress?.port ?? 0) },
      logger: Logger(label: "gqlrun.metrics") { _ in SwiftLogNoOpLogHandler() })
    do {
      try await application.run()
    } catch {
      if Task.isCancelled { return }
      let isInUse = "\(error)".contains("Address already in use")
      throw Failure(
        .failed,
        isInUse
          ? "port \(address.port) is in use already; choose another with --metrics-port N, or a free one with "
            + "--metrics-port 0"
          : "cannot serve metrics on \(address.host):\(address.port): \(error)")
    }
  }
}
