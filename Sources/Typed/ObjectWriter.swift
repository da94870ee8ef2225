public import GQLRunJSON

/// Collects the members of a JSON object; generated types write themselves with it.
///
/// Several types may write the same object: an object and its fragments. A member that two of them
/// write is merged, as the server merges their selection sets.
public struct ObjectWriter {
  /// The members written so far.
  public private(set) var object = JSONObject()
  /// The files in the members by their paths, if the writer collects them.
  private(set) var uploads: [String: GraphQLUpload] = [:]
  /// Whether the writer collects files instead of members.
  private let collectsUploads: Bool

  /// Creates a writer without members.
  public init() { collectsUploads = false }

  /// Creates a writer with what `write` writes: members, or only the files in them.
  init(collectsUploads: Bool = false, _ write: (inout ObjectWriter) -> Void) {
    self.collectsUploads = collectsUploads
    write(&self)
  }

  /// Writes a member, unless the value is absent.
  public mutating func write(_ key: String, _ value: some GraphQLEncodable) {
    if collectsUploads {
      for (path, file) in value.uploadsByPath { uploads[path.below(key)] = file }
      return
    }
    guard !value.isAbsent else { return }
    var json = value.json
    if var known = object[key] {
      known.merge(json)
      json = known
    }
    object[key] = json
  }

  /// Writes members, `["id": id, "name": name]`, and those of other types that represent the same object.
  public mutating func write(
    _ members: KeyValuePairs<String, any GraphQLEncodable>, _ parts: any GraphQLObject...
  ) {
    for (key, value) in members { write(key, value) }
    for part in parts { part.write(to: &self) }
  }

  /// Writes a member, unless the value is absent.
  public mutating func write<Value>(_ key: String, _ value: GraphQLNullable<Value>) {
    switch value {
    case .absent: break
    case .null: object[key] = .null
    case .value(let value): write(key, value)
    }
  }

  /// Writes a member, unless the value is `nil`.
  public mutating func writeIfPresent(_ key: String, _ value: (some GraphQLEncodable)?) {
    if let value { write(key, value) }
  }
}

extension String {
  /// The path of a value inside the member or element `key`.
  func below(_ key: String) -> String { isEmpty ? key : "\(key).\(self)" }
}
