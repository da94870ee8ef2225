public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

extension HTTPRequestMessage {
  /// A curl command that sends the same request, for a POSIX shell.
  ///
  /// What is secret is left to variables: `"Authorization: $AUTHORIZATION"`. Members of the body whose
  /// names say that they are secret stand as `•••`.
  public var curlCommand: String {
    var parts = ["curl"]
    if body == nil, head.method != .get { parts.append("-X \(head.method.rawValue)") }
    parts.append(QuotedText.shellWord(shownURL))
    for field in head.headerFields {
      if SecretFields.isOpen(field.name) {
        parts.append("-H \(QuotedText.shellWord("\(field.name.rawName): \(field.value)"))")
      } else {
        parts.append("-H \"\(field.name.rawName): $\(ShellText.variable(field.name.rawName))\"")
      }
    }
    if head.headerFields[.acceptEncoding] == nil { parts.append("--compressed") }
    if let body {
      let text = String(
        decoding: JSONRedactor(names: JSONRedactor.names).redact(body), as: UTF8.self)
      parts.append("--data-raw \(QuotedText.shellWord(text))")
    }
    return parts.joined(separator: " \\\n  ")
  }

  /// The address, without the values of parameters that are not those of GraphQL over HTTP.
  var shownURL: String {
    let path = head.path ?? "/"
    let address = "\(head.scheme ?? "http")://\(head.authority ?? "")"
    guard let mark = path.firstIndex(of: "?") else { return address + path }
    let parameters = path[path.index(after: mark)...].split(
      separator: "&", omittingEmptySubsequences: false
    ).map { parameter -> String in
      let name = parameter.prefix { $0 != "=" }
      let isOpen = ["query", "operationName", "variables", "extensions"].contains(name)
      return isOpen ? String(parameter) : "\(name)=\(SecretString.redacted)"
    }
    return address + path[...mark] + parameters.joined(separator: "&")
  }
}

/// Which fields of exchanges hold secrets, when nobody said so.
enum SecretFields {
  /// Whether the value of a field may be shown, as far as its name tells.
  static func isOpen(_ name: HTTPField.Name) -> Bool {
    let text = name.canonicalName
    return !SecretText.isSecretField(text)
      && !["auth", "session", "key", "jwt", "sign"].contains { text.contains($0) }
  }

  /// The values that must not be seen anywhere else either, with and without the word before a token.
  static func secrets(of fields: HTTPFields) -> [SecretString] {
    fields.filter { !isOpen($0.name) }.flatMap { field in
      [field.value]
        + field.value.split { " ;,".contains($0) }.flatMap { word in
          [String(word), String(word.drop { $0 != "=" }.dropFirst())]
        }
    }.map { SecretString($0) }
  }
}

/// Text in a POSIX shell.
enum ShellText {
  /// `X-Api-Key` → `X_API_KEY`
  static func variable(_ name: String) -> String {
    let word = String(
      name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    return word.first?.isNumber == true ? "_" + word : word
  }
}
