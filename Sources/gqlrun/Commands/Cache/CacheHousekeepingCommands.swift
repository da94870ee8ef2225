import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunPipeline

extension CacheCommand {
  struct Gc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove what no field of the query root reaches.",
      discussion: """
        Records stay that some operation read before could still ask for, from the fields of the \
        query root on. What mutations brought and no query ever named goes. One transaction; the \
        space goes back to the file system.

        EXAMPLES
          gqlrun cache gc --store sqlite:cache.db
          gqlrun cache gc --older-than 720h --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions
    @Option(
      name: .long,
      help: ArgumentHelp(
        "First remove the root fields received longer ago than this, such as 720h.",
        valueName: "duration"), transform: AgeArgument.init)
    var olderThan: AgeArgument?

    func run() async throws {
      try await reporting {
        try await storeOptions.runHousekeeping { store in
          let date = olderThan.map { Int(Services.timeOfDay()) - $0.seconds }
          return try await store.collectGarbage(rootsBefore: date)
        }
      }
    }
  }

  struct Trim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove what was received longest ago, until a size is reached.",
      discussion: """
        The size is that of keys and record text, which `gqlrun cache stats` prints as bytes; the \
        file is somewhat larger. What is removed may leave references behind: they are misses, and \
        the next answer of the server brings the records again. One transaction.

        EXAMPLE
          gqlrun cache trim --to 64MiB --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions
    @Option(
      name: .long,
      help: ArgumentHelp(
        "The most that is left, such as 64MiB; 0B leaves nothing.", valueName: "size"))
    var to: SizeArgument

    func run() async throws {
      try await reporting {
        try await storeOptions.runHousekeeping { try await $0.trim(to: to.bytes) }
      }
    }
  }

  struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove records, or fields of them, by key or pattern.",
      discussion: """
        In a pattern * stands for any text, ? for one byte, and \\ takes the meaning from the \
        character behind it. Several patterns are one command, each a transaction.

          User:1                     one record
          Post:*                     all records of a type
          Query.feed                 a field of the query root, whatever its arguments
          Query.feed({"first":10*    the same with some arguments
          Query                      all fields of the query root

        EXAMPLES
          gqlrun cache evict User:1 'Post:*' --store sqlite:cache.db
          gqlrun cache evict 'User:*' --field email --store sqlite:cache.db
        """)

    @Argument(help: "The keys or patterns.")
    var patterns: [String]
    @OptionGroup var storeOptions: StoreOptions
    @Option(
      name: .long,
      help: ArgumentHelp(
        "Remove only the fields of this name or pattern, whatever their arguments.",
        valueName: "pattern"))
    var field: String?

    func run() async throws {
      try await reporting {
        // Parses all patterns before removing anything.
        let selections = try patterns.map { try RecordSelection($0, fields: field) }
        try await storeOptions.runHousekeeping { store in
          var all = RemovalSummary()
          for (pattern, selection) in zip(patterns, selections) {
            let summary = try await store.remove(selection)
            if summary.isEmpty {
              Terminal.hint(
                "nothing in the cache matches \(pattern)" + (field.map { " with \($0)" } ?? ""))
            }
            all.records += summary.records
            all.changedRecords += summary.changedRecords
            all.segments += summary.segments
            all.bytes += summary.bytes
          }
          return all
        }
      }
    }
  }
}

extension CacheCommand.StoreOptions {
  /// Opens the store, runs `work`, prints what was removed, and closes the store.
  func runHousekeeping(_ work: (any RecordStore) async throws -> RemovalSummary) async throws {
    let store = try openExisting()
    let summary: RemovalSummary
    do {
      summary = try await work(store)
    } catch {
      try? (store as? SQLiteStore)?.close()
      throw error
    }
    try (store as? SQLiteStore)?.close()
    var parts = [Format.count(summary.records, "record")]
    if summary.changedRecords > 0 {
      parts.append("fields of \(Format.count(summary.changedRecords, "record"))")
    }
    if summary.segments > 0 { parts.append(Format.count(summary.segments, "segment")) }
    Terminal.note(
      "removed \(parts.joined(separator: ", ")), \(Format.count(summary.bytes, "byte")) of keys and "
        + "text")
  }
}
