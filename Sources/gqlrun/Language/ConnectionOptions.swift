import ArgumentParser
import GQLRunPipeline
import GQLRunPlugins

/// The options of connections, with curl's names. They override the options of the pipeline's plugins.
struct ConnectionOptions: ParsableArguments {
  /// A time limit: a duration as in pipeline files, or a number of seconds.
  struct TimeLimit {
    var duration: Duration

    init(_ text: String) throws {
      let isNumber = text.allSatisfy { $0.isNumber || $0 == "." }
      do {
        duration = try Duration(optionText: isNumber ? text + "s" : text)
      } catch {
        throw ValidationError("\(error)")
      }
      guard (.milliseconds(1) ... .seconds(86_400)).contains(duration) else {
        throw ValidationError("write a duration from 1ms to 24h")
      }
    }
  }

  @Option(
    name: [.customShort("m"), .long, .customLong("max-time")],
    help: ArgumentHelp(
      "Time limit of the operation with its retries, or until a subscription is connected, such as 30s "
        + "or 2m; a number is seconds.",
      valueName: "duration"), transform: TimeLimit.init)
  var timeout: TimeLimit?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Certificates of trusted authorities (PEM), instead of the system's.", valueName: "file"))
  var cacert: String?

  @Option(
    name: [.customShort("E"), .long],
    help: ArgumentHelp(
      "Certificate of this client (PEM), with its key or with --key.", valueName: "file"))
  var cert: String?

  @Option(
    name: .long, help: ArgumentHelp("Key of the client certificate (PEM).", valueName: "file"))
  var key: String?

  @Flag(
    name: [.customShort("k"), .long],
    help: "Accept any certificate of the server; anyone on the network can then read the request.")
  var insecure = false

  @Option(
    name: [.customShort("x"), .long],
    help: ArgumentHelp(
      "Proxy, as http://host:port or socks5h://host:port; an empty text uses none.",
      valueName: "URL"))
  var proxy: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Connect to this Unix domain socket instead of the endpoint's host.", valueName: "path"))
  var unixSocket: String?

  func validate() throws {
    guard key == nil || cert != nil else {
      throw ValidationError("--key needs --cert, the certificate that the key belongs to")
    }
  }

  /// Changes the plugins of a pipeline.
  ///
  /// - Throws: ``Failure`` if a file cannot be read or a value is invalid.
  func apply(to pipeline: inout Pipeline) throws {
    for (path, what) in [
      (cacert, "the certificates of --cacert"), (cert, "the certificate of --cert"),
      (key, "the key of --key"),
    ] {
      if let path { _ = try InputReader(path, what) }
    }
    do throws(OptionError) {
      try pipeline.configure(FetchPlugin.self, change)
      guard let timeout else { return }
      let limits = try pipeline.configure(TimeoutPlugin.self) { $0.total = timeout.duration }
      guard limits == 0 else { return }
      var plugin = TimeoutPlugin()
      plugin.total = timeout.duration
      pipeline.entries.insert(try PipelineEntry(id: "--timeout", plugin), at: 0)
    } catch {
      throw Failure(.usage, message(of: error))
    }
  }

  private func change(_ fetch: inout FetchPlugin) {
    if let timeout {
      fetch.timeout = max(fetch.timeout, timeout.duration)
      // The plugin `timeout` ends the operation; the limits of an exchange may not be shorter.
      fetch.idleTimeout = max(fetch.idleTimeout, timeout.duration)
    }
    if let cacert { fetch.tls.caFile = OptionPath(cacert) }
    if let cert {
      fetch.tls.clientCertificate = OptionPath(cert)
      // As for curl, one file may have both.
      fetch.tls.clientKey = OptionPath(key ?? cert)
    }
    if insecure { fetch.tls.insecure = true }
    if let proxy { fetch.proxy = proxy.isEmpty ? "none" : proxy }
    if let unixSocket { fetch.unixSocket = OptionPath(unixSocket) }
  }

  private func message(of error: OptionError) -> String {
    let option = ["proxy": "--proxy", "timeout": "--timeout", "total": "--timeout"][error.option]
    return (option.map { "\($0): " } ?? "") + error.message
      + (error.remedy.map { "; \($0)" } ?? "")
  }
}
