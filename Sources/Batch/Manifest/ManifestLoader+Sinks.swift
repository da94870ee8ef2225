import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// The sinks of a manifest.
extension ManifestLoader {
  mutating func sinks(
    _ entries: [SinkEntry], operations: [BatchOperation]
  ) -> [SinkSettings] {
    let known = Set(operations.map(\.id))
    var sinks: [SinkSettings] = []
    for entry in entries {
      guard let sink = entry.sink else { continue }
      let kind = type(of: sink)
      for id in sink.operations where !known.isEmpty && !known.contains(id.value) {
        report(
          .needs, message: "the sink names the operation `\(id.value)`, which does not exist",
          location: id.location,
          hint: hint(for: id.value, among: operations.map(\.id)))
      }
      for id in sink.operations {
        guard operations.contains(where: { $0.id == id.value && $0.tables != nil }) else {
          continue
        }
        report(
          .needs,
          message: "the sink names the operation `\(id.value)`, whose rows go to its `tables`",
          location: id.location, hint: "remove it")
      }
      if !operations.isEmpty, operations.allSatisfy({ $0.tables != nil }) {
        report(
          .needs,
          message:
            "the sink `\(kind.name)` receives nothing: each operation has `tables`",
          location: entry.location, hint: "remove it")
      }
      var settings = SinkSettings(sink: sink, location: sink.file?.location ?? entry.location)
      if let file = sink.file {
        let isStandardOutput = file.value == "-" && kind.mayBeStandardOutput
        guard
          let path = isStandardOutput
            ? "-" : output(file.value, name: "path", location: file.location, sink: kind)
        else { continue }
        settings.path = path
        _ = textTemplate(file, known: .operationID)
      }
      sink.check(
        operations.filter { settings.takes($0) }, at: settings.location ?? entry.location,
        loader: &self)
      sinks.append(settings)
    }
    return sinks
  }

  /// Reports operations without record fields, for a sink that needs columns.
  mutating func checkFields(
    of operations: [BatchOperation], _ kind: String, location: FileLocation
  ) {
    for operation in operations
    where !operation.columns.areGiven && !operation.shape.hasFields(at: operation.emit) {
      report(
        .path,
        message: "`\(kind)` has no columns for `\(operation.id)`: "
          + "`emit` leads to \(operation.emit.map { "`\($0)`" } ?? "values"), which has no fields",
        location: location, hint: "emit an object, or use `ndjson`")
    }
  }

  /// Reports paths that fit the records of none of the operations.
  ///
  /// - Parameter mustFitAll: Whether a path must fit the records of all operations.
  mutating func checkPaths(
    _ paths: [Located<String>], name: String, of operations: [BatchOperation],
    mustFitAll: Bool = false
  ) {
    for text in paths {
      guard let path = ResultPath(text.value) else {
        report(
          .path, message: "`\(text.value)` of `\(name)` is not a path", location: text.location,
          hint: "write response keys and dots, with [*] after lists: `a.b[*]`")
        continue
      }
      var problems: [PathShape.Problem] = []
      for operation in operations {
        let shape = operation.shape
        // Errors in `emit` are reported at `emit`.
        if let emit = operation.emit, shape.problem(of: emit, endsAt: .value) != nil { return }
        if var problem = shape.problem(of: path, below: operation.emit, endsAt: .value) {
          if operation.emit == nil { problem.hint = problem.hint ?? shape.emitHint(for: path) }
          problems.append(problem)
        }
      }
      guard let problem = problems.first, mustFitAll || problems.count == operations.count
      else { continue }
      report(
        .path, message: "`\(text.value)` of `\(name)` \(problem.message)", location: text.location,
        hint: problem.hint)
    }
  }
}

/// Manifests whose journal is a database that several workers share.
extension ManifestLoader {
  /// Sets the folder of the journals, or the database of the queue.
  mutating func setJournal(of manifest: inout Manifest, _ given: RunSettings) {
    let url = made?.queueURL ?? given.$journal.wrappedValue
    guard ["postgres://", "postgresql://"].contains(where: url.hasPrefix) else {
      manifest.settings.journalFolder = output(given.$journal, isFolder: true) ?? given.journal
      return
    }
    manifest.queueURL = url
    hasQueue = true
    // Merged outputs and reports are listed there.
    let folder = RunSettings.defaultJournal
    manifest.settings.journalFolder =
      (try? OutputPath(folder: self.folder).resolve(folder)) ?? folder
    if made == nil, let password = PostgresConnection.password(of: url), !password.isEmpty,
      isWritten(password, at: given.$journal.location)
    {
      let location = given.$journal.location
      // Excerpts of the file do not show it.
      decoder.secretLocations.append(location)
      // Replaces the general message, whose advice does not fit.
      decoder.findings.removeAll { $0.code == .literalSecret && $0.location == location }
      report(
        .literalSecret,
        message:
          "the URL of `journal` contains a password, which every reader of the manifest sees",
        location: location,
        hint: "write it into libpq's password file (~/.pgpass, or PGPASSFILE), or set PGPASSWORD")
    }
  }

  /// Whether a text is in the line of the file itself, and not in the value of a variable.
  private func isWritten(_ text: String, at location: FileLocation) -> Bool {
    guard source.lines.indices.contains(location.line - 1) else { return true }
    let line = String(String.UnicodeScalarView(source.lines[location.line - 1]))
    return line.contains(text)
  }

  /// Reports what workers of several machines cannot do.
  mutating func checkQueue(_ manifest: Manifest, _ journal: FileLocation) {
    for sink in manifest.sinks { checkQueue(sink, journal) }
    for operation in manifest.operations { checkQueue(operation) }
    guard hasQueue else { return }
    if manifest.settings.order == .output {
      refuse("`order: output`, because workers write files of their own", location: journal)
    }
    if manifest.settings.order == .interleaved {
      refuse(
        "`order: interleaved`; tasks start in the order in which they were enqueued",
        location: journal)
    }
    let written = Set(((try? SinkPlan(manifest))?.entries ?? []).map(\.path))
    for operation in manifest.operations {
      let subject = "of `\(operation.id)`"
      if let source = operation.source, let path = source.input.path,
        written.contains(FilePath.resolve(path, in: manifest.folder))
      {
        refuse(
          "the rows \(subject) from a file that the run writes, because workers write files of their own",
          location: source.location, hint: "use `capture`, or give each level a manifest of its own"
        )
      }
      if !operation.bookmarks.isEmpty {
        refuse("`bookmark` \(subject)", location: operation.location)
      }
      if operation.snapshot != nil { refuse("`snapshot` \(subject)", location: operation.location) }
      if operation.until != nil {
        refuse("the subscription \(subject)", location: operation.location)
      }
      if operation.isMutation, operation.pagination != nil {
        refuse("`paginate` of the mutation `\(operation.id)`", location: operation.location)
      }
    }
  }

  private mutating func checkQueue(_ settings: SinkSettings, _ journal: FileLocation) {
    let location = settings.location ?? journal
    switch settings.sink {
    case is PostgresSink:
      guard !hasQueue else { return }
      report(
        .wrongValue,
        message: "the sink `postgres` writes into the database of the run, and this run has none",
        location: location,
        hint: "add `run: { journal: \"postgres://host/database\" }`, or use `sqlite`")
    case is SQLiteSink where hasQueue:
      refuse("the sink `sqlite`", location: location, hint: "use the sink `postgres`, or a file")
    case is CacheSink where hasQueue:
      refuse(
        "the sink `cache`", location: location,
        hint: "leave it out: a pipeline with `store: { kind: postgres, url: … }` stores the results"
      )
    default:
      guard hasQueue, settings.path == "-" else { return }
      refuse(
        "results on standard output", location: location,
        hint: "add a sink, such as `sinks: [{ ndjson: { path: \"out/{{op}}.ndjson\" } }]`")
    }
  }

  mutating func refuse(_ what: String, location: FileLocation, hint: String? = nil) {
    report(
      .wrongValue, message: "a journal in PostgreSQL does not support \(what)", location: location,
      hint: hint ?? "remove it, or use a folder as the journal: `run: { journal: runs }`")
  }
}
