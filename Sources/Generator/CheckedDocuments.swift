import GQLRunLanguage
import GQLRunSupport

/// The operations and fragments of all files, valid against the schema.
struct CheckedDocuments {
  let sources: SourceFiles
  let document: Document
  let fragments: [String: FragmentDefinition]
  private let lines: [[Substring]]

  /// Parses and validates files. Fragments may be in other files than the operations that use them.
  init(
    _ files: [SourceFiles.File], schema: Schema, edition: Edition
  ) throws(GeneratorError) {
    sources = SourceFiles(files, edition: edition)
    let found = sources.syntaxErrors.map { file, error in
      GeneratorError.Diagnostic(
        file: file.name, location: error.location, message: error.message)
    }
    if !found.isEmpty { throw GeneratorError(diagnostics: found) }
    do throws(GraphQLSyntaxError) {
      document = try sources.document()
    } catch {
      throw sources.error([(error.message, error.location)])
    }
    lines = sources.files.map {
      // Other characters that end a line of text, such as U+2028 in a description, end none of a document.
      String(decoding: $0.bytes, as: UTF8.self)
        .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
    }
    fragments = Dictionary(
      document.fragments.map { ($0.name.value, $0) }, uniquingKeysWith: { first, _ in first })
    try check(against: schema, edition)
  }

  /// Fragments need not be used: another module may use their types.
  private func check(against schema: Schema, _ edition: Edition) throws(GeneratorError) {
    let unnamed = document.operations.filter { $0.name == nil }
    if !unnamed.isEmpty {
      throw sources.error(
        unnamed.map {
          (
            "the operation needs a name, from which its type gets one: "
              + "`\($0.type.rawValue) Name { … }`", $0.location
          )
        })
    }
    let rules = ValidationRule.specified.filter { $0 != .noUnusedFragments }
    let errors = document.validateForClient(
      against: schema, options: ValidationOptions(rules: rules, edition: edition))
    guard errors.isEmpty else {
      throw sources.error(
        errors.map {
          ($0.message, $0.locations.first ?? SourceLocation(line: 1, column: 1, offset: 0))
        })
    }
  }

  /// The directives in the comment lines directly above a location: `# gqlrun: hashable, codable`.
  ///
  /// - Parameter known: The directives that are allowed there.
  /// - Throws: ``GeneratorError`` for another directive.
  func commentDirectives(
    above location: SourceLocation, known: [String]
  ) throws(GeneratorError) -> Set<String> {
    let lines = lines[sources.index(of: location)]
    var directives: Set<String> = []
    let start = sources.local(location)
    // A comment concerns what starts on the next line. Only blanks are counted: a line may hold a whole document.
    let blanks = lines[start.line - 1].unicodeScalars.prefix { $0 == " " || $0 == "\t" }
    guard blanks.count >= start.column - 1 else { return [] }
    var line = start.line - 2
    while lines.indices.contains(line) {
      let text = lines[line].drop { $0 == " " || $0 == "\t" || $0 == "," }
      guard text.first == "#" else { break }
      let comment = text.drop { $0 == "#" || $0 == " " }
      if comment.hasPrefix("gqlrun:") {
        for word in comment.dropFirst(7).split(whereSeparator: { " ,\t".contains($0) }) {
          guard known.contains(String(word)) else {
            let guess = suggestion(for: String(word), in: known)
            throw sources.error([
              (
                "the comment above has the unknown directive \"\(word)\" of gqlrun"
                  + (guess.map { "; did you mean \"\($0)\"?" }
                    ?? "; here, it has \(known.joined(separator: ", "))"),
                location
              )
            ])
          }
          directives.insert(String(word))
        }
      }
      line -= 1
    }
    return directives
  }
}

extension SourceFiles {
  /// The error with these messages at locations of the combined text.
  func error(_ messages: [(String, SourceLocation)]) -> GeneratorError {
    GeneratorError(
      diagnostics: messages.prefix(100).map { message, location in
        GeneratorError.Diagnostic(
          file: fileName(of: location), location: local(location), message: message)
      })
  }

  func fileName(of location: SourceLocation) -> String { files[index(of: location)].name }
}
