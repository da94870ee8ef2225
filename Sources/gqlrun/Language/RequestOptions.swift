import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// The options for header fields, credentials and connections of requests: the same for every command that
/// sends some.
struct RequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "Header field of the request; @FILE reads one per line, @- from standard input. May be repeated.",
      valueName: "Name: value"))
  var header: [String] = []

  @Option(
    help: ArgumentHelp(
      "Environment variable with a token, which is sent as Authorization: Bearer. Without "
        + "a pipeline file it is GQL_TOKEN.", valueName: "name"))
  var tokenEnv: String?

  @Flag(
    name: .shortAndLong,
    help: "Send the user name and password that ~/.netrc, or the file in NETRC, has for the host.")
  var netrc = false

  // The options of connections have curl's names.

  @Option(
    name: [.customShort("m"), .long, .customLong("max-time")],
    help: ArgumentHelp(
      "Time limit of the operation with its retries, or until a subscription is connected, such as 30s "
        + "or 2m; a number is seconds.",
      valueName: "duration"), transform: TimeLimit.init)
  var timeout: TimeLimit?

  @Option(
    help: ArgumentHelp(
      "Certificates of trusted authorities (PEM), instead of the system's.", valueName: "file"))
  var cacert: String?

  @Option(
    name: [.customShort("E"), .long],
    help: ArgumentHelp(
      "Certificate of this client (PEM), with its key or with --key.", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("Key of the client certificate (PEM).", valueName: "file"))
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
    help: ArgumentHelp(
      "Connect to this Unix domain socket instead of the endpoint's host.", valueName: "path"))
  var unixSocket: String?

  func validate() throws {
    guard key == nil || cert != nil else {
      throw ValidationError("--key needs --cert, the certificate that the key belongs to")
    }
  }

  /// Adds header fields and credentials to the endpoint of a pipeline, and changes its plugins.
  ///
  /// - Parameters:
  ///   - fields: The header fields of the options, which are read before the pipeline file.
  ///   - pipeline: The pipeline.
  ///   - isDefault: Whether the pipeline is the default one, which sends the token in GQL_TOKEN.
  ///   - isQuiet: Whether to suppress warnings.
  func apply(
    _ fields: HTTPFields, to pipeline: inout Pipeline, isDefault: Bool, isQuiet: Bool = false
  ) throws {
    pipeline.endpoint?.headers.merge(fields)
    try addCredentials(
      to: &pipeline, isDefault: isDefault, isGiven: fields.contains(.authorization),
      PipelineFileEnvironment.process.variable, isQuiet: isQuiet)
    try changePlugins(of: &pipeline)
  }

  /// Whether header fields are read from standard input.
  var readsStandardInput: Bool { header.contains("@-") }

  /// A note for a server that refuses the credentials, if the pipeline does not send those in GQL_TOKEN.
  ///
  /// - Parameters:
  ///   - pipeline: The pipeline.
  ///   - file: The name of its file; `nil` for the default pipeline, which sends them.
  static func unsentToken(of pipeline: Pipeline, file: String?) -> String? {
    guard let file, pipeline.endpoint?.headers[.authorization] == nil,
      EnvironmentVariables.value(of: "GQL_TOKEN")?.isEmpty == false,
      !pipeline.files.contains(where: {
        String(decoding: $0.bytes, as: UTF8.self).contains("GQL_TOKEN")
      }),
      !pipeline.entries.contains(where: { $0.plugin is TokenRefreshPlugin })
    else { return nil }
    return "\(file) does not send the token in GQL_TOKEN; --token-env GQL_TOKEN does"
  }

  // MARK: Header fields

  /// The header fields of the options.
  func fields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      if text.hasPrefix("@") {
        let lines = try Self.lines(ofFile: String(text.dropFirst()))
        guard lines.count <= HTTPFields.maxCount else { throw Self.tooManyFields }
        for line in lines {
          fields.append(try Self.field(line, "--header \(text)"))
        }
      } else {
        fields.append(try Self.field(text, "--header"))
      }
      guard fields.count <= HTTPFields.maxCount else { throw Self.tooManyFields }
    }
    return fields
  }

  /// The options with the header fields that files and standard input have, to be read once.
  func withFields() throws -> Self {
    var options = self
    options.header = try header.flatMap {
      $0.hasPrefix("@") ? try Self.lines(ofFile: String($0.dropFirst())) : [$0]
    }
    return options
  }

  private static let tooManyFields = Failure(
    .usage, "--header gives more than \(HTTPFields.maxCount) header fields; leave some out")

  private static func lines(ofFile path: String) throws -> [String] {
    String(decoding: try Input.bytes(path, "the header fields"), as: UTF8.self)
      .split(whereSeparator: \.isNewline).map(String.init)
      .filter { !$0.allSatisfy(\.isWhitespace) }
  }

  private static func field(_ text: String, _ option: String) throws -> HTTPField {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
      HTTPField.isValidValue(value)
    else {
      // The value may be a secret, so it is not repeated; without a colon, neither is the rest.
      let name = parts.count == 2 ? " \(parts[0])" : ""
      throw Failure(.usage, "cannot read \(option)\(name): write --header 'Name: value'")
    }
    guard !name.isOfBody else {
      throw Failure(.usage, "\(option) \(name) follows from the body that is sent; leave it out")
    }
    return HTTPField(name: name, value: value)
  }

  // MARK: Credentials

  /// Adds the credentials of the options and the environment, unless a header field has them.
  private func addCredentials(
    to pipeline: inout Pipeline, isDefault: Bool, isGiven: Bool, _ variable: (String) -> String?,
    isQuiet: Bool
  ) throws {
    if let tokenEnv {
      guard !isGiven else {
        throw Failure(
          .usage, "--token-env and --header both give the field Authorization; leave one out")
      }
      guard let token = variable(tokenEnv), !token.isEmpty else {
        throw Failure(
          .authentication, "the variable \(tokenEnv), which --token-env names, is not set; set it")
      }
      pipeline.endpoint?.headers[.authorization] = try Self.bearer(token, tokenEnv)
      _ = try? pipeline.configure(TokenRefreshPlugin.self) { $0.takeToken(fromVariable: tokenEnv) }
      return
    }
    guard !isGiven else { return }
    if netrc, let host = pipeline.endpoint?.authority {
      let path = try Netrc.path(variable)
      if let entry = try Netrc(path: path).entry(for: EndpointArguments.host(of: host)) {
        let pair = Data("\(entry.login):\(entry.password)".utf8).base64EncodedString()
        pipeline.endpoint?.headers[.authorization] = "Basic \(pair)"
        return
      }
      if !isQuiet {
        Terminal.warning(
          "\(path) has no password for \(EndpointArguments.host(of: host)): none is sent")
      }
    }
    guard isDefault, pipeline.endpoint?.headers[.authorization] == nil,
      let token = variable("GQL_TOKEN"), !token.isEmpty
    else { return }
    pipeline.endpoint?.headers[.authorization] = try Self.bearer(token, "GQL_TOKEN")
  }

  private static func bearer(_ token: String, _ name: String) throws -> String {
    guard HTTPField.isValidValue(token) else {
      throw Failure(
        .authentication,
        "the variable \(name) has characters that HTTP forbids in a token, such as line ends")
    }
    return "Bearer \(token)"
  }

  // MARK: Connections

  /// Overrides the options of the plugins of a pipeline.
  ///
  /// - Throws: ``Failure`` if a file cannot be read or a value is invalid.
  private func changePlugins(of pipeline: inout Pipeline) throws {
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
    let option = [
      "proxy": "--proxy", "timeout": "--timeout", "total": "--timeout",
      "unix_socket": "--unix-socket",
    ][error.option]
    return (option.map { "\($0): " } ?? "") + error.message
      + (error.remedy.map { "; \($0)" } ?? "")
  }
}

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
