import GQLRunLanguage

/// The documents of a project. Each is validated separately and may use the fragments of all.
struct DocumentSet {
  let sources: SourceFiles
  /// The definitions of each file; empty for files that cannot be parsed.
  private(set) var documents: [Document]
  /// The syntax errors of files that cannot be parsed.
  private(set) var syntaxErrors: [Finding] = []
  /// All fragment definitions by name.
  private let fragments: [String: [FragmentDefinition]]

  private let edition: Edition

  /// Reads the documents at `paths`; `-` is standard input.
  ///
  /// - Parameters:
  ///   - paths: The files, each once.
  ///   - edition: The edition that they must follow.
  init(paths: [String], edition: Edition = .newest) throws {
    self.init(
      try paths.map {
        SourceFiles.File(
          name: Input.label($0), bytes: try Input.bytes($0, "the document"))
      }, edition: edition)
  }

  init(_ files: [SourceFiles.File], edition: Edition = .newest) {
    self.edition = edition
    shown = SourceFiles(files, edition: edition)
    syntaxErrors = SchemaFile.syntaxErrors(of: shown)
    let unreadable = Set(syntaxErrors.map(\.location.file))
    sources = SourceFiles(
      files.map { file in
        var file = file
        // Its lines are needed for excerpts, its definitions are not.
        if unreadable.contains(file.name) { file.bytes = [] }
        return file
      }, edition: edition)
    let everything = try? sources.document()
    var documents = files.map { _ in Document(definitions: []) }
    var fragments: [String: [FragmentDefinition]] = [:]
    for definition in everything?.definitions ?? [] {
      let file = sources.index(of: definition.location)
      documents[file].definitions.append(definition)
      if case .fragment(let fragment) = definition {
        fragments[fragment.name.value, default: []].append(fragment)
      }
    }
    self.documents = documents
    self.fragments = fragments
  }

  /// The unmodified files, for excerpts.
  private let shown: SourceFiles

  /// The definitions of a file, with the fragments of other files that they use.
  func document(at file: Int) -> Document {
    var document = documents[file]
    let own = Set(document.fragments.map(\.name.value))
    document.definitions += fragments(
      of: document.definitions.compactMap(\.selectionSet), without: own
    ).map { .fragment($0) }
    return document
  }

  /// The fragments that selections use, by themselves and in other fragments.
  ///
  /// - Parameter known: The names of fragments that are left out, with what only they use.
  private func fragments(
    of selections: [SelectionSet], without known: Set<String> = []
  ) -> [FragmentDefinition] {
    var (used, known) = ([FragmentDefinition](), known)
    var open = selections.flatMap(\.fragmentSpreads).map(\.name.value)
    while let name = open.popLast() {
      guard known.insert(name).inserted, let found = fragments[name] else { continue }
      used += found
      open += found.flatMap { $0.selectionSet.fragmentSpreads.map(\.name.value) }
    }
    return used
  }

  /// All errors and warnings of the documents, in the order of the files.
  func report(against schema: Schema?, warnings: Bool = true) -> FindingReport {
    let schema = schema?.withNullability
    var findings = syntaxErrors
    // The source locations of the fragments that an operation of any file uses.
    let used = Set(
      fragments(of: documents.flatMap { $0.operations.map(\.selectionSet) })
        .flatMap { [$0.location, $0.name.location] })
    for file in documents.indices where !documents[file].definitions.isEmpty {
      let document = document(at: file)
      let options = ValidationOptions(edition: edition)
      let errors =
        schema.map { document.validateForClient(against: $0, options: options) }
        ?? document.validateWithoutSchema()
      findings += errors.compactMap { error in
        if error.rule == .noUnusedFragments, let location = error.locations.first,
          sources.index(of: location) != file || used.contains(location)
        {
          return nil
        }
        return finding(error, severity: .error, file: file)
      }
      if warnings {
        findings += document.warnings(against: schema).map {
          finding($0, severity: .warning, file: file)
        }
      }
    }
    // Errors in a fragment are found once for each file that uses it.
    var seen: Set<Finding> = []
    findings = findings.filter { seen.insert($0).inserted }
    let order = Dictionary(shown.files.enumerated().map { ($1.name, $0) }) { first, _ in first }
    let sorted = findings.enumerated().sorted {
      let left = $0.element.location
      let right = $1.element.location
      let key = { (location: Finding.Location, offset: Int) in
        (order[location.file] ?? 0, location.location?.offset ?? .max, offset)
      }
      return key(left, $0.offset) < key(right, $1.offset)
    }
    return FindingReport(findings: sorted.map(\.element), sources: shown)
  }

  private func finding(
    _ error: GQLRunLanguage.ValidationError, severity: Finding.Severity, file: Int
  ) -> Finding {
    let locations = error.locations.map { sources.location($0) }
    return Finding(
      severity: severity, code: error.rule.rawValue, message: error.message,
      location: locations.first ?? Finding.Location(file: sources.files[file].name),
      related: Array(locations.dropFirst()))
  }
}
