import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// The options that select an endpoint and a pipeline.
struct EndpointArguments: ParsableArguments {
  @Option(
    name: .shortAndLong, help: Self.endpointHelp("overrides GQL_URL and the pipeline file"))
  var endpoint: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file, or the name of a ready-made one: \(ReadyMade.names.joined(separator: ", ")).",
      valueName: "file"))
  var pipeline: String?

  init() {}

  init(endpoint: String? = nil, pipeline: String?) {
    self.endpoint = endpoint
    self.pipeline = pipeline
  }

  /// The help of --endpoint: what it replaces, and the rule about schemes.
  static func endpointHelp(_ effect: String) -> ArgumentHelp {
    ArgumentHelp(
      "Endpoint URL; \(effect). Without a scheme it is http:// for this machine, else https://.",
      valueName: "URL")
  }

  /// Whether neither options nor environment name an endpoint or a pipeline.
  private var isSilent: Bool {
    endpoint == nil && pipeline == nil
      && (PipelineFileEnvironment.process.variable("GQL_URL") ?? "").isEmpty
  }

  /// Loads the pipeline: the named file or the default, with the overrides of the options.
  ///
  /// - Parameters:
  ///   - request: The options of requests; `nil` if none are sent.
  ///   - trust: The options that allow programs.
  ///   - usesProject: Whether to use the endpoint and header fields of the project file if neither
  ///     options nor environment name an endpoint or a pipeline.
  ///   - isQuiet: Whether to suppress warnings about the file.
  ///   - isLook: Whether the pipeline is only inspected. It then needs no endpoint, and its programs are not started,
  ///     except with --allow-exec.
  ///   - isUnsent: Whether nothing will be sent, so that no endpoint is needed. A pipeline that answers
  ///     every request itself needs none in any case.
  ///   - standard: The text of the pipeline that is used if none is named.
  /// - Throws: ``Failure`` if the file, the endpoint, a header field or a setting is invalid.
  func load(
    request: RequestOptions? = nil, trust: TrustOptions = .none, usesProject: Bool = false,
    isQuiet: Bool = false, isLook: Bool = false, isUnsent: Bool = false,
    standard: String = ReadyMade.defaultPipeline
  ) throws -> Pipeline {
    let project = usesProject && isSilent ? try Project.endpoint(isQuiet: isQuiet) : nil
    let fallback = project?.url.value ?? (isLook || isUnsent ? Endpoint.unsentURL : nil)
    let environment = PipelineFileEnvironment.gqlrun(endpoint: endpoint, fallback: fallback)
    let given = environment.variable("GQL_URL") ?? ""
    try checkEndpoint(given, fallback: fallback, usesProject: usesProject)
    let fields = try request?.fields() ?? [:]
    let loaded = try environment.loadingReplays {
      try read($0, isLook: isLook, trust: trust, standard: standard)
    } pipeline: {
      $0.pipeline
    }
    if !isQuiet { loaded.warnings.show() }
    var result = loaded.pipeline
    if endpoint != nil {
      result.endpoint = try? result.endpoint?.at(url: given) ?? Endpoint(url: given)
    } else if result.endpoint == nil, isUnsent || result.sendsNothing {
      result.endpoint = try? Endpoint(url: Endpoint.unsentURL)
    }
    guard result.endpoint != nil else {
      throw Failure(
        .usage,
        "\(pipeline ?? "the pipeline") names no endpoint to send to; name it with --endpoint URL")
    }
    if let project { result.endpoint?.headers.merge(project.headers) }
    try request?.apply(fields, to: &result, isDefault: pipeline == nil, isQuiet: isQuiet)
    return result
  }

  private func read(
    _ environment: PipelineFileEnvironment, isLook: Bool, trust: TrustOptions, standard: String
  ) throws -> PipelineFile.Loaded {
    guard let pipeline else {
      return try PipelineFile.load(
        Array(standard.utf8), file: "(default pipeline)", registry: .builtIn,
        environment: environment)
    }
    let path = ReadyMade.path(for: pipeline)
    return isLook && !trust.allowsAll
      ? try PipelineFile.load(
        path: path, registry: .builtIn, environment: environment.withPlaceholders)
      : try PipelineFile.loadToRun(path, environment: environment, trust: trust)
  }

  // MARK: Endpoint

  private func checkEndpoint(_ given: String, fallback: String?, usesProject: Bool) throws {
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
  static func host(of authority: String) -> String {
    guard authority.hasPrefix("[") else { return authority.prefix { $0 != ":" }.lowercased() }
    return authority.dropFirst().prefix { $0 != "]" }.lowercased()
  }
}
