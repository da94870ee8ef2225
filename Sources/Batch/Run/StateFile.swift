import Foundation
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
    _ bookmarks: [String: (operation: Int, value: JSONValue)], of operations: Set<Int>,
    over state: JSONObject, to path: String
  ) throws {
    let before = state
    var state = state
    for (name, bookmark) in bookmarks.sorted(by: { $0.key < $1.key })
    where operations.contains(bookmark.operation) {
      state[name] = bookmark.value
    }
    guard state != before else { return }
    try AtomicFile.write(JSONValue.object(state).jsonBytes(pretty: true) + [0x0A], to: path)
  }
}
