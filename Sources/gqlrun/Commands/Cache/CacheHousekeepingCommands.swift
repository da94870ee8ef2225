import ArgumentParser
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport

extension CacheCommand {
  struct Gc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "gc",
      abstract: "Remove records that no field of the query root and no redirect reaches.",
      discussion: """
        Keeps the records that an earlier query can still reach from the fields of the query root. \
        Removes records that only mutations have stored. With a pipeline file, keeps all records of \
        the types that its cache redirects (key_args) return, too, because any of them may be read. A \
        file of which a quarter is free afterwards is rewritten without the free space, unless another \
        process has it open. An interrupt ends the command; what it has removed until then is printed.

        EXAMPLES
          gqlrun cache gc --store sqlite:cache.db
          gqlrun cache gc --pipeline offline.pipeline.yaml --store sqlite:cache.db
          gqlrun cache gc --older-than 720h --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions
    @Option(
      help: ArgumentHelp(
        "First remove root fields older than this, such as 720h; redirects keep no older records.",
        valueName: "duration"), transform: AgeArgument.init)
    var olderThan: AgeArgument?
    @Option(
      name: .shortAndLong,
      help: ArgumentHelp(
        "Pipeline file with the cache redirects to follow.", valueName: "file"))
    var pipeline: String?

    func run() async throws {
      let (keys, facts) = try rules()
      try await storeOptions.runHousekeeping { [olderThan] store, progress in
        let date = olderThan.map { Int(Services.timeOfDay()) - $0.seconds }
        _ = try await store.collectGarbage(
          rootsBefore: date, keys: keys, facts: facts, progress: progress)
      }
    }

    /// The rules of the pipeline file and of the schema that it names.
    private func rules() throws -> (keys: KeyRules?, facts: TypeFacts?) {
      guard let pipeline = try pipeline.map({ try PipelineFile.inspected($0) }) else {
        return (nil, nil)
      }
      let (keys, schema) = try SchemaFile.rules(of: pipeline)
      return (keys, schema.map { TypeFacts($0) })
    }
  }

  struct Trim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "trim",
      abstract: "Remove the oldest records until the cache has a given size.",
      discussion: """
        The size is that of keys and record text, which `gqlrun cache stats` prints as bytes; the \
        file is somewhat larger. References to removed records are cache misses: the next response of \
        the server restores them. A file of which a quarter is free afterwards is rewritten without the \
        free space, unless another process has it open. An interrupt ends the command; what it has \
        removed until then is printed.

        EXAMPLE
          gqlrun cache trim --to 64MiB --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions
    @Option(
      help: ArgumentHelp(
        "Size of the remaining records, such as 64MiB; 0B removes all.", valueName: "size"))
    var to: SizeArgument

    func run() async throws {
      try await storeOptions.runHousekeeping { [to] store, progress in
        _ = try await store.trim(to: to.bytes, progress: progress)
      }
    }
  }

  struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "evict",
      abstract: "Remove records, or fields of them, by key or pattern.",
      discussion: """
        In a pattern, * matches any text, ? matches one byte, and \\ escapes the next character. The \
        patterns are removed one after the other; large removals are several transactions. An interrupt \
        ends the command; what it has removed until then is printed.

          User:1                     one record
          Post:*                     all records of a type
          Query.feed                 a field of the query root, with any arguments
          Query.feed({"first":10*    the same with some arguments
          Query                      all fields of the query root

        EXAMPLES
          gqlrun cache evict User:U_1 'Post:*' --store sqlite:cache.db
          gqlrun cache evict 'User:*' --field email --store sqlite:cache.db
        """)

    @Argument(help: "Cache keys or patterns.")
    var patterns: [String]
    @OptionGroup var storeOptions: StoreOptions
    @Option(
      help: ArgumentHelp(
        "Remove only the fields with this name or pattern, with any arguments.",
        valueName: "pattern"))
    var field: String?

    func run() async throws {
      // Parses all patterns before removing anything.
      let selections = try patterns.map { try RecordSelection($0, fields: field) }
      try await storeOptions.runHousekeeping { [patterns, field] store, progress in
        for (pattern, selection) in zip(patterns, selections) {
          if try await store.remove(selection, progress: progress).isEmpty {
            Terminal.hint(
              "nothing in the cache matches \(pattern)" + (field.map { " with \($0)" } ?? ""))
          }
        }
      }
    }
  }
}

extension CacheCommand.StoreOptions {
  /// Opens the store, runs `work`, prints what was removed, also after an error, and closes the store.
  func runHousekeeping(
    _ work: @escaping @Sendable (CacheStore, RemovalProgress) async throws -> Void
  ) async throws {
    let store = try await openExisting()
    let progress = RemovalProgress()
    do {
      try await Interruption.run {
        async let _ = Self.show(progress)
        try await store.close { try await work($0, progress) }
      }
    } catch {
      if !progress.removed.isEmpty { Self.report(progress.removed) }
      throw error
    }
    Self.report(progress.removed)
  }

  /// Shows the progress on the terminal until the task is cancelled.
  private static func show(_ progress: RemovalProgress) async {
    await Terminal.showStatus(every: .milliseconds(500)) {
      "read \(Quantity.count(progress.readRecords, "record")), removed "
        + Quantity.count(progress.removed.records)
    }
  }

  private static func report(_ summary: RemovalSummary) {
    var parts = [Quantity.count(summary.records, "record")]
    if summary.changedRecords > 0 {
      parts.append("fields of \(Quantity.count(summary.changedRecords, "record"))")
    }
    if summary.segments > 0 { parts.append(Quantity.count(summary.segments, "segment")) }
    Terminal.note(
      "removed \(parts.joined(separator: ", ")), \(Quantity.count(summary.bytes, "byte")) of keys and "
        + "text")
  }
}
