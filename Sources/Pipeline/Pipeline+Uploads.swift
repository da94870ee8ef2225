extension Pipeline {
  /// What is special about requests with files, as a part of a sentence; `nil` if nothing is.
  ///
  /// For `gqlrun pipeline check`.
  package var uploadRemark: String? {
    if let endpoint, endpoint.isWebSocket {
      return "requests with files are refused: the endpoint's URL is one of WebSocket"
    }
    let refusing = entries.filter { $0.traits.contains(.refusesUploads) }.map { "`\($0.id)`" }
    if !refusing.isEmpty {
      return "requests with files are refused by \(Self.listed(refusing))"
    }
    let passing = entries.filter { $0.traits.contains(.passesUploads) }.map { "`\($0.id)`" }
    guard !passing.isEmpty else { return nil }
    return "requests with files pass \(Self.listed(passing)) without effect"
  }

  /// `a, b and c`
  private static func listed(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return "\(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}
