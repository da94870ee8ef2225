import GQLRunCache
import GQLRunCrypto
public import GQLRunJSON
public import GQLRunLanguage
import GQLRunSupport

/// An operation manifest: the operations that a client may send, each with the id under which a
/// server knows it.
///
/// Written in Apollo's format; those of older versions and of Relay's compiler are read as well.
/// https://www.apollographql.com/docs/graphos/platform/security/persisted-queries
public struct OperationManifest: Sendable, Hashable {
  /// One operation of the manifest. Two operations are equal if their texts have the same bytes: a server
  /// identifies a document by its hash.
  public struct Operation: Sendable, Hashable {
    /// The identifier; lowercase hexadecimal SHA-256 of ``body`` in manifests that gqlrun writes.
    public var id: String
    /// The document, exactly as it is sent.
    public var body: String
    /// The operation's name; empty when the format has none and the body is anonymous.
    public var name: String
    /// Query, mutation or subscription.
    public var type: OperationType

    /// Creates an entry with an identifier of its own.
    public init(id: String, body: String, name: String, type: OperationType) {
      self.id = id
      self.body = body
      self.name = name
      self.type = type
    }

    /// Creates an entry that is identified by the hash of `body`.
    public init(body: String, name: String, type: OperationType) {
      self.init(id: DocumentHash.sha256(body), body: body, name: name, type: type)
    }

    /// Whether both have the same id, text, name and type, byte for byte.
    public static func == (left: Self, right: Self) -> Bool {
      utf8Equal(left.id, right.id) && utf8Equal(left.body, right.body)
        && utf8Equal(left.name, right.name) && left.type == right.type
    }

    /// Adds the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Text(id)) }
  }

  /// The formats in use.
  public enum Format: String, Sendable, Hashable {
    /// `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": […]}`
    case apollo
    /// `{"<id>": {"name": …, "source": …}}`
    case legacy
    /// `{"<id>": "text"}`
    case relay
  }

  /// The format that the manifest was read from.
  public var format: Format
  /// The entries, in the order of the file.
  public var operations: [Operation]

  /// Creates a manifest of `operations`.
  public init(operations: [Operation], format: Format = .apollo) {
    self.operations = operations
    self.format = format
  }

  /// The value of `format` in Apollo's format.
  public static let apolloFormat = "apollo-persisted-query-manifest"
}

// MARK: Writing

extension OperationManifest {
  /// The manifest in Apollo's format, sorted by operation name.
  public var apolloJSON: JSONValue {
    let sorted = operations.sorted {
      ($0.name, $0.id) < ($1.name, $1.id)
    }
    return .object([
      "format": .string(Self.apolloFormat), "version": .number(JSONNumber(1)),
      "operations": .array(
        sorted.map {
          .object([
            "id": .string($0.id), "body": .string($0.body), "name": .string($0.name),
            "type": .string($0.type.rawValue),
          ])
        }),
    ])
  }
}

// MARK: Reading

extension OperationManifest {
  /// A JSON value that is not an operation manifest.
  public struct InvalidOperationManifest: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was found, and what was expected.
    public var reason: String

    /// The reason.
    public var description: String { reason }
  }

  /// Reads a manifest in any of the formats.
  ///
  /// - Throws: ``InvalidOperationManifest`` when `value` has none of them.
  public init(_ value: JSONValue) throws(InvalidOperationManifest) {
    guard let object = value.objectValue else {
      throw InvalidOperationManifest(
        reason: "an operation manifest is a JSON object, not \(value.shape)")
    }
    if object["format"]?.stringValue != nil || object["operations"] != nil {
      self = try Self.apollo(object)
    } else {
      self = try Self.byIdentifier(object)
    }
  }

  private static func apollo(_ object: JSONObject) throws(InvalidOperationManifest) -> Self {
    guard object["format"]?.stringValue == apolloFormat else {
      let found = object["format"]?.stringValue.map { "\"\($0.prefix(60))\"" } ?? "none"
      throw InvalidOperationManifest(reason: "the format is \(found), expected \"\(apolloFormat)\"")
    }
    guard object["version"]?.intValue == 1 else {
      throw InvalidOperationManifest(
        reason: "the version is \(object["version"]?.jsonText() ?? "not given"); 1 is known")
    }
    guard let list = object["operations"]?.arrayValue else {
      throw InvalidOperationManifest(reason: "`operations` is not a list")
    }
    var operations: [Operation] = []
    for (index, entry) in list.enumerated() {
      func text(_ key: String) throws(InvalidOperationManifest) -> String {
        guard let text = entry[key]?.stringValue else {
          throw InvalidOperationManifest(reason: "operations[\(index)] has no text `\(key)`")
        }
        return text
      }
      let typeName = try text("type")
      guard let type = OperationType(rawValue: typeName) else {
        throw InvalidOperationManifest(
          reason: "operations[\(index)]: the type is \"\(typeName.prefix(40))\", expected query, "
            + "mutation or subscription")
      }
      operations.append(
        Operation(id: try text("id"), body: try text("body"), name: try text("name"), type: type))
    }
    return Self(operations: operations)
  }

  private static func byIdentifier(_ object: JSONObject) throws(InvalidOperationManifest) -> Self {
    var format: Format?
    var operations: [Operation] = []
    for member in object {
      let entry = "the entry \"\(member.key.prefix(80))\""
      let here: Format
      let body: String
      var name: String?
      if let text = member.value.stringValue {
        here = .relay
        body = text
      } else if let text = member.value["source"]?.stringValue {
        here = .legacy
        body = text
        name = member.value["name"]?.stringValue
      } else {
        throw InvalidOperationManifest(
          reason: "\(entry) is neither a document (Relay) nor an object with `name` and `source`")
      }
      guard format == nil || format == here else {
        throw InvalidOperationManifest(reason: "\(entry) has another format than those before it")
      }
      format = here
      // `problems()` reports a body that cannot be parsed.
      let first = (try? Document(parsing: body))?.operations.first
      operations.append(
        Operation(
          id: member.key, body: body, name: name ?? first?.name?.value ?? "",
          type: first?.type ?? .query))
    }
    return Self(operations: operations, format: format ?? .legacy)
  }
}

// MARK: Verifying

extension OperationManifest {
  /// The faults of the manifest: ids that are not the hash of their text, texts that are not
  /// exactly one operation, names and types that differ from the text, duplicate ids and names.
  public func problems() -> [String] {
    var problems: [String] = []
    var ids: Set<UTF8Text> = []
    var names: Set<String> = []
    for operation in operations {
      let title =
        operation.name.isEmpty ? "\(operation.id.prefix(80))" : "\(operation.name.prefix(80))"
      if !ids.insert(UTF8Text(operation.id)).inserted {
        problems.append("\(title): the id \(operation.id.prefix(80)) is used twice")
      }
      if !operation.name.isEmpty, !names.insert(operation.name).inserted {
        problems.append("\(title): the name is used twice")
      }
      problems += Self.problems(of: operation, format).map { "\(title): \($0)" }
    }
    return problems
  }

  private static func problems(of operation: Operation, _ format: Format) -> [String] {
    var problems: [String] = []
    if format != .apollo, isHash(operation.id, bytes: 16), !HashFunction.md5.isAvailable {
      problems.append(
        "the id is an MD5, which libcrypto does not compute in FIPS mode; use SHA-256")
    } else if let expected = expectedID(operation, format), !utf8Equal(expected, operation.id) {
      problems.append(
        "the id is \(operation.id.prefix(80)), but the \(expected.count == 32 ? "MD5" : "SHA-256") "
          + "of the text is \(expected)")
    }
    let document: Document
    do {
      document = try Document(parsing: operation.body)
    } catch {
      return problems + ["the text cannot be parsed: \(error)"]
    }
    guard document.operations.count == 1, let only = document.operations.first else {
      return problems + ["the text has \(document.operations.count) operations, expected one"]
    }
    if let name = only.name?.value, name != operation.name {
      problems.append("the text has the operation \(name)")
    }
    if only.name == nil, !operation.name.isEmpty {
      problems.append("the operation of the text has no name")
    }
    if only.type != operation.type {
      problems.append(
        "the type is \(operation.type.rawValue), but the text is a \(only.type.rawValue)")
    }
    return problems
  }

  /// The id that the text demands; `nil` for ids that are not hashes, which Relay allows.
  private static func expectedID(_ operation: Operation, _ format: Format) -> String? {
    if format == .apollo || isHash(operation.id, bytes: 32) {
      return DocumentHash.sha256(operation.body)
    }
    return isHash(operation.id, bytes: 16) ? DocumentHash.md5(operation.body) : nil
  }

  /// Whether an id is a hash of so many bytes, as hexadecimal digits.
  private static func isHash(_ id: String, bytes count: Int) -> Bool {
    id.utf8.count == 2 * count
      && id.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  /// The differences between the operations of the manifest and `others`, matched by name.
  public func differences(from others: [Operation]) -> [String] {
    let ours = Dictionary(operations.map { ($0.name, $0) }) { first, _ in first }
    let theirs = Dictionary(others.map { ($0.name, $0) }) { first, _ in first }
    let changed = others.compactMap { other -> String? in
      guard let own = ours[other.name] else { return "\(other.name): not in the manifest" }
      return utf8Equal(own.body, other.body) ? nil : "\(other.name): the manifest has another text"
    }
    return changed
      + operations.filter { theirs[$0.name] == nil }
      .map { "\($0.name): in the manifest, but not in the documents" }
  }
}

/// Hashes that identify documents.
public enum DocumentHash {
  /// The SHA-256 of a text in UTF-8, as 64 lower-case hexadecimal digits.
  public static func sha256(_ text: String) -> String {
    QuotedText.hexadecimal(HashFunction.sha256.hash(text))
  }

  /// The MD5 of a text in UTF-8, by which Relay's compiler identifies documents. Not for security.
  public static func md5(_ text: String) -> String {
    QuotedText.hexadecimal(HashFunction.md5.hash(text))
  }
}
