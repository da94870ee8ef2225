import Foundation
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

extension HTTPRequestMessage {
  /// A curl command for a POSIX shell that sends the same request; a comment for a request over WebSocket.
  ///
  /// Secret header fields become shell variables: `"Authorization: $AUTHORIZATION"`. In the URL and
  /// the body, secrets are replaced by `•••`. Secret are the values of header fields, parameters
  /// and members with secret names, and their other occurrences; see `KnownSecrets`.
  public var curlCommand: String { curlCommand(hiding: KnownSecrets()) }

  /// The same command, with the secrets of a run hidden, too.
  ///
  /// - Parameter known: The secrets of the run.
  public func curlCommand(hiding known: KnownSecrets) -> String {
    guard webSocket == nil else {
      return
        "# curl cannot send an operation over WebSocket: \(known.hiding(with: secrets).text(shownURL))"
    }
    let redactor = BodyRedactor(head.headerFields)
    var found = secrets
    let redacted = (body ?? multipart?.operations).map { redactor.redact($0, found: &found) }
    let hiding = known.hiding(with: found)
    var parts = ["curl"]
    // What curl uses without -X depends on whether there is a body.
    let usual: HTTPRequest.Method = redacted == nil ? .get : .post
    if head.method != usual { parts.append("-X \(head.method.rawValue)") }
    parts.append(QuotedText.shellWord(hiding.text(shownURL)))
    // curl chooses the boundary of a form.
    for field in head.headerFields where multipart == nil || field.name != .contentType {
      let name = field.name.rawName
      if hiding.value(field.value, ofField: name) == field.value {
        parts.append("-H \(QuotedText.shellWord("\(name): \(field.value)"))")
      } else {
        parts.append("-H \"\(name): $\(Self.variable(name))\"")
      }
    }
    if head.headerFields[.acceptEncoding] == nil { parts.append("--compressed") }
    if let redacted {
      let text = String(decoding: hiding.bytes(redacted), as: UTF8.self)
      parts += multipart?.curlOptions(text) ?? ["--data-raw \(QuotedText.shellWord(text))"]
    }
    return parts.joined(separator: " \\\n  ")
  }

  /// The variable of a POSIX shell for a field: `X-Api-Key` → `X_API_KEY`
  private static func variable(_ name: String) -> String {
    let word = String(
      name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    return word.first?.isNumber == true ? "_" + word : word
  }

  /// The URL without the values of parameters other than those of GraphQL over HTTP, and without
  /// secret members of those.
  var shownURL: String {
    let path = head.path ?? "/"
    let address = head.origin
    guard let mark = path.firstIndex(of: "?") else { return address + path }
    let parameters = path[path.index(after: mark)...].split(
      separator: "&", omittingEmptySubsequences: false
    ).map { parameter -> String in
      let name = String(parameter.prefix { $0 != "=" })
      guard SecretNames.graphQLParameters.contains(name) else {
        return "\(name)=\(SecretString.redacted)"
      }
      return name == "variables" || name == "extensions"
        ? "\(name)=\(Self.redacted(parameter.dropFirst(name.count + 1)))" : String(parameter)
    }
    return address + path[...mark] + parameters.joined(separator: "&")
  }

  /// The percent-encoded JSON of a parameter without the values of secret members.
  private static func redacted(_ value: Substring) -> String {
    let plain = value.removingPercentEncoding ?? String(value)
    let bytes = Array(plain.utf8)
    let redacted = BodyRedactor().redact(bytes)
    guard redacted != bytes else { return String(value) }
    return String(decoding: redacted, as: UTF8.self)
      .split(separator: SecretString.redacted, omittingEmptySubsequences: false)
      .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
      .joined(separator: SecretString.redacted)
  }
}

extension MultipartBody {
  /// The options of a form; contents that are not in a file are to be put into one.
  fileprivate func curlOptions(_ operations: String) -> [String] {
    let map = String(decoding: JSONValue.object(map).jsonBytes(), as: UTF8.self)
    let fields = [("operations", operations), ("map", map)].map {
      "--form-string \(QuotedText.shellWord("\($0)=\($1)"))"
    }
    return fields
      + files.enumerated().map { index, file in
        let path = QuotedText.doubled(file.path ?? file.fileName, "\"")
        let name = QuotedText.doubled(file.fileName, "\"")
        return "-F "
          + QuotedText.shellWord("\(index)=@\(path);type=\(file.contentType);filename=\(name)")
      }
  }
}
