/// A node of a YAML file with its source location.
///
/// Scalars are text without a type; their reader decides what they mean.
package struct YAMLNode: Sendable {
  package enum Content: Sendable {
    /// `isPlain` is whether the text is unquoted.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Member])
  }

  package struct Member: Sendable {
    package var key: String
    package var keyLocation: FileLocation
    package var value: YAMLNode

    package init(key: String, keyLocation: FileLocation, value: YAMLNode) {
      self.key = key
      self.keyLocation = keyLocation
      self.value = value
    }
  }

  package var content: Content
  package var location: FileLocation

  package init(content: Content, location: FileLocation) {
    self.content = content
    self.location = location
  }

  /// The members of a mapping; `nil` for other nodes.
  package var members: [Member]? {
    if case .mapping(let members) = content { members } else { nil }
  }

  /// Whether the value is empty, or a plain `null` or `~`.
  package var isNull: Bool {
    guard case .scalar(let text, isPlain: true) = content else { return false }
    return text.isEmpty || text == "null" || text == "~"
  }

  /// The kind of the node with its article, for messages: "a list".
  package var kind: String {
    switch content {
    case .scalar(let text, let isPlain):
      isNull ? "nothing" : isPlain || !text.isEmpty ? "a scalar" : "empty text"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }

  /// The source text of a scalar, shortened, for messages.
  package var quotedText: String? {
    guard case .scalar(let text, _) = content else { return nil }
    return text.count > 60 ? "\(text.prefix(57))…" : text
  }
}
