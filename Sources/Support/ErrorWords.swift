/// What an error of a library says, in words for people.
package enum ErrorWords {
  /// The name of the case of an enumeration, or of the type of another error, as words without upper
  /// case: `invalidHeaderToken` is `invalid header token`. Shows no type names and no values.
  package static func text(_ error: any Error) -> String {
    let isCase = Mirror(reflecting: error).displayStyle == .enum
    let name = isCase ? "\(error)" : "\(type(of: error))"
    let last = name.prefix { $0 != "(" }.split(separator: ".").last ?? ""
    return last.reduce(into: "") { words, character in
      if character.isUppercase, let before = words.last, before.isLowercase { words.append(" ") }
      words += character.lowercased()
    }
  }
}
