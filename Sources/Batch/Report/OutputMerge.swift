/// Joins what the shards or the workers of a batch wrote to the outputs of its manifest.
struct OutputMerge {
  /// The file of one shard or worker.
  struct Part {
    var path: String
    /// What its run or worker recorded.
    var recorded: SinkPosition?
    /// The position of the first record, in bytes.
    var start = 0
    /// The position behind the last record.
    var end: Int
  }

  let plan: SinkPlan
  let base: OutputPath
  var ledger: OutputLedger

  /// - Parameter overwrites: Whether files that are not earlier outputs of the manifest may be overwritten.
  /// - Throws: ``OutputProblems`` if a file must not be overwritten.
  init(_ manifest: Manifest, overwrites: Bool) throws {
    plan = try SinkPlan(manifest)
    base = OutputPath(folder: manifest.folder)
    ledger = try OutputLedger(manifest)
    try OutputCheck(manifest, plan).require(ledger, overwrites: overwrites)
  }

  /// Compares a file with what its run or worker recorded.
  ///
  /// - Parameter missing: The error if there is no file.
  func verify(_ part: Part, missing: String) throws {
    guard FileStatus(part.path) != nil else { throw JournalError(missing) }
    if let recorded = part.recorded { try FileSink.verify(part.path, recorded) }
  }

  /// Calls `body`, which replaces the files of the manifest.
  mutating func replaceFiles(_ body: () throws -> Void) throws {
    try ledger.willReplace(plan.filePaths)
    try body()
    try ledger.end(plan.filePaths)
  }

  /// Joins files, and returns the end position of the result.
  func join(_ parts: [Part], into entry: SinkPlan.Entry) throws -> SinkPosition {
    // Gzip members are copied unchanged.
    var format = entry.format
    format.isCompressed = false
    let output = try FileSink(path: entry.path, format: format, recorded: nil, base: base)
    for part in parts {
      // The merged file has a header and a footer of its own.
      try output.append(
        contentsOf: part.path, from: part.start, upTo: part.end,
        records: part.recorded?.records ?? 0)
    }
    _ = try output.sync()
    guard let position = output.positionWhenPublished() else {
      throw JournalError("\(entry.path) cannot be merged")
    }
    try output.finish(isComplete: true)
    return position
  }
}
