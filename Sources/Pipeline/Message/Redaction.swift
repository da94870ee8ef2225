import GQLRunLanguage
import HTTPTypes

// Values that carry credentials print without them, also when they are dumped or stand in another
// value that is.

extension Endpoint: CustomStringConvertible, CustomReflectable {
  public var description: String { shownURL }
  public var customMirror: Mirror { Mirror(self, children: ["url": shownURL]) }
}

extension GraphQLRequest: CustomStringConvertible, CustomReflectable {
  public var description: String {
    (operationName == nil ? label : "\(operationType.rawValue) \(label)") + ", attempt \(attempt)"
  }
  public var customMirror: Mirror { Mirror(self, children: ["operation": description]) }
}

extension RequestContext: CustomStringConvertible, CustomReflectable {
  public var description: String { "values \(named.keys.sorted())" }
  public var customMirror: Mirror { Mirror(self, children: ["names": named.keys.sorted()]) }
}

extension HTTPRequestMessage: CustomStringConvertible, CustomReflectable {
  /// Method and address without the query, which may hold keys.
  public var description: String {
    let path = (head.path ?? "").prefix { $0 != "?" }
    return "\(head.method.rawValue) \(head.scheme ?? "")://\(head.authority ?? "")\(path)"
  }
  public var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}

extension HTTPRequestMessage {
  /// The values of the fields that carry secrets, as a whole and by their words.
  public var secrets: [SecretString] { head.headerFields.secrets }
}

extension ChainError.HTTPFailure: CustomReflectable {
  public var customMirror: Mirror {
    Mirror(self, children: ["status": status, "bytes": bodyPrefix.count])
  }
}

extension Template: CustomStringConvertible, CustomReflectable {
  /// The places to be filled; the text around them may hold what a variable brought.
  public var description: String {
    parts.map { if case .context(let name, _) = $0 { "${context:\(name)}" } else { "…" } }.joined()
  }
  public var customMirror: Mirror { Mirror(self, children: ["template": description]) }
}

extension OptionValue: CustomStringConvertible, CustomReflectable {
  public var description: String { shownText }
  public var customMirror: Mirror { Mirror(self, children: ["text": shownText]) }
}
