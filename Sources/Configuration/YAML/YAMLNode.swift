public import GQLRunJSON

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

  /// An empty node, as after a key without a value.
  package init(emptyAt location: FileLocation) {
    self.init(content: .scalar("", isPlain: true), location: location)
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

/// Reflection shows no text, which may be secret.
extension YAMLNode: CustomReflectable {
  package var customMirror: Mirror { Mirror(self, children: ["location": location]) }
}

extension YAMLNode {
  /// The node of a JSON value, all parts of which have the same location.
  package init(_ value: JSONValue, at location: FileLocation) {
    let content: Content =
      switch value {
      case .null: .scalar("null", isPlain: true)
      case .boolean(let flag): .scalar(flag ? "true" : "false", isPlain: true)
      case .number(let number): .scalar(number.text, isPlain: true)
      case .string(let text): .scalar(text, isPlain: false)
      case .array(let elements): .sequence(elements.map { YAMLNode($0, at: location) })
      case .object(let object):
        .mapping(
          object.map {
            Member(key: $0.key, keyLocation: location, value: YAMLNode($0.value, at: location))
          })
      }
    self.init(content: content, location: location)
  }

  /// The node as JSON. Plain scalars follow YAML's JSON schema; quoted ones are text.
  ///
  /// https://yaml.org/spec/1.2.2/#102-json-schema
  package var json: JSONValue {
    switch content {
    case .scalar(let text, let isPlain): Self.scalar(text, isPlain: isPlain)
    case .sequence(let elements): .array(elements.map(\.json))
    case .mapping(let members):
      .object(
        members.reduce(into: JSONObject()) { object, member in
          object[member.key] = member.value.json
        })
    }
  }

  /// The JSON value of a scalar.
  package static func scalar(_ text: String, isPlain: Bool) -> JSONValue {
    guard isPlain else { return .string(text) }
    switch text {
    case "", "null", "~": return .null
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default: return JSONNumber(text: text).map(JSONValue.number) ?? .string(text)
    }
  }
}

/// Parses variables and other values that people write as YAML.
public enum YAMLValues {
  /// The JSON value of a YAML text.
  ///
  /// Unquoted scalars are numbers, booleans and nulls if they are so in JSON. An empty value and
  /// `~` are null. All others are strings, including `yes`, `010` and `2020-01-01`.
  ///
  /// - Parameters:
  ///   - bytes: The YAML text in UTF-8.
  ///   - file: The name of the file, for messages.
  /// - Returns: The value.
  /// - Throws: ``PipelineDiagnostics`` with all errors of the text.
  public static func value(
    of bytes: [UInt8], file: String
  ) throws(PipelineDiagnostics) -> JSONValue {
    let yaml = YAMLFile(bytes, file: file, kind: .variables)
    guard let root = yaml.root, yaml.findings.isEmpty else {
      throw PipelineDiagnostics(yaml.findings, sources: [yaml.source])
    }
    return root.json
  }
}
