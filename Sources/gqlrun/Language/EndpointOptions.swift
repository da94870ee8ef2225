import ArgumentParser
import Foundation
import HTTPTypes
import Pipeline
import Plugins

/// Where a command asks, and through which pipeline.
struct EndpointOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Where to send to; stands for GQL_URL and wins over the pipeline file.", valueName: "URL"))
  var endpoint: String?

  @Option(name: .shortAndLong, help: ArgumentHelp("The pipeline file.", valueName: "file"))
  var pipeline: String?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "A field to send with the request. May be repeated.", valueName: "Name: value"))
  var header: [String] = []

  /// Whether nothing says which endpoint to ask.
  var isSilent: Bool {
    endpoint == nil && pipeline == nil && PipelineFileEnvironment.process.variable("GQL_URL") == nil
  }

  /// The pipeline: the file or the default, with what the options say instead.
  ///
  /// - Parameters:
  ///   - fallback: The endpoint when neither options nor environment name one.
  ///   - fallbackFields: What is sent to it.
  func load(fallback: String? = nil, fallbackFields: HTTPFields = [:]) throws -> Pipeline {
    var environment = PipelineFileEnvironment.process
    let variable = environment.variable
    let url = endpoint ?? (variable("GQL_URL") == nil ? fallback : nil)
    if let url { environment.variable = { $0 == "GQL_URL" ? url : variable($0) } }
    guard pipeline != nil || environment.variable("GQL_URL") != nil else {
      throw Failure(
        .usage,
        "there is no endpoint to ask; name it with --endpoint URL or the variable GQL_URL, or use a "
          + "pipeline file with --pipeline")
    }
    let loaded =
      try pipeline.map {
        try PipelineFile.load(path: $0, registry: .builtIn, environment: environment)
      }
      ?? PipelineFile.load(
        Array(ReadyMade.defaultPipeline.utf8), file: "(default pipeline)", registry: .builtIn,
        environment: environment)
    if !loaded.warnings.warnings.isEmpty {
      Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
    }
    var result = loaded.pipeline
    var fields = result.endpoint?.headers ?? [:]
    if let fallback, url == fallback { fields = fields.merging(fallbackFields) }
    fields = fields.merging(try givenFields())
    if let endpoint {
      do {
        result.endpoint = try Endpoint(
          url: endpoint, headers: fields, method: result.endpoint?.method ?? .post)
      } catch {
        throw Failure(.usage, "--endpoint \(endpoint) is not a URL to send to: \(error.reason)")
      }
    } else {
      result.endpoint?.headers = fields
    }
    return result
  }

  private func givenFields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
        HTTPField.isValidValue(value)
      else {
        // The value may be a secret: it is not repeated.
        throw Failure(
          .usage,
          "cannot read --header \(parts.first.map { String($0) } ?? ""): write --header 'Name: value'"
        )
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }
}
