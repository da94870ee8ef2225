/// A node of a pipeline file with the place where it stands.
///
/// Scalars are text and nothing else: what they mean is decided by whoever reads them.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    /// `isPlain` is whether the text stands without quotes.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Member])
  }

  struct Member: Sendable {
    var key: String
    var keyPlace: SourcePlace
    var value: YAMLNode
  }

  var content: Content
  var place: SourcePlace

  /// Whether nothing was written, or a plain `null` or `~`.
  var isNull: Bool {
    guard case .scalar(let text, isPlain: true) = content else { return false }
    return text.isEmpty || text == "null" || text == "~"
  }

  /// What stands here, with its article, for messages.
  var kind: String {
    switch content {
    case .scalar(let text, let isPlain):
      isNull ? "nothing" : isPlain || !text.isEmpty ? "a scalar" : "empty text"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }

  /// The source text of a scalar, shortened, for messages.
  var quotedText: String? {
    guard case .scalar(let text, _) = content else { return nil }
    return text.count > 60 ? "\(text.prefix(57))…" : text
  }
}
