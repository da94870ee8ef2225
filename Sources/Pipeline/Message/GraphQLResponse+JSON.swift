package import GQLRunJSON

extension GraphQLResponse {
  /// Hands out the whole response as JSON text, in order: `data`, then `errors` and `extensions`
  /// where there are any.
  ///
  /// - Throws: What `body` throws, and an error when data that waits in a file cannot be read.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try Array(#"{"data":"#.utf8).withUnsafeBytes(body)
    if let data {
      try data.forEachChunk(body)
    } else {
      try Array("null".utf8).withUnsafeBytes(body)
    }
    var tail: [UInt8] = []
    if !errors.isEmpty {
      tail += Array(#","errors":"#.utf8) + JSONValue.array(errors.map(\.json)).jsonBytes()
    }
    if let extensions {
      tail += Array(#","extensions":"#.utf8) + JSONValue.object(extensions).jsonBytes()
    }
    tail.append(UInt8(ascii: "}"))
    try tail.withUnsafeBytes(body)
  }
}

extension GraphQLError {
  /// The error as it stands in a response.
  var json: JSONValue {
    var object = JSONObject()
    object["message"] = .string(message)
    if !locations.isEmpty {
      object["locations"] = Self.json(locations)
    }
    if let path {
      object["path"] = .array(
        path.map { step in
          switch step {
          case .key(let key): .string(key)
          case .index(let index): .number(JSONNumber(index))
          }
        })
    }
    if let extensions { object["extensions"] = .object(extensions) }
    return .object(object)
  }

  /// Locations as they stand in a response.
  package static func json(_ locations: [Location]) -> JSONValue {
    .array(
      locations.map { location in
        .object([
          "line": .number(JSONNumber(location.line)),
          "column": .number(JSONNumber(location.column)),
        ])
      })
  }
}
