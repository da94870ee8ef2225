package import GQLRunJSON

extension GraphQLResponse {
  /// Calls `body` with the response as JSON text, piece by piece: `data`, then `errors` and
  /// `extensions` if there are any.
  ///
  /// - Parameter body: Called with each piece in order; the pointer is only valid during the call.
  /// - Throws: The errors of `body`, and an error if buffered data cannot be read from its file.
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
  /// The error as JSON, as in a response.
  package var json: JSONValue {
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

  /// Locations as JSON, as in a response.
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
