import GQLRunLanguage

extension Document {
  /// The validation errors of the document for a schema; empty if it is valid.
  ///
  /// Messages quote names as servers in JavaScript do: `Cannot query field "x" on type "Y".`
  func requestErrors(against schema: Schema) -> [RequestError] {
    validate(against: schema).map { error in
      RequestError(.validationFailed, error.message.doublyQuoted, at: error.locations)
    }
  }
}

extension String {
  /// The message with names in `"` instead of `'`.
  ///
  /// Only changes apostrophes around names and types.
  var doublyQuoted: String {
    var result = ""
    var rest = self[...]
    while let open = rest.firstIndex(of: "'") {
      result += rest[..<open]
      let quoted = rest[rest.index(after: open)...]
      guard let close = quoted.firstIndex(of: "'"), quoted[..<close].allSatisfy(isPartOfName)
      else {
        result += "'"
        rest = quoted
        continue
      }
      result += "\"\(quoted[..<close])\""
      rest = quoted[quoted.index(after: close)...]
    }
    return result + rest
  }
}

private func isPartOfName(_ character: Character) -> Bool {
  let isAlphanumeric = character.isASCII && (character.isLetter || character.isNumber)
  return isAlphanumeric || "_![]@$. {}".contains(character)
}
