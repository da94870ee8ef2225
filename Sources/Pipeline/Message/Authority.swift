package import HTTPTypes

/// The host and the port in the authority of a URL, without a name and a password.
///
/// https://www.rfc-editor.org/rfc/rfc3986#section-3.2
package struct Authority {
  /// The host as it is written, with the brackets of an IPv6 address.
  package let writtenHost: Substring
  /// The text after the colon; `nil` without one.
  package let portText: Substring?

  package init(_ text: some StringProtocol) {
    let text = Substring(text)
    let bracket = text.first == "[" ? text.firstIndex(of: "]") : nil
    let colon = text[(bracket ?? text.startIndex)...].firstIndex(of: ":")
    writtenHost = text[..<(colon ?? text.endIndex)]
    portText = colon.map { text[text.index(after: $0)...] }
  }

  package var port: Int? { portText.flatMap { Int($0) } }

  /// The host without brackets.
  package var host: String { writtenHost.filter { $0 != "[" && $0 != "]" } }

  /// Whether the host is this machine by its name or address, which no name of another can imitate.
  package var isLoopback: Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return ["localhost", "::1"].contains(host.lowercased())
      || parts.count > 1 && parts[0] == "127" && parts.allSatisfy { UInt32($0) != nil }
  }
}

extension HTTPRequest {
  /// The scheme and the authority of the URL.
  package var origin: String { "\(scheme ?? "http")://\(authority ?? "")" }
}

extension HTTPFields {
  /// Replaces fields by those of `others` with the same name, and adds the rest.
  package mutating func merge(_ others: HTTPFields) {
    for name in Set(others.map(\.name)) { self[fields: name] = others[fields: name] }
  }
}
