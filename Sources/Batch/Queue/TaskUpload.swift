import GQLRunJSON

/// The files of tasks in a queue: paths in the manifest's folder, which each worker opens.
extension TaskUpload {
  /// The files as JSON; `nil` if there are none.
  static func text(of uploads: [TaskUpload]) -> [UInt8]? {
    guard !uploads.isEmpty else { return nil }
    return JSONValue.array(
      uploads.map { upload in
        var object: JSONObject = [
          "variable": .string(upload.variable), "path": .string(upload.path),
        ]
        object["type"] = upload.contentType.map { .string($0) }
        object["filename"] = upload.fileName.map { .string($0) }
        return .object(object)
      }
    ).jsonBytes()
  }

  /// Reads files from JSON, or from empty text.
  static func list(parsing text: String) throws -> [TaskUpload] {
    guard !text.isEmpty else { return [] }
    return try JSONValue(parsing: text).arrayValue?.map { value in
      TaskUpload(
        variable: value["variable"]?.stringValue ?? "", path: value["path"]?.stringValue ?? "",
        contentType: value["type"]?.stringValue, fileName: value["filename"]?.stringValue)
    } ?? []
  }
}
