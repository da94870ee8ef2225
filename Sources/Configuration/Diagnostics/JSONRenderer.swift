import GQLRunJSON

/// Renders diagnostics as one JSON array with an object per diagnostic, for editors and scripts.
struct JSONRenderer {
  func render(_ diagnostics: [PipelineDiagnostic]) -> String {
    guard !diagnostics.isEmpty else { return "[]\n" }
    let rows = diagnostics.map { "  " + JSONValue.object(object($0)).jsonText() }
    return "[\n\(rows.joined(separator: ",\n"))\n]\n"
  }

  private func object(_ diagnostic: PipelineDiagnostic) -> JSONObject {
    let location = diagnostic.location
    var object: JSONObject = [
      "severity": .string(diagnostic.severity.rawValue),
      "code": .string(diagnostic.code.rawValue),
      "message": .string(diagnostic.message),
      "file": .string(location.file),
      "line": .number(JSONNumber(location.line)),
      "column": .number(JSONNumber(location.column)),
      "end_column": .number(JSONNumber(location.column + location.length)),
    ]
    if let hint = diagnostic.hint { object["hint"] = .string(hint) }
    var notes = JSONObject()
    for note in diagnostic.notes { notes[note.label] = .string(note.text) }
    if !notes.isEmpty { object["notes"] = .object(notes) }
    return object
  }
}
