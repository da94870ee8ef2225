import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// The options for header fields, credentials, connections and trust of requests.
struct RequestOptions: ParsableArguments {
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

  /// Adds the credentials, and changes the plugins of a pipeline.
  ///
  /// - Parameters:
  ///   - isDefault: Whether the pipeline is the default one, which sends the token in GQL_TOKEN.
  ///   - isAuthorized: Whether the given header fields have credentials.
  ///   - variable: Returns the value of an environment variable.
  func apply(
    to pipeline: inout Pipeline, isDefault: Bool, isAuthorized: Bool,
    _ variable: (String) -> String?, isQuiet: Bool
  ) throws {
    try addCredentials(
      to: &pipeline, isDefault: isDefault, isGiven: isAuthorized, variable, isQuiet: isQuiet)
    try connection.apply(to: &pipeline)
  }

  // MARK: Header fields

  /// The header fields of the options.
  func fields() throws -> HTTPFields {
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

  /// The options with the header fields that files and standard input have, to be read once.
  func withFields() throws -> Self {
    var options = self
    options.header = try header.flatMap {
      $0.hasPrefix("@") ? try Self.lines(ofFile: String($0.dropFirst())) : [$0]
    }
    return options
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
      if let entry = try Netrc(path: path).entry(for: EndpointOptions.host(of: host)) {
        let pair = Data("\(entry.login):\(entry.password)".utf8).base64EncodedString()
        pipeline.endpoint?.headers[.authorization] = "Basic \(pair)"
        return
      }
      if !isQuiet {
        Terminal.warning(
          "\(path) has no password for \(EndpointOptions.host(of: host)): none is sent")
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
}
