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
      "Endpoint URL; overrides GQL_URL and the pipeline file.", valueName: "URL"))
  var endpoint: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file; `gqlrun pipeline show` prints its chain.", valueName: "file"))
  var pipeline: String?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "Header field to send. May be repeated.", valueName: "Name: value"))
  var header: [String] = []

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
  /// - Throws: ``Failure`` if the file, the endpoint or a header field is invalid.
  func load(
    usesProject: Bool = false, fallback: String? = nil, isQuiet: Bool = false, isLook: Bool = false
  ) throws -> Pipeline {
    let project = usesProject && isSilent ? try Project.endpoint(isQuiet: isQuiet) : nil
    let fallback = project?.url.value ?? fallback
    let fallbackFields = project?.headers ?? [:]
    let environment = PipelineFileEnvironment.gqlrun(endpoint: endpoint, fallback: fallback)
    let given = environment.variable("GQL_URL") ?? ""
    let isFallback = given.isEmpty
    let url = isFallback ? fallback ?? "" : given
    if let endpoint {
      try Self.check(endpoint, "--endpoint")
    } else if pipeline == nil {
      guard !url.isEmpty else {
        throw Failure(
          .usage,
          "there is no endpoint to send to; name it with --endpoint URL or the variable GQL_URL, or "
            + "use a pipeline file with --pipeline"
            + (usesProject ? ", or add `endpoint` to the project file graphql.config.yaml" : ""))
      }
      try Self.check(url, isFallback ? "the project's endpoint" : "GQL_URL:")
    }
    let fields = try givenFields()
    let loaded =
      try pipeline.map {
        isLook && !trust.allowsAll
          ? try PipelineFile.load(
            path: $0, registry: .builtIn, environment: environment.withPlaceholders)
          : try PipelineFile.loadToRun($0, environment, trust)
      }
      ?? PipelineFile.load(
        Array(ReadyMade.defaultPipeline.utf8), file: "(default pipeline)", registry: .builtIn,
        environment: environment)
    if !loaded.warnings.warnings.isEmpty && !isQuiet {
      Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
    }
    var result = loaded.pipeline
    let headers = (result.endpoint?.headers ?? [:])
      .merging(isFallback && fallback != nil ? fallbackFields : [:]).merging(fields)
    if let endpoint {
      result.endpoint = try? Endpoint(
        url: endpoint, headers: headers, method: result.endpoint?.method ?? .post)
    } else {
      result.endpoint?.headers = headers
    }
    guard result.endpoint != nil else {
      throw Failure(
        .usage,
        "\(pipeline ?? "the pipeline") names no endpoint to send to; name it with --endpoint URL")
    }
    return result
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

  private func givenFields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
        HTTPField.isValidValue(value)
      else {
        // The value may be a secret, so it is not repeated; without a colon, neither is the rest.
        let name = parts.count == 2 ? " \(parts[0])" : ""
        throw Failure(.usage, "cannot read --header\(name): write --header 'Name: value'")
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
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
