/// One JSON array with an object per diagnostic, for editors and scripts.
struct JSONRenderer {
  func render(_ diagnostics: [PipelineDiagnostic]) -> String {
    guard !diagnostics.isEmpty else { return "[]\n" }
    return "[\n" + diagnostics.map { "  " + object($0) }.joined(separator: ",\n") + "\n]\n"
  }

  private func object(_ diagnostic: PipelineDiagnostic) -> String {
    let place = diagnostic.place
    var members = [
      ("severity", JSONText.string(diagnostic.severity.rawValue).text),
      ("code", JSONText.string(diagnostic.code.rawValue).text),
      ("message", JSONText.string(diagnostic.message).text),
      ("file", JSONText.string(place.file).text),
      ("line", String(place.line)),
      ("column", String(place.column)),
      ("end_column", String(place.column + place.length)),
    ]
    if let hint = diagnostic.hint { members.append(("hint", JSONText.string(hint).text)) }
    if !diagnostic.notes.isEmpty {
      let notes = diagnostic.notes
        .map { "\(JSONText.string($0.label).text):\(JSONText.string($0.text).text)" }
      members.append(("notes", "{\(notes.joined(separator: ","))}"))
    }
    return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }
}
