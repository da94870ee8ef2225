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
      return (endpoint ?? variable(name)).map { EndpointOptions.withScheme($0) }
    }
    environment.lastResort = { $0 == "GQL_URL" ? fallback : nil }
    environment.readyMade = { ReadyMade.file($0) }
    environment.readFile = { path in
      var status = stat()
      let exists = stat(path, &status) == 0
      let isFolder = exists && status.st_mode & S_IFMT == S_IFDIR
      if !exists || isFolder, let text = ReadyMade.file(path) { return Array(text.utf8) }
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
    gqlrun(endpoint: nil, fallback: "http://gql-url.invalid/")
  }
}
