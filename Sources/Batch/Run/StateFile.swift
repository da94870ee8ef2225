import GQLRunJSON
import GQLRunSupport

/// The file with the bookmarks of earlier runs.
enum StateFile {
  static func read(_ path: String?) throws -> JSONObject {
    guard let path,
      let bytes = try JournalError.wrapping({ () throws(SystemError) in
        try SystemIO.readExistingFile(path)
      })
    else { return JSONObject() }
    guard let state = try? JSONValue(parsing: bytes).objectValue else {
      throw JournalError("the state file \(path) is not a JSON object; correct it or move it away")
    }
    return state
  }

  static func save(
    _ bookmarks: [String: JSONValue], over state: JSONObject, to path: String
  ) throws {
    var changed = state
    for (name, value) in bookmarks.sorted(by: { $0.key < $1.key }) { changed[name] = value }
    guard changed != state else { return }
    try AtomicFile.write(JSONValue.object(changed).jsonBytes(pretty: true) + [0x0A], to: path)
  }
}
