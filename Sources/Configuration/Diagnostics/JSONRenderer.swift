import GQLRunJSON

/// Renders diagnostics as one JSON array with an object per diagnostic, for editors and scripts.
struct JSONRenderer {
  func render(_ diagnostics: [PipelineDiagnostic]) -> String {
    guard !diagnostics.isEmpty else { return "[]\n" }
    let rows = diagnostics.map { "  " + JSONValue.object(object($0)).jsonText() }
    return "[\n\(rows.joined(separator: ",\n"))\n]\n"
  }

  private func object(_ diagnostic: PipelineDiagnostic) -> JSONObject {
    let place = diagnostic.place
    var object: JSONObject = [
      "severity": .string(diagnostic.severity.rawValue),
      "code": .string(diagnostic.code.rawValue),
      "message": .string(diagnostic.message),
      "file": .string(place.file),
      "line": .number(JSONNumber(place.line)),
      "column": .number(JSONNumber(place.column)),
      "end_column": .number(JSONNumber(place.column + place.length)),
    ]
    if let hint = diagnostic.hint { object["hint"] = .string(hint) }
    var notes = JSONObject()
    for note in diagnostic.notes { notes[note.label] = .string(note.text) }
    if !notes.isEmpty { object["notes"] = .object(notes) }
    return object
  }
}
