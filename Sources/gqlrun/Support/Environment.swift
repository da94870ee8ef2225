import Foundation
import GQLRunPipeline

extension PipelineFileEnvironment {
  /// The environment of pipeline files, with `endpoint` as the variable `GQL_URL`.
  static func gqlrun(endpoint: String?) -> PipelineFileEnvironment {
    var environment = PipelineFileEnvironment.process
    let (variable, readFile) = (environment.variable, environment.readFile)
    environment.variable = { $0 == "GQL_URL" ? endpoint ?? variable($0) : variable($0) }
    environment.readFile = { path in
      var status = stat()
      if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
        throw Failure("it is a directory; name a file in it")
      }
      return try readFile(path)
    }
    return environment
  }

  /// The environment for reading a file that will not run: the file must be valid without an
  /// endpoint, which `gqlrun run --endpoint` may supply later.
  static var unsent: PipelineFileEnvironment {
    let url = ProcessInfo.processInfo.environment["GQL_URL"] ?? ""
    return gqlrun(endpoint: url.isEmpty ? "http://gql-url.invalid/" : nil)
  }
}
