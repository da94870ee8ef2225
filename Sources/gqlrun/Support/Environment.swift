import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

extension PipelineFileEnvironment {
  /// The environment of pipeline files. The name of a ready-made pipeline is read as its file, unless there is
  /// a file with this name; paths in it are relative to the working directory.
  ///
  /// - Parameters:
  ///   - endpoint: Overrides the variable `GQL_URL`.
  ///     Without a scheme it gets one.
  ///   - fallback: The value of `GQL_URL` if it is not set and has no default in the file.
  static func gqlrun(endpoint: String?, fallback: String? = nil) -> PipelineFileEnvironment {
    var environment = PipelineFileEnvironment.process
    let (variable, readFile) = (environment.variable, environment.readFile)
    environment.variable = { name in
      guard name == "GQL_URL" else { return variable(name) }
      return (endpoint ?? variable(name)).map { EndpointArguments.withScheme($0) }
    }
    environment.lastResort = { $0 == "GQL_URL" ? fallback : nil }
    environment.readyMade = { ReadyMade.file($0) }
    environment.readFile = { path in
      let exists = FilePath.status(of: path) != nil
      if !exists || FilePath.isFolder(path), let text = ReadyMade.file(path) {
        return Array(text.utf8)
      }
      if let file = FilePath.yamlFile(meantBy: path, kind: "pipeline") {
        throw PipelineFileEnvironment.Failure("it does not exist; did you mean \(file)?")
      }
      guard !exists, !path.contains("/"), !path.contains(".") else { return try readFile(path) }
      let names = ReadyMade.names.joined(separator: ", ")
      let meant = suggestion(for: path, in: ReadyMade.names)
      throw PipelineFileEnvironment.Failure(
        meant.map { "it does not exist; did you mean the ready-made pipeline \($0)?" }
          ?? "it does not exist, and the ready-made pipelines are \(names)")
    }
    return environment
  }

  /// The environment for reading a file that will not run: the file must be valid without an
  /// endpoint, which `gqlrun run --endpoint` may supply later.
  static var unsent: PipelineFileEnvironment {
    gqlrun(endpoint: nil, fallback: Endpoint.unsentURL)
  }

  /// Loads a file with this environment. If GQL_URL is missing, a file whose pipeline answers every request
  /// itself is loaded without it.
  ///
  /// - Parameters:
  ///   - load: Loads the file; called once or twice.
  ///   - pipeline: The pipeline of the loaded value.
  /// - Throws: The error of `load`.
  func loadingReplays<Loaded>(
    _ load: (PipelineFileEnvironment) throws -> Loaded, pipeline: (Loaded) -> Pipeline
  ) throws -> Loaded {
    do {
      return try load(self)
    } catch let error as PipelineDiagnostics {
      guard (variable("GQL_URL") ?? "").isEmpty else { throw error }
      var environment = self
      environment.lastResort = { $0 == "GQL_URL" ? Endpoint.unsentURL : nil }
      guard let loaded = try? load(environment), pipeline(loaded).sendsNothing else { throw error }
      return loaded
    }
  }
}

extension PipelineFile {
  /// Loads a file that will not run, and prints its warnings. It needs no endpoint.
  ///
  /// - Parameters:
  ///   - path: The path of the file, or the name of a ready-made pipeline.
  ///   - runsPrograms: Whether to expand `${exec:…}` all the same.
  static func inspected(_ path: String, runsPrograms: Bool = false) throws -> Pipeline {
    let environment = PipelineFileEnvironment.unsent
    let loaded = try load(
      path: ReadyMade.path(for: path), registry: .builtIn,
      environment: runsPrograms ? environment : environment.withPlaceholders)
    loaded.warnings.show()
    return loaded.pipeline
  }

  /// Loads a file that will not run, without its programs and its warnings.
  static func look(
    at path: String, environment: PipelineFileEnvironment = .unsent
  ) throws -> Pipeline {
    try load(path: path, registry: .builtIn, environment: environment.withPlaceholders).pipeline
  }
}

extension Endpoint {
  /// The URL of pipelines whose requests are not sent; no server can have it.
  ///
  /// https://www.rfc-editor.org/rfc/rfc6761#section-6.4
  static let unsentURL = "http://gql-url.invalid/"
  /// Whether it has this URL, which no output should have.
  var isUnsent: Bool { authority == "gql-url.invalid" }
}

extension Pipeline {
  /// The explanation of a request, with the variable in place of an endpoint that is not known.
  func shownExplanation(of request: GraphQLRequest) -> String {
    explanation(of: request, server: endpoint?.isUnsent == true ? "${env:GQL_URL}" : nil)
  }

  /// Whether no request reaches a server: an entry answers all of them, or none sends any.
  var sendsNothing: Bool {
    entries.contains { $0.condition == .always && $0.traits.contains(.answers) }
      || !entries.contains { $0.traits.contains(.fetches) }
  }
}
