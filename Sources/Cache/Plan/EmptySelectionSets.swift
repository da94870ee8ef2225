import GQLRunLanguage

/// Empty selection sets in what is sent, which servers of editions before September 2026 refuse.
///
/// Most of them are not sent as such: the cache adds `__typename` to the fields of objects.
extension OperationTemplate {
  /// Rejects them before anything is sent, if the schema shows that the server is older.
  static func refuseEmptySelectionSets(_ sent: Document, schema: Schema?) throws(CacheError) {
    let added = LanguageAddition.emptySelectionSet.edition
    guard let edition = schema?.serverEdition, edition < added,
      let location = sent.emptySelectionSets.first
    else { return }
    throw CacheError(
      .invalidOperation,
      "the server is of \(edition), as its introspection shows, and an empty selection set needs "
        + "\(added); \(remedy)", location: location)
  }
}

/// What to write instead of an empty selection set.
private let remedy =
  "write `{ __typename }`, which all servers accept, or leave out the fragment with it"

extension PreparedOperation {
  /// Whether ``document`` has an empty selection set.
  package var hasEmptySelectionSets: Bool { !parts.emptySelectionSets.isEmpty }

  /// Why a server refuses ``document``, and what to write instead, if that is because of an empty selection set.
  ///
  /// Servers of older editions call it a syntax error at its closing brace. Those that give no location are believed if
  /// their message is about syntax.
  ///
  /// - Parameters:
  ///   - message: The message of an error that has no path.
  ///   - locations: Its lines and columns in ``document``.
  package func emptySelectionSetHint(
    message: String, locations: [(line: Int, column: Int)]
  ) -> String? {
    let sets = parts.emptySelectionSets
    guard let first = sets.first else { return nil }
    let found = locations.compactMap { sourceLocation(ofSentLine: $0.line, column: $0.column) }
    let location: SourceLocation
    if let known = sets.first(where: found.contains) {
      location = known
    } else if found.isEmpty, Self.isAboutSyntax(message) {
      location = first
    } else {
      return nil
    }
    let edition = LanguageAddition.emptySelectionSet.edition
    return "the server is older than \(edition), which allows the empty selection set at "
      + "\(location.line):\(location.column); \(remedy)"
  }

  private static func isAboutSyntax(_ message: String) -> Bool {
    let message = message.lowercased()
    return ["syntax", "pars", "}", "brace", "rcurly", "selection"].contains {
      message.contains($0)
    }
  }
}
