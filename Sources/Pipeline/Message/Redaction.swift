import GQLRunLanguage
import HTTPTypes

// Values with credentials print without them, also in `dump` and as part of another value.

extension Endpoint: CustomStringConvertible, CustomReflectable {
  /// The URL without its query.
  public var description: String { shownURL }
  /// The URL without its query, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["url": shownURL]) }
}

extension GraphQLRequest: CustomStringConvertible, CustomReflectable {
  /// Type and name of the operation and the attempt, without variables.
  public var description: String {
    (operationName == nil ? label : "\(operationType.rawValue) \(label)") + ", attempt \(attempt)"
  }
  /// The operation, without variables and header fields.
  public var customMirror: Mirror { Mirror(self, children: ["operation": description]) }
}

extension RequestContext: CustomStringConvertible, CustomReflectable {
  /// The names of the values, without the values.
  public var description: String { "values \(named.keys.sorted())" }
  /// The names of the values, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["names": named.keys.sorted()]) }
}

extension HTTPRequestMessage: CustomStringConvertible, CustomReflectable {
  /// Method and URL, without the query, which may contain keys.
  public var description: String {
    let path = (head.path ?? "").prefix { $0 != "?" }
    return "\(head.method.rawValue) \(head.scheme ?? "")://\(head.authority ?? "")\(path)"
  }
  /// Method and URL, without header fields and body.
  public var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}

extension HTTPRequestMessage {
  /// The secrets in the header fields: whole values and their words.
  public var secrets: [SecretString] { head.headerFields.secrets }
}

extension ChainError.HTTPFailure: CustomReflectable {
  /// The status and the size of the body prefix, without header fields, for `dump`.
  public var customMirror: Mirror {
    Mirror(self, children: ["status": status, "bytes": bodyPrefix.count])
  }
}

extension Template: CustomStringConvertible, CustomReflectable {
  /// The names of the placeholders. The text around them may contain expanded variables.
  public var description: String {
    parts.map { if case .context(let name, _) = $0 { "${context:\(name)}" } else { "…" } }.joined()
  }
  /// The names of the placeholders, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["template": description]) }
}

extension WebSocketRequest: CustomStringConvertible, CustomReflectable {
  /// The offered subprotocols, without the connection parameters.
  public var description: String { subprotocols.joined(separator: ", ") }
  /// The offered subprotocols, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["subprotocols": description]) }
}

extension ConnectionParameters: CustomStringConvertible, CustomReflectable {
  /// No value, as any of them may be a secret.
  public var description: String { SecretString.redacted }
  /// No value, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["parameters": description]) }
}
