import GQLRunLanguage
import GQLRunPipeline

/// The sinks of a manifest.
extension ManifestLoader {
  mutating func sinks(
    _ entries: [SinkEntry], _ operations: [BatchOperation], _ schema: Schema?
  ) -> [SinkSettings] {
    let known = Set(operations.map(\.id))
    var sinks: [SinkSettings] = []
    for entry in entries {
      guard let sink = entry.sink else { continue }
      for id in sink.operations where !known.isEmpty && !known.contains(id.value) {
        report(
          .needs, "the sink names the operation `\(id.value)`, which does not exist", id.location,
          hint(for: id.value, among: operations.map(\.id)))
      }
      var settings = SinkSettings(sink: sink, location: sink.file?.location ?? entry.location)
      if let file = sink.file {
        let isStandardOutput = file.value == "-" && type(of: sink).mayBeStandardOutput
        guard let path = isStandardOutput ? "-" : output(file.value, "path", file.location)
        else { continue }
        settings.path = path
        _ = textTemplate(file, known: .operationID)
      }
      sink.check(
        operations.filter { settings.takes($0.id) }, at: settings.location ?? entry.location,
        schema, &self)
      sinks.append(settings)
    }
    return sinks
  }

  /// Reports operations without record fields, for a sink that needs columns.
  mutating func checkFields(
    of operations: [BatchOperation], _ kind: String, _ location: FileLocation, _ schema: Schema?
  ) {
    for operation in operations where !operation.shape(schema).hasFields(at: operation.emit) {
      report(
        .path,
        "`\(kind)` has no columns for `\(operation.id)`: "
          + "`emit` leads to \(operation.emit.map { "`\($0)`" } ?? "values"), which has no fields",
        location, "emit an object, or use `ndjson`")
    }
  }

  /// Reports paths that fit the records of none of the operations.
  ///
  /// - Parameter mustFitAll: Whether a path must fit the records of all operations.
  mutating func checkPaths(
    _ paths: [Located<String>], _ name: String, of operations: [BatchOperation],
    _ schema: Schema?, mustFitAll: Bool = false
  ) {
    for text in paths {
      guard let path = ResultPath(text.value) else {
        report(
          .path, "`\(text.value)` of `\(name)` is not a path", text.location,
          "write response keys and dots, with [*] after lists: `a.b[*]`")
        continue
      }
      var problems: [PathShape.Problem] = []
      for operation in operations {
        let shape = operation.shape(schema)
        // Errors in `emit` are reported at `emit`.
        if let emit = operation.emit, shape.problem(of: emit, endsAt: .value) != nil { return }
        if var problem = shape.problem(of: path, below: operation.emit, endsAt: .value) {
          if operation.emit == nil { problem.hint = problem.hint ?? shape.emitHint(for: path) }
          problems.append(problem)
        }
      }
      guard let problem = problems.first, mustFitAll || problems.count == operations.count
      else { continue }
      report(.path, "`\(text.value)` of `\(name)` \(problem.message)", text.location, problem.hint)
    }
  }
}
