import ArgumentParser
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Inspect and fill a cache, and answer operations from it.",
    discussion: """
      EXAMPLES
        gqlrun cache import feed.graphql response.json --var first=250 \\
          --store sqlite:cache.db
        gqlrun cache read feed.graphql --var first=250 --store sqlite:cache.db
        gqlrun cache explain feed.graphql --var first=250 --store sqlite:cache.db
        gqlrun cache get User:U_1 --store sqlite:cache.db
        gqlrun cache dump --store sqlite:cache.db
        gqlrun cache gc --store sqlite:cache.db
      """,
    subcommands: [
      CacheImportCommand.self, Write.self, Update.self, Read.self, Explain.self, Dump.self,
      Get.self, SQL.self, Stats.self,
      Export.self, Evict.self, Gc.self, Trim.self, Clear.self,
    ])

  struct StoreOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp(
        "Store with the records: sqlite:PATH, or memory, which is empty when the command starts.",
        valueName: "memory|sqlite:PATH|postgresql://…"),
      transform: StoreChoice.init(argument:))
    var store: StoreChoice = .memory

    /// Opens the existing cache. The file must exist; an in-memory cache of a new process is always
    /// empty.
    func openExisting() async throws -> CacheStore {
      if case .memory = store {
        Terminal.hint(
          "the memory store is empty when a command starts; name a file with --store sqlite:PATH")
      }
      return try await store.open(mustExist: true)
    }

    /// Opens the existing cache read-only, even in a read-only directory.
    func openForReading() async throws -> CacheStore {
      if case .memory = store { return try await openExisting() }
      return try await store.open(mustExist: true, access: .readOnly)
    }
  }

  struct Read: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "read",
      abstract: "Answer an operation from a cache; exit code 3 if a field is missing or stale.",
      discussion: """
        EXAMPLE
          gqlrun cache read country.graphql --var code=DE --keys Country=code \\
            --store sqlite:cache.db
        """)

    @OptionGroup var documentOptions: DocumentOptions
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var operationOptions: OperationOptions
    @OptionGroup var rules: CacheRules
    @OptionGroup var outputOptions: OutputOptions

    func run() async throws {
      Terminal.color(outputOptions.color)
      let filter = try outputOptions.filter()
      let loaded = try rules.load()
      let operation = try operationOptions.prepare(
        documentOptions.source(), pipeline: loaded.pipeline)
      let store = try await storeOptions.openForReading()
      let answer = try await store.read(operation, options: loaded.options)
      if let stale = answer.stale { Terminal.warning("\(stale)") }
      for warning in answer.warnings { Terminal.warning(warning) }
      switch answer.result {
      case .miss(let miss): throw miss
      case .hit(let data):
        let writer = try outputOptions.writer(filter: filter)
        try writer.write { write in
          try Array(#"{"data":"#.utf8).withUnsafeBytes { try write($0) }
          try data.forEachChunk(write)
          let errors =
            answer.errors.isEmpty ? "" : #","errors":\#(JSONValue.array(answer.errors).jsonText())"#
          try Array("\(errors)}".utf8).withUnsafeBytes { try write($0) }
        }
        try writer.finish()
        for error in answer.errors { Terminal.graphQLError(GraphQLError(error).description) }
        if !answer.errors.isEmpty { throw Failure(.graphQLErrors, "") }
      }
    }
  }

  struct Dump: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dump",
      abstract: "Print every record, one JSON object per line, sorted by key.",
      discussion: """
        Equal records give equal dumps, byte for byte, regardless of the requests that stored them.

        EXAMPLE
          gqlrun cache dump --store sqlite:cache.db | grep '"User:U_1"'
        """)

    @OptionGroup var storeOptions: StoreOptions

    func run() async throws {
      let store = try await storeOptions.openForReading()
      try await store.dump { try Terminal.write($0) }
    }
  }

  struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get",
      abstract: "Print one record, such as User:1 or QUERY_ROOT.",
      discussion: """
        EXAMPLE
          gqlrun cache get Country:DE --store sqlite:cache.db
        """)

    @Argument(help: "Cache key of the record.")
    var key: String
    @OptionGroup var storeOptions: StoreOptions

    func run() async throws {
      let store = try await storeOptions.openForReading()
      guard let text = try await store.record(forKey: key) else {
        throw Failure(
          .failed, "the cache has no record \(key); `gqlrun cache dump` shows all there are")
      }
      try ResultPrinter.print(text, isPretty: false)
    }
  }

  struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "stats",
      abstract: "Print the number of records of each type, and their size in bytes.",
      discussion: """
        EXAMPLE
          gqlrun cache stats --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions

    func run() async throws {
      let store = try await storeOptions.openForReading()
      let statistics = try await store.statistics()
      var facts = TextTable()
      facts.add("records", "\(statistics.records)")
      facts.add("bytes", "\(statistics.bytes)")
      facts.add("segments", "\(statistics.segments)")
      if statistics.errors > 0 { facts.add("errors", "\(statistics.errors)") }
      if let fileBytes = statistics.fileBytes { facts.add("file", "\(fileBytes)") }
      if let logBytes = statistics.logBytes, logBytes > 0 { facts.add("log", "\(logBytes)") }
      if statistics.damagedRecords > 0 {
        facts.add("damaged", "\(statistics.damagedRecords)")
      }
      var text = facts.text
      if !statistics.types.isEmpty {
        var types = TextTable(minWidths: [4, 10, 12])
        types.add("TYPE", figures: ["RECORDS", "BYTES"])
        for (type, counts) in statistics.types.sorted(by: { $0.key < $1.key }) {
          types.add(type, figures: ["\(counts.records)", "\(counts.bytes)"])
        }
        text += "\n" + types.text
      }
      try Terminal.write(Terminal.safe(text))
    }
  }

  struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove every record.",
      discussion: """
        EXAMPLE
          gqlrun cache clear --store sqlite:cache.db
        """)

    @OptionGroup var storeOptions: StoreOptions

    func run() async throws {
      let store = try await storeOptions.openExisting()
      let count = try await store.statistics().records
      try await store.clear()
      Terminal.note("removed \(Quantity.count(count, "record"))")
    }
  }
}
