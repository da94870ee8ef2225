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

/// The values of earlier runs that the tasks of a run start from.
///
/// They are among the variables of tasks, and so in their identities: all parts of a run have those of its beginning, and
/// all shards have the same.
struct RunStart {
  /// The values of the state file.
  let state: JSONObject
  /// The values of operations with `since`, by their ids.
  let since: JSONObject

  /// Reads those of a new run.
  init(_ manifest: Manifest) throws {
    state = try StateFile.read(manifest.stateFile)
    since = try manifest.sinceValues()
  }

  /// Reads those of a run with a journal.
  init(_ manifest: Manifest, of journal: Journal) throws {
    // Read in any case: the run will save its bookmarks there. Journals of earlier versions have no values of it:
    // shards that ended with them always count as equal, and their merge does not notice a task that is in none.
    let file = try StateFile.read(manifest.stateFile)
    state = try Self.values("state", of: journal) ?? file
    // A run that was killed at once has none of both, and one of an earlier version only those of `since` that it had.
    let hasBegun = try journal.meta("started") != nil || journal.counts().total > 0
    since =
      try Self.values("since", of: journal) ?? (hasBegun ? JSONObject() : manifest.sinceValues())
  }

  /// Whether the tasks of a manifest are the same as with other values. Other batches may share its state file.
  func hasTasks(of other: RunStart, _ manifest: Manifest) -> Bool {
    since == other.since && manifest.stateNames.allSatisfy { state[$0] == other.state[$0] }
  }

  private static func values(_ name: String, of journal: Journal) throws -> JSONObject? {
    try journal.meta(name).flatMap { try? JSONValue(parsing: $0).objectValue }
  }

  /// The values as a journal has them.
  var recorded: [String: String] {
    ["state": JSONValue.object(state).jsonText(), "since": JSONValue.object(since).jsonText()]
  }
}
