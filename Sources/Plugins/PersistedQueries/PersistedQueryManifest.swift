public import GQLRunLanguage
public import GQLRunJSON

/// The operations that a client may send, each under the id by which a server knows it.
///
/// Written in Apollo's format; those of older versions and of Relay's compiler are read as well.
/// https://www.apollographql.com/docs/graphos/platform/security/persisted-queries
public struct PersistedQueryManifest: Sendable, Hashable {
  public struct Operation: Sendable, Hashable {
    /// Lower-case hexadecimal SHA-256 of ``body``, where gqlrun makes it.
    public var id: String
    /// The document, exactly as it is sent.
    public var body: String
    /// Empty when the format has none and the body is anonymous.
    public var name: String
    public var type: OperationType

    public init(id: String, body: String, name: String, type: OperationType) {
      self.id = id
      self.body = body
      self.name = name
      self.type = type
    }

    /// An operation under the hash of its text.
    public init(body: String, name: String, type: OperationType) {
      self.init(id: DocumentHash.sha256(body), body: body, name: name, type: type)
    }
  }

  public enum Format: String, Sendable, Hashable {
    /// `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": […]}`
    case apollo
    /// `{"<id>": {"name": …, "source": …}}`
    case legacy
    /// `{"<id>": "text"}`
    case relay
  }

  /// The format it was read from, or is written in.
  public var format: Format
  public var operations: [Operation]

  public init(operations: [Operation], format: Format = .apollo) {
    self.operations = operations
    self.format = format
  }

  /// The name of Apollo's format.
  public static let apolloFormat = "apollo-persisted-query-manifest"
}

// MARK: Writing

extension PersistedQueryManifest {
  /// The manifest in Apollo's format, its operations in the order of their names.
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

extension PersistedQueryManifest {
  /// Why a file is no manifest.
  public struct InvalidManifest: Error, Sendable, Hashable, CustomStringConvertible {
    public var reason: String

    public var description: String { reason }
  }

  /// Reads a manifest of any of the formats.
  public init(_ value: JSONValue) throws(InvalidManifest) {
    guard let object = value.objectValue else {
      throw InvalidManifest(reason: "a manifest is a JSON object, not \(Self.kind(of: value))")
    }
    if object["format"]?.stringValue != nil || object["operations"] != nil {
      self = try Self.apollo(object)
    } else {
      self = try Self.byIdentifier(object)
    }
  }

  private static func apollo(_ object: JSONObject) throws(InvalidManifest) -> Self {
    guard object["format"]?.stringValue == apolloFormat else {
      let found = object["format"]?.stringValue.map { "\"\($0.prefix(60))\"" } ?? "none"
      throw InvalidManifest(reason: "the format is \(found), expected \"\(apolloFormat)\"")
    }
    guard object["version"]?.intValue == 1 else {
      throw InvalidManifest(
        reason: "the version is \(object["version"]?.jsonText() ?? "not given"); 1 is known")
    }
    guard let list = object["operations"]?.arrayValue else {
      throw InvalidManifest(reason: "`operations` is not a list")
    }
    var operations: [Operation] = []
    for (index, entry) in list.enumerated() {
      func text(_ key: String) throws(InvalidManifest) -> String {
        guard let text = entry[key]?.stringValue else {
          throw InvalidManifest(reason: "operations[\(index)] has no text `\(key)`")
        }
        return text
      }
      let typeName = try text("type")
      guard let type = OperationType(rawValue: typeName) else {
        throw InvalidManifest(
          reason: "operations[\(index)]: the type is \"\(typeName.prefix(40))\", expected query, "
            + "mutation or subscription")
      }
      operations.append(
        Operation(id: try text("id"), body: try text("body"), name: try text("name"), type: type))
    }
    return Self(operations: operations)
  }

  private static func byIdentifier(_ object: JSONObject) throws(InvalidManifest) -> Self {
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
        throw InvalidManifest(
          reason: "\(entry) is neither a document (Relay) nor an object with `name` and `source`")
      }
      guard format == nil || format == here else {
        throw InvalidManifest(reason: "\(entry) has another format than those before it")
      }
      format = here
      // A body that cannot be parsed is found by whoever verifies.
      let first = (try? Document(parsing: body))?.operations.first
      operations.append(
        Operation(
          id: member.key, body: body, name: name ?? first?.name?.value ?? "",
          type: first?.type ?? .query))
    }
    return Self(operations: operations, format: format ?? .legacy)
  }

  private static func kind(of value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

// MARK: Verifying

extension PersistedQueryManifest {
  /// What is wrong with the manifest: ids that are not the hash of their text, texts that are not one
  /// operation, names and types that are not those of the text, ids and names given twice.
  public func problems() -> [String] {
    var problems: [String] = []
    var ids: Set<String> = []
    var names: Set<String> = []
    for operation in operations {
      let title =
        operation.name.isEmpty ? "\(operation.id.prefix(80))" : "\(operation.name.prefix(80))"
      if !ids.insert(operation.id).inserted {
        problems.append("\(title): the id \(operation.id.prefix(80)) is given twice")
      }
      if !operation.name.isEmpty, !names.insert(operation.name).inserted {
        problems.append("\(title): the name is given twice")
      }
      problems += Self.problems(of: operation, format).map { "\(title): \($0)" }
    }
    return problems
  }

  private static func problems(of operation: Operation, _ format: Format) -> [String] {
    var problems: [String] = []
    if let expected = expectedID(operation, format), expected != operation.id {
      problems.append(
        "the id is \(operation.id.prefix(80)), but the \(expected.count == 32 ? "MD5" : "SHA-256") of "
          + "the text is \(expected)")
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

  /// `nil` when the id is of somebody's own making, as Relay's may be.
  private static func expectedID(_ operation: Operation, _ format: Format) -> String? {
    let isHexadecimal = operation.id.utf8.allSatisfy {
      (48...57).contains($0) || (97...102).contains($0)
    }
    if format != .apollo {
      guard isHexadecimal else { return nil }
      if operation.id.utf8.count == 32 { return DocumentHash.md5(operation.body) }
      guard operation.id.utf8.count == 64 else { return nil }
    }
    return DocumentHash.sha256(operation.body)
  }

  /// What differs between the operations of the manifest and `others`, by name.
  public func differences(from others: [Operation]) -> [String] {
    let ours = Dictionary(operations.map { ($0.name, $0) }) { first, _ in first }
    let theirs = Dictionary(others.map { ($0.name, $0) }) { first, _ in first }
    let changed = others.compactMap { other -> String? in
      guard let own = ours[other.name] else { return "\(other.name): not in the manifest" }
      return own.body == other.body ? nil : "\(other.name): the manifest has another text"
    }
    return changed
      + operations.filter { theirs[$0.name] == nil }
      .map { "\($0.name): in the manifest, but not in the documents" }
  }
}
