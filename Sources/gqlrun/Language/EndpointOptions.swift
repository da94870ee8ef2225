import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// The options that select an endpoint and a pipeline.
struct EndpointOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Endpoint URL; overrides GQL_URL and the pipeline file. Without a scheme it is http:// for "
        + "this machine, else https://.", valueName: "URL"))
  var endpoint: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file, or the name of a ready-made one: \(ReadyMade.names.joined(separator: ", ")).",
      valueName: "file"))
  var pipeline: String?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "Header field of the request; @FILE reads one per line, @- from standard input. May be repeated.",
      valueName: "Name: value"))
  var header: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Environment variable with a token, which is sent as Authorization: Bearer. Without "
        + "--pipeline it is GQL_TOKEN.", valueName: "name"))
  var tokenEnv: String?

  @Flag(
    name: .shortAndLong,
    help: "Send the user name and password that ~/.netrc, or the file in NETRC, has for the host.")
  var netrc = false

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var trust: TrustOptions

  /// Whether neither options nor environment name an endpoint or a pipeline.
  private var isSilent: Bool {
    endpoint == nil && pipeline == nil
      && (PipelineFileEnvironment.process.variable("GQL_URL") ?? "").isEmpty
  }

  /// Loads the pipeline: the named file or the default, with the overrides of the options.
  ///
  /// - Parameters:
  ///   - usesProject: Whether to use the endpoint and header fields of the project file if neither
  ///     options nor environment name an endpoint or a pipeline.
  ///   - fallback: The endpoint if none is named.
  ///   - isQuiet: Whether to suppress warnings about the file.
  ///   - isLook: Whether the pipeline is only inspected. Its programs are then not started, except
  ///     with --allow-exec.
  /// - Throws: ``Failure`` if the file, the endpoint, a header field or a setting is invalid.
  func load(
    usesProject: Bool = false, fallback: String? = nil, isQuiet: Bool = false, isLook: Bool = false
  ) throws -> Pipeline {
    let project = usesProject && isSilent ? try Project.endpoint(isQuiet: isQuiet) : nil
    let fallback = project?.url.value ?? fallback
    let environment = PipelineFileEnvironment.gqlrun(endpoint: endpoint, fallback: fallback)
    let given = environment.variable("GQL_URL") ?? ""
    try checkEndpoint(given, fallback, usesProject)
    let fields = try givenFields()
    let loaded = try read(environment, isLook: isLook)
    if !loaded.warnings.warnings.isEmpty && !isQuiet {
      Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
    }
    var result = loaded.pipeline
    let projectFields = given.isEmpty && fallback != nil ? project?.headers ?? [:] : [:]
    let headers = (result.endpoint?.headers ?? [:]).merging(projectFields).merging(fields)
    if endpoint != nil {
      let subscriptions = result.endpoint?.subscriptions
      result.endpoint = try? Endpoint(
        url: given, headers: headers, method: result.endpoint?.method ?? .post)
      // A URL of the file belongs to another server.
      result.endpoint?.subscriptions = subscriptions.flatMap {
        try? Endpoint.Subscriptions(
          transport: $0.transport, connectionParameters: $0.connectionParameters)
      }
    } else {
      result.endpoint?.headers = headers
    }
    guard result.endpoint != nil else {
      throw Failure(
        .usage,
        "\(pipeline ?? "the pipeline") names no endpoint to send to; name it with --endpoint URL")
    }
    try addCredentials(
      to: &result, isGiven: fields.contains(.authorization), environment.variable, isQuiet: isQuiet)
    try connection.apply(to: &result)
    return result
  }

  private func read(
    _ environment: PipelineFileEnvironment, isLook: Bool
  ) throws -> PipelineFile.Loaded {
    guard let pipeline else {
      return try PipelineFile.load(
        Array(ReadyMade.defaultPipeline.utf8), file: "(default pipeline)", registry: .builtIn,
        environment: environment)
    }
    let path = ReadyMade.path(for: pipeline)
    return isLook && !trust.allowsAll
      ? try PipelineFile.load(
        path: path, registry: .builtIn, environment: environment.withPlaceholders)
      : try PipelineFile.loadToRun(path, environment, trust)
  }

  // MARK: Endpoint

  private func checkEndpoint(_ given: String, _ fallback: String?, _ usesProject: Bool) throws {
    if endpoint != nil { return try Self.check(given, "--endpoint") }
    guard pipeline == nil else { return }
    let url = given.isEmpty ? fallback ?? "" : given
    guard !url.isEmpty else {
      throw Failure(
        .usage,
        "there is no endpoint to send to; name it with --endpoint URL or the variable GQL_URL, or "
          + "use a pipeline file with --pipeline"
          + (usesProject ? ", or add `endpoint` to the project file graphql.config.yaml" : ""))
    }
    try Self.check(url, given.isEmpty ? "the project's endpoint" : "GQL_URL:")
  }

  /// Throws unless the text is the URL of a server; the message does not repeat its secrets.
  static func check(_ url: String, _ name: String) throws {
    do {
      _ = try Endpoint(url: url)
    } catch {
      throw Failure(
        .usage,
        "\(name) \(Endpoint.shownText(url)) is not the URL of a server: \(error.reason)")
    }
  }

  /// The text with a scheme, if it has none and its host is recognizable by a dot, a port or a name of
  /// this machine.
  ///
  /// `http` only for this machine: curl and HTTPie choose it for every host, and would send a token
  /// without encryption.
  static func withScheme(_ text: String) -> String {
    let authority = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = Self.host(of: String(authority))
    let isHere =
      host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "::1"
    guard !text.contains("://"), !text.contains("@"),
      isHere || authority.contains(where: { $0 == "." || $0 == ":" })
    else { return text }
    return (isHere ? "http://" : "https://") + text
  }

  /// The host of an authority, in lower case, without port and brackets.
  private static func host(of authority: String) -> String {
    guard authority.hasPrefix("[") else { return authority.prefix { $0 != ":" }.lowercased() }
    return authority.dropFirst().prefix { $0 != "]" }.lowercased()
  }

  // MARK: Header fields

  private func givenFields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      if text.hasPrefix("@") {
        for line in try Self.lines(ofFile: String(text.dropFirst())) {
          fields.append(try Self.field(line, "--header \(text)"))
        }
      } else {
        fields.append(try Self.field(text, "--header"))
      }
    }
    return fields
  }

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
    return HTTPField(name: name, value: value)
  }

  // MARK: Credentials

  /// Adds the credentials of the options and the environment, unless a header field has them.
  private func addCredentials(
    to pipeline: inout Pipeline, isGiven: Bool, _ variable: (String) -> String?, isQuiet: Bool
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
      if let entry = try Netrc(path: path).entry(for: Self.host(of: host)) {
        let pair = Data("\(entry.login):\(entry.password)".utf8).base64EncodedString()
        pipeline.endpoint?.headers[.authorization] = "Basic \(pair)"
        return
      }
      if !isQuiet {
        Terminal.warning("\(path) has no password for \(Self.host(of: host)): none is sent")
      }
    }
    guard self.pipeline == nil, pipeline.endpoint?.headers[.authorization] == nil,
      let token = variable("GQL_TOKEN"), !token.isEmpty
    else { return }
    pipeline.endpoint?.headers[.authorization] = try Self.bearer(token, "GQL_TOKEN")
  }

  /// A note for a server that refuses the credentials, if the pipeline does not send those in GQL_TOKEN.
  func unsentToken(of pipeline: Pipeline) -> String? {
    guard let file = self.pipeline, pipeline.endpoint?.headers[.authorization] == nil,
      ProcessInfo.processInfo.environment["GQL_TOKEN"]?.isEmpty == false,
      !pipeline.files.contains(where: { Self.reads("GQL_TOKEN", $0.bytes) }),
      !pipeline.entries.contains(where: { $0.plugin is TokenRefreshPlugin })
    else { return nil }
    return "\(file) does not send the token in GQL_TOKEN; --token-env GQL_TOKEN does"
  }

  private static func bearer(_ token: String, _ name: String) throws -> String {
    guard HTTPField.isValidValue(token) else {
      throw Failure(
        .authentication,
        "the variable \(name) has characters that HTTP forbids in a token, such as line ends")
    }
    return "Bearer \(token)"
  }

  private static func reads(_ name: String, _ bytes: [UInt8]) -> Bool {
    String(decoding: bytes, as: UTF8.self).contains(name)
  }
}

extension HTTPFields {
  /// These fields, overridden by those of `others` with the same name.
  func merging(_ others: HTTPFields) -> HTTPFields {
    var result = self
    for name in Set(others.map(\.name)) { result[fields: name] = others[fields: name] }
    return result
  }
}
