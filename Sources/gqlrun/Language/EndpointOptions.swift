import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
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

  @OptionGroup var request: RequestOptions

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
    let fields = try request.fields()
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
          transport: $0.transport, usesSingleConnection: $0.usesSingleConnection,
          connectionParameters: $0.connectionParameters)
      }
    } else {
      result.endpoint?.headers = headers
    }
    guard result.endpoint != nil else {
      throw Failure(
        .usage,
        "\(pipeline ?? "the pipeline") names no endpoint to send to; name it with --endpoint URL")
    }
    try request.apply(
      to: &result, isDefault: pipeline == nil, isAuthorized: fields.contains(.authorization),
      environment.variable, isQuiet: isQuiet)
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
    return isLook && !request.trust.allowsAll
      ? try PipelineFile.load(
        path: path, registry: .builtIn, environment: environment.withPlaceholders)
      : try PipelineFile.loadToRun(path, environment, request.trust)
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
  static func host(of authority: String) -> String {
    guard authority.hasPrefix("[") else { return authority.prefix { $0 != ":" }.lowercased() }
    return authority.dropFirst().prefix { $0 != "]" }.lowercased()
  }

  // MARK: Credentials

  /// A note for a server that refuses the credentials, if the pipeline does not send those in GQL_TOKEN.
  func unsentToken(of pipeline: Pipeline) -> String? {
    guard let file = self.pipeline, pipeline.endpoint?.headers[.authorization] == nil,
      EnvironmentVariables.value(of: "GQL_TOKEN")?.isEmpty == false,
      !pipeline.files.contains(where: { Self.reads("GQL_TOKEN", $0.bytes) }),
      !pipeline.entries.contains(where: { $0.plugin is TokenRefreshPlugin })
    else { return nil }
    return "\(file) does not send the token in GQL_TOKEN; --token-env GQL_TOKEN does"
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
